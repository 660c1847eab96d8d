import { type Figure, withRange } from './figures.ts'
import { runBenchmark } from './run-benchmark.ts'

interface CompilerResults {
  readonly lines: number
  readonly typescript_lines: number
  readonly parse_lines_per_second: number
  readonly check_over_tsc: Figure
}

interface Ratio {
  readonly task: string
  readonly ratio: Figure
}

/** Row of the table. Ratios are ours over theirs; 1.0 or more is at least as fast. */
interface Row {
  readonly what: string
  readonly measured: string
  readonly goal: string
  readonly isReached: boolean
}

/** Runs the benchmarks of the language. Returns the lines of a table. */
export async function measurePrograms(): Promise<string[]> {
  const http = await runBenchmark<{
    results: Record<string, Figure>
    perSecond: Record<string, number>
    pocketBase: string | null
  }>('program-http')
  const database = await runBenchmark<{ results: readonly Ratio[] }>('program-database')
  const { results: compiler } = await runBenchmark<{ results: CompilerResults }>('compiler')
  const interpreter = await runBenchmark<{ peer: string; results: readonly Ratio[] }>('interpreter')
  const reload = await runBenchmark<{ results: { p50_ms: number; p95_ms: number; lines: number } }>('program-reload')
  const { results, perSecond, pocketBase } = http
  const rows = [
    ratioRow(
      `point query with a declared \`@query\`, requests per second (${perSecond.query}), over hand-written Fastify and libsql`,
      results.query,
      0.85
    ),
    ...(pocketBase === null
      ? []
      : [
          ratioRow(`the same over PocketBase ${pocketBase}`, results['query to PocketBase'], 1),
          ratioRow('insert of one record, over the same', results['mutation to PocketBase'], 1)
        ]),
    ratioRow(
      `mutation of one durable insert (${perSecond.mutation} per second), over sequential bare transactions of libsql`,
      results['mutation to transactions'],
      0.8
    ),
    ...database.results.map(({ task, ratio }, index) =>
      ratioRow(`${task}, over libsql`, ratio, index === 0 ? 0.6 : null)
    ),
    {
      what: `check of ${compiler.lines} lines over \`tsc --noEmit\` on ${compiler.typescript_lines} lines, time`,
      measured: withRange(compiler.check_over_tsc, 'x'),
      goal: '< 1.0x',
      isReached: compiler.check_over_tsc.median < 1
    },
    ...interpreter.results.map(({ task, ratio }) => ratioRow(`${task}, over ${interpreter.peer}`, ratio, 1)),
    {
      what: `save to new route serving, ${reload.results.lines} lines, p50 (p95 ${reload.results.p95_ms.toFixed(0)} ms)`,
      measured: `${reload.results.p50_ms.toFixed(1)} ms`,
      goal: '≤ 60 ms',
      isReached: reload.results.p50_ms <= 60
    }
  ]
  return [
    '',
    'Ratios of speed, ours over theirs, except where a time is given: medians with the range of all rounds (`bench/program-http.ts`, `program-database.ts`, `compiler.ts`,',
    '`interpreter.ts`, `program-reload.ts`).',
    '',
    '| what | measured | goal | |',
    '|---|---|---|---|',
    ...rows.map(({ what, measured, goal, isReached }) => {
      return `| ${what} | ${measured} | ${goal} | ${goal === '' ? '' : isReached ? 'reached' : 'missed'} |`
    }),
    '',
    `Warm, the lexer and the parser read ${Math.round(compiler.parse_lines_per_second / 1000)} thousand lines per second.`,
    'Concurrent mutations share one commit (`synchronous = full`), sequential bare transactions do not. PocketBase commits with',
    '`synchronous = normal`. 50 connections; server and client share the cores. The main thread answers the point query, like',
    'all plain lookups; other functions run in worker threads.'
  ]
}

function ratioRow(what: string, ratio: Figure | undefined, goal: number | null): Row {
  return {
    what,
    measured: ratio === undefined ? 'not measured' : withRange(ratio, 'x'),
    goal: goal === null ? '' : `≥ ${goal}x`,
    isReached: goal !== null && ratio !== undefined && ratio.median >= goal
  }
}

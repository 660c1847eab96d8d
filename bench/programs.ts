import { type Figure, withRange } from './figures.ts'
import type { LiveResult } from './live.ts'
import type { PocketBaseResult } from './program-pocketbase.ts'
import { runBenchmark } from './run-benchmark.ts'

interface CompilerResults {
  readonly lines: number
  readonly typescript_lines: number
  readonly parse_lines_per_second: number
  readonly check_over_tsc: Figure
  readonly check_generics_over_tsc: Figure
}

interface Ratio {
  readonly task: string
  readonly ratio: Figure
}

/** Row of the table. Ratios of speed are ours divided by theirs; from 1.0, ours is at least as fast. */
interface Row {
  readonly what: string
  readonly measured: string
  readonly goal: string
  readonly isReached: boolean
}

/** Runs the benchmarks of the language. Returns the lines of their section. */
export async function measurePrograms(): Promise<string[]> {
  const http = await runBenchmark<{
    results: Record<string, Figure>
    perSecond: Record<string, number>
    guardMicroseconds: Figure | null
    pocketBase: string | null
  }>('program-http')
  const pocketBaseResult = await runBenchmark<PocketBaseResult>('program-pocketbase')
  const database = await runBenchmark<{ results: readonly Ratio[] }>('program-database')
  const { results: compiler } = await runBenchmark<{ results: CompilerResults }>('compiler')
  const interpreter = await runBenchmark<{ peer: string; results: readonly Ratio[] }>('interpreter')
  const reload = await runBenchmark<{ results: { p50_ms: number; p95_ms: number; lines: number } }>('program-reload')
  const { results: pages } = await runBenchmark<{ results: { p50_ms: number; p95_ms: number; saves: number } }>(
    'dev-pages'
  )
  const live = await runBenchmark<LiveResult>('live')
  const { results, perSecond, guardMicroseconds, pocketBase } = http
  const rows = [
    ratioRow(
      `point query (\`@query\`), ${perSecond.query} requests per second, vs. hand-written Fastify and libsql`,
      results.query,
      0.95
    ),
    ratioRow(
      `the same with a token, ${perSecond['guarded query']} requests per second, vs. the same with a hand-written guard`,
      results['guarded query'],
      0.9
    ),
    ...(guardMicroseconds === null
      ? []
      : [
          {
            what: 'CPU time of the server for a request with a token, less that for one without',
            measured: withRange(guardMicroseconds, ' µs'),
            goal: '≤ 15 µs',
            isReached: guardMicroseconds.median <= 15
          }
        ]),
    ...(pocketBase === null
      ? []
      : [
          ratioRow(`point query, vs. PocketBase ${pocketBase}`, results['query to PocketBase'], 1),
          ratioRow(`insert of one record, vs. PocketBase ${pocketBase}`, results['mutation to PocketBase'], 1)
        ]),
    ...pocketBaseRows(pocketBaseResult),
    ratioRow(
      `mutation with one durable insert, ${perSecond.mutation} per second, vs. sequential bare transactions of libsql`,
      results['mutation to transactions'],
      0.8
    ),
    ...database.results.map(({ task, ratio }, index) =>
      ratioRow(`${task}, vs. libsql`, ratio, index === 0 ? 0.6 : null)
    ),
    {
      what: `time to check ${compiler.lines} lines, vs. \`tsc --noEmit\` on ${compiler.typescript_lines} lines`,
      measured: withRange(compiler.check_over_tsc, 'x'),
      goal: '≤ 0.6x',
      isReached: compiler.check_over_tsc.median <= 0.6
    },
    {
      what: 'the same with a program of generics and lambdas',
      measured: withRange(compiler.check_generics_over_tsc, 'x'),
      goal: '',
      isReached: false
    },
    ...interpreter.results.map(({ task, ratio }) => ratioRow(`${task}, vs. ${interpreter.peer}`, ratio, 1)),
    {
      what: `from saving ${reload.results.lines} lines to serving the new route, p50 (p95 ${reload.results.p95_ms.toFixed(0)} ms)`,
      measured: `${reload.results.p50_ms.toFixed(1)} ms`,
      goal: '≤ 60 ms',
      isReached: reload.results.p50_ms <= 60
    },
    {
      what: `from saving to the reloaded page in svc dev, p95 of ${pages.saves} saves (p50 ${pages.p50_ms.toFixed(0)} ms)`,
      measured: `${pages.p95_ms.toFixed(0)} ms`,
      goal: '≤ 500 ms',
      isReached: pages.p95_ms <= 500
    },
    {
      what: `from a mutation to the new result at ${live.subscribers} subscribers of one live query, p99 (p50 ${live.p50_ms.toFixed(0)} ms)`,
      measured: `${live.p99_ms.toFixed(0)} ms`,
      goal: '≤ 100 ms',
      isReached: live.p99_ms <= 100
    }
  ]
  return [
    '',
    'Numbers with an x are ratios of speed, ours divided by theirs, unless the row says time. All are medians, with the range',
    'of all rounds in parentheses (`bench/program-http.ts`, `program-database.ts`, `compiler.ts`,',
    '`interpreter.ts`, `program-reload.ts`, `dev-pages.ts`, `live.ts`, `program-pocketbase.ts`).',
    '',
    '| what | measured | goal | |',
    '|---|---|---|---|',
    ...rows.map(({ what, measured, goal, isReached }) => {
      return `| ${what} | ${measured} | ${goal} | ${goal === '' ? '' : isReached ? 'reached' : 'missed'} |`
    }),
    '',
    `After warm-up, the lexer and the parser read ${Math.round(compiler.parse_lines_per_second / 1000)} thousand lines per second.`,
    'Concurrent mutations share one commit (`synchronous = full`); sequential bare transactions do not. PocketBase commits with',
    '`synchronous = normal`. The client uses 50 connections, and shares the cores with the server. Point queries run on the main',
    'thread, like all plain lookups; other functions run in worker threads. The hand-written guard verifies the token in each',
    'request, and the program after a minute.',
    ...(pocketBaseResult.version === null
      ? []
      : [
          `PocketBase ${pocketBaseResult.version} hashes passwords with bcrypt at cost 10, and the program with scrypt (N = 2^17), which takes`,
          `more work on purpose. The row with equal work uses bcrypt at cost ${pocketBaseResult.equalCost}, whose hash takes about as long as that scrypt.`
        ])
  ]
}

/** Tasks of `program-pocketbase.ts` with a goal, and those without. */
const POCKETBASE_ROWS: readonly (readonly [
  task: keyof PocketBaseResult['ratios'],
  what: string,
  goal: number | null
])[] = [
  ['list with filter', 'list of rows with a filter', 2],
  ['insert', 'durable insert next to lists', 2],
  ['live change', 'from an insert to its row at all subscribers of a live query', 2],
  ['request with a session', 'request that a session authorises', 2],
  ['sign-in, equal work', 'sign-in, with hashes of equal work', null],
  ['sign-in', 'sign-in, each with its own hash', null]
]

function pocketBaseRows({ version, subscribers, ours, ratios }: PocketBaseResult): Row[] {
  if (version === null) return []
  return POCKETBASE_ROWS.map(([task, what, goal]) => {
    const own = ours[task]
    const unit = task === 'live change' || task.startsWith('sign-in') ? 'ms' : 'per second'
    const shown = own === undefined ? '' : `, ${own.median.toFixed(unit === 'ms' ? 1 : 0)} ${unit}`
    const of = task === 'live change' ? ` (${subscribers})` : ''
    return ratioRow(`${what}${of}${shown}, vs. PocketBase ${version}`, ratios[task], goal)
  })
}

function ratioRow(what: string, ratio: Figure | undefined, goal: number | null): Row {
  return {
    what,
    measured: ratio === undefined ? 'not measured' : withRange(ratio, 'x'),
    goal: goal === null ? '' : `≥ ${goal}x`,
    isReached: goal !== null && ratio !== undefined && ratio.median >= goal
  }
}

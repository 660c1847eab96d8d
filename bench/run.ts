/**
 * Runs every benchmark, one after the other, and writes docs/performance.md. Needs `npm run build` and a quiet machine.
 *
 *   npm run bench [-- --rounds N] [--only kernel|models|programs|orchestrator] [--smoke]
 *
 * N is that of `bench/model-server.ts`, which takes the most time. `--only` measures one section and keeps
 * the others of the document. `--smoke` shows that every benchmark runs, in seconds each, and writes nothing: its figures mean
 * nothing.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type Figure, highest, withRange } from './figures.ts'
import { peers } from './inference/peers.ts'
import type { Result as InferenceResult } from './inference.ts'
import type { ModelServerResult } from './model-server.ts'
import { measureOrchestrator } from './orchestrator.ts'
import { measurePrograms } from './programs.ts'
import { runBenchmark } from './run-benchmark.ts'
import { runSmoke } from './smoke.ts'

interface HttpCase {
  readonly case: string
  readonly toFastify: Figure
  readonly toBare: Figure
}
/** Sections that are measured by themselves, in their order, with the headings that they begin with; the first has the title. */
const SECTIONS = {
  kernel: '',
  models: '## Tokens per second\n',
  programs: '## Programs of the language\n',
  orchestrator: '## Orchestrator\n'
} as const

type Section = keyof typeof SECTIONS

/** One line of the budget table; `bound` null where the figure is reported without a budget. */
interface Row {
  readonly what: string
  readonly value: number | Figure
  readonly bound: number | null
  readonly unit: string
}

const { values } = parseArgs({
  options: { rounds: { type: 'string' }, only: { type: 'string' }, smoke: { type: 'boolean', default: false } }
})
const { only, smoke } = values
const names = Object.keys(SECTIONS) as readonly Section[]
if (only !== undefined && !names.includes(only as Section))
  throw new Error(`--only ${only}: one of ${names.join(', ')}`)
const measures: Readonly<Record<Section, () => Promise<string[]>>> = {
  kernel: measureKernel,
  models: measureModels,
  programs: measurePrograms,
  orchestrator: measureOrchestrator
}
if (smoke) process.exitCode = await runSmoke()
else {
  const target = fileURLToPath(new URL('../docs/performance.md', import.meta.url))
  const before = sectionsOf(readFileSync(target, 'utf8'))
  const parts: string[] = []
  for (const name of names) {
    const isMeasured = only === undefined || only === name
    const body = isMeasured ? `${(await measures[name]()).join('\n')}\n` : before[name]
    if (body !== '') parts.push(`${SECTIONS[name]}${body.trimEnd()}\n`)
  }
  const text = parts.join('\n')
  writeFileSync(target, text)
  process.stdout.write(text)
}

/** Below their headings; empty where there is none. */
function sectionsOf(text: string): Readonly<Record<Section, string>> {
  const found: Record<Section, string> = { kernel: '', models: '', programs: '', orchestrator: '' }
  let rest = text
  for (const name of names.toReversed()) {
    const at = SECTIONS[name] === '' ? 0 : rest.indexOf(SECTIONS[name])
    if (at < 0) continue
    found[name] = rest.slice(at + SECTIONS[name].length)
    rest = rest.slice(0, at)
  }
  return found
}

/** What stands before the models: the budgets and the requests a second. */
async function measureKernel(): Promise<string[]> {
  const http = await runBenchmark<{ results: HttpCase[] }>('http')
  const reload = await runBenchmark<{ results: { p50_ms: number; p95_ms: number; reloads: number } }>('reload')
  const soak = await runBenchmark<{ results: { bytes_per_reload: number; reloads: number } }>('heap')
  const startup = await runBenchmark<{
    results: Record<'help_over_node_ms' | 'hundred_plugins_over_empty_ms', Figure>
  }>('startup')
  const hooks = await runBenchmark<{ results: Record<'look_ns' | 'tapped_over_untapped', Figure> }>('hooks')
  const worst = (pick: (each: HttpCase) => Figure): Figure => highest(http.results.map(pick))
  const rows: Row[] = [
    {
      what: 'HTTP JSON operation, server CPU a request, 100 routes: over plain Fastify',
      value: worst(each => each.toFastify),
      bound: 1,
      unit: 'x'
    },
    { what: 'the same over bare node:http', value: worst(each => each.toBare), bound: 1.15, unit: 'x' },
    {
      what: 'a look at a hook that nothing taps',
      value: hooks.results.look_ns,
      bound: 100,
      unit: 'ns'
    },
    {
      what: 'call of an operation whose hooks one plugin taps, over one whose hooks nothing taps',
      value: hooks.results.tapped_over_untapped,
      bound: null,
      unit: 'x'
    },
    { what: 'file save to new code serving, p50', value: reload.results.p50_ms, bound: 40, unit: 'ms' },
    { what: 'the same, p95', value: reload.results.p95_ms, bound: null, unit: 'ms' },
    {
      what: `heap growth a reload, ${soak.results.reloads} reloads`,
      value: soak.results.bytes_per_reload / 1024,
      bound: 2,
      unit: 'KB'
    },
    {
      what: '`svc --help` over `node -e 0`',
      value: startup.results.help_over_node_ms,
      bound: 60,
      unit: 'ms'
    },
    {
      what: '100 trivial plugins, cold start, over an empty kernel',
      value: startup.results.hundred_plugins_over_empty_ms,
      bound: 250,
      unit: 'ms'
    }
  ]
  return [
    '# Performance',
    '',
    'Made by `npm run bench`. Ratios are between programs that were measured in turn in one run; absolute times belong to',
    'the machine of that run and are here only because the budget is one.',
    '',
    `Machine: ${cpus()[0]?.model.trim()}, ${cpus().length} cores; Node ${process.version.slice(1)}.`,
    '',
    '| what | measured | budget | |',
    '|---|---|---|---|',
    ...rows.map(
      row =>
        `| ${row.what} | ${typeof row.value === 'number' ? `${format(row.value)} ${row.unit}` : withRange(row.value, row.unit)} | ${row.bound === null ? '–' : `≤ ${row.bound} ${row.unit}`} | ${verdict(row)} |`
    ),
    '',
    'That no request fails while plugins reload under load is a test: `test/e2e/swap.test.ts` counts 0 failures in at least',
    '10,000 requests during 40 reloads, with open streams that finish on the code that they began with.',
    '',
    '## HTTP',
    '',
    'Median server CPU of alternating rounds with its range, 32 connections, one process for each server (`bench/http.ts`).',
    '',
    '| request | over plain Fastify | over bare node:http |',
    '|---|---|---|',
    ...http.results.map(each => `| ${each.case} | ${withRange(each.toFastify, 'x')} | ${withRange(each.toBare, 'x')} |`)
  ]
}

function format(value: number): string {
  return value < 10 ? value.toFixed(2) : value.toFixed(1)
}

function verdict({ value, bound }: Row): string {
  if (bound === null) return ''
  return (typeof value === 'number' ? value : value.median) <= bound ? 'reached' : 'missed'
}

/** Below their heading. */
async function measureModels(): Promise<string[]> {
  const rounds = values.rounds === undefined ? [] : ['--rounds', values.rounds]
  const inference = await runBenchmark<{ peer: string; threads: number; results: InferenceResult[] }>('inference')
  const modelServer = await runBenchmark<ModelServerResult>('model-server', ...rounds)
  return [
    '',
    `Against ${inference.peer} on the same weights in fp32, in turn, ${inference.threads} threads (\`bench/inference.ts\`); higher is faster.`,
    '',
    '| model | prompt tokens | reading the prompt | writing the answer | same tokens |',
    '|---|---|---|---|---|',
    ...inference.results.map(each => {
      const cell = (rates: Readonly<Record<string, Figure>>, ratio: Figure | null): string =>
        `${Object.entries(rates)
          .map(([name, rate]) => `${name} ${Math.round(rate.median)}`)
          .join(', ')}: ${ratio === null ? 'no peer' : withRange(ratio, 'x')}`
      const same = each.sameTokens ? 'yes' : 'no'
      return `| ${each.model} | ${each.promptTokens} | ${cell(each.promptPerSecond, each.promptRatio)} | ${cell(each.decodePerSecond, each.decodeRatio)} | ${same} |`
    }),
    '',
    '## Model server',
    '',
    `A model of the shape of Qwen2.5-0.5B (vocabulary 151,936) with random weights, ${modelServer.threads} threads, nothing guessed ahead, against`,
    `llama.cpp (${peers.llama}) and ${peers.transformers} on the same weights (\`bench/model-server.ts\`).`,
    'Tokens per second where no unit is given: the median of rounds in which all engines are measured in turn, with the range',
    'of the rounds in parentheses. Ratios are ours over theirs.',
    '',
    ...modelServer.table,
    '',
    '- Q4_0 is the file that `llama-quantize` makes of this model: its head, which is the embedding, is Q8_0, as ours has 8 bits.',
    '  Decoding is behind a prompt of 512 tokens.',
    '- Clients send prompts of 64 tokens at once and get 128 back. llama.cpp computes eight sequences in one batch through',
    '  node-llama-cpp, behind a bare node:http server; the same client asks both. Much of that time is spent around the batch, so',
    '  it says less of llama.cpp itself.',
    '- Streams and chats are measured in 8 bits. With the engine on two threads, client, server and engine share two cores; on',
    '  one, the client has a core of its own.',
    '- Peak memory is the largest resident set of the process behind a prompt of 512 tokens; mapped pages of files count.',
    '  llama.cpp maps its file unless it is told not to; the ratio is over the lesser of both.',
    '- transformers.js runs exports of the graph that this engine builds, with its packed weights and the surface of exports for',
    '  transformers.js. Of these, q4 is the 4-bit format of its usual exports; q8 is the scheme of this engine, which they have not.',
    '',
    'What quantisation costs in quality: `plugins/inference-onnx/README.md`, measured by `bench/quantisation-quality.ts`.'
  ]
}

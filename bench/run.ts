/**
 * Runs every benchmark, one after the other, and writes docs/performance.md. Needs `npm run build` and a quiet machine.
 *
 *   npm run bench [-- --rounds N] [--only kernel|startup|models|hybrid|embeddings|programs|orchestrator|mesh|console|stub-check|reward|search]
 *     [--smoke | --plot]
 *
 * N is the number of rounds of `bench/model-server.ts`, which takes the longest. `--only` measures one section, and
 * keeps the other sections of the document. `--smoke` runs each benchmark for a few seconds, to check that it works,
 * and writes nothing. `--plot` measures nothing, and draws the plots of the recorded results.
 *
 * The results of a section are recorded in `bench/results`, with what each benchmark printed; its plots in `docs/plots`
 * are drawn from them.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { measureConsole } from './console.ts'
import { measureEmbeddings } from './embeddings-section.ts'
import { type Figure, highest, withRange } from './figures.ts'
import { measureHybrid } from './hybrid-section.ts'
import { peers } from './inference/peers.ts'
import type { Result as InferenceResult } from './inference.ts'
import { measureMesh } from './mesh.ts'
import type { ModelServerResult } from './model-server.ts'
import { measureOrchestrator } from './orchestrator.ts'
import { measurePrograms } from './programs.ts'
import { withPlots, writeResults } from './results.ts'
import { measureReward } from './reward-section.ts'
import { runBenchmark, takeOutputs } from './run-benchmark.ts'
import { measureSearch } from './search-section.ts'
import { runSmoke } from './smoke.ts'
import { measureStartup } from './startup-section.ts'
import { measureStubCheck } from './stub-check-section.ts'

interface HttpCase {
  readonly case: string
  readonly toFastify: Figure
  readonly toBare: Figure
  /** With the ring of requests and spans. */
  readonly ringToFastify: Figure
  /** With every request in the log as well. */
  readonly logToFastify: Figure
  /** The same against Fastify with its own log. */
  readonly logToLog: Figure
}
/** Headings of the sections that are measured separately, in order. The first section has the title of the document. */
const SECTIONS = {
  kernel: '',
  startup: '## Start-up and size\n',
  models: '## Tokens per second\n',
  hybrid: '## Qwen3.5\n',
  sampling: '## Choice of tokens\n',
  embeddings: '## Embeddings\n',
  programs: '## Programs of the language\n',
  orchestrator: '## Orchestrator\n',
  mesh: '## Several machines\n',
  console: '## Console\n',
  'stub-check': '## Stub check\n',
  reward: '## Rewards\n',
  search: '## Search\n',
  tools: '## Tools for models\n'
} as const

type Section = keyof typeof SECTIONS

/** Row of the budget table; `bound` is null for a figure without a budget. */
interface Row {
  readonly what: string
  readonly value: number | Figure
  readonly bound: number | null
  readonly unit: string
}

const { values } = parseArgs({
  options: {
    rounds: { type: 'string' },
    only: { type: 'string' },
    smoke: { type: 'boolean', default: false },
    plot: { type: 'boolean', default: false }
  }
})
const { only, smoke, plot } = values
const names = Object.keys(SECTIONS) as readonly Section[]
const measures: Readonly<Partial<Record<Section, () => Promise<string[]>>>> = {
  kernel: measureKernel,
  startup: measureStartup,
  models: measureModels,
  hybrid: measureHybrid,
  embeddings: measureEmbeddings,
  programs: measurePrograms,
  orchestrator: measureOrchestrator,
  mesh: measureMesh,
  console: measureConsole,
  'stub-check': measureStubCheck,
  reward: measureReward,
  search: measureSearch
}
if (only !== undefined && !Object.hasOwn(measures, only))
  throw new Error(`--only ${only}: unknown section; use one of ${Object.keys(measures).join(', ')}`)
if (smoke) process.exitCode = await runSmoke()
else {
  const target = fileURLToPath(new URL('../docs/performance.md', import.meta.url))
  const before = sectionsOf(readFileSync(target, 'utf8'))
  const parts: string[] = []
  for (const name of names) {
    // A section that is not measured here is kept as it is.
    const measure = !plot && (only === undefined || only === name) ? measures[name] : undefined
    const body = measure === undefined ? before[name] : `${(await measure()).join('\n')}\n`
    if (measure !== undefined) writeResults(name, body, takeOutputs())
    if (body !== '') parts.push(`${SECTIONS[name]}${withPlots(name, body).trimEnd()}\n`)
  }
  const text = parts.join('\n')
  writeFileSync(target, text)
  process.stdout.write(text)
}

/** Splits the document into its sections, without their headings. A missing section is empty. */
function sectionsOf(text: string): Readonly<Record<Section, string>> {
  const found = Object.fromEntries(names.map(name => [name, ''])) as Record<Section, string>
  let rest = text
  for (const name of names.toReversed()) {
    const at = SECTIONS[name] === '' ? 0 : rest.indexOf(SECTIONS[name])
    if (at < 0) continue
    found[name] = rest.slice(at + SECTIONS[name].length)
    rest = rest.slice(0, at)
  }
  return found
}

type HookFigure = 'look_ns' | 'changed_ns' | 'untapped_over_without' | 'tapped_ns'

/** Measures the first section: the budgets and the CPU time of HTTP requests. */
async function measureKernel(): Promise<string[]> {
  const http = await runBenchmark<{ results: HttpCase[] }>('http')
  const reload = await runBenchmark<{ results: { p50_ms: number; p95_ms: number; reloads: number } }>('reload')
  const soak = await runBenchmark<{ results: { bytes_per_reload: number; reloads: number } }>('heap')
  const hooks = await runBenchmark<{ results: Record<HookFigure, Figure> }>('hooks')
  const worst = (pick: (each: HttpCase) => Figure): Figure => highest(http.results.map(pick))
  const rows: Row[] = [
    {
      what: 'server CPU per HTTP JSON request, 100 routes, vs. plain Fastify',
      value: worst(each => each.toFastify),
      bound: 0.9,
      unit: 'x'
    },
    {
      what: 'the same with the ring of requests and spans, vs. plain Fastify without a log',
      value: worst(each => each.ringToFastify),
      bound: 0.9,
      unit: 'x'
    },
    {
      what: 'the same with every request in the log, vs. Fastify with its own log',
      value: worst(each => each.logToLog),
      bound: 1,
      unit: 'x'
    },
    {
      what: 'the same with every request in the log, vs. plain Fastify without a log',
      value: worst(each => each.logToFastify),
      bound: null,
      unit: 'x'
    },
    {
      what: 'server CPU per HTTP JSON request, 100 routes, vs. bare node:http',
      value: worst(each => each.toBare),
      bound: 1.15,
      unit: 'x'
    },
    {
      what: 'time to check a hook that no plugin taps',
      value: hooks.results.look_ns,
      bound: 100,
      unit: 'ns'
    },
    {
      what: 'time to announce a topic that no client watches',
      value: hooks.results.changed_ns,
      bound: 200,
      unit: 'ns'
    },
    {
      what: 'operation call whose hooks no plugin taps, vs. a build without the checks',
      value: hooks.results.untapped_over_without,
      bound: null,
      unit: 'x'
    },
    {
      what: 'CPU time of an operation call whose start and end one plugin taps',
      value: hooks.results.tapped_ns,
      bound: 10_000,
      unit: 'ns'
    },
    { what: 'from saving a file to serving the new code, p50', value: reload.results.p50_ms, bound: 35, unit: 'ms' },
    { what: 'from saving a file to serving the new code, p95', value: reload.results.p95_ms, bound: null, unit: 'ms' },
    {
      what: `heap growth per reload, ${soak.results.reloads} reloads`,
      value: soak.results.bytes_per_reload / 1024,
      bound: 2,
      unit: 'KB'
    }
  ]
  return [
    '# Performance',
    '',
    'Written by `npm run bench`. Ratios compare programs that were measured in rotation in one run. Absolute times depend on the',
    'machine; they are listed only if the budget is a time. Values are medians, with the range of all rounds in parentheses.',
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
    'A test checks that no request fails while plugins reload under load: `test/e2e/swap.test.ts` counts 0 failures in at least',
    '10,000 requests during 40 reloads. Open streams finish on the code with which they began.',
    '',
    '## HTTP',
    '',
    'Server CPU per request: median of alternating rounds, with its range. 32 connections, each server in a separate process',
    '(`bench/http.ts`). In the log, Fastify writes two lines for a request, svc one with more fields.',
    '',
    '| request | vs. plain Fastify | with the ring | with every request in the log | log vs. Fastify with its log | vs. bare node:http |',
    '|---|---|---|---|---|---|',
    ...http.results.map(({ case: name, toFastify, ringToFastify, logToFastify, logToLog, toBare }) => {
      const figures = [toFastify, ringToFastify, logToFastify, logToLog, toBare].map(figure => withRange(figure, 'x'))
      return `| ${[name, ...figures].join(' | ')} |`
    })
  ]
}

function format(value: number): string {
  return value < 10 ? value.toFixed(2) : value.toFixed(1)
}

function verdict({ value, bound }: Row): string {
  if (bound === null) return ''
  return (typeof value === 'number' ? value : value.median) <= bound ? 'reached' : 'missed'
}

/** Measures the section on models, without its heading. */
async function measureModels(): Promise<string[]> {
  const rounds = values.rounds === undefined ? [] : ['--rounds', values.rounds]
  const inference = await runBenchmark<{ peer: string; threads: number; results: InferenceResult[] }>('inference')
  const modelServer = await runBenchmark<ModelServerResult>('model-server', ...rounds)
  return [
    '',
    `Compared with ${inference.peer} on the same F32 weights, in rotation, ${inference.threads} threads (\`bench/inference.ts\`). Tokens per second; higher is faster.`,
    '',
    '| model | prompt tokens | reading the prompt | decoding | same tokens |',
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
    `A model with the shape of Qwen2.5-0.5B (vocabulary 151,936) and random weights, ${modelServer.threads} threads, no speculation. Compared`,
    `with llama.cpp and ${peers.transformers} on the same weights (\`bench/model-server.ts\`). llama.cpp:`,
    `${modelServer.llama}.`,
    'Figures without a unit are tokens per second: medians of rounds that measure all engines in rotation, with the range of the',
    'rounds in parentheses. Ratios are ours divided by theirs.',
    '',
    ...modelServer.table,
    '',
    '- Q4_0 is the output of `llama-quantize` for this model. Its head, which is the embedding, is Q8_0; our head has 8 bits too.',
    '  Decoding follows a prompt of 512 tokens.',
    '- Concurrent clients send prompts of 64 tokens and receive 128 tokens. Both servers compute all sequences in one batch.',
    ...(process.env.SVC_BENCH_LLAMA_SERVER
      ? ['  Figures of llama.cpp without HTTP are the times that its server reports.']
      : [
          '  node-llama-cpp stands behind a bare node:http server. Much of its time is spent outside the batch, so the result',
          '  measures more than llama.cpp itself.'
        ]),
    '- Streams and chats are measured with 8 bits. With two threads, client, server and engine share two cores; with one thread,',
    '  the client has a separate core.',
    '- Peak memory is the peak resident set size of the process after a prompt of 512 tokens, including mapped files. llama.cpp',
    '  maps its file by default; the ratio uses the smaller value of both modes.',
    '- transformers.js runs exports of the graph and packed weights of this engine, with the inputs and outputs that it requires.',
    '  q4 is the 4-bit format of its usual exports; q8 is a scheme of this engine that its usual exports do not have.',
    '',
    'Quality loss of quantisation: `plugins/inference-onnx/README.md`, measured by `bench/quantisation-quality.ts`.'
  ]
}

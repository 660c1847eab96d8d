/**
 * Compares the model server on the CPU with llama.cpp and transformers.js, in one table with goals. llama.cpp is the C
 * server that SVC_BENCH_LLAMA_SERVER names (`bench/inference/build-llama-server.sh`), or else node-llama-cpp. Runs the
 * benchmarks quantisation, clients and serving, one after the other, with two threads. Needs `npm run build`.
 *
 *   node --import tsx --conditions=svc-source bench/model-server.ts [--json] [--rounds N]
 */
import { parseArgs } from 'node:util'
import type { ClientsResult } from './clients.ts'
import { type Figure, figureOf, highest, ratio, withRange } from './figures.ts'
import type { EngineSpeed, EnginesResult } from './quantisation.ts'
import { runBenchmark } from './run-benchmark.ts'
import type { ServingResult, StreamCost } from './serving.ts'

interface Row {
  readonly what: string
  readonly ours: string
  readonly theirs: string
  readonly ratio: Figure
  /** Bound on the median ratio; null without a goal. */
  readonly goal: { readonly atLeast: number } | { readonly atMost: number } | null
}

export interface ModelServerResult {
  readonly threads: number
  /** Build of llama.cpp, and the options of its server. */
  readonly llama: string
  /** Lines of a Markdown table. */
  readonly table: readonly string[]
}

const THREADS = '2'
const { values } = parseArgs({ options: { json: { type: 'boolean', default: false }, rounds: { type: 'string' } } })
const rounds = values.rounds === undefined ? [] : ['--rounds', values.rounds]
const engines = await runBenchmark<EnginesResult>('quantisation', '--threads', THREADS, ...rounds)
const clients = await runBenchmark<ClientsResult>('clients', '--threads', THREADS, ...rounds)
const serving = await runBenchmark<ServingResult>('serving', ...rounds)

type Quantity = (speed: EngineSpeed) => Figure | null
const decode: Quantity = ({ decode }) => decode
const prompt: Quantity = ({ prompt }) => prompt
const longPrompt: Quantity = ({ longPrompt }) => longPrompt

interface Named {
  readonly name: string
  readonly figure: Figure
}

/** Returns the measured configurations of an engine with these names, which do not include the name of the engine. */
function named(engine: string, quantity: Quantity, names: readonly string[]): Named[] {
  return names.flatMap(name => {
    const speed = engines.engines.find(each => each.name === `${engine} ${name}`)
    const figure = speed === undefined ? null : quantity(speed)
    return figure === null ? [] : [{ name, figure }]
  })
}

const show = (value: number) => (value < 10 ? value.toFixed(2) : value < 100 ? value.toFixed(1) : value.toFixed(0))
const cell = withRange

/** Compares our fastest configuration with the peer's fastest, in tokens per second. */
function faster(what: string, ours: readonly Named[], theirs: readonly Named[], goal: Row['goal']): Row {
  const fastest = (all: readonly Named[]) => {
    const figure = highest(all.map(each => each.figure))
    return { figure, text: `${all.find(each => each.figure === figure)?.name} ${cell(figure)}` }
  }
  const [own, other] = [fastest(ours), fastest(theirs)]
  return { what, ours: own.text, theirs: other.text, ratio: ratio(own.figure, other.figure), goal }
}

const OWN = ['q8', 'q4'] as const
/** This engine with the files of llama.cpp. */
const FROM_Q8 = 'q8, from Q8_0'
const FROM_Q4 = 'q4, from Q4_0'
const own = (quantity: Quantity, ...names: readonly string[]) => named('svc', quantity, names)
const llama = (quantity: Quantity, ...names: readonly string[]) => named('llama.cpp', quantity, names)
const transformers = (quantity: Quantity, ...names: readonly string[]) => named('transformers.js', quantity, names)

function servers(engine: string, count: number, ...names: readonly string[]): Named[] {
  return names.flatMap(name => {
    const server = clients.servers.find(each => each.name === `${engine} ${name}` && each.clients === count)
    return server === undefined ? [] : [{ name, figure: server.speed }]
  })
}

/** Rows of the comparison over HTTP, by number of clients. */
function clientRows(): Row[] {
  return [...new Set(clients.servers.map(each => each.clients))].flatMap(count => {
    const compare = (what: string, goal: Row['goal'], ...names: readonly string[]) =>
      faster(
        `${count} client${count === 1 ? '' : 's'} over HTTP, same file: ${what}`,
        servers('svc', count, ...names),
        servers('llama.cpp', count, ...names),
        goal
      )
    return [
      compare('Q8_0', null, 'Q8_0'),
      compare('Q4_0', null, 'Q4_0'),
      compare('best vs. best', count === 1 ? null : { atLeast: 1.5 }, 'Q8_0', 'Q4_0')
    ]
  })
}

/** Compares our memory with the peer's, with its file mapped or read, whichever needs less. */
function memory(what: string, name: string, peer: string): Row {
  const megabytes = (wanted: string) => engines.engines.find(each => each.name === wanted)?.megabytes ?? Number.NaN
  const mine = megabytes(`svc ${name}`)
  const [mapped, read] = [megabytes(`llama.cpp ${peer}`), megabytes(`llama.cpp ${peer} not mapped`)]
  const share = mine / Math.min(mapped, read)
  return {
    what,
    ours: `${name} ${show(mine)} MB`,
    theirs: `${peer} ${show(mapped)} MB, not mapped ${show(read)} MB`,
    ratio: figureOf([share]),
    goal: { atMost: 1.2 }
  }
}

function stream(cost: StreamCost): Row[] {
  const { threads, engine, http, engineCpuMs, httpCpuMs } = cost
  const on = `engine on ${threads} thread${threads === 1 ? '' : 's'}`
  return [
    {
      what: `time per token of one stream: over HTTP vs. the bare engine, ${on}`,
      ours: cell(http, ' ms'),
      theirs: cell(engine, ' ms'),
      ratio: ratio(http, engine),
      goal: threads === 1 ? { atMost: 1.03 } : null
    },
    {
      what: `CPU time per token: server process vs. bare engine, ${on}`,
      ours: `${show(httpCpuMs)} ms`,
      theirs: `${show(engineCpuMs)} ms`,
      ratio: figureOf([httpCpuMs / engineCpuMs]),
      goal: null
    }
  ]
}

const peer = 'transformers.js'
const rows: Row[] = [
  faster('decode: 4 bits vs. Q4_0', own(decode, 'q4'), llama(decode, 'Q4_0'), { atLeast: 1.5 }),
  faster('decode: both from the Q4_0 file', own(decode, FROM_Q4), llama(decode, 'Q4_0'), null),
  faster('decode: 4 bits vs. Q4_0 with a 4-bit head', own(decode, 'q4'), llama(decode, 'pure Q4_0'), null),
  faster('decode: 8 bits vs. Q8_0', own(decode, 'q8'), llama(decode, 'Q8_0'), { atLeast: 1.8 }),
  faster('decode: both from the Q8_0 file', own(decode, FROM_Q8), llama(decode, 'Q8_0'), null),
  faster('prompt of 512 tokens: best vs. best', own(prompt, ...OWN), llama(prompt, 'Q4_0', 'Q8_0', 'F16'), {
    atLeast: 1.2
  }),
  faster('prompt of 3,840 tokens: best vs. best', own(longPrompt, ...OWN), llama(longPrompt, 'Q4_0', 'Q8_0', 'F16'), {
    atLeast: 1.8
  }),
  faster('prompt of 3,840 tokens: both from the Q8_0 file', own(longPrompt, FROM_Q8), llama(longPrompt, 'Q8_0'), null),
  ...(
    [
      ['decode', decode, FROM_Q4, 'q4'],
      ['decode', decode, FROM_Q8, 'q8'],
      ['prompt of 512 tokens', prompt, FROM_Q4, 'q4'],
      ['prompt of 512 tokens', prompt, FROM_Q8, 'q8']
    ] as const
  ).map(([what, quantity, file, name]) =>
    faster(`${what}: from GGUF vs. from safetensors, ${name}`, own(quantity, file), own(quantity, name), {
      atLeast: 0.97
    })
  ),
  ...clientRows(),
  ...serving.streams.flatMap(stream),
  {
    what: `time to the first token of a chat's turn ${serving.turns} (${serving.promptTokens} tokens): earlier turns cached vs. empty cache`,
    ours: cell(serving.nextTurn, ' ms'),
    theirs: cell(serving.cold, ' ms'),
    ratio: ratio(serving.nextTurn, serving.cold),
    goal: { atMost: 0.15 }
  },
  memory('peak memory: 8 bits vs. Q8_0', 'q8', 'Q8_0'),
  memory('peak memory: 4 bits vs. Q4_0', 'q4', 'Q4_0'),
  faster(`decode: best vs. ${peer}, best`, own(decode, ...OWN), transformers(decode, ...OWN), { atLeast: 1.5 }),
  faster(`prompt of 512 tokens: best vs. ${peer}, best`, own(prompt, ...OWN), transformers(prompt, ...OWN), {
    atLeast: 4
  }),
  faster(`prompt of 512 tokens: best vs. ${peer}, q4`, own(prompt, ...OWN), transformers(prompt, 'q4'), null),
  ...['q8', 'q4', 'F32'].flatMap(name => [
    faster(`decode: ${name} vs. ${peer}, ${name}`, own(decode, name), transformers(decode, name), null),
    faster(`prompt of 512 tokens: ${name} vs. ${peer}, ${name}`, own(prompt, name), transformers(prompt, name), null)
  ])
]

function line({ what, ours, theirs, ratio, goal }: Row): string {
  const text = goal === null ? '–' : 'atLeast' in goal ? `≥ ${goal.atLeast}` : `≤ ${goal.atMost}`
  const isReached = goal === null || ('atLeast' in goal ? ratio.median >= goal.atLeast : ratio.median <= goal.atMost)
  const verdict = goal === null ? '' : isReached ? 'reached' : 'missed'
  return `| ${[what, ours, theirs, cell(ratio), text, verdict].join(' | ')} |`
}

const table = ['| what | ours | theirs | ratio | goal | |', '|---|---|---|---|---|---|', ...rows.map(line)]
const { llamaFlags } = clients
const llamaBuild = llamaFlags === null ? engines.llama : `${engines.llama}, options ${llamaFlags}`
const result: ModelServerResult = { threads: Number(THREADS), llama: llamaBuild, table }
console.log(values.json ? JSON.stringify(result, null, 2) : table.join('\n'))

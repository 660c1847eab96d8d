/**
 * Speed and memory of this engine on the CPU against llama.cpp and transformers.js. llama.cpp is the C server that
 * SVC_BENCH_LLAMA_SERVER names, which measures its own times, or else the library of node-llama-cpp. All use the same random weights with the shape of Qwen2.5-0.5B; all tensors differ.
 *
 * Each engine runs in a separate process. Rounds alternate between the engines, and each measurement waits for an idle
 * machine. A measurement reads a prompt of 512 tokens and generates 32 tokens. The time to the first token counts as
 * reading, the rest as decoding, without speculation. The median of all rounds is reported, with its range.
 *
 * "from Q8_0" and "from Q4_0" are this engine with the GGUF files of llama.cpp, which should be as fast as q8 and q4.
 *
 * The exports for transformers.js contain the graph and packed weights of this engine, with the inputs and outputs that
 * transformers.js requires. Memory is the peak resident set size after the first prompt, including mapped files.
 * llama.cpp maps its file by default, and also stores most of it in memory in a different order.
 *
 *   node --import tsx --conditions=svc-source bench/quantisation.ts [--json] [--rounds N] [--threads N] [--no-long]
 *     [--only NAME]...
 */
import { parseArgs } from 'node:util'
import { physicalParallelism } from '../plugins/inference-onnx/src/threads.ts'
import { type Figure, figureOf, withRange } from './figures.ts'
import { type Contestant, type ContestantOptions, startContestant } from './inference/contestant.ts'
import type { OpenOptions } from './inference/engines.ts'
import type { GgufType } from './inference/gguf.ts'
import { halfBillionExport, halfBillionGguf, halfBillionModel, vocabulary } from './inference/half-billion.ts'
import type { LlamaOptions } from './inference/llama.ts'
import { describeLlama, llamaProgram, startLlamaContestant } from './inference/llama-server.ts'
import { installPeers, scratch } from './inference/peers.ts'
import { promptTokens } from './inference/prompt.ts'
import { quietMoment } from './inference/quiet.ts'
import { isSmoke } from './smoke-mode.ts'

const PATIENCE_MS = 1500
const PROMPT = 512
const LONG_PROMPT = 3840
const DECODED = 32

/** Result of an engine. All figures are in tokens per second. */
export interface EngineSpeed {
  readonly name: string
  readonly decode: Figure
  readonly prompt: Figure
  /** Null for engines that skip the long prompt. */
  readonly longPrompt: Figure | null
  readonly megabytes: number
}

export interface EnginesResult {
  readonly threads: number
  /** Build of llama.cpp. */
  readonly llama: string
  readonly engines: readonly EngineSpeed[]
}

interface Entry {
  readonly open: (options: Pick<OpenOptions, 'threads' | 'scratch'>) => Promise<Opened>
  readonly readsLong: boolean
}

/** Options of a process of this folder, or of the C server. */
type Opened = ContestantOptions | { readonly engine: 'llama-server'; readonly options: LlamaOptions }

const start = (name: string, opened: Opened): Promise<Contestant> =>
  opened.engine === 'llama-server'
    ? startLlamaContestant(name, opened.options as LlamaOptions)
    : startContestant(name, opened as ContestantOptions)

const own = (quantization: 'none' | 'q8' | 'q4'): Entry['open'] => {
  return async options => ({ engine: 'svc', options: { ...options, model: await halfBillionModel(), quantization } })
}
const ownGguf = (type: GgufType, quantization: 'q8' | 'q4'): Entry['open'] => {
  return async options => ({ engine: 'svc', options: { ...options, model: await halfBillionGguf(type), quantization } })
}
const llama = (type: GgufType, mapFile = true): Entry['open'] => {
  return async options => {
    const model = { ...options, model: await halfBillionGguf(type), mapFile }
    if (llamaProgram === null) return { engine: 'llama.cpp', options: model }
    return { engine: 'llama-server', options: { ...model, sequences: 1, contextSize: 4096 } }
  }
}
const transformers = (quantization: 'none' | 'q8' | 'q4'): Entry['open'] => {
  return async options => ({
    engine: 'transformers.js',
    options: { ...options, model: await halfBillionExport(quantization) }
  })
}

const entries: Readonly<Record<string, Entry>> = {
  'svc q8': { open: own('q8'), readsLong: true },
  'svc q8, from Q8_0': { open: ownGguf('Q8_0', 'q8'), readsLong: true },
  'llama.cpp Q8_0': { open: llama('Q8_0'), readsLong: true },
  'transformers.js q8': { open: transformers('q8'), readsLong: false },
  'svc q4': { open: own('q4'), readsLong: false },
  'svc q4, from Q4_0': { open: ownGguf('Q4_0', 'q4'), readsLong: false },
  'llama.cpp Q4_0': { open: llama('Q4_0'), readsLong: true },
  'llama.cpp pure Q4_0': { open: llama('pure Q4_0'), readsLong: false },
  'transformers.js q4': { open: transformers('q4'), readsLong: false },
  'llama.cpp Q8_0 not mapped': { open: llama('Q8_0', false), readsLong: false },
  'llama.cpp Q4_0 not mapped': { open: llama('Q4_0', false), readsLong: false },
  'svc F32': { open: own('none'), readsLong: false },
  'llama.cpp F16': { open: llama('F16'), readsLong: true },
  'transformers.js F32': { open: transformers('none'), readsLong: false }
}

class Rounds {
  readonly #contestant: Contestant
  readonly #entry: Entry
  readonly #decode: number[] = []
  readonly #prompt: number[] = []
  readonly #longPrompt: number[] = []
  #bytes = 0

  constructor(contestant: Contestant, entry: Entry) {
    this.#contestant = contestant
    this.#entry = entry
  }

  async measure(round: number): Promise<void> {
    await quietMoment(PATIENCE_MS)
    const measured = await this.#contestant.measure(promptTokens(PROMPT, round, vocabulary), 1 + DECODED)
    this.#prompt.push((PROMPT / measured.firstMs) * 1000)
    this.#decode.push(1000 / measured.tokenMs)
    // Memory is measured before the long prompt.
    if (round === 0) this.#bytes = this.#contestant.peakMemory()
  }

  async measureLong(round: number): Promise<void> {
    if (!this.#entry.readsLong) return
    await quietMoment(PATIENCE_MS)
    const { firstMs } = await this.#contestant.measure(promptTokens(LONG_PROMPT, round, vocabulary), 1)
    this.#longPrompt.push((LONG_PROMPT / firstMs) * 1000)
  }

  get result(): EngineSpeed {
    return {
      name: this.#contestant.name,
      decode: figureOf(this.#decode),
      prompt: figureOf(this.#prompt),
      longPrompt: this.#longPrompt.length === 0 ? null : figureOf(this.#longPrompt),
      megabytes: this.#bytes / 1e6
    }
  }

  async stop(): Promise<void> {
    await this.#contestant.stop()
  }
}

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '5' },
    threads: { type: 'string' },
    only: { type: 'string', multiple: true },
    'no-long': { type: 'boolean', default: false }
  }
})
const threads = Number(values.threads ?? (await physicalParallelism()))
await installPeers()
const chosen = Object.entries(entries).filter(
  ([name]) => (values.only === undefined || values.only.includes(name)) && (!isSmoke || name.startsWith('svc '))
)
// Load each model once before: this engine writes files on the first load, whose memory must not be measured.
for (const [name, { open }] of chosen) {
  const contestant = await open({ threads, scratch })
  if (contestant.engine === 'svc') await (await start(name, contestant)).stop()
}
const running: Rounds[] = []
for (const [name, entry] of chosen) {
  running.push(new Rounds(await start(name, await entry.open({ threads, scratch })), entry))
}
for (let round = 0; round < Number(values.rounds); round++) {
  for (const each of running) await each.measure(round)
  if (!values['no-long']) for (const each of running) await each.measureLong(round)
}
for (const each of running) await each.stop()
const result: EnginesResult = { threads, llama: await describeLlama(), engines: running.map(each => each.result) }
if (values.json) console.log(JSON.stringify(result, null, 2))
else {
  console.log('| engine, tokens/s: median (range) | decode | prompt of 512 | prompt of 3,840 | peak memory, MB |')
  console.log('|---|---|---|---|---|')
  const cell = (figure: Figure | null) => (figure === null ? '–' : withRange(figure))
  for (const { name, decode, prompt, longPrompt, megabytes } of result.engines) {
    console.log(`| ${[name, cell(decode), cell(prompt), cell(longPrompt), Math.round(megabytes)].join(' | ')} |`)
  }
}

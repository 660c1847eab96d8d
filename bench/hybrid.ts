/**
 * Speed and memory of Qwen3.5 on the CPU: random weights in the shape of Qwen3.5-0.8B or 4B, with 8 and 4 bits.
 *
 * Each quantisation runs in a separate process, and rounds alternate between them. A round reads prompts of 512 and 3,840
 * tokens, generates 32 tokens without speculation, and sends the long prompt with 64 more tokens again, of which the
 * engine keeps a state. The median of all rounds is reported, with its range.
 *
 *   node --import tsx --conditions=svc-source bench/hybrid.ts [--json] [--rounds N] [--threads N] [--shape 0.8b|4b|tiny]
 *     [--only q8|q4]...
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { parseModelConfig } from '../plugins/inference-onnx/src/model-config.ts'
import { positionBytes, wholeBytes } from '../plugins/inference-onnx/src/onnx/cache-layout.ts'
import { type Figure, figureOf, ratioOf } from './figures.ts'
import { hybridSection } from './hybrid-section.ts'
import { type Contestant, startContestant } from './inference/contestant.ts'
import { hybridModel, hybridShapes } from './inference/hybrid-model.ts'
import { scratch } from './inference/peers.ts'
import { promptTokens } from './inference/prompt.ts'
import { quietMoment } from './inference/quiet.ts'
import { isSmoke } from './smoke-mode.ts'

const PATIENCE_MS = 1500
const PROMPT = 512
const LONG_PROMPT = isSmoke ? 1024 : 3840
const TURN = 64
const DECODED = 32

/** Figures of one quantisation. */
export interface HybridSpeed {
  readonly name: string
  /** Tokens per second after a prompt of 512 tokens. */
  readonly decode: Figure
  /** Tokens per second of prompts. */
  readonly prompt: Figure
  readonly longPrompt: Figure
  /** Milliseconds to the first token of the long prompt with 64 more tokens, after the long prompt. */
  readonly nextTurn: Figure
  /** This time divided by the time of the long prompt. */
  readonly nextTurnRatio: Figure
  readonly peakMegabytes: number
}

export interface HybridResult {
  readonly shape: string
  readonly threads: number
  readonly longPromptTokens: number
  /** Bytes of a sequence at any length, and for each token. */
  readonly stateBytes: number
  readonly tokenBytes: number
  readonly results: readonly HybridSpeed[]
}

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    rounds: { type: 'string', default: isSmoke ? '1' : '5' },
    threads: { type: 'string', default: isSmoke ? '1' : '2' },
    shape: { type: 'string', default: isSmoke ? 'tiny' : '0.8b' },
    only: { type: 'string', multiple: true, default: ['q8', 'q4'] }
  }
})
const { shape } = values
const threads = Number(values.threads)
const model = await hybridModel(shape)
const vocabulary = hybridShapes[shape]?.vocabulary ?? 0

class Rounds {
  readonly #contestant: Contestant
  readonly #samples = {
    decode: [] as number[],
    prompt: [] as number[],
    longPrompt: [] as number[],
    longMs: [] as number[],
    nextTurn: [] as number[]
  }

  constructor(contestant: Contestant) {
    this.#contestant = contestant
  }

  async measure(round: number): Promise<void> {
    const samples = this.#samples
    await quietMoment(PATIENCE_MS)
    const short = await this.#contestant.measure(promptTokens(PROMPT, round, vocabulary), 1 + DECODED)
    samples.prompt.push((PROMPT / short.firstMs) * 1000)
    samples.decode.push(1000 / short.tokenMs)
    await quietMoment(PATIENCE_MS)
    const prompt = promptTokens(LONG_PROMPT, round, vocabulary)
    const long = await this.#contestant.measure(prompt, 1, true)
    samples.longMs.push(long.firstMs)
    samples.longPrompt.push((LONG_PROMPT / long.firstMs) * 1000)
    const next = await this.#contestant.measure([...prompt, ...promptTokens(TURN, round + 1, vocabulary)], 1, true)
    samples.nextTurn.push(next.firstMs)
  }

  get result(): HybridSpeed {
    const { decode, prompt, longPrompt, longMs, nextTurn } = this.#samples
    return {
      name: this.#contestant.name,
      decode: figureOf(decode),
      prompt: figureOf(prompt),
      longPrompt: figureOf(longPrompt),
      nextTurn: figureOf(nextTurn),
      nextTurnRatio: ratioOf(nextTurn, longMs),
      peakMegabytes: this.#contestant.peakMemory() / 1e6
    }
  }

  async stop(): Promise<void> {
    await this.#contestant.stop()
  }
}

const file = join(model, 'config.json')
const config = parseModelConfig(file, JSON.parse(await readFile(file, 'utf8')), null)
const running: Rounds[] = []
for (const quantization of ['q8', 'q4'] as const) {
  if (!values.only.includes(quantization)) continue
  const options = { model, threads, quantization, scratch }
  // The first load packs the weights, whose memory must not be measured.
  await (await startContestant(quantization, { engine: 'svc', options })).stop()
  running.push(new Rounds(await startContestant(quantization, { engine: 'svc', options })))
}
for (let round = 0; round < Number(values.rounds); round++) for (const each of running) await each.measure(round)
const result: HybridResult = {
  shape,
  threads,
  longPromptTokens: LONG_PROMPT,
  stateBytes: wholeBytes(config),
  tokenBytes: positionBytes(config),
  results: running.map(each => each.result)
}
for (const each of running) await each.stop()
if (values.json) console.log(JSON.stringify(result, null, 2))
else console.log(hybridSection(result).join('\n').trim())

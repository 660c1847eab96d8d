/**
 * Overhead of the server, and gain of the prefix cache. The model has the shape of Qwen2.5-0.5B and random weights; a
 * separate process serves it over HTTP.
 *
 * 1. Streaming one answer over HTTP, against the bare engine in another process, in alternation. Measures wall clock
 *    and CPU time of the process per token after the first. With one engine thread, the client has a separate core of
 *    two; with two threads, they share the cores.
 * 2. Time to the first token of the twentieth turn of a chat whose earlier turns are cached, against the same
 *    conversation with an empty cache.
 *
 * The median of all rounds is reported with its range for wall clock time, the mean for CPU time.
 *
 *   node --import tsx --conditions=svc-source bench/serving.ts [--json] [--rounds N] [--quant none|q8|q4]
 */
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { Quantization } from '@svc/contracts'
import { type Figure, figureOf, withRange } from './figures.ts'
import { complete } from './inference/completion-client.ts'
import { startContestant } from './inference/contestant.ts'
import { cpuTimeMs } from './inference/cpu-time.ts'
import { halfBillionModel, vocabulary } from './inference/half-billion.ts'
import { startModelServer } from './inference/model-server.ts'
import { scratch } from './inference/peers.ts'
import { promptTokens } from './inference/prompt.ts'
import { quietMoment } from './inference/quiet.ts'
import { isSmoke } from './smoke-mode.ts'

const PATIENCE_MS = 1500
/** Delay between rounds, in which threads of a server become idle. */
const REST_MS = 100
const PROMPT = 64
const ANSWER = 128
const SLOTS = 8
const TURNS = isSmoke ? 2 : 20

/** Milliseconds per token of one answer, after the first. */
export interface StreamCost {
  readonly threads: number
  readonly engine: Figure
  readonly http: Figure
  /** CPU time of the bare engine's process, and of the server's process. */
  readonly engineCpuMs: number
  readonly httpCpuMs: number
}

export interface ServingResult {
  readonly quantization: Quantization
  readonly streams: readonly StreamCost[]
  /** Milliseconds to the first token of the last turn, with earlier turns cached, and with an empty cache. */
  readonly nextTurn: Figure
  readonly cold: Figure
  readonly turns: number
  readonly promptTokens: number
}

interface Message {
  readonly role: 'user' | 'assistant'
  readonly content: string
}

async function measureStream(
  runDirectory: string,
  options: { readonly quantization: Quantization; readonly threads: number },
  rounds: number
): Promise<StreamCost> {
  const server = await startModelServer({ runDirectory, slots: SLOTS, ...options })
  const engineOptions = { model: runDirectory, scratch, slots: SLOTS, ...options }
  const engine = await startContestant('the engine', { engine: 'svc', options: engineOptions })
  const clock: Record<'engine' | 'http', number[]> = { engine: [], http: [] }
  const cpuMs = { engine: 0, http: 0 }
  for (let round = 0; round < rounds; round++) {
    const prompt = promptTokens(PROMPT, round, vocabulary)
    await quietMoment(PATIENCE_MS)
    const bare = await engine.measure(prompt, ANSWER)
    await quietMoment(PATIENCE_MS)
    const served = await complete(server.url, {
      prompt,
      maxTokens: ANSWER,
      cpuTimeMs: () => cpuTimeMs(server.processId)
    })
    clock.engine.push(bare.tokenMs)
    clock.http.push(served.tokenMs)
    cpuMs.engine += bare.tokenCpuMs / rounds
    cpuMs.http += served.tokenCpuMs / rounds
  }
  await engine.stop()
  await server.stop()
  return {
    threads: options.threads,
    engine: figureOf(clock.engine),
    http: figureOf(clock.http),
    engineCpuMs: cpuMs.engine,
    httpCpuMs: cpuMs.http
  }
}

/** Measures the milliseconds to the first token of the last turn. Conversations differ from the first word. */
async function measureTurns(url: string, rounds: number) {
  const nextTurn: number[] = []
  const cold: number[] = []
  let promptTokens = 0
  for (let round = 0; round < rounds; round++) {
    const messages: Message[] = []
    let last = { firstMs: 0, text: '', promptTokens: 0 }
    for (let turn = 0; turn < TURNS; turn++) {
      messages.push({ role: 'user', content: `${round}.${turn} ${'and what of the columns then? '.repeat(6)}` })
      last = await ask(url, messages, 16)
      if (turn < TURNS - 1) messages.push({ role: 'assistant', content: last.text })
    }
    nextTurn.push(last.firstMs)
    promptTokens = last.promptTokens
    // The first word differs, so no cached prefix matches.
    const others = messages.map(message => ({ ...message, content: `x${round} ${message.content}` }))
    cold.push((await ask(url, others, 1)).firstMs)
  }
  return { nextTurn: figureOf(nextTurn), cold: figureOf(cold), turns: TURNS, promptTokens }
}

async function ask(url: string, messages: readonly Message[], tokens: number) {
  await pause(REST_MS)
  const began = performance.now()
  let firstMs = 0
  let text = ''
  let promptTokens = 0
  const options = { temperature: 0, num_predict: tokens }
  for await (const row of rows(await post(url, '/api/chat', { model: 'bench', messages, stream: true, options }))) {
    if (firstMs === 0) firstMs = performance.now() - began
    text += row.message?.content ?? ''
    promptTokens = row.prompt_eval_count ?? promptTokens
  }
  return { firstMs, text, promptTokens }
}

interface Row {
  readonly message?: { readonly content: string }
  readonly prompt_eval_count?: number
  readonly error?: string
}

async function* rows(response: Response): AsyncGenerator<Row, void> {
  let rest = ''
  const decoder = new TextDecoder()
  for await (const bytes of response.body as unknown as AsyncIterable<Uint8Array>) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n')
    rest = lines.pop() as string
    for (const line of lines) {
      const row = JSON.parse(line) as Row
      if (row.error !== undefined) throw new Error(row.error)
      yield row
    }
  }
}

async function post(url: string, path: string, body: object): Promise<Response> {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  return response
}

function print({ quantization, streams, nextTurn, cold, turns, promptTokens }: ServingResult): void {
  const ms = (figure: Figure) => withRange(figure, ' ms')
  const percent = (value: number) => `${value < 0 ? '' : '+'}${(100 * value).toFixed(1)} %`
  console.log(`weights: ${quantization}`)
  for (const { threads, engine, http, engineCpuMs, httpCpuMs } of streams) {
    console.log(`a token with ${threads} threads:`)
    console.log(`  over HTTP ${ms(http)}, engine only ${ms(engine)}: ${percent(http.median / engine.median - 1)}`)
    const times = `${httpCpuMs.toFixed(2)} ms, ${engineCpuMs.toFixed(2)} ms`
    console.log(`  CPU time ${times}: ${percent(httpCpuMs / engineCpuMs - 1)}`)
  }
  const share = (nextTurn.median / cold.median).toFixed(3)
  console.log(`first token of turn ${turns} (${promptTokens} tokens) ${ms(nextTurn)}, cold ${ms(cold)}: ${share}x`)
}

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '5' },
    quant: { type: 'string', default: 'q8' }
  }
})
const rounds = Number(values.rounds)
const quantization = values.quant as Quantization
const runDirectory = await halfBillionModel()
const streams: StreamCost[] = []
for (const threads of [1, 2]) streams.push(await measureStream(runDirectory, { quantization, threads }, rounds))
const server = await startModelServer({ runDirectory, quantization, slots: SLOTS, threads: 2 })
const chat = await measureTurns(server.url, rounds)
await server.stop()
const result: ServingResult = { quantization, streams, ...chat }
if (values.json) console.log(JSON.stringify(result, null, 2))
else print(result)

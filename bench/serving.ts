/**
 * What serving adds to computing, and what the prefix cache saves. A model with the shape of Qwen2.5-0.5B but for its
 * vocabulary, and random weights, served over HTTP by a process of its own.
 *
 * 1. Streaming one answer over HTTP against the bare loop of the engine in another process, in turn: time per token, the
 *    first not counted; the least of all rounds.
 * 2. The first token of a chat's twentieth turn, which finds the turns before it in the cache, against that of the same
 *    conversation when nothing is there to be reused; the least of all rounds.
 * 3. Tokens per second of eight clients together, against one.
 *
 *   node --import tsx --conditions=svc-source bench/serving.ts [--json] [--rounds N] [--quant none|q8|q4] [--model DIR]
 */
import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { Quantization } from '@svc/contracts'
import { OnnxEngine } from '../plugins/inference-onnx/src/engine.ts'
import { halfBillionShape, writeRandomModel } from './inference/random-model.ts'

const root = resolve(import.meta.dirname, '..')
const bundled = join(root, 'plugins', 'model-server', 'models', 'vox-tiny')
const scratch = join(root, '.vox', 'bench')
const REST_MS = 100
const CLIENTS = 8
const TURNS = 20
const ANSWER_TOKENS = 64
/** That of the bundled model's tokenizer. */
const VOCABULARY = 2048

export interface ServingResult {
  readonly quantization: Quantization
  /** Milliseconds per token, alone. */
  readonly engineMs: number
  readonly httpMs: number
  /** Share that HTTP adds. */
  readonly overhead: number
  /** Milliseconds to the first token of the last turn, with and without what the turns before left behind. */
  readonly nextTurnMs: number
  readonly coldMs: number
  readonly nextTurnRatio: number
  readonly promptTokens: number
  /** Tokens per second. */
  readonly oneClient: number
  readonly eightClients: number
}

interface Message {
  readonly role: 'user' | 'assistant'
  readonly content: string
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      json: { type: 'boolean', default: false },
      rounds: { type: 'string', default: '5' },
      quant: { type: 'string', default: 'q8' },
      model: { type: 'string' }
    }
  })
  const directory = values.model === undefined ? await randomModel() : resolve(values.model)
  const result = await measure(directory, values.quant as Quantization, Number(values.rounds))
  if (values.json) console.log(JSON.stringify(result, null, 2))
  else print(result)
}

/** Every token has a text, so that each of them is a row of the stream. */
async function randomModel(): Promise<string> {
  const folder = join(scratch, 'models', 'random-360M')
  if (existsSync(join(folder, 'model.safetensors'))) return folder
  await writeRandomModel(folder, bundled, { ...halfBillionShape, vocabulary: VOCABULARY }, 'BF16')
  return folder
}

async function measure(directory: string, quantization: Quantization, rounds: number): Promise<ServingResult> {
  const server = await startServer(directory, quantization)
  const engine = await startEngine(directory, quantization)
  try {
    let [engineMs, httpMs] = [Infinity, Infinity]
    for (let round = 0; round < rounds; round++) {
      engineMs = Math.min(engineMs, await engine.timePerToken())
      httpMs = Math.min(httpMs, await timePerToken(server.url))
    }
    engine.stop()
    const turns = await measureTurns(server.url, rounds)
    let [oneClient, eightClients] = [0, 0]
    for (let round = 0; round < rounds; round++) {
      oneClient = Math.max(oneClient, await throughput(server.url, 1))
      eightClients = Math.max(eightClients, await throughput(server.url, CLIENTS))
    }
    return { quantization, engineMs, httpMs, overhead: httpMs / engineMs - 1, ...turns, oneClient, eightClients }
  } finally {
    await server.stop()
  }
}

async function startServer(directory: string, quantization: Quantization) {
  const folder = await mkdtemp(join(tmpdir(), 'svc-bench-'))
  await writeFile(
    join(folder, 'svc.toml'),
    [
      '[plugins.model-server]',
      `model = ${JSON.stringify(directory)}`,
      `model_name = "bench"`,
      `quantization = "${quantization}"`,
      `slots = ${CLIENTS}`,
      'port = 0',
      '[plugins.inference-onnx]',
      // What is guessed depends on the text, and would hide the rest.
      'speculation = 0',
      `cache_directory = ${JSON.stringify(join(scratch, 'cache'))}`
    ].join('\n')
  )
  const program = join(root, 'kernel', 'bin', 'svc.mjs')
  const child = spawn(process.execPath, [program, 'serve', '--profile', 'model-server', '--json'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe']
  })
  const url = await new Promise<string>((found, failed) => {
    const lines = createInterface({ input: child.stderr })
    lines.on('line', line => {
      const address = /model-server listens on (http:\/\/[^\s"]+)/.exec(line)?.[1]
      if (address !== undefined) found(address)
    })
    lines.on('close', () => failed(new Error('the server ended before it listened; `npm run build` first')))
  })
  while (!(await fetch(`${url}/ready`)).ok) await pause(200)
  return {
    url,
    async stop() {
      child.kill()
      await once(child, 'exit')
      await rm(folder, { recursive: true, force: true })
    }
  }
}

const PROMPT = 'Once upon a time there was a table with many columns, and nobody knew what they were for. '.repeat(4)

/** The loop of the engine, without a server, in a process of its own. */
async function startEngine(directory: string, quantization: Quantization) {
  const child = fork(fileURLToPath(import.meta.url), [], {
    env: { ...process.env, BENCH_ENGINE: JSON.stringify({ directory, quantization }) }
  })
  await once(child, 'message')
  return {
    async timePerToken(): Promise<number> {
      await pause(REST_MS)
      child.send('go')
      return Number((await once(child, 'message'))[0])
    },
    stop: () => void child.kill()
  }
}

async function serveEngine({ directory, quantization }: { directory: string; quantization: Quantization }) {
  const engine = new OnnxEngine({ cacheDirectory: join(scratch, 'cache'), speculation: 0 })
  const model = await engine.load({ runDirectory: directory, quantization, slots: CLIENTS })
  const tokens = model.tokenize(PROMPT)
  process.on('message', async () => {
    const run = async (maxTokens: number): Promise<number> => {
      const began = performance.now()
      const request = { tokens, maxTokens, sampling: { temperature: 0 }, ignoreEos: true, reusePrefix: false }
      for await (const _ of model.generate(request));
      return performance.now() - began
    }
    process.send?.(await perToken(run))
  })
  process.send?.('ready')
}

/** Milliseconds that each further token takes, the prompt and the first token aside. */
async function perToken(run: (maxTokens: number) => Promise<number>): Promise<number> {
  const one = await run(1)
  return ((await run(1 + ANSWER_TOKENS)) - one) / ANSWER_TOKENS
}

async function timePerToken(url: string): Promise<number> {
  await pause(REST_MS)
  return perToken(async maxTokens => {
    const began = performance.now()
    // Another beginning each time: what is in the cache would make the first of two runs the slower one.
    const prompt = `${began} ${PROMPT}`
    const options = { temperature: 0, num_predict: maxTokens }
    let count = 0
    for await (const row of rows(await post(url, '/api/generate', { model: 'bench', prompt, raw: true, options })))
      count = row.eval_count ?? count
    if (count !== maxTokens) throw new Error(`the answer has ${count} tokens, not ${maxTokens}`)
    return performance.now() - began
  })
}

/** Least milliseconds to the first token of the last turn, over conversations that differ from their first word on. */
async function measureTurns(url: string, rounds: number) {
  let [nextTurnMs, coldMs, promptTokens] = [Infinity, Infinity, 0]
  for (let round = 0; round < rounds; round++) {
    const messages: Message[] = []
    let last = { firstMs: 0, text: '', promptTokens: 0 }
    for (let turn = 0; turn < TURNS; turn++) {
      messages.push({ role: 'user', content: `${round}.${turn} ${'and what of the columns then? '.repeat(6)}` })
      last = await ask(url, messages, 16)
      if (turn < TURNS - 1) messages.push({ role: 'assistant', content: last.text })
    }
    nextTurnMs = Math.min(nextTurnMs, last.firstMs)
    promptTokens = last.promptTokens
    // Other words at the beginning: nothing that the server kept fits.
    const cold = messages.map(message => ({ ...message, content: `x${round} ${message.content}` }))
    coldMs = Math.min(coldMs, (await ask(url, cold, 1)).firstMs)
  }
  return { nextTurnMs, coldMs, nextTurnRatio: nextTurnMs / coldMs, promptTokens }
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

/** Tokens per second of some clients together, each with another prompt. */
async function throughput(url: string, clients: number): Promise<number> {
  await pause(REST_MS)
  const began = performance.now()
  const counts = await Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      const options = { temperature: 0, num_predict: ANSWER_TOKENS }
      let count = 0
      const body = { model: 'bench', prompt: `${client} ${began} and so on`, raw: true, stream: true, options }
      for await (const row of rows(await post(url, '/api/generate', body))) count = row.eval_count ?? count
      return count
    })
  )
  return (counts.reduce((sum, count) => sum + count, 0) / (performance.now() - began)) * 1000
}

interface Row {
  readonly response?: string
  readonly message?: { readonly content: string }
  readonly eval_count?: number
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

function print(result: ServingResult): void {
  const ms = (value: number) => `${value.toFixed(2)} ms`
  console.log(`weights: ${result.quantization}`)
  console.log(
    `a token over HTTP ${ms(result.httpMs)}, engine alone ${ms(result.engineMs)}: +${(100 * result.overhead).toFixed(1)} %`
  )
  console.log(
    `first token of turn ${TURNS} (${result.promptTokens} tokens) ${ms(result.nextTurnMs)}, cold ${ms(result.coldMs)}: ${result.nextTurnRatio.toFixed(3)}x`
  )
  console.log(`${CLIENTS} clients ${result.eightClients.toFixed(1)} tokens/s, one ${result.oneClient.toFixed(1)}`)
}

const child = process.env.BENCH_ENGINE
if (child === undefined) await main()
else await serveEngine(JSON.parse(child))

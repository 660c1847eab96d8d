/**
 * Tokens per second of eight concurrent clients over HTTP: the model server against llama.cpp, on the same random
 * weights with the shape of Qwen2.5-0.5B. node-llama-cpp computes the sequences in one batch, behind a bare node:http
 * server.
 *
 * Each server runs in a separate process, with the same client. Rounds alternate between the servers. A round is eight
 * concurrent prompts and answers. The median of all rounds is reported, with its range.
 *
 *   node --import tsx --conditions=svc-source bench/clients.ts [--json] [--rounds N] [--threads N]
 */
import { parseArgs } from 'node:util'
import { physicalParallelism } from '../plugins/inference-onnx/src/threads.ts'
import { type Figure, figureOf, withRange } from './figures.ts'
import { complete } from './inference/completion-client.ts'
import { halfBillionGguf, halfBillionModel, vocabulary } from './inference/half-billion.ts'
import { startLlamaServer } from './inference/llama-server.ts'
import { startModelServer } from './inference/model-server.ts'
import { installPeers, scratch } from './inference/peers.ts'
import { promptTokens } from './inference/prompt.ts'
import { quietMoment } from './inference/quiet.ts'
import { isSmoke } from './smoke-mode.ts'

const PATIENCE_MS = 1500
const CLIENTS = 8
const PROMPT = 64
const ANSWER = 128

export interface ClientsResult {
  readonly clients: number
  readonly promptTokens: number
  readonly answerTokens: number
  /** Generated tokens of all clients per second; the time includes reading the prompts. */
  readonly servers: readonly { readonly name: string; readonly speed: Figure }[]
}

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '5' },
    threads: { type: 'string' }
  }
})
const threads = Number(values.threads ?? (await physicalParallelism()))
await installPeers()
const runDirectory = await halfBillionModel()
const own = (quantization: 'q8' | 'q4') => startModelServer({ runDirectory, quantization, threads, slots: CLIENTS })
const llama = async (type: 'Q8_0' | 'Q4_0') =>
  startLlamaServer({ model: await halfBillionGguf(type), threads, scratch, sequences: CLIENTS, contextSize: 512 })
const opened = {
  'svc q8': () => own('q8'),
  'llama.cpp Q8_0': () => llama('Q8_0'),
  'svc q4': () => own('q4'),
  'llama.cpp Q4_0': () => llama('Q4_0')
}
const servers: { name: string; server: Awaited<ReturnType<typeof own | typeof llama>>; speeds: number[] }[] = []
for (const [name, open] of Object.entries(opened)) {
  if (!isSmoke || name.startsWith('svc ')) servers.push({ name, server: await open(), speeds: [] })
}
for (let round = 0; round < Number(values.rounds); round++) {
  for (const { server, speeds } of servers) {
    await quietMoment(PATIENCE_MS)
    const start = performance.now()
    const ask = (_: unknown, client: number) =>
      complete(server.url, { prompt: promptTokens(PROMPT, round * CLIENTS + client, vocabulary), maxTokens: ANSWER })
    await Promise.all(Array.from({ length: CLIENTS }, ask))
    speeds.push((CLIENTS * ANSWER * 1000) / (performance.now() - start))
  }
}
for (const { server } of servers) await server.stop()
const result: ClientsResult = {
  clients: CLIENTS,
  promptTokens: PROMPT,
  answerTokens: ANSWER,
  servers: servers.map(({ name, speeds }) => ({ name, speed: figureOf(speeds) }))
}
if (values.json) console.log(JSON.stringify(result, null, 2))
else {
  for (const { name, speed } of result.servers) {
    console.log(`${name}: ${withRange(speed)} tokens/s`)
  }
}

/**
 * Tokens per second of 1, 8 and 16 concurrent clients over HTTP: the model server against llama.cpp, on the same GGUF
 * files: random weights with the shape of Qwen2.5-0.5B. llama.cpp is the C server that SVC_BENCH_LLAMA_SERVER names, or
 * else node-llama-cpp behind a bare node:http server. Both compute the sequences of all clients in one batch.
 *
 * Each server runs in a separate process, with the same client. Rounds alternate between the servers. A round is one
 * prompt and answer of each client, at the same time. The median of all rounds is reported, with its range.
 *
 *   node --import tsx --conditions=svc-source bench/clients.ts [--json] [--rounds N] [--threads N]
 */
import { parseArgs } from 'node:util'
import { physicalParallelism } from '../plugins/inference-onnx/src/threads.ts'
import { type Figure, figureOf, withRange } from './figures.ts'
import { complete } from './inference/completion-client.ts'
import { halfBillionGguf, vocabulary } from './inference/half-billion.ts'
import { llamaFlags, llamaProgram, startLlamaServer } from './inference/llama-server.ts'
import { type MeasuredServer, startModelServer } from './inference/model-server.ts'
import { installPeers, scratch } from './inference/peers.ts'
import { promptTokens } from './inference/prompt.ts'
import { quietMoment } from './inference/quiet.ts'
import { isSmoke } from './smoke-mode.ts'

const PATIENCE_MS = 1500
const COUNTS = isSmoke ? [1, 8] : [1, 8, 16]
const SLOTS = Math.max(...COUNTS)
const PROMPT = 64
const ANSWER = 128

export interface ClientsResult {
  readonly promptTokens: number
  readonly answerTokens: number
  /** Options of the C server; null for node-llama-cpp. */
  readonly llamaFlags: string | null
  /** Generated tokens of all clients per second; the time includes reading the prompts. */
  readonly servers: readonly { readonly name: string; readonly clients: number; readonly speed: Figure }[]
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
const own = async (type: 'Q8_0' | 'Q4_0', quantization: 'q8' | 'q4') =>
  startModelServer({ runDirectory: await halfBillionGguf(type), quantization, threads, slots: SLOTS })
const llamaOptions = { threads, sequences: SLOTS, contextSize: 512 }
const llama = async (type: 'Q8_0' | 'Q4_0') =>
  startLlamaServer({ model: await halfBillionGguf(type), scratch, ...llamaOptions })
const opened = {
  'svc Q8_0': () => own('Q8_0', 'q8'),
  'llama.cpp Q8_0': () => llama('Q8_0'),
  'svc Q4_0': () => own('Q4_0', 'q4'),
  'llama.cpp Q4_0': () => llama('Q4_0')
}
const servers: { name: string; server: MeasuredServer; speeds: Map<number, number[]> }[] = []
for (const [name, open] of Object.entries(opened)) {
  if (!isSmoke || name.startsWith('svc ')) servers.push({ name, server: await open(), speeds: new Map() })
}
let prompts = 0
for (let round = 0; round < Number(values.rounds); round++) {
  for (const clients of COUNTS) {
    for (const { server, speeds } of servers) {
      await quietMoment(PATIENCE_MS)
      const ask = (_: unknown, client: number) =>
        complete(server.url, { prompt: promptTokens(PROMPT, prompts + client, vocabulary), maxTokens: ANSWER })
      const start = performance.now()
      await Promise.all(Array.from({ length: clients }, ask))
      const speed = (clients * ANSWER * 1000) / (performance.now() - start)
      speeds.set(clients, [...(speeds.get(clients) ?? []), speed])
    }
    prompts += clients
  }
}
for (const { server } of servers) await server.stop()
const result: ClientsResult = {
  promptTokens: PROMPT,
  answerTokens: ANSWER,
  llamaFlags: llamaProgram === null ? null : llamaFlags(llamaOptions).join(' '),
  servers: servers.flatMap(({ name, speeds }) =>
    [...speeds].map(([clients, samples]) => ({ name, clients, speed: figureOf(samples) }))
  )
}
if (values.json) console.log(JSON.stringify(result, null, 2))
else {
  for (const { name, clients, speed } of result.servers) {
    console.log(`${name}, ${clients} clients: ${withRange(speed)} tokens/s`)
  }
}

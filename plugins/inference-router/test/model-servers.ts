import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { json } from 'node:stream/consumers'
import type { ModelServerApi } from '@svc/contracts'
import type { Test } from 'tap'
import { resetConnection } from '../../../test/reset-connection.ts'

export interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Record<string, unknown>
}

/** Responds to a generation. */
export type Generate = (response: ServerResponse, request: Received) => void | Promise<void>

export interface ServerOptions {
  readonly api: ModelServerApi
  /** Names of the models; `NAME:ADAPTER` or an entry of `adapters` for adapters. */
  models: readonly string[]
  /** Models in memory; default: all. Only for Ollama's routes. */
  loaded?: readonly string[]
  /** Base model by adapter. */
  adapters?: Readonly<Record<string, string>>
  /** Text of `/metrics`; null: the route does not exist. */
  metrics?: string | null
  /** Response of `/slots` of llama.cpp. */
  slots?: readonly object[]
  key?: string
  generate?: Generate
  /** Called before facts are sent; may wait. */
  beforeFacts?: (path: string) => void | Promise<void>
}

/** A model server on a real socket that speaks the documented formats of its kind. */
export interface FakeModelServer {
  readonly url: string
  readonly port: number
  /** Behaviour, which a test may change at any time. */
  readonly options: ServerOptions
  /** Generations in the order of their arrival. */
  readonly received: Received[]
  readonly facts: string[]
  /** Generations whose connection closed before the end of the response. */
  readonly left: number
  /** Ends the process: no connection survives. */
  kill(): Promise<void>
  /** Listens again at the same port. */
  restart(): Promise<void>
}

const GENERATIONS = new Set([
  '/v1/chat/completions',
  '/v1/completions',
  '/v1/embeddings',
  '/api/chat',
  '/api/generate',
  '/api/embed',
  '/api/show'
])

export async function modelServer(t: Test, options: ServerOptions): Promise<FakeModelServer> {
  const received: Received[] = []
  const facts: string[] = []
  const sockets = new Set<Socket>()
  let left = 0
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = request.url ?? ''
    if (options.key !== undefined && request.headers.authorization !== `Bearer ${options.key}`) {
      return send(response, 401, { error: 'unauthorized' })
    }
    if (request.method === 'POST' && GENERATIONS.has(path)) {
      const body = (await json(request)) as Record<string, unknown>
      const one = { path, headers: request.headers, body }
      received.push(one)
      response.on('close', () => {
        if (!response.writableFinished) left += 1
      })
      await (options.generate ?? echo)(response, one)
      return
    }
    facts.push(path)
    await options.beforeFacts?.(path)
    const answer = factsOf(path, options)
    if (answer === undefined) return send(response, 404, { error: 'not found' })
    if (typeof answer === 'string') response.writeHead(200, { 'content-type': 'text/plain' }).end(answer)
    else send(response, 200, answer)
  }
  let server = open()
  function open() {
    const opened = createServer((request, response) => {
      serve(request, response).catch(() => response.destroy())
    })
    opened.on('connection', socket => {
      sockets.add(socket)
      socket.on('close', () => sockets.delete(socket))
    })
    return opened
  }
  const listen = (port: number) => new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
  await listen(0)
  const { port } = server.address() as AddressInfo
  const kill = async (): Promise<void> => {
    const closed = new Promise<void>(resolve => server.close(() => resolve()))
    for (const socket of sockets) resetConnection(socket)
    await closed
  }
  t.teardown(kill)
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    options,
    received,
    facts,
    get left() {
      return left
    },
    kill,
    restart: async () => {
      server = open()
      await listen(port)
    }
  }
}

export function send(response: ServerResponse, status: number, body: unknown, headers: object = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

/** Repeats the last message or the prompt, word by word, in the format of the route. */
export const echo: Generate = (response, { path, body }) => {
  const messages = body.messages as { content: string }[] | undefined
  const text = String(messages?.at(-1)?.content ?? body.prompt ?? '')
  const { model } = body
  if (path === '/api/show') return send(response, 200, { modelfile: `FROM ${model}`, details: {} })
  if (path === '/v1/embeddings') return send(response, 200, { object: 'list', model, data: [{ embedding: [1, 2] }] })
  if (path === '/api/embed') return send(response, 200, { model, embeddings: [[1, 2]] })
  const words = text.split(/(?<= )/)
  if (path.startsWith('/api/')) {
    response.writeHead(200, { 'content-type': 'application/x-ndjson' })
    for (const content of words) response.write(`${JSON.stringify({ model, message: { content }, done: false })}\n`)
    response.end(`${JSON.stringify({ model, message: { content: '' }, done: true, done_reason: 'stop' })}\n`)
    return
  }
  if (body.stream !== true) {
    return send(response, 200, { model, choices: [{ index: 0, message: { content: text }, finish_reason: 'stop' }] })
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const content of words)
    response.write(`data: ${JSON.stringify({ model, choices: [{ delta: { content } }] })}\n\n`)
  response.write(`data: ${JSON.stringify({ model, choices: [{ delta: {}, finish_reason: 'stop' }] })}\n\n`)
  response.end('data: [DONE]\n\n')
}

/** Returns the response to a request for facts, in the documented format of the kind; undefined for an unknown route. */
function factsOf(path: string, options: ServerOptions): object | string | undefined {
  const { api, models, adapters = {}, metrics, slots } = options
  const loaded = options.loaded ?? models
  const hasOllamaRoutes = api === 'svc' || api === 'ollama'
  switch (path) {
    case '/metrics':
      return metrics ?? undefined
    case '/api/tags':
      return hasOllamaRoutes ? { models: models.map(name => tag(name, adapters[name])) } : undefined
    case '/api/ps':
      return hasOllamaRoutes
        ? {
            models: loaded.map(name => ({
              ...tag(name, adapters[name]),
              expires_at: '2026-10-17T16:47:07.93355-07:00',
              size_vram: 5333539264,
              context_length: 4096
            }))
          }
        : undefined
    case '/v1/models':
      return {
        object: 'list',
        data: models.map(id => ({
          id,
          object: 'model',
          created: 1735142223,
          owned_by: api === 'vllm' ? 'vllm' : 'llamacpp',
          ...(api === 'vllm' ? { root: id, parent: adapters[id] ?? null, max_model_len: 4096 } : {})
        }))
      }
    case '/props':
      return api === 'llama.cpp' ? { total_slots: slots?.length ?? 1, model_path: '../models/a.gguf' } : undefined
    case '/slots':
      return api === 'llama.cpp' ? slots : undefined
    default:
      return undefined
  }
}

function tag(name: string, parent = '') {
  return {
    name,
    model: name,
    size: 6591830464,
    digest: 'a2af6cc3eb7fa8be8504abaf9b04e88f17a119ec3f04a3addf55f92841195f5a',
    modified_at: '2026-10-03T23:34:03.409490317-07:00',
    details: { parent_model: parent, format: 'gguf', family: 'gemma3', families: ['gemma3'], parameter_size: '4.3B' }
  }
}

/** Returns the metrics of vLLM with the names of its documentation. */
export function vllmMetrics({
  running = 0,
  waiting = 0,
  cache = 0,
  cacheName = 'vllm:kv_cache_usage_perc',
  running_adapters = '',
  started = 1_700_000_000
} = {}): string {
  const labels = '{engine="0",model_name="m"}'
  return [
    '# HELP vllm:num_requests_running Number of requests in model execution batches.',
    '# TYPE vllm:num_requests_running gauge',
    `vllm:num_requests_running${labels} ${running}.0`,
    `vllm:num_requests_waiting${labels} ${waiting}.0`,
    `${cacheName}${labels} ${cache}`,
    `vllm:lora_requests_info{max_lora="1",running_lora_adapters="old",waiting_lora_adapters=""} 1.7e+09`,
    `vllm:lora_requests_info{max_lora="2",running_lora_adapters="${running_adapters}",waiting_lora_adapters=""} 1.8e+09`,
    'vllm:time_to_first_token_seconds_bucket{le="0.001",model_name="m"} 0.0',
    `process_start_time_seconds ${started}`,
    ''
  ].join('\n')
}

/** Returns the metrics of llama.cpp's server with the names of its documentation. */
export function llamaMetrics({ processing = 0, deferred = 0, promptTokens = 0 } = {}): string {
  return [
    '# TYPE llamacpp:prompt_tokens_total counter',
    `llamacpp:prompt_tokens_total ${promptTokens}`,
    '# TYPE llamacpp:requests_processing gauge',
    `llamacpp:requests_processing ${processing}`,
    `llamacpp:requests_deferred ${deferred}`,
    ''
  ].join('\n')
}

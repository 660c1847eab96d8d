import type { HttpExchange, HttpHandlerRoute } from '@svc/contracts'
import { LinkedSignal } from '@svc/plugin-sdk'
import type { Checkpoint } from './checkpoint.ts'
import { type Completion, complete } from './completion.ts'
import { errors } from './errors.ts'
import type { Queue } from './queue.ts'
import { type CompletionRequest, readRequest } from './request.ts'

const JSON_TYPE = 'application/json; charset=utf-8'
/** A longer prompt would hold the event loop while it becomes tokens. */
const MAX_BODY_BYTES = 1024 * 1024

export interface RouteParts {
  readonly checkpoint: Checkpoint
  readonly queue: Queue
  readonly timeoutMs: number
  /** Aborted when the plugin stops. */
  readonly signal: AbortSignal
}

export function routesOf(parts: RouteParts): readonly HttpHandlerRoute[] {
  const { checkpoint } = parts
  const json = (exchange: HttpExchange, status: number, body: object): void =>
    exchange.send(status, JSON_TYPE, JSON.stringify(body))
  const completions = (path: string, streams: boolean): HttpHandlerRoute => ({
    method: 'POST',
    path,
    summary: streams ? 'Complete a prompt, as server-sent events' : 'Complete a prompt',
    handle(exchange) {
      exchange.body(bytes => {
        void answer(parts, exchange, bytes, streams).catch((error: unknown) => exchange.fail(error))
      }, MAX_BODY_BYTES)
    }
  })
  return [
    { method: 'GET', path: '/health', summary: 'Whether the server runs', handle: x => json(x, 200, { status: 'ok' }) },
    {
      method: 'GET',
      path: '/ready',
      summary: 'Whether the model is loaded',
      handle(exchange) {
        const reason = checkpoint.problem
        if (reason === null) json(exchange, 200, { ready: true, model: checkpoint.name })
        else json(exchange, 503, { ready: false, model: checkpoint.name, reason })
      }
    },
    {
      method: 'GET',
      path: '/v1/models',
      summary: 'The served model',
      handle: exchange =>
        json(exchange, 200, { object: 'list', data: [{ id: checkpoint.name, object: 'model', owned_by: 'svc' }] })
    },
    completions('/v1/generate', false),
    completions('/generate', false),
    completions('/v1/completions', false),
    completions('/v1/completions/stream', true)
  ]
}

async function answer(parts: RouteParts, exchange: HttpExchange, bytes: Uint8Array, streams: boolean): Promise<void> {
  const { checkpoint, queue, timeoutMs } = parts
  const request = readRequest(bytes)
  if (request.model !== undefined && request.model !== checkpoint.name)
    throw errors.create('EXE_MODEL_UNKNOWN', `the model ${request.model} is not served; ${checkpoint.name} is`)
  const model = checkpoint.model()
  const leave = queue.enter(model.capacity().slots)
  const limit = new LinkedSignal()
    .with(parts.signal)
    .after(timeoutMs, () => errors.create('EXE_TIMEOUT', `the request took longer than ${timeoutMs / 1_000} s`))
  const gone = new AbortController()
  exchange.response.once('close', () => gone.abort(new Error('the client has disconnected')))
  limit.with(gone.signal)
  try {
    const pieces = complete(model, request, limit.signal)
    if (streams || request.stream) await sendStream(exchange, checkpoint.name, pieces, limit.signal)
    else await sendWhole(exchange, checkpoint.name, request, pieces)
  } finally {
    limit.close()
    leave()
  }
}

async function sendWhole(
  exchange: HttpExchange,
  model: string,
  { output_mode }: CompletionRequest,
  pieces: ReturnType<typeof complete>
): Promise<void> {
  let end: Completion | undefined
  for await (const piece of pieces) if ('tokens' in piece) end = piece
  if (end === undefined) return
  const { text, tokens, finishReason, repairs } = end
  const body = {
    text,
    tokens_generated: tokens,
    model,
    object: 'text_completion',
    choices: [{ index: 0, text, finish_reason: finishReason }],
    ...(output_mode !== undefined && { repair_attempts: repairs })
  }
  exchange.send(200, JSON_TYPE, JSON.stringify(body))
}

/** The head is sent with the first piece, so that an error before it has its status. */
async function sendStream(
  exchange: HttpExchange,
  model: string,
  pieces: ReturnType<typeof complete>,
  signal: AbortSignal
): Promise<void> {
  let response: ReturnType<HttpExchange['stream']> | null = null
  const write = async (data: string): Promise<void> => {
    if (response === null) {
      response = exchange.stream()
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
    }
    if (response.write(`data: ${data}\n\n`)) return
    const drained = response
    await new Promise<void>((resolve, reject) => {
      const abort = (): void => reject(signal.reason)
      signal.addEventListener('abort', abort, { once: true })
      drained.once('drain', () => {
        signal.removeEventListener('abort', abort)
        resolve()
      })
    })
  }
  const chunk = (text: string, finish: string | null, more: object = {}): string =>
    JSON.stringify({ object: 'text_completion', model, choices: [{ index: 0, text, finish_reason: finish }], ...more })
  try {
    for await (const piece of pieces) {
      if (!('tokens' in piece)) await write(chunk(piece.text, null))
      else {
        const { repairs } = piece
        const more = { tokens_generated: piece.tokens, ...(repairs !== null && { repair_attempts: repairs }) }
        await write(chunk('', piece.finishReason, more))
      }
    }
    await write('[DONE]')
    ;(response as ReturnType<HttpExchange['stream']> | null)?.end()
  } catch (error) {
    const begun = response as ReturnType<HttpExchange['stream']> | null
    if (begun === null) throw error
    // A stream that ends without [DONE] is not complete.
    begun.destroy(error as Error)
  }
}

import type { HttpExchange } from '@svc/contracts'
import { errorMessage, type Logger } from '@svc/plugin-sdk'
import type { Attempt } from './breaker.ts'
import { copyBody } from './copy-body.ts'
import { routerErrors } from './errors.ts'
import { headersToClient, headersToServer } from './forwarded-headers.ts'
import type { ModelServer } from './model-server.ts'
import type { Placement, Placer, Refusal } from './placement.ts'
import { retryAfterMs } from './retry-after.ts'
import type { RoutedRequest } from './routed-request.ts'
import type { RouterMetrics } from './router-metrics.ts'
import { RouterPath } from './router-path.ts'
import { UpstreamCall, UpstreamError, type UpstreamResponse } from './upstream.ts'

/** Servers that are tried after the first one. */
const MAX_RETRIES = 2
/** Statuses after which another server is tried. */
const RETRIED = new Set([429, 502, 503])
/** Statuses that count as a failure of the server; 429, and 503 with `Retry-After`, only mean that it is busy. */
const FAULTS = new Set([502, 503, 504])
/** Pause of a busy server that sends no `Retry-After`. */
const DEFAULT_HOLD_MS = 1_000
const MAX_HOLD_MS = 60_000
/** `Retry-After` if no server says when it will accept requests. */
const UNKNOWN_RETRY_MS = 2_000
const MAX_SHOWN_MODELS = 20
const MAX_SHOWN_NAME = 200

export interface RelayLimits {
  readonly connectTimeoutMs: number
  readonly idleTimeoutMs: number
  readonly stallMs: number
  readonly maxInFlight: number
}

export interface RelayParts {
  readonly servers: Iterable<ModelServer>
  readonly placer: Placer
  readonly metrics: RouterMetrics
  readonly log: Logger
  limits(): RelayLimits
  /** Returns further headers for a server, see `InferenceRouter.passFor`. */
  passTo(exchange: HttpExchange, server: ModelServer): Readonly<Record<string, string>>
  /** Called when the load of a server changes. */
  changed(): void
}

/** One request with what was tried for it. */
interface Job {
  readonly exchange: HttpExchange
  readonly request: RoutedRequest
  readonly tried: Set<ModelServer>
  /** Reasons of failed attempts, for the error. */
  readonly failures: string[]
  /** Set while a server is working on the request. */
  call: UpstreamCall | null
  isGone: boolean
}

/** Sends requests to servers and their answers back. Retries on other servers only before the first byte of an answer. */
export class Relay {
  readonly #parts: RelayParts
  readonly #jobs = new Set<Job>()
  readonly #path = new RouterPath()

  constructor(parts: RelayParts) {
    this.#parts = parts
  }

  get inFlight(): number {
    return this.#jobs.size
  }

  /** Resolves when the response has ended. Never rejects. Responds with `IRT_BUSY` at the limit of requests in flight. */
  async run(exchange: HttpExchange, request: RoutedRequest): Promise<void> {
    const { maxInFlight } = this.#parts.limits()
    if (this.#jobs.size >= maxInFlight) {
      const message = `${maxInFlight} requests are in flight, which is the limit`
      exchange.fail(routerErrors.create('IRT_BUSY', message, { data: { retryAfterMs: DEFAULT_HOLD_MS } }))
      return
    }
    const job: Job = { exchange, request, tried: new Set(), failures: [], call: null, isGone: false }
    const { response } = exchange
    const left = (): void => {
      if (response.writableFinished) return
      job.isGone = true
      job.call?.abort()
    }
    this.#jobs.add(job)
    // Without a listener, a write after the client left would end the process.
    response.on('error', left)
    response.once('close', left)
    try {
      await this.#tryServers(job)
    } catch (error) {
      exchange.fail(error)
    } finally {
      this.#jobs.delete(job)
      response.off('close', left)
    }
  }

  /** Aborts every request in flight. */
  stop(): void {
    for (const job of this.#jobs) {
      if (!job.exchange.response.headersSent)
        job.exchange.fail(routerErrors.create('IRT_STOPPED', 'the router is stopping'))
      job.isGone = true
      job.call?.abort()
    }
  }

  async #tryServers(job: Job): Promise<void> {
    const { request, tried, failures } = job
    const first = this.#place(job)
    if ('kind' in first) throw refused(first, request.model)
    let placement: Placement = first
    for (;;) {
      tried.add(placement.server)
      const outcome = await this.#attempt(job, placement)
      if (outcome === 'done') return
      const next = tried.size <= MAX_RETRIES ? this.#place(job) : null
      if (next === null || 'kind' in next) {
        if (outcome.answer !== null) {
          await this.#answer(job, placement, outcome.answer, outcome.sent)
          return
        }
        outcome.sent.end('failed')
        throw routerErrors.create('IRT_SERVER_FAILED', `no server began an answer: ${failures.join('; ')}`, {
          hint: 'svc model servers shows the state of the servers'
        })
      }
      outcome.answer?.message.destroy()
      outcome.sent.end('retried')
      if (job.isGone) return
      this.#parts.metrics.retried(placement.server.name, outcome.why)
      placement = next
    }
  }

  #place({ request, tried }: Job): Placement | Refusal {
    return this.#parts.placer.place(request, this.#parts.servers, tried)
  }

  /** Sends the request to one server. Returns `done` if the response has ended, else why another server may be tried. */
  async #attempt(job: Job, placement: Placement): Promise<'done' | Retry> {
    const { exchange, request, failures } = job
    const { server } = placement
    const { limits, log, passTo, placer } = this.#parts
    const { connectTimeoutMs, idleTimeoutMs } = limits()
    const path = this.#path.next(exchange.request.headers)
    placer.record(request, server)
    const sent = this.#send(request, placement)
    const call = new UpstreamCall(server, {
      path: request.path,
      headers: {
        ...headersToServer(exchange.request, exchange.caller, server.apiKey),
        ...path,
        ...passTo(exchange, server)
      },
      body: request.body,
      connectTimeoutMs,
      idleTimeoutMs
    })
    job.call = call
    let answer: UpstreamResponse
    try {
      answer = await call.response
    } catch (error) {
      if (job.isGone) {
        sent.end('client_gone')
        return 'done'
      }
      const failure = error instanceof UpstreamError ? error : null
      if (failure?.isDown) server.connectionLost()
      sent.failed()
      const why = errorMessage(error)
      log.warn('a model server did not answer', {
        server: server.name,
        reason: why,
        request_id: exchange.caller.requestId
      })
      if (failure?.kind === 'timeout') {
        sent.end('timeout')
        throw routerErrors.create('IRT_SERVER_TIMEOUT', `${server.name}: ${why}`)
      }
      failures.push(`${server.name}: ${why}`)
      return { why: 'connect', answer: null, sent }
    }
    const status = answer.message.statusCode ?? 0
    const pauseMs = retryAfterMs(answer.message.headers['retry-after'])
    if (isBusy(answer)) {
      server.hold(Math.min(MAX_HOLD_MS, pauseMs ?? DEFAULT_HOLD_MS))
      sent.neutral()
    } else if (FAULTS.has(status)) sent.failed()
    else sent.responded()
    if (!RETRIED.has(status)) {
      await this.#answer(job, placement, answer, sent)
      return 'done'
    }
    failures.push(`${server.name}: status ${status}`)
    return { why: String(status), answer, sent }
  }

  /** Sends the answer of a server to the client. */
  async #answer(
    job: Job,
    { server, isLoaded, utilisation, matchedBytes }: Placement,
    answer: UpstreamResponse,
    sent: Sent
  ) {
    const { exchange, request } = job
    const { message } = answer
    const status = message.statusCode ?? 502
    if (status < 300 && request.isStream && (utilisation < 1 || !isLoaded)) {
      const newBytes = Math.max(0, request.prompt.bytes - matchedBytes)
      server.speed(request.model).began(sent.ms, { isLoaded, newBytes, utilisation })
    }
    this.#parts.metrics.began(server.name, sent.ms)
    if (job.isGone) {
      job.call?.abort()
      sent.end('client_gone')
      return
    }
    const response = exchange.stream()
    try {
      for (const [name, value] of Object.entries(headersToClient(message, server.name))) {
        if (value !== undefined) response.setHeader(name, value)
      }
      response.writeHead(status)
    } catch (error) {
      // A header that Node.js does not send: the client sees that the answer ends, and the server loses its slot.
      this.#parts.log.warn('a model server answered with a header that cannot be sent', { server: server.name, error })
      job.call?.abort()
      sent.failed()
      sent.end('cut')
      response.destroy()
      return
    }
    const end = await copyBody(answer, response, this.#parts.limits().stallMs)
    if (end === 'cut') {
      server.connectionLost()
      sent.failed()
      this.#parts.log.warn('a model server broke off an answer', {
        server: server.name,
        request_id: exchange.caller.requestId
      })
    } else if (end === 'gone') job.call?.abort()
    else if (status < 300 && request.isGeneration) server.speed(request.model).answered(sent.ms)
    job.call = null
    if (end === 'complete') sent.succeeded()
    sent.end(end === 'complete' ? outcomeOf(answer) : end === 'cut' ? 'cut' : 'client_gone')
  }

  #send({ model, prompt }: RoutedRequest, placement: Placement): Sent {
    const { metrics, changed } = this.#parts
    metrics.placed(placement, prompt.bytes)
    return new Sent(placement.server, model, outcome => {
      metrics.ended(placement.server.name, outcome)
      changed()
    })
  }
}

/** A failed attempt. `answer`: the response, if the server sent one; the client receives it if no other server is left. */
interface Retry {
  readonly why: string
  readonly answer: UpstreamResponse | null
  readonly sent: Sent
}

/** One request at one server, for the load and the breaker of that server. */
class Sent {
  readonly #attempt: Attempt
  readonly #release: () => void
  readonly #ended: (outcome: string) => void
  readonly #at = performance.now()
  #isEnded = false

  constructor(server: ModelServer, model: string, ended: (outcome: string) => void) {
    this.#attempt = server.breaker.begin()
    this.#release = server.use(model)
    this.#ended = ended
  }

  /** Milliseconds since the request was sent. */
  get ms(): number {
    return performance.now() - this.#at
  }

  /** The answer began. */
  responded(): void {
    this.#attempt.respond()
  }

  succeeded(): void {
    this.#attempt.settle('succeeded')
  }

  failed(): void {
    this.#attempt.settle('failed')
  }

  neutral(): void {
    this.#attempt.settle('ended')
  }

  end(outcome: string): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.neutral()
    this.#release()
    this.#ended(outcome)
  }
}

/** True if a response means that the server has too much to do. */
function isBusy({ message: { statusCode, headers } }: UpstreamResponse): boolean {
  return statusCode === 429 || (statusCode === 503 && retryAfterMs(headers['retry-after']) !== null)
}

function outcomeOf(answer: UpstreamResponse): string {
  const status = answer.message.statusCode ?? 0
  if (isBusy(answer)) return 'busy'
  return status < 400 ? 'ok' : status < 500 ? 'client_error' : 'server_error'
}

/** Returns the error for a request that no server can receive. */
function refused(refusal: Refusal, model: string): Error {
  const shown = JSON.stringify(model.length > MAX_SHOWN_NAME ? `${model.slice(0, MAX_SHOWN_NAME)}…` : model)
  switch (refusal.kind) {
    case 'no-servers':
      return routerErrors.create('IRT_NO_SERVERS', 'the router has no model servers', {
        hint: 'add [[inference_router.servers]] with url and api to the configuration'
      })
    case 'unknown-model': {
      const { offered } = refusal
      const names = offered.slice(0, MAX_SHOWN_MODELS).join(', ') || 'none'
      const more = offered.length > MAX_SHOWN_MODELS ? ', …' : ''
      return routerErrors.create('IRT_MODEL_UNKNOWN', `model ${shown} not found; the servers have: ${names}${more}`, {
        data: { param: 'model' }
      })
    }
    case 'other-api':
      return routerErrors.create(
        'IRT_API_UNSUPPORTED',
        `the servers with the model ${shown} have no routes of the Ollama API; use the routes below /v1`
      )
    case 'unavailable':
      return routerErrors.create(
        'IRT_UNAVAILABLE',
        `every server with the model ${shown} is down or refuses requests`,
        {
          data: { retryAfterMs: refusal.retryMs ?? UNKNOWN_RETRY_MS },
          hint: 'svc model servers shows the state of the servers'
        }
      )
  }
}

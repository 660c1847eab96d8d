import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import type { PageProblem } from './page-problem.ts'

/** Maximum bytes of a message from a page; pages send none. */
const MAX_MESSAGE_BYTES = 1_024
/** Maximum open pages. */
const MAX_PAGES = 100
/** Failed calls that are kept for pages that connect after them. */
const MAX_FAILURES = 20
/** Limits of the texts of a problem, so that all failures together are less than a page may have in flight. */
const MAX_TEXT_CHARS = 8_000
const MAX_SHORT_CHARS = 500
const MAX_CALLS = 20
/** Interval of pings, in milliseconds. A page that does not respond is disconnected. */
const PING_INTERVAL_MS = 30_000
/** Bytes in flight to a page, above which it is disconnected. It then connects again. */
const MAX_IN_FLIGHT_BYTES = 1_048_576

/** Close codes of https://www.rfc-editor.org/rfc/rfc6455#section-7.4.1 and its registry: going away, and try later. */
const GOING_AWAY = 1001
const TRY_LATER = 1013

export type DevMessage =
  | {
      readonly type: 'state'
      /** Changes with each version of the program. A page of another version reloads. */
      readonly build: string
      /** Reason for which the newest version is not served; null if it is. */
      readonly problem: PageProblem | null
      /** A remark about the pages, such as outdated files; null if there is none. */
      readonly notice: string | null
    }
  | { readonly type: 'failure'; readonly failure: PageProblem }

/**
 * Connection to the open pages of a program in development: reloads them and shows problems. Outlives a reload of the
 * plugin, so that pages stay connected.
 */
export class DevChannel {
  readonly #server = new WebSocketServer({ noServer: true, maxPayload: MAX_MESSAGE_BYTES })
  readonly #pages = new Map<WebSocket, { isAlive: boolean }>()
  readonly #failures: PageProblem[] = []
  readonly #mask: (text: string) => string
  readonly #timer = setInterval(() => this.#ping(), PING_INTERVAL_MS)
  #build = ''
  #problem: PageProblem | null = null
  #notice: string | null = null

  /** `mask` replaces known secrets in a text. */
  constructor(mask: (text: string) => string) {
    this.#mask = mask
    this.#timer.unref()
  }

  /** True if the newest version of the program is not served. */
  get isStale(): boolean {
    return this.#problem !== null
  }

  /** Connects a page. */
  connect(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.#server.handleUpgrade(request, socket, head, page => {
      if (this.#pages.size >= MAX_PAGES) {
        page.close(TRY_LATER, 'too many pages are open')
        return
      }
      const state = { isAlive: true }
      this.#pages.set(page, state)
      page.on('pong', () => {
        state.isAlive = true
      })
      // Handled by the 'close' event, which follows each error.
      page.on('error', () => undefined)
      page.once('close', () => this.#pages.delete(page))
      this.#send(page, this.#state())
      for (const failure of this.#failures) this.#send(page, { type: 'failure', failure })
    })
  }

  /** Announces the served version. A problem is given if its pages could not be built. */
  serve(build: string, notice: string | null, problem: PageProblem | null): void {
    this.#build = build
    this.#notice = notice
    this.#problem = problem === null ? null : this.#masked(problem)
    this.#failures.length = 0
    this.#broadcast(this.#state())
  }

  /** Shows why the newest version is not served. */
  refuse(problem: PageProblem): void {
    this.#problem = this.#masked(problem)
    this.#broadcast(this.#state())
  }

  /** Reports a failed call. The page that made it shows it. */
  fail(failed: PageProblem): void {
    const failure = this.#masked(failed)
    this.#failures.push(failure)
    if (this.#failures.length > MAX_FAILURES) this.#failures.shift()
    this.#broadcast({ type: 'failure', failure })
  }

  close(): void {
    clearInterval(this.#timer)
    for (const page of this.#pages.keys()) {
      page.close(GOING_AWAY, 'svc dev ended')
      page.terminate()
    }
    this.#server.close()
  }

  #masked({ title, text, code, hint, calls, requestId }: PageProblem): PageProblem {
    const shown = (given: string, limit: number): string => {
      const masked = this.#mask(given)
      return masked.length > limit ? `${masked.slice(0, limit)}…` : masked
    }
    return {
      title: shown(title, MAX_SHORT_CHARS),
      text: shown(text, MAX_TEXT_CHARS),
      code,
      hint: hint === null ? null : shown(hint, MAX_SHORT_CHARS),
      calls: calls.slice(0, MAX_CALLS).map(call => shown(call, MAX_SHORT_CHARS)),
      requestId
    }
  }

  #state(): DevMessage {
    return { type: 'state', build: this.#build, problem: this.#problem, notice: this.#notice }
  }

  #broadcast(message: DevMessage): void {
    for (const page of this.#pages.keys()) this.#send(page, message)
  }

  #send(page: WebSocket, message: DevMessage): void {
    if (page.bufferedAmount > MAX_IN_FLIGHT_BYTES) page.terminate()
    else page.send(JSON.stringify(message))
  }

  #ping(): void {
    for (const [page, state] of this.#pages) {
      if (!state.isAlive) page.terminate()
      else {
        state.isAlive = false
        page.ping()
      }
    }
  }
}

import { errors } from './errors.ts'

/** Reason to end a completion early. */
type End = 'gone' | 'finish' | 'timeout'

/** Ends one completion early: on disconnect, server stop, timeout or a complete answer. */
export class RequestAbort {
  readonly #controller = new AbortController()
  readonly #signal: AbortSignal
  readonly #milliseconds: number
  readonly #gone = () => this.end('gone')
  readonly #timer: NodeJS.Timeout | undefined
  why: End | undefined

  constructor(signal: AbortSignal, milliseconds: number, startedAt: number) {
    this.#signal = signal
    this.#milliseconds = milliseconds
    if (signal.aborted) this.#gone()
    else signal.addEventListener('abort', this.#gone)
    if (milliseconds === 0) return
    const left = startedAt + milliseconds - performance.now()
    if (left > 0) this.#timer = setTimeout(() => this.end('timeout'), left)
    else this.end('timeout')
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  end(why: End): void {
    this.why ??= why
    this.#controller.abort()
  }

  /** Returns the finish reason of an aborted sequence. Throws `MSV_TIMEOUT` or `MSV_STOPPED` if it was cut off. */
  reason(): 'stop' {
    if (this.why === 'finish') return 'stop'
    if (this.why === 'timeout') throw timedOut(this.#milliseconds)
    throw stopped()
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#signal.removeEventListener('abort', this.#gone)
  }
}

export function stopped(): Error {
  return errors.create('MSV_STOPPED', 'the answer was aborted: the server is stopping, or the client disconnected')
}

function timedOut(milliseconds: number): Error {
  return errors.create('MSV_TIMEOUT', `the answer took longer than the limit of ${milliseconds / 1000} s`, {
    hint: 'Request fewer tokens, or raise the setting plugins.model-server.request_timeout_seconds.'
  })
}

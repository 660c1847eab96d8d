import { errors } from './errors.ts'

/** Why a completion is made to end. */
type End = 'gone' | 'finish' | 'timeout'

/** Everything that can end one completion early: its client, the server, the clock, or that it has said enough. */
export class Ending {
  readonly #controller = new AbortController()
  readonly #signal: AbortSignal
  readonly #milliseconds: number
  readonly #gone = () => this.end('gone')
  readonly #timer: NodeJS.Timeout | undefined
  why: End | undefined

  constructor(signal: AbortSignal, milliseconds: number, begun: number) {
    this.#signal = signal
    this.#milliseconds = milliseconds
    if (signal.aborted) this.#gone()
    else signal.addEventListener('abort', this.#gone)
    if (milliseconds === 0) return
    const left = begun + milliseconds - performance.now()
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

  /** How a sequence that was cut off has ended; throws when its answer is not whole. */
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
  return errors.create('MSV_STOPPED', 'the answer was cut off, since the server is stopping or its client went away')
}

function timedOut(milliseconds: number): Error {
  return errors.create(
    'MSV_TIMEOUT',
    `the answer took longer than the ${milliseconds / 1000} s that a request may take`,
    {
      hint: 'Ask for fewer tokens; the setting plugins.model-server.request_timeout_seconds gives more time.'
    }
  )
}

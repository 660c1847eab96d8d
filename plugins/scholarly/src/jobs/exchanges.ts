import type { RemoteExchange } from '@svc/contracts'
import type { AttemptReport } from './job-store.ts'

const MAX_KEPT = 50

/** Fingerprints of the requests of one attempt: the last ones, and their number. */
export class Exchanges {
  #count = 0
  readonly #kept: RemoteExchange[] = []

  /** Number of requests. */
  get count(): number {
    return this.#count
  }

  readonly record = (exchange: RemoteExchange): void => {
    this.#count += 1
    this.#kept.push(exchange)
    if (this.#kept.length > MAX_KEPT) this.#kept.shift()
  }

  report(detail: Readonly<Record<string, unknown>> = {}): AttemptReport {
    const last = this.#kept.at(-1)
    return {
      http_status: last?.http_status ?? null,
      request_fingerprint: last?.request_fingerprint ?? null,
      response_fingerprint: last?.response_fingerprint ?? null,
      detail: { ...detail, requests: this.#count, ...(this.#count === 0 ? {} : { exchanges: this.#kept }) }
    }
  }
}

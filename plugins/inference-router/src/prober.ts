import { setTimeout as delay } from 'node:timers/promises'
import { errorMessage, withTimeout } from '@svc/plugin-sdk'
import { FactsClient, FactsError } from './facts/facts-client.ts'
import { READ_FACTS } from './facts/read-facts.ts'
import type { ModelServer } from './model-server.ts'

/** Random part of the interval, so that several routers do not ask at the same time. */
const JITTER = 0.1
/** Time limit for the facts of a server, as a multiple of the interval. */
const TIMEOUT_INTERVALS = 2

export interface ProberOptions {
  /** Returns the servers that exist now; called before each round. */
  readonly servers: () => Iterable<ModelServer>
  readonly intervalMs: number
  /** Called after each facts that were read, and each failure. */
  readonly changed: () => void
}

/** Reads the facts of every server at an interval. A slow server does not delay the others. */
export class Prober {
  readonly #options: ProberOptions
  readonly #running = new Map<ModelServer, Promise<void>>()

  constructor(options: ProberOptions) {
    this.#options = options
  }

  /** Runs until the abort. */
  async run(signal: AbortSignal): Promise<void> {
    const { intervalMs, servers } = this.#options
    while (!signal.aborted) {
      for (const server of servers()) void this.#probe(server, signal)
      const ms = intervalMs * (1 + JITTER * (Math.random() - 0.5))
      await delay(ms, undefined, { signal }).catch(() => undefined)
    }
    await Promise.all(this.#running.values())
  }

  /** Reads the facts of all servers once. */
  async once(signal: AbortSignal): Promise<void> {
    await Promise.all([...this.#options.servers()].map(server => this.#probe(server, signal)))
  }

  #probe(server: ModelServer, signal: AbortSignal): Promise<void> {
    const running = this.#running.get(server)
    if (running !== undefined) return running
    const probe = readFacts(server, this.#options.intervalMs * TIMEOUT_INTERVALS, signal).finally(() => {
      this.#running.delete(server)
      this.#options.changed()
    })
    this.#running.set(server, probe)
    return probe
  }
}

/** Reads the facts of one server. Failures are recorded in the server. */
async function readFacts(server: ModelServer, timeoutMs: number, signal: AbortSignal): Promise<void> {
  const began = server.beginFacts()
  const read = (limit: AbortSignal) => READ_FACTS[server.api](new FactsClient(server.url, server.apiKey, limit))
  const error = () => new FactsError(`the facts took longer than ${timeoutMs} ms`)
  try {
    server.takeFacts(await withTimeout(timeoutMs, read, { signal, error }), began)
  } catch (error) {
    if (signal.aborted) return
    server.factsFailed(errorMessage(error), error instanceof FactsError && error.isDown)
  }
}

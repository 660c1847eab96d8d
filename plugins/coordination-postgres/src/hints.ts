import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { CoordinationFanout } from '@svc/contracts'
import { errorMessage, type Logger, settlesWithin, withTimeout } from '@svc/plugin-sdk'
import type pg from 'pg'
import type { Connections } from './connections.ts'

const CHANNEL = 'svc_coord'
/** Hints of a process are sent together at this interval: each notification locks the whole server for a moment. */
const SEND_INTERVAL_MS = 20
/** PostgreSQL refuses payloads of 8,000 bytes. */
const MAX_PAYLOAD_BYTES = 7_500
/** Maximum queues that wait to be sent; further hints are lost. */
const MAX_PENDING = 10_000
const MIN_BACKOFF_MS = 100
const MAX_BACKOFF_MS = 10_000
/** How often the connection for hints is checked. */
const CHECK_INTERVAL_MS = 30_000
const CHECK_TIMEOUT_MS = 5_000
/** Does not wait for the disk: while a notification commits, no other can. Hints need not survive a crash. */
const NOTIFY = {
  name: 'svc_coord_notify',
  text: `with quick as materialized (select set_config('synchronous_commit', 'off', true))
    select pg_notify('${CHANNEL}', payload) from quick, unnest($1::text[]) payload`
}

export interface HintsOptions {
  readonly connections: Connections
  /** Transport to other processes; null: LISTEN and NOTIFY of the server. */
  readonly fanout: CoordinationFanout | null
  readonly log: Logger
}

type Subscriber = (queue: string) => void

/**
 * Hints that queues have ready items, to this process and to others.
 *
 * A notification of PostgreSQL is never part of a transaction that changes data: commits with a notification wait for
 * each other.
 */
export class Hints {
  readonly #options: HintsOptions
  readonly #origin = randomUUID()
  readonly #subscribers = new Map<string, Set<Subscriber>>()
  readonly #pending = new Set<string>()
  readonly #closing = new AbortController()
  #sending: Promise<void> | null = null
  #listening: Promise<void> | null = null

  constructor(options: HintsOptions) {
    this.#options = options
  }

  /** Sends a hint for each queue. */
  publish(queues: Iterable<string>): void {
    const { fanout } = this.#options
    for (const queue of new Set(queues)) {
      this.#emit(queue)
      if (fanout !== null) fanout.publish(queue)
      else if (this.#pending.size < MAX_PENDING) this.#pending.add(queue)
    }
    if (this.#pending.size > 0 && !this.#closing.signal.aborted) this.#sending ??= this.#send()
  }

  /** Returns the unsubscribe function. */
  subscribe(queues: readonly string[], on: Subscriber): () => void {
    // Two subscriptions with one function are separate.
    const subscriber: Subscriber = queue => on(queue)
    const names = new Set(queues)
    for (const name of names) {
      const known = this.#subscribers.get(name)
      if (known === undefined) this.#subscribers.set(name, new Set([subscriber]))
      else known.add(subscriber)
    }
    const { fanout } = this.#options
    const leave = fanout?.subscribe([...names], subscriber)
    if (fanout === null) this.#listening ??= this.#listen()
    return () => {
      leave?.()
      for (const name of names) {
        const known = this.#subscribers.get(name)
        known?.delete(subscriber)
        if (known?.size === 0) this.#subscribers.delete(name)
      }
    }
  }

  async close(): Promise<void> {
    this.#closing.abort()
    this.#subscribers.clear()
    await Promise.all([this.#sending, this.#listening])
  }

  #emit(queue: string): void {
    for (const subscriber of this.#subscribers.get(queue) ?? []) queueMicrotask(() => subscriber(queue))
  }

  async #send(): Promise<void> {
    const { signal } = this.#closing
    try {
      while (this.#pending.size > 0 && !signal.aborted) {
        await sleep(SEND_INTERVAL_MS, undefined, { signal, ref: false })
        const payloads = toPayloads(this.#origin, this.#pending)
        this.#pending.clear()
        await this.#options.connections.call(NOTIFY, [payloads])
      }
    } catch {
      // Hints may be lost; consumers poll as well.
      this.#pending.clear()
    } finally {
      this.#sending = null
    }
  }

  /** Keeps a connection that receives notifications, until the store is closed. */
  async #listen(): Promise<void> {
    const { signal } = this.#closing
    const { connections } = this.#options
    for (let failures = 0; !signal.aborted; ) {
      try {
        const client = await connections.open()
        try {
          client.on('notification', ({ payload = '' }) => this.#receive(payload))
          await client.query(`listen ${CHANNEL}`)
          failures = 0
          await this.#watch(client)
        } finally {
          await connections.end(client)
        }
      } catch (error) {
        if (failures === 0 && !signal.aborted)
          this.#options.log.warn('hints of other processes are not received; queues are polled', {
            reason: errorMessage(error)
          })
        failures += 1
      }
      const delay = Math.min(MIN_BACKOFF_MS * 2 ** failures, MAX_BACKOFF_MS) * (0.5 + Math.random() / 2)
      await sleep(delay, undefined, { signal, ref: false }).catch(() => {})
    }
  }

  /** Resolves when the connection ends or the store is closed. Rejects if the server does not respond. */
  async #watch(client: pg.Client): Promise<void> {
    const over = ended(client, this.#closing.signal)
    while (!(await settlesWithin(CHECK_INTERVAL_MS, over)))
      await withTimeout(CHECK_TIMEOUT_MS, () => client.query('select 1'))
  }

  #receive(payload: string): void {
    for (const queue of fromPayload(this.#origin, payload)) this.#emit(queue)
  }
}

/** Resolves when the connection ends, or the signal is aborted. */
function ended(client: pg.Client, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const end = (): void => {
      signal.removeEventListener('abort', end)
      resolve()
    }
    client.once('end', end)
    if (signal.aborted) end()
    else signal.addEventListener('abort', end, { once: true })
  })
}

/** Returns payloads of the form `ORIGIN ["queue", …]`, each below the limit of PostgreSQL. */
export function toPayloads(origin: string, queues: Iterable<string>): string[] {
  const payloads: string[] = []
  let names: string[] = []
  let bytes = 0
  const flush = (): void => {
    if (names.length > 0) payloads.push(`${origin} [${names.join(',')}]`)
    names = []
    bytes = origin.length + 3
  }
  flush()
  for (const queue of queues) {
    const name = JSON.stringify(queue)
    const more = Buffer.byteLength(name) + 1
    if (bytes + more > MAX_PAYLOAD_BYTES) flush()
    names.push(name)
    bytes += more
  }
  flush()
  return payloads
}

/** Returns the queues of a payload of another process. Any user of the database can send one: others are ignored. */
export function fromPayload(origin: string, payload: string): string[] {
  const separator = payload.indexOf(' ')
  if (separator < 0 || payload.slice(0, separator) === origin) return []
  try {
    const queues: unknown = JSON.parse(payload.slice(separator + 1))
    return Array.isArray(queues) ? queues.filter(queue => typeof queue === 'string') : []
  } catch {
    return []
  }
}

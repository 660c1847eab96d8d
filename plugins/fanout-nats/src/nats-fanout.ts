import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { NatsConnection, Subscription } from '@nats-io/transport-node'
import type { CoordinationFanout } from '@svc/contracts'
import { errorMessage, type Logger } from '@svc/plugin-sdk'
import { HintWindow } from './hint-window.ts'

const MIN_BACKOFF_MS = 200
const MAX_BACKOFF_MS = 10_000

export interface NatsFanoutOptions {
  /** Opens a connection that reconnects by itself. */
  readonly connect: () => Promise<NatsConnection>
  /** Beginning of the subjects. */
  readonly subject: string
  readonly log: Logger
}

/** Subscribers of one queue. */
interface Topic {
  readonly queue: string
  readonly subscribers: Set<(queue: string) => void>
  subscription: Subscription | null
}

/**
 * Hints over NATS, with one subject for each queue, so that a process receives only those that it waits for. Hints are
 * discarded while there is no connection.
 */
export class NatsFanout implements CoordinationFanout {
  readonly #options: NatsFanoutOptions
  readonly #topics = new Map<string, Topic>()
  readonly #closing = new AbortController()
  readonly #outgoing = new HintWindow(queue => this.#send(queue))
  /** Any client of the servers can send hints: their rate is limited here, too. */
  readonly #incoming = new HintWindow(queue => this.#emit(queue))
  readonly #running: Promise<void>
  #connection: NatsConnection | null = null
  #isConnected = false

  constructor(options: NatsFanoutOptions) {
    this.#options = options
    this.#running = this.#run()
  }

  get isConnected(): boolean {
    return this.#isConnected
  }

  publish(queue: string): void {
    if (this.#isConnected) this.#outgoing.add(queue)
  }

  subscribe(queues: readonly string[], on: (queue: string) => void): () => void {
    // Two subscriptions with one function are separate.
    const subscriber = (queue: string): void => on(queue)
    const names = new Set(queues)
    for (const queue of names) {
      const topic = this.#topics.get(queue) ?? { queue, subscribers: new Set(), subscription: null }
      topic.subscribers.add(subscriber)
      this.#topics.set(queue, topic)
      this.#listen(topic)
    }
    return () => {
      for (const queue of names) this.#leave(queue, subscriber)
    }
  }

  async close(): Promise<void> {
    this.#closing.abort()
    this.#outgoing.close()
    this.#incoming.close()
    this.#topics.clear()
    await this.#connection?.close()
    await this.#running
  }

  #leave(queue: string, subscriber: (queue: string) => void): void {
    const topic = this.#topics.get(queue)
    if (topic?.subscribers.delete(subscriber) !== true || topic.subscribers.size > 0) return
    this.#topics.delete(queue)
    if (this.#connection?.isClosed() === false) topic.subscription?.unsubscribe()
  }

  #send(queue: string): void {
    const connection = this.#connection
    if (connection === null || !this.#isConnected || connection.isClosed()) return
    connection.publish(this.#subjectOf(queue), queue)
  }

  #listen(topic: Topic): void {
    const connection = this.#connection
    if (connection === null || connection.isClosed() || topic.subscription !== null) return
    const size = Buffer.byteLength(topic.queue)
    topic.subscription = connection.subscribe(this.#subjectOf(topic.queue), {
      callback: (error, message) => {
        // Another payload is not of a svc with this queue.
        if (error === null && message.data.length === size && message.string() === topic.queue)
          this.#incoming.add(topic.queue)
      }
    })
  }

  #emit(queue: string): void {
    for (const subscriber of this.#topics.get(queue)?.subscribers ?? []) queueMicrotask(() => subscriber(queue))
  }

  /** Names of queues may contain characters that subjects cannot. */
  #subjectOf(queue: string): string {
    const hash = createHash('sha256').update(queue).digest().subarray(0, 16).toString('base64url')
    return `${this.#options.subject}.${hash}`
  }

  /** Keeps a connection until the fan-out is closed. */
  async #run(): Promise<void> {
    const { signal } = this.#closing
    for (let failures = 0; !signal.aborted; ) {
      try {
        const connection = await this.#options.connect()
        if (signal.aborted) {
          await connection.close()
          return
        }
        failures = 0
        await this.#use(connection)
      } catch (error) {
        if (failures === 0 && !signal.aborted)
          this.#options.log.warn('no connection to NATS: queues are polled', { reason: errorMessage(error) })
        failures += 1
      }
      const delay = Math.min(MIN_BACKOFF_MS * 2 ** failures, MAX_BACKOFF_MS) * (0.5 + Math.random() / 2)
      await sleep(delay, undefined, { signal, ref: false }).catch(() => {})
    }
  }

  /** Uses a connection until it is closed for good. */
  async #use(connection: NatsConnection): Promise<void> {
    this.#connection = connection
    this.#isConnected = true
    try {
      for (const topic of this.#topics.values()) {
        topic.subscription = null
        this.#listen(topic)
      }
      const changes = this.#follow(connection)
      const error = await connection.closed()
      await changes
      if (error !== undefined && error !== null) throw error
    } finally {
      this.#isConnected = false
      this.#connection = null
    }
  }

  async #follow(connection: NatsConnection): Promise<void> {
    for await (const { type } of connection.status()) {
      if (type === 'disconnect') {
        this.#isConnected = false
        if (!this.#closing.signal.aborted) this.#options.log.warn('lost the connection to NATS: queues are polled')
      } else if (type === 'reconnect') {
        this.#isConnected = true
        this.#options.log.info('connected to NATS again')
      }
    }
  }
}

import type { ChangeFeed, Listener } from './change-feed.ts'
import { errorStatus, errorText } from './live-errors.ts'

/**
 * Over time, the runs of one query and the sending of its results take at most half of the time of a thread. The pause has
 * a maximum, so that slow queries may take more.
 */
const COST_FACTOR = 2
/** Milliseconds of runs in advance, so that a few changes in close succession are sent without a pause. */
const ADVANCE_MS = 250
/** Maximum pause between two runs of one query, in milliseconds. */
const MAX_PAUSE_MS = 20

export interface QueryAnswer {
  readonly status: number
  /** JSON. */
  readonly body: string
}

/** The connection of a client that watches a query. */
export interface ResultSink {
  /** Sends an answer. `position`: id of the last announced change. Returns a promise while the client reads slowly. */
  send(answer: QueryAnswer, position: number): Promise<void> | void
  /** Keeps the connection open, and updates the client's position. */
  beat?(position: number): void
  /** Ends the stream: with an error, or because the feed of changes has ended. No further call follows. */
  end(error: QueryAnswer | null): void
}

interface Client {
  readonly sink: ResultSink
  /** True while sent data is unread. */
  isBusy: boolean
  /** True if the client missed an answer; it gets the newest one when it has read the others. */
  isBehind: boolean
}

export interface WatchedQueryOptions {
  readonly feed: ChangeFeed
  /** Tables that the query reads. */
  readonly tables: ReadonlySet<string>
  readonly run: () => Promise<QueryAnswer>
  /** Throws if the callers would not be admitted now; null if everyone is. */
  readonly check: (() => Promise<void>) | null
  /** Called after a new answer was sent to all clients. */
  readonly onSent?: (clients: number) => void
  /** Called when the last client has left. */
  readonly onLeft: () => void
}

/** One query with its arguments, shared by all its clients: each change of its tables runs it once. */
export class WatchedQuery {
  readonly #options: WatchedQueryOptions
  readonly #clients = new Set<Client>()
  readonly #listener: Listener
  #last: QueryAnswer | null = null
  #starting: Promise<QueryAnswer> | null = null
  /** Number of clients that wait for the first answer, and are not added yet. */
  #arriving = 0
  #isRunning = false
  #isOutdated = false
  #isLeft = false
  /** Until when the runs so far take their share of the time, in milliseconds of `performance.now()`. */
  #paidUntil = 0

  constructor(options: WatchedQueryOptions) {
    this.#options = options
    this.#listener = {
      tables: options.tables,
      receive: () => this.#changed(),
      end: reason => {
        if (reason === null) for (const { sink } of this.#clients) sink.end(null)
        else
          void this.#listen().then(
            () => this.#changed(),
            error => this.#give(failed(error))
          )
      }
    }
  }

  /** Returns the current answer. The caller must then call {@link add} or {@link leave}. */
  async first(): Promise<QueryAnswer> {
    this.#arriving += 1
    try {
      // An outdated answer is soon followed by the next one.
      if (this.#last !== null) return this.#last
      this.#starting ??= this.#start()
      return await this.#starting
    } catch (error) {
      this.leave()
      throw error
    }
  }

  /** Adds a client, which first gets the current answer. Returns a function that removes it. */
  add(sink: ResultSink): () => void {
    const client: Client = { sink, isBusy: false, isBehind: false }
    this.#clients.add(client)
    this.#arriving -= 1
    this.#send(client)
    return () => {
      this.#clients.delete(client)
      this.#forgetIfAlone()
    }
  }

  leave(): void {
    this.#arriving -= 1
    this.#forgetIfAlone()
  }

  beat(): void {
    for (const { sink } of this.#clients) sink.beat?.(this.#position)
    void this.recheck()
  }

  /** Checks the identity of the clients again. Ends their streams and returns false if it has ended. */
  async recheck(): Promise<boolean> {
    try {
      await this.#options.check?.()
      return true
    } catch (error) {
      const clients = [...this.#clients]
      this.#clients.clear()
      for (const { sink } of clients) sink.end(failed(error))
      this.#forgetIfAlone()
      return false
    }
  }

  get #position(): number {
    return this.#options.feed.position ?? 0
  }

  /** Listens for changes, then runs the query, so that no change in between is missed. */
  async #start(): Promise<QueryAnswer> {
    try {
      await this.#listen()
      this.#last = await this.#options.run()
      return this.#last
    } finally {
      this.#starting = null
      if (this.#isOutdated) this.#changed()
    }
  }

  async #listen(): Promise<void> {
    const { feed } = this.#options
    if (!this.#isLeft) await feed.listen(this.#listener, await feed.newest())
  }

  #changed(): void {
    this.#isOutdated = true
    if (this.#isRunning || this.#starting !== null) return
    this.#isRunning = true
    void this.#runAgain().finally(() => {
      this.#isRunning = false
    })
  }

  async #runAgain(): Promise<void> {
    while (this.#isOutdated && !this.#isLeft) {
      this.#isOutdated = false
      const began = performance.now()
      if (!(await this.recheck())) return
      this.#give(await this.#options.run().catch(failed))
      const pauseMs = this.#pauseAfter(began)
      if (pauseMs > 0) await new Promise(resolve => setTimeout(resolve, pauseMs))
    }
  }

  /** Returns the milliseconds to wait after a run. */
  #pauseAfter(began: number): number {
    const now = performance.now()
    const paidUntil = Math.max(this.#paidUntil, began) + COST_FACTOR * (now - began)
    this.#paidUntil = Math.min(paidUntil, now + ADVANCE_MS + MAX_PAUSE_MS)
    return this.#paidUntil - now - ADVANCE_MS
  }

  #give(answer: QueryAnswer): void {
    const isNew = answer.body !== this.#last?.body || answer.status !== this.#last.status
    if (!isNew) return
    this.#last = answer
    for (const client of this.#clients) this.#send(client)
    this.#options.onSent?.(this.#clients.size)
  }

  /** Sends the answer. A slow client skips answers, but always gets the last one. */
  #send(client: Client): void {
    if (client.isBusy) {
      client.isBehind = true
      return
    }
    const busy = client.sink.send(this.#last as QueryAnswer, this.#position)
    if (busy === undefined) return
    client.isBusy = true
    void busy.then(() => {
      client.isBusy = false
      const wasBehind = client.isBehind
      client.isBehind = false
      if (wasBehind && this.#clients.has(client)) this.#send(client)
    })
  }

  #forgetIfAlone(): void {
    if (this.#isLeft || this.#clients.size > 0 || this.#arriving > 0) return
    this.#isLeft = true
    this.#options.feed.forget(this.#listener)
    this.#options.onLeft()
  }
}

function failed(error: unknown): QueryAnswer {
  return { status: errorStatus(error), body: errorText(error) }
}

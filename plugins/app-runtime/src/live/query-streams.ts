import type { HttpExchange } from '@svc/contracts'
import { sendAnswer } from '../serving/send-answer.ts'
import type { ChangeFeed, Listener } from './change-feed.ts'
import { EventStream } from './event-stream.ts'
import { errorText } from './live-errors.ts'
import type { LiveTopics } from './live-topics.ts'
import { slowClient } from './slow-client.ts'

/** Minimum time between two runs of one query, in milliseconds. */
const PAUSE_MS = 50

export interface QueryAnswer {
  readonly status: number
  readonly body: string
}

/** Runs a query of the program. `query` is the query string with its arguments. */
export type RunQuery = (name: string, query: string) => Promise<QueryAnswer>

interface Client {
  readonly stream: EventStream
  /** True while sent data is unread. */
  isBusy: boolean
  /** True if the client missed a result; it gets the newest one when it has read the others. */
  isBehind: boolean
}

/** Sends clients the result of a query whenever it changes. */
export class QueryStreams {
  readonly #topics: LiveTopics
  readonly #feed: ChangeFeed
  readonly #runQuery: RunQuery
  readonly #watched = new Map<string, WatchedQuery>()

  constructor(topics: LiveTopics, feed: ChangeFeed, ask: RunQuery) {
    this.#topics = topics
    this.#feed = feed
    this.#runQuery = ask
  }

  /** Handles `GET /api/live/query/:name?…`. */
  handle(exchange: HttpExchange): void {
    this.#open(exchange).catch((error: unknown) => exchange.fail(error))
  }

  beat(): void {
    for (const watched of this.#watched.values()) watched.beat()
  }

  async #open(exchange: HttpExchange): Promise<void> {
    const { query, params } = exchange
    const name = params.name ?? ''
    const tables = this.#topics.tablesOfQuery(name)
    const key = `${name}?${query}`
    let watched = this.#watched.get(key)
    if (watched === undefined) {
      const run = (): Promise<QueryAnswer> => this.#runQuery(name, query)
      watched = new WatchedQuery(this.#feed, tables, run, () => this.#watched.delete(key))
      this.#watched.set(key, watched)
    }
    const first = await watched.first()
    if (first.status === 200) watched.add(exchange)
    else {
      watched.leave()
      sendAnswer(exchange, first.status, first.body)
    }
  }
}

/** One query with its arguments, shared by all its clients. */
class WatchedQuery {
  readonly #feed: ChangeFeed
  readonly #run: () => Promise<QueryAnswer>
  readonly #onLeft: () => void
  readonly #clients = new Set<Client>()
  readonly #listener: Listener
  #last: QueryAnswer | null = null
  #starting: Promise<QueryAnswer> | null = null
  /** Number of clients that wait for the first result, and have no stream yet. */
  #arriving = 0
  #isRunning = false
  #isOutdated = false
  #isLeft = false

  constructor(feed: ChangeFeed, tables: ReadonlySet<string>, run: () => Promise<QueryAnswer>, onLeft: () => void) {
    this.#feed = feed
    this.#run = run
    this.#onLeft = onLeft
    this.#listener = {
      tables,
      receive: () => this.#changed(),
      end: reason => {
        if (reason === null) for (const { stream } of this.#clients) stream.end(null)
        else
          void this.#listen().then(
            () => this.#changed(),
            error => this.#give(failed(error))
          )
      }
    }
  }

  /** Returns the current result. The caller must then call {@link add} or {@link leave}. */
  async first(): Promise<QueryAnswer> {
    this.#arriving += 1
    try {
      // An outdated result is soon followed by the next one.
      if (this.#last !== null) return this.#last
      this.#starting ??= this.#start()
      return await this.#starting
    } catch (error) {
      this.leave()
      throw error
    }
  }

  add(exchange: HttpExchange): void {
    const stream = new EventStream(exchange, () => {
      this.#clients.delete(client)
      this.#forgetIfAlone()
    })
    const client: Client = { stream, isBusy: false, isBehind: false }
    this.#clients.add(client)
    this.#arriving -= 1
    this.#send(client)
  }

  leave(): void {
    this.#arriving -= 1
    this.#forgetIfAlone()
  }

  beat(): void {
    for (const { stream } of this.#clients) stream.beat(this.#feed.position ?? 0)
  }

  /** Listens for changes, then runs the query, so that no change in between is missed. */
  async #start(): Promise<QueryAnswer> {
    try {
      await this.#listen()
      this.#last = await this.#run()
      return this.#last
    } finally {
      this.#starting = null
      if (this.#isOutdated) this.#changed()
    }
  }

  async #listen(): Promise<void> {
    if (!this.#isLeft) await this.#feed.listen(this.#listener, await this.#feed.newest())
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
      this.#give(await this.#run().catch(failed))
      await new Promise(resolve => setTimeout(resolve, PAUSE_MS))
    }
  }

  #give(answer: QueryAnswer): void {
    const isNew = answer.body !== this.#last?.body || answer.status !== this.#last.status
    this.#last = answer
    if (isNew) for (const client of this.#clients) this.#send(client)
  }

  /** Sends the result. A slow client skips results, but always gets the last one. */
  #send(client: Client): void {
    if (client.isBusy) {
      client.isBehind = true
      return
    }
    const { status, body } = this.#last as QueryAnswer
    if (client.stream.send(status === 200 ? 'result' : 'error', body, this.#feed.position ?? 0)) return
    client.isBusy = true
    void client.stream.drained().then(hasRead => {
      client.isBusy = false
      if (!hasRead) client.stream.end('error', errorText(slowClient()))
      const wasBehind = client.isBehind
      client.isBehind = false
      if (wasBehind && !client.stream.isOver) this.#send(client)
    })
  }

  #forgetIfAlone(): void {
    if (this.#clients.size > 0 || this.#arriving > 0) return
    this.#isLeft = true
    this.#feed.forget(this.#listener)
    this.#onLeft()
  }
}

function failed(error: unknown): QueryAnswer {
  return { status: 500, body: errorText(error) }
}

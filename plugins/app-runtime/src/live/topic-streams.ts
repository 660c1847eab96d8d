import type { HttpExchange } from '@svc/contracts'
import type { IdentityFilter } from '../auth/ended-identities.ts'
import { failWith } from '../auth/refuse.ts'
import { runErrors } from '../errors.ts'
import type { ChangeFeed, Listener } from './change-feed.ts'
import type { Change } from './change-log.ts'
import { EventStream } from './event-stream.ts'
import { type Admission, type LiveAccess, type Recheck, recheckOf, streamOf } from './live-access.ts'
import { errorText } from './live-errors.ts'
import type { LiveTopics } from './live-topics.ts'
import { slowClient } from './slow-client.ts'

/** Sends the changes of a topic as server-sent events. */
export class TopicStreams {
  readonly #topics: LiveTopics
  readonly #feed: ChangeFeed
  readonly #access: LiveAccess
  readonly #streams = new Map<EventStream, { readonly listener: Listener; readonly recheck: Recheck }>()

  constructor(topics: LiveTopics, feed: ChangeFeed, access: LiveAccess) {
    this.#topics = topics
    this.#feed = feed
    this.#access = access
  }

  /** Handles `GET /api/live/:topic?after_id=N`. */
  handle(exchange: HttpExchange): void {
    this.#open(exchange).catch((error: unknown) => failWith(exchange, error))
  }

  /** Sends a heartbeat, so that an idle stream is not considered dead. */
  beat(): void {
    const { position } = this.#feed
    if (position === null) return
    // The heartbeat contains the position, so only clients that have received all changes get it.
    for (const [stream, { listener, recheck }] of this.#streams) {
      if (this.#feed.isCurrent(listener)) stream.beat(position)
      recheck(() => true)
    }
  }

  /** Ends the streams of identities that have ended. */
  recheck(isMeant: IdentityFilter): void {
    for (const { recheck } of [...this.#streams.values()]) recheck(isMeant)
  }

  async #open(exchange: HttpExchange): Promise<void> {
    const topic = exchange.params.topic ?? ''
    const tables = this.#topics.tablesOf(topic)
    const admission = await this.#access.admit(this.#topics.queriesOf(topic), streamOf(exchange))
    const requested = requestedPosition(exchange)
    const newest = await this.#feed.newest()
    const after = requested ?? newest
    // Checked before the stream starts, so that an error gets its HTTP status.
    if (requested !== null) await this.#feed.assertReachable(requested)
    const stream = new EventStream(exchange, () => {
      this.#feed.forget(listener)
      this.#streams.delete(stream)
    })
    const refused = (error: unknown): void => {
      this.#feed.forget(listener)
      stream.end('error', errorText(error))
    }
    const listener = this.#listener(topic, tables, stream, admission.check, refused)
    this.#streams.set(stream, { listener, recheck: recheckOf(admission, refused) })
    if (requested === null) stream.send('ready', JSON.stringify({ topic, after_id: after }), after)
    try {
      await this.#feed.listen(listener, after)
    } catch (error) {
      stream.end('error', errorText(error))
    }
  }

  #listener(
    topic: string,
    tables: ReadonlySet<string>,
    stream: EventStream,
    check: Admission['check'],
    refused: (error: unknown) => void
  ): Listener {
    const listener: Listener = {
      tables,
      receive: changes => {
        if (check === null) return send(changes)
        return check().then(() => send(changes), refused)
      },
      end: reason => {
        if (reason === null) stream.end(null)
        else stream.end('error', errorText(reason))
      }
    }
    const send = (changes: readonly Change[]): Promise<void> | void => {
      let isWritten = true
      for (const change of changes) {
        const text = JSON.stringify(this.#topics.announce(topic, change))
        isWritten = stream.send('change', text, change.id)
      }
      if (isWritten) return
      return stream.drained().then(hasRead => {
        if (!hasRead) refused(slowClient())
      })
    }
    return listener
  }
}

/** Returns the position of a reconnecting client. The header is newer than the URL. Throws `RUN_ARGUMENTS`. */
function requestedPosition({ request, query }: HttpExchange): number | null {
  const header = request.headers['last-event-id']
  const requested =
    (typeof header === 'string' && header !== '' ? header : undefined) ?? new URLSearchParams(query).get('after_id')
  if (requested === null || requested === undefined) return null
  if (/^\d{1,15}$/.test(requested)) return Number(requested)
  throw runErrors.create('RUN_ARGUMENTS', `after_id=${requested} is not the id of a change`)
}

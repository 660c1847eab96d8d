import { randomBytes } from 'node:crypto'
import type { DatabaseStore } from '@svc/contracts'
import { eventsInFile, SessionFile } from './session-file.ts'
import { sessionFileName } from './session-id.ts'
import { SessionRows } from './session-rows.ts'
import { type SessionEvent, SessionFold, type SessionTurn, type SessionView } from './session-state.ts'

type Kinds<E> = E extends SessionEvent ? Omit<E, 'id' | 'at'> : never
/** Event without id and time. */
export type NewEvent = Kinds<SessionEvent>

export interface SessionLogOptions {
  readonly repositoryId: string
  readonly folder: string
  /** Session folders of other programs; they are only read. */
  readonly otherFolders: readonly string[]
  readonly now: () => number
  readonly store: () => Promise<DatabaseStore | null>
  /** `auto`: a file is flushed to disk if no database stores the event. */
  readonly fsync: () => 'auto' | 'always' | 'never'
  readonly warn: (message: string, fields: Readonly<Record<string, unknown>>) => void
}

const PROCESS = randomBytes(4).toString('hex')
let counter = 0

/** Returns an id that sorts events of the same millisecond in order of creation in this process. */
function eventId(): string {
  return `${(counter++).toString(16).padStart(10, '0')}-${PROCESS}`
}

/**
 * Events of one session, in its file and in database rows. Both are valid: an event in only one of them counts as if it
 * were in both. An event is acknowledged when it is in the database. Without a database, it is acknowledged when it is in
 * the file, or, if the file cannot be written, after a warning.
 */
export class SessionLog {
  readonly session: string
  readonly #options: SessionLogOptions
  readonly #file: SessionFile
  readonly #events = new Map<string, SessionEvent>()
  readonly #inRows = new Set<string>()
  #lastRow = 0
  #readOthers = false
  #fold: SessionFold
  /** Time of the last event. */
  #lastAt = 0
  #queue: Promise<unknown> = Promise.resolve()
  #pendingCalls = 0
  /** True if an event exists only in this process. */
  #isUnsaved = false

  constructor(session: string, options: SessionLogOptions) {
    this.session = session
    this.#options = options
    this.#file = new SessionFile(`${options.folder}/${sessionFileName(session)}`)
    this.#fold = new SessionFold(session, options.repositoryId)
  }

  /** True while a call is pending. The log must then stay in memory: a second log would have a separate queue. */
  get isBusy(): boolean {
    return this.#pendingCalls > 0
  }

  get isUnsaved(): boolean {
    return this.#isUnsaved
  }

  /** Returns the session; null if it does not exist. */
  async view(): Promise<SessionView | null> {
    return this.#enqueue(async () => {
      await this.#refresh(await this.#options.store())
      return this.#events.size === 0 ? null : this.#fold.view
    })
  }

  /** Returns the turns with their messages, oldest first. */
  async turns(): Promise<readonly (SessionTurn & { readonly content: string })[]> {
    return this.#enqueue(async () => {
      const store = await this.#options.store()
      await this.#refresh(store)
      const { turns } = this.#fold
      const isWhole = turns.every(({ content }) => content !== undefined)
      const contents =
        isWhole || store === null
          ? new Map<string, string>()
          : await new SessionRows(store, this.#options.repositoryId).contents(this.session)
      return turns.map(turn => ({ ...turn, content: turn.content ?? contents.get(turn.id) ?? '' }))
    })
  }

  /**
   * Appends the events that `decide` derives from the current session. Events that are only in the file are added to
   * the database in the same transaction.
   */
  async record(decide: (view: SessionView | null) => readonly NewEvent[]): Promise<SessionView> {
    return this.#enqueue(async () => {
      const { now, repositoryId, fsync } = this.#options
      const store = await this.#options.store()
      await this.#refresh(store)
      const decided = decide(this.#events.size === 0 ? null : this.#fold.view)
      if (decided.length === 0) return this.#fold.view
      // A clock that runs backwards must not reorder messages.
      const at = Math.max(now(), this.#lastAt)
      const added = decided.map(event => ({ id: eventId(), at, ...event }) as SessionEvent)
      if (store !== null) {
        const missing = [...this.#events.values()].filter(({ id }) => !this.#inRows.has(id))
        const events = [...missing, ...added]
        const after = this.#fold.copy()
        for (const event of added) after.apply(event)
        await new SessionRows(store, repositoryId).write(after.view, events)
        for (const { id } of events) this.#inRows.add(id)
      }
      const isSynced = fsync() === 'always' || (fsync() === 'auto' && store === null)
      for (const event of added) {
        this.#add(event)
        await this.#append(event, isSynced, store !== null)
      }
      return this.#fold.view
    })
  }

  /** Marks an archived session as compacted, and removes earlier state changes and reset turns from the file. */
  async compact(): Promise<void> {
    const { turns = 0 } = (await this.view()) ?? {}
    await this.record(view => (view?.state === 'archived' ? [{ event: 'compacted', turns }] : []))
    await this.#enqueue(async () => {
      await this.#refresh(null)
      const events = [...this.#events.values()]
      const reset = Math.max(...events.map(each => (each.event === 'reset' ? each.at : 0)))
      const kept = events.filter(
        ({ event, at }) => event !== 'state_changed' && !(event === 'turn_added' && at < reset && at > 0)
      )
      const archived = events.findLast(each => each.event === 'state_changed' && each.state === 'archived')
      // Kept, because the next state would be an invalid transition without it.
      if (archived !== undefined) kept.push(archived)
      if (kept.length < events.length && events.every(each => hasContent(each))) await this.#file.replace(kept)
    })
  }

  async #append(event: SessionEvent, isSynced: boolean, isInRows: boolean): Promise<void> {
    try {
      await this.#file.append(event, isSynced)
    } catch (error) {
      if (!isInRows) this.#isUnsaved = true
      this.#options.warn('an event of a session could not be written to its file', {
        session_id: this.session,
        file: this.#file.path,
        reason: (error as Error).message
      })
    }
  }

  async #refresh(store: DatabaseStore | null): Promise<void> {
    const found = await this.#file.read()
    if (!this.#readOthers) {
      for (const folder of this.#options.otherFolders)
        found.push(...(await eventsInFile(`${folder}/${sessionFileName(this.session)}`)))
      this.#readOthers = true
    }
    if (store !== null) {
      const rows = new SessionRows(store, this.#options.repositoryId)
      const { events, last } = await rows.eventsAfter(this.session, this.#lastRow)
      this.#lastRow = last
      for (const { id } of events) this.#inRows.add(id)
      found.push(...events)
    }
    const news = found.filter(event => this.#isNews(event))
    if (news.length === 0) return
    for (const event of news) this.#events.set(event.id, event)
    this.#fold = new SessionFold(this.session, this.#options.repositoryId, this.#events.values())
    for (const { at } of news) this.#lastAt = Math.max(this.#lastAt, at)
  }

  /** Returns whether an event is new. An event that was known without its message is new once it has the message. */
  #isNews(event: SessionEvent): boolean {
    const known = this.#events.get(event.id)
    return known === undefined || (hasContent(event) && !hasContent(known))
  }

  #add(event: SessionEvent): void {
    this.#events.set(event.id, event)
    this.#lastAt = event.at
    this.#fold.apply(event)
  }

  /** Runs work after all earlier work of this session. */
  #enqueue<A>(work: () => Promise<A>): Promise<A> {
    this.#pendingCalls += 1
    const turn = this.#queue.then(work).finally(() => {
      this.#pendingCalls -= 1
    })
    this.#queue = turn.catch(() => undefined)
    return turn
  }
}

function hasContent(event: SessionEvent): boolean {
  return event.event !== 'turn_added' || event.turn.content !== undefined
}

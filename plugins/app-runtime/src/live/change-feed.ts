import type { DatabaseStore } from '@svc/contracts'
import { runErrors } from '../errors.ts'
import { type Change, ChangeLog } from './change-log.ts'

/** Poll interval in milliseconds with listeners; announced changes are read immediately. */
const LOOK_MS = 50
/** The same for a remote database, where each poll is a request. */
const REMOTE_LOOK_MS = 1_000
/** Delay of the next poll after a failure, in milliseconds. */
const RETRY_MS = 1_000
const PAGE = 1_000
/** Changes kept in memory for clients that reconnect soon. */
const REMEMBERED = 5_000

/** A listener that receives each change once, in order. */
export interface Listener {
  readonly tables: ReadonlySet<string>
  /**
   * Only changes of the listener's tables. A promise resolves when the listener is ready for more. Until then it
   * receives nothing; later changes are read from the log.
   */
  take(changes: readonly Change[]): Promise<void> | void
  /** Called if changes were lost, or the feed has ended. No further call follows. */
  end(reason: unknown): void
}

/** Delivers the changes of one database to all listeners, without gaps. */
export class ChangeFeed {
  readonly #log: ChangeLog
  readonly #lookMs: number
  readonly #onFailure: (error: unknown) => void
  readonly #listeners = new Set<Listener>()
  /** Listeners that still receive older changes. */
  readonly #catchingUp = new Set<Listener>()
  #position: number | null = null
  #recent: Change[] = []
  #running: Promise<void> | null = null
  #wake: (() => void) | null = null
  #isNudged = false
  #isClosed = false

  constructor(store: Pick<DatabaseStore, 'query' | 'mode'>, onFailure: (error: unknown) => void) {
    this.#log = new ChangeLog(store)
    this.#lookMs = store.mode === 'remote' ? REMOTE_LOOK_MS : LOOK_MS
    this.#onFailure = onFailure
  }

  /** Id of the last announced change; null without listeners. */
  get position(): number | null {
    return this.#position
  }

  /** True if a listener has received all changes up to {@link position}. */
  isCurrent(listener: Listener): boolean {
    return this.#listeners.has(listener)
  }

  /** Id of the last change in the database. */
  newest(): Promise<number> {
    return this.#log.newest()
  }

  /**
   * Sends a listener every change after the given id, until it is removed. Resolves when it has received all
   * recorded changes. Throws `RUN_LIVE_GONE` if some are no longer recorded.
   */
  async listen(listener: Listener, after: number): Promise<void> {
    if (this.#isClosed) {
      listener.end(null)
      return
    }
    this.#catchingUp.add(listener)
    try {
      this.#running ??= this.#run()
      let cursor = after
      while (this.#catchingUp.has(listener)) {
        if (this.#attach(listener, cursor)) return
        // In this order, so that all changes up to the id are recorded when they are read.
        const newest = await this.#log.newest()
        if (newest === cursor) {
          await this.#step()
          continue
        }
        const changes = await this.#log.after(cursor, PAGE)
        if (!followOn(changes, cursor)) throw goneAfter(after, newest)
        await listener.take(changes.filter(({ table }) => listener.tables.has(table)))
        cursor += changes.length
      }
    } catch (error) {
      this.#catchingUp.delete(listener)
      throw error
    }
  }

  /** Throws `RUN_LIVE_GONE` if changes after the id are no longer recorded, or the id never existed. */
  async assertReachable(after: number): Promise<void> {
    const newest = await this.#log.newest()
    if (newest !== after && !followOn(await this.#log.after(after, 1), after)) throw goneAfter(after, newest)
  }

  forget(listener: Listener): void {
    this.#listeners.delete(listener)
    this.#catchingUp.delete(listener)
  }

  /** Polls immediately, because a caller knows of changes. */
  nudge(): void {
    this.#isNudged = true
    this.#wake?.()
  }

  /** Ends everything; all listeners are notified. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    const all = [...this.#listeners, ...this.#catchingUp]
    this.#listeners.clear()
    this.#catchingUp.clear()
    for (const listener of all) listener.end(null)
    this.#wake?.()
  }

  /** Adds a listener that has received all changes up to `cursor`, if the later ones are in memory. */
  #attach(listener: Listener, cursor: number): boolean {
    const position = this.#position
    if (position === null || cursor > position) return false
    const missed = position - cursor
    if (missed > this.#recent.length) return false
    this.#catchingUp.delete(listener)
    this.#listeners.add(listener)
    if (missed > 0) this.#hand(listener, this.#recent.slice(-missed))
    return true
  }

  #hand(listener: Listener, changes: readonly Change[]): void {
    const own = changes.filter(({ table }) => listener.tables.has(table))
    const busy = own.length > 0 ? listener.take(own) : undefined
    if (busy instanceof Promise) void this.#handLater(listener, busy, this.#position ?? 0)
  }

  async #handLater(listener: Listener, busy: Promise<void>, cursor: number): Promise<void> {
    this.#listeners.delete(listener)
    this.#catchingUp.add(listener)
    try {
      await busy
      if (this.#catchingUp.has(listener)) await this.listen(listener, cursor)
    } catch (error) {
      listener.end(error)
    }
  }

  async #run(): Promise<void> {
    while (!this.#isClosed && this.#listeners.size + this.#catchingUp.size > 0) {
      const wait = await this.#look()
      if (wait > 0) await this.#pause(wait)
    }
    this.#running = null
    this.#position = null
    this.#recent = []
    // A listener may have been added meanwhile.
    if (!this.#isClosed && this.#listeners.size + this.#catchingUp.size > 0) this.#running = this.#run()
  }

  /** Returns the milliseconds until the next poll. */
  async #look(): Promise<number> {
    this.#isNudged = false
    try {
      const newest = await this.#log.newest()
      if (this.#position === null) this.#position = newest
      if (newest === this.#position) return this.#lookMs
      if (newest < this.#position) {
        this.#lose(newest)
        return 0
      }
      const changes = await this.#log.after(this.#position, PAGE)
      if (!followOn(changes, this.#position)) {
        this.#lose(newest)
        return 0
      }
      this.#recent = [...this.#recent, ...changes].slice(-REMEMBERED)
      this.#position += changes.length
      for (const listener of this.#listeners) this.#hand(listener, changes)
      return 0
    } catch (error) {
      this.#onFailure(error)
      return RETRY_MS
    }
  }

  /** The database was replaced, or clients are too far behind: all clients must start again. */
  #lose(newest: number): void {
    const lost = goneAfter(this.#position ?? 0, newest)
    this.#position = newest
    this.#recent = []
    for (const listener of this.#listeners) {
      this.#listeners.delete(listener)
      listener.end(lost)
    }
  }

  #pause(milliseconds: number): Promise<void> {
    if (this.#isNudged || this.#isClosed) return Promise.resolve()
    return new Promise(resolve => {
      const done = (): void => {
        clearTimeout(timer)
        this.#wake = null
        resolve()
      }
      const timer = setTimeout(done, milliseconds)
      this.#wake = done
    })
  }

  /** Advances the feed to the end of the log. */
  async #step(): Promise<void> {
    this.nudge()
    await new Promise(resolve => setTimeout(resolve, 1))
  }
}

/** True if the changes follow an id without a gap. */
function followOn(changes: readonly Change[], after: number): boolean {
  return changes.length > 0 && changes.at(-1)?.id === after + changes.length
}

function goneAfter(after: number, newest: number): Error {
  return runErrors.create(
    'RUN_LIVE_GONE',
    `some changes after ${after} are no longer recorded; the last change is ${newest}`,
    {
      hint: `read the rows again, and listen with after_id=${newest}`,
      data: { after_id: after, newest_id: newest }
    }
  )
}

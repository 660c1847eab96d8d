import type { DatabaseStore } from '@svc/contracts'
import { runErrors } from '../errors.ts'
import { type Change, ChangeLog } from './change-log.ts'

/** Poll interval in milliseconds while there are listeners. After `nudge`, changes are read immediately. */
const POLL_MS = 50
/** Poll interval of a remote database, where each poll is a request. */
const REMOTE_POLL_MS = 1_000
/** Delay of the next poll after a failure, in milliseconds. */
const RETRY_MS = 1_000
const PAGE = 1_000
/** Number of changes in memory, for clients that reconnect soon. */
const MAX_RECENT = 5_000

/** A listener that receives each change once, in order. */
export interface Listener {
  readonly tables: ReadonlySet<string>
  /**
   * Receives changes of the listener's tables. If it returns a promise, the listener gets no changes until the promise
   * resolves; those it missed are then read from the log.
   */
  receive(changes: readonly Change[]): Promise<void> | void
  /** Called if changes were lost, or the feed has ended. No further call follows. */
  end(reason: unknown): void
}

/** Delivers the changes of one database to all listeners, without gaps. */
export class ChangeFeed {
  readonly #log: ChangeLog
  readonly #pollMs: number
  readonly #onFailure: (error: unknown) => void
  readonly #listeners = new Set<Listener>()
  /** Listeners that are still reading older changes from the log. */
  readonly #catchingUp = new Set<Listener>()
  #position: number | null = null
  #recent: Change[] = []
  #running: Promise<void> | null = null
  #wake: (() => void) | null = null
  #isNudged = false
  #isClosed = false

  constructor(store: Pick<DatabaseStore, 'query' | 'mode'>, onFailure: (error: unknown) => void) {
    this.#log = new ChangeLog(store)
    this.#pollMs = store.mode === 'remote' ? REMOTE_POLL_MS : POLL_MS
    this.#onFailure = onFailure
  }

  /** Id of the last announced change; null if there are no listeners. */
  get position(): number | null {
    return this.#position
  }

  /** True if a listener has received all changes up to {@link position}. */
  isCurrent(listener: Listener): boolean {
    return this.#listeners.has(listener)
  }

  /** Returns the id of the last change in the database. */
  newest(): Promise<number> {
    return this.#log.newest()
  }

  /**
   * Sends a listener every change after an id, until the listener is removed. Resolves when it has received all
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
        // Reads the id before the changes, so that all changes up to the id are found.
        const newest = await this.#log.newest()
        if (newest === cursor) {
          await this.#pollOnce()
          continue
        }
        const changes = await this.#log.after(cursor, PAGE)
        if (!followOn(changes, cursor)) throw goneAfter(after, newest)
        await listener.receive(changes.filter(({ table }) => listener.tables.has(table)))
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

  /** Polls immediately; called after a known change. */
  nudge(): void {
    this.#isNudged = true
    this.#wake?.()
  }

  /** Stops polling, and ends all listeners. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    const all = [...this.#listeners, ...this.#catchingUp]
    this.#listeners.clear()
    this.#catchingUp.clear()
    for (const listener of all) listener.end(null)
    this.#wake?.()
  }

  /** Adds a listener that has received all changes up to `cursor`. Returns false if later ones are not in memory. */
  #attach(listener: Listener, cursor: number): boolean {
    const position = this.#position
    if (position === null || cursor > position) return false
    const missed = position - cursor
    if (missed > this.#recent.length) return false
    this.#catchingUp.delete(listener)
    this.#listeners.add(listener)
    if (missed > 0) this.#deliver(listener, this.#recent.slice(-missed))
    return true
  }

  #deliver(listener: Listener, changes: readonly Change[]): void {
    const own = changes.filter(({ table }) => listener.tables.has(table))
    const busy = own.length > 0 ? listener.receive(own) : undefined
    if (busy instanceof Promise) void this.#deliverLater(listener, busy, this.#position ?? 0)
  }

  async #deliverLater(listener: Listener, busy: Promise<void>, cursor: number): Promise<void> {
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
      const wait = await this.#poll()
      if (wait > 0) await this.#pause(wait)
    }
    this.#running = null
    this.#position = null
    this.#recent = []
    // A listener may have been added while the loop ended.
    if (!this.#isClosed && this.#listeners.size + this.#catchingUp.size > 0) this.#running = this.#run()
  }

  /** Reads and delivers new changes. Returns the milliseconds until the next poll. */
  async #poll(): Promise<number> {
    const isNudged = this.#isNudged
    this.#isNudged = false
    try {
      // After an announcement there are changes: one statement reads them.
      if (isNudged && this.#position !== null) {
        const changes = await this.#log.after(this.#position, PAGE)
        if (followOn(changes, this.#position)) {
          this.#announce(changes)
          return 0
        }
      }
      const newest = await this.#log.newest()
      if (this.#position === null) this.#position = newest
      if (newest === this.#position) return this.#pollMs
      if (newest < this.#position) {
        this.#endGone(newest)
        return 0
      }
      const changes = await this.#log.after(this.#position, PAGE)
      if (!followOn(changes, this.#position)) {
        this.#endGone(newest)
        return 0
      }
      this.#announce(changes)
      return 0
    } catch (error) {
      this.#onFailure(error)
      return RETRY_MS
    }
  }

  /** Delivers the changes that follow the position. */
  #announce(changes: readonly Change[]): void {
    this.#recent = [...this.#recent, ...changes].slice(-MAX_RECENT)
    this.#position = (this.#position ?? 0) + changes.length
    for (const listener of this.#listeners) this.#deliver(listener, changes)
  }

  /** Ends all listeners with `RUN_LIVE_GONE`: the database was replaced, or changes were removed before delivery. */
  #endGone(newest: number): void {
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

  /** Lets the feed poll once, so that its position reaches the end of the log. */
  async #pollOnce(): Promise<void> {
    this.nudge()
    await new Promise(resolve => setTimeout(resolve, 1))
  }
}

/** True if there are changes and they follow the id without a gap. */
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

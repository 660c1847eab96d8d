import type { Coordination } from '@svc/contracts'

/** Interval in milliseconds at which all waited-for mailboxes are checked. */
const CHECK_MS = 250
/** Maximum number of mailboxes in one query. */
const MAX_QUEUES = 1_000

export interface Attempt {
  /** Body of the response; null if there is no message for this request. */
  readonly answer: string | null
  /** Requests of one group may take the same messages: if one of them finds none, the others need not try. */
  readonly group: string
}

export interface WaitOptions {
  readonly waitMs: number
  readonly signal: AbortSignal
  /** Group of the attempt that failed before the wait. */
  readonly group: string
  readonly attempt: () => Promise<Attempt>
}

interface Waiter {
  readonly attempt: () => Promise<Attempt>
  group: string
  /** True while an attempt runs, whose outcome then ends the wait or continues it. */
  isBusy: boolean
  /** True once the time is over or the client is gone. */
  isOver: boolean
  finish(outcome: { readonly answer: string | null } | { readonly error: unknown }): void
}

/**
 * Requests that wait for a message. All mailboxes are checked every 250 ms by one query, and single ones on hints of the
 * store, which may be lost.
 */
export class InboxWaiters {
  readonly #store: () => Pick<Coordination, 'ready' | 'hints'>
  readonly #waiters = new Map<string, Set<Waiter>>()
  readonly #endHints = new Map<string, () => void>()
  readonly #serving = new Set<string>()
  #timer: NodeJS.Timeout | null = null
  #isClosed = false

  constructor(store: () => Pick<Coordination, 'ready' | 'hints'>) {
    this.#store = store
  }

  /** Number of waiting requests. */
  get size(): number {
    return [...this.#waiters.values()].reduce((sum, { size }) => sum + size, 0)
  }

  /**
   * Waits until `attempt` finds something in a mailbox. Resolves to null after `waitMs`, when the signal aborts, and when
   * the waiters are closed. Rejects with the error of an attempt.
   */
  wait(queue: string, { waitMs, signal, group, attempt }: WaitOptions): Promise<string | null> {
    if (this.#isClosed || signal.aborted || waitMs <= 0) return Promise.resolve(null)
    return new Promise((resolve, reject) => {
      const giveUp = (): void => {
        waiter.isOver = true
        // A message that a running attempt takes must not be lost.
        if (!waiter.isBusy) waiter.finish({ answer: null })
      }
      const limit = setTimeout(giveUp, waitMs)
      const waiter: Waiter = {
        attempt,
        group,
        isBusy: false,
        isOver: false,
        finish: outcome => {
          clearTimeout(limit)
          signal.removeEventListener('abort', giveUp)
          this.#remove(queue, waiter)
          if ('error' in outcome) reject(outcome.error)
          else resolve(outcome.answer)
        }
      }
      signal.addEventListener('abort', giveUp, { once: true })
      this.#add(queue, waiter)
    })
  }

  /** Ends all waits, and those that begin later. */
  close(): void {
    this.#isClosed = true
    for (const waiter of [...this.#waiters.values()].flatMap(each => [...each])) {
      waiter.isOver = true
      if (!waiter.isBusy) waiter.finish({ answer: null })
    }
  }

  #add(queue: string, waiter: Waiter): void {
    const waiters = this.#waiters.get(queue) ?? new Set()
    waiters.add(waiter)
    this.#waiters.set(queue, waiters)
    if (!this.#endHints.has(queue))
      this.#endHints.set(
        queue,
        this.#store().hints([queue], () => void this.#serve(queue))
      )
    this.#timer ??= setTimeout(() => void this.#check(), CHECK_MS)
  }

  #remove(queue: string, waiter: Waiter): void {
    const waiters = this.#waiters.get(queue)
    waiters?.delete(waiter)
    if (waiters === undefined || waiters.size > 0) return
    this.#waiters.delete(queue)
    this.#endHints.get(queue)?.()
    this.#endHints.delete(queue)
    if (this.#waiters.size > 0 || this.#timer === null) return
    clearTimeout(this.#timer)
    this.#timer = null
  }

  async #check(): Promise<void> {
    try {
      const queues = [...this.#waiters.keys()]
      for (let start = 0; start < queues.length; start += MAX_QUEUES) {
        const ready = await this.#store().ready(queues.slice(start, start + MAX_QUEUES))
        await Promise.all(ready.map(queue => this.#serve(queue)))
      }
    } catch {
      // The store does not respond. The next check, or the next attempt of a request, reports it.
    }
    this.#timer = this.#waiters.size === 0 ? null : setTimeout(() => void this.#check(), CHECK_MS)
  }

  /** Lets waiting requests of a mailbox try, in the order of arrival. */
  async #serve(queue: string): Promise<void> {
    if (this.#serving.has(queue)) return
    this.#serving.add(queue)
    try {
      const empty = new Set<string>()
      for (const waiter of [...(this.#waiters.get(queue) ?? [])]) {
        if (empty.has(waiter.group) || waiter.isOver) continue
        if (!(await attemptOf(waiter))) empty.add(waiter.group)
      }
    } finally {
      this.#serving.delete(queue)
    }
  }
}

/** Runs one attempt of a request. Returns whether it found something. */
async function attemptOf(waiter: Waiter): Promise<boolean> {
  waiter.isBusy = true
  try {
    const { answer, group } = await waiter.attempt()
    waiter.group = group
    if (answer !== null || waiter.isOver) waiter.finish({ answer })
    return answer !== null
  } catch (error) {
    waiter.finish({ error })
    return false
  } finally {
    waiter.isBusy = false
  }
}

/** Minimum surplus of callers that is split into two groups. */
const MIN_SPLIT = 32

/**
 * Notifies the callers of finished transactions, in order. It does so at the end of the event loop turn, when the next
 * transaction is already running: callers and database work at the same time.
 *
 * Callers notified together mostly call again together. If all did, callers and database would alternate, each waiting
 * for the other. So if few others wait, some callers are notified earlier. Transactions then become about equally large.
 */
export class CallerNotifier<A> {
  readonly #notify: (caller: A) => void
  #due: readonly A[] = []
  #turn: NodeJS.Immediate | undefined

  constructor(notify: (caller: A) => void) {
    this.#notify = notify
  }

  /**
   * Schedules the notifications. `others`: the number of callers that wait for the next transaction. Returns true if
   * that transaction should start a turn later, since some of the notified callers will join it.
   */
  add(callers: readonly A[], others: number): boolean {
    // Callers that are notified only now are about to call again.
    const surplus = callers.length - others - this.notifyAll()
    const isSplit = surplus >= MIN_SPLIT
    const early = isSplit ? surplus >> 1 : 0
    this.#due = callers.slice(early)
    for (const caller of callers.slice(0, early)) this.#notify(caller)
    // The early callers' transaction starts by the end of this turn, and runs at the end of the next.
    this.#turn = setImmediate(() => {
      if (isSplit) this.#turn = setImmediate(() => this.notifyAll())
      else this.notifyAll()
    })
    return isSplit
  }

  /** Notifies the remaining callers now. Returns their number. */
  notifyAll(): number {
    clearImmediate(this.#turn)
    const due = this.#due
    this.#due = []
    for (const caller of due) this.#notify(caller)
    return due.length
  }
}

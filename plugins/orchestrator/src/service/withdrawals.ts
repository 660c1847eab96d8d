import type { RemoteDelegate, WithdrawalReason } from '@svc/contracts'
import type { Withdrawal } from '../state/holds.ts'

type Listener = (task: number, delegate: RemoteDelegate, why: WithdrawalReason) => void

/** Notifies placers of remote work that is no longer wanted. Kept across reloads, with its listeners. */
export class WithdrawalFeed {
  readonly #listeners = new Set<Listener>()
  readonly #report: (error: unknown) => void

  constructor(report: (error: unknown) => void) {
    this.#report = report
  }

  /** Calls `listener` for every withdrawal until the returned function is called. */
  subscribe(listener: Listener): () => void {
    const own: Listener = (task, delegate, why) => listener(task, delegate, why)
    this.#listeners.add(own)
    return () => void this.#listeners.delete(own)
  }

  /** Errors of a listener are reported; the other listeners are still called. */
  publish({ task, delegate, why }: Withdrawal): void {
    for (const listener of this.#listeners) {
      try {
        listener(task, delegate, why)
      } catch (error) {
        this.#report(error)
      }
    }
  }
}

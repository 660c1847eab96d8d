import { randomUUID } from 'node:crypto'
import type { ItemToken, SharedWorkflowRuns, WorkflowOutlook } from '@svc/contracts'
import { type ClaimedEntry, LEASE_MS } from './claimed-queue.ts'
import { hasEnded, ownerOf } from './owner.ts'

interface Source<Entry> {
  outlook(): Promise<WorkflowOutlook>
  claim(owner: string, options: { readonly max: number; readonly leaseMs: number }): Promise<readonly Entry[]>
}

/** The items of one queue on a shared server that this process has claimed, whose leases it extends. */
export class SharedQueue<Entry extends ClaimedEntry> {
  readonly #runs: Pick<SharedWorkflowRuns, 'extend' | 'giveBack'>
  readonly #source: Source<Entry>
  readonly #held = new Set<Entry>()
  /** Claimed items whose work has not started, in order. */
  readonly ahead: Entry[] = []

  constructor(runs: Pick<SharedWorkflowRuns, 'extend' | 'giveBack'>, source: Source<Entry>) {
    this.#runs = runs
    this.#source = source
  }

  /** Returns whether items can be claimed, and when the next ones can. Gives back those of ended processes of this host. */
  async look(): Promise<{ readonly isReady: boolean; readonly nextAt: number | null }> {
    const { isReady, nextInMs, leased } = await this.#source.outlook()
    const lost = leased.filter(({ holder }) => hasEnded(holder))
    await this.#runs.giveBack(lost)
    return { isReady: isReady || lost.length > 0, nextAt: nextInMs === null ? null : Date.now() + nextInMs }
  }

  /** Claims items, and adds them to `ahead`. */
  async claim(max: number): Promise<void> {
    for (const entry of await this.#source.claim(ownerOf(randomUUID()), { max, leaseMs: LEASE_MS })) {
      this.#held.add(entry)
      this.ahead.push(entry)
    }
  }

  /** Called when the work on an item has ended. */
  drop(entry: Entry): void {
    this.#held.delete(entry)
  }

  /** Extends the leases of all claimed items. */
  async extend(): Promise<void> {
    await this.#runs.extend(this.#tokens, LEASE_MS)
  }

  /** Returns all claimed items to the queue. */
  async release(): Promise<void> {
    await this.#runs.giveBack(this.#tokens)
    this.#held.clear()
    this.ahead.length = 0
  }

  get #tokens(): readonly ItemToken[] {
    return [...this.#held].map(({ token }) => token)
  }
}

import { randomUUID } from 'node:crypto'
import type { ItemToken, SharedWorkflowRuns } from '@svc/contracts'
import type { ClaimedEntry } from './claimed-queue.ts'
import { hasEnded, ownerOf } from './owner.ts'

/** Lease of a claimed run in milliseconds. */
const LEASE_MS = 30_000

interface ClaimedRun extends ClaimedEntry {
  readonly wasInterrupted: boolean
}

/** The runs of a program on a shared server that this process has claimed, whose leases it extends. */
export class SharedRunQueue {
  readonly #runs: SharedWorkflowRuns
  readonly #program: string
  readonly #held = new Set<ClaimedRun>()
  /** Claimed runs that no thread works on yet, in order. */
  readonly ahead: ClaimedRun[] = []

  constructor(runs: SharedWorkflowRuns, program: string) {
    this.#runs = runs
    this.#program = program
  }

  /** Returns whether runs can be claimed, and when the next ones can. Gives back the runs of ended processes of this host. */
  async look(): Promise<{ readonly isReady: boolean; readonly nextAt: number | null }> {
    const { isReady, nextInMs, leased } = await this.#runs.outlook(this.#program)
    const lost = leased.filter(({ holder }) => hasEnded(holder))
    await this.#runs.giveBack(lost)
    return { isReady: isReady || lost.length > 0, nextAt: nextInMs === null ? null : Date.now() + nextInMs }
  }

  /** Claims runs, and adds them to `ahead`. */
  async claim(max: number): Promise<void> {
    const owner = ownerOf(randomUUID())
    const claimed = await this.#runs.claimReady(this.#program, owner, { max, leaseMs: LEASE_MS, now: Date.now() })
    for (const { runId, token, wasInterrupted } of claimed) {
      const run = { body: runId, owner, token, wasInterrupted }
      this.#held.add(run)
      this.ahead.push(run)
    }
  }

  /** Called when the turn of a run has ended. */
  drop(run: ClaimedRun): void {
    this.#held.delete(run)
  }

  /** Extends the leases of all claimed runs. */
  async extend(): Promise<void> {
    await this.#runs.extend(this.#tokens, LEASE_MS)
  }

  /** Returns all claimed runs to the queue. */
  async release(): Promise<void> {
    await this.#runs.giveBack(this.#tokens)
    this.#held.clear()
    this.ahead.length = 0
  }

  get #tokens(): readonly ItemToken[] {
    return [...this.#held].map(({ token }) => token)
  }
}

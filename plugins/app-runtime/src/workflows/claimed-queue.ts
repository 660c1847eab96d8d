import { randomUUID } from 'node:crypto'
import {
  coordinationSql as crd,
  type DatabaseStore,
  type ItemToken,
  type SqlResult,
  type SqlStatement
} from '@svc/contracts'
import { hasEnded, ownerOf } from './owner.ts'

/** Lease of a claimed item in milliseconds. */
export const LEASE_MS = 30_000

/** An item that this process has claimed. */
export interface ClaimedEntry {
  readonly body: string
  readonly owner: string
  readonly token: ItemToken
}

/** The items of one queue that this process has claimed, whose leases it extends. */
export class ClaimedQueue<Entry extends ClaimedEntry> {
  readonly #store: DatabaseStore
  readonly #queue: string
  readonly #alongside: (owner: string) => readonly SqlStatement[]
  readonly #entry: (entry: ClaimedEntry, results: readonly SqlResult[]) => Entry
  readonly #held = new Set<Entry>()
  /** Claimed items whose work has not started, in order. */
  readonly ahead: Entry[] = []

  /**
   * `alongside`: statements in the transaction of a claim, after it. `entry`: converts a claimed item, with the results of
   * those statements.
   */
  constructor(
    store: DatabaseStore,
    queue: string,
    {
      alongside,
      entry
    }: {
      readonly alongside: (owner: string) => readonly SqlStatement[]
      readonly entry: (entry: ClaimedEntry, results: readonly SqlResult[]) => Entry
    }
  ) {
    this.#store = store
    this.#queue = queue
    this.#alongside = alongside
    this.#entry = entry
  }

  get held(): readonly Entry[] {
    return [...this.#held]
  }

  /**
   * Returns whether items can be claimed, and when the next ones can. Returns the items of processes that have certainly
   * ended to the queue: those of this machine are claimed before their lease ends.
   */
  async look(): Promise<Pick<crd.QueueOutlook, 'isReady' | 'nextAt'>> {
    const { statements, read } = crd.outlookOf(this.#queue)
    const results: SqlResult[] = []
    for (const { sql, parameters } of statements) results.push(await this.#store.query(sql, parameters))
    const { isReady, nextAt, leased } = read(results)
    const holders = new Map<string, boolean>()
    const isLost = (holder: string): boolean => {
      const known = holders.get(holder) ?? hasEnded(holder)
      holders.set(holder, known)
      return known
    }
    const lost = leased.filter(({ holder }) => isLost(holder))
    await this.#giveBack(lost)
    return { isReady: isReady || lost.length > 0, nextAt }
  }

  /** Claims items, in one transaction, and adds them to `ahead`. */
  async claim(max: number): Promise<void> {
    const owner = ownerOf(randomUUID())
    const { statements, read } = crd.claimItems(this.#queue, owner, { max, leaseMs: LEASE_MS })
    const results = await this.#store.batch([...statements, ...this.#alongside(owner)])
    const others = results.slice(statements.length)
    for (const { id, fence, body } of read(results)) {
      const entry = this.#entry({ body, owner, token: { id, fence } }, others)
      this.#held.add(entry)
      this.ahead.push(entry)
    }
  }

  /** Called when the work on an item has ended. */
  drop(entry: Entry): void {
    this.#held.delete(entry)
  }

  /** Extends the leases of all claimed items. `alongside`: further statements of the transaction. */
  async extend(
    alongside: (held: readonly Entry[], until: number) => readonly SqlStatement[] = () => []
  ): Promise<void> {
    const held = this.held
    if (held.length === 0) return
    const { statements } = crd.extendItems(held.map(({ token }) => ({ ...token, leaseMs: LEASE_MS })))
    await this.#store.batch([...statements, ...alongside(held, Date.now() + LEASE_MS)])
  }

  /** Returns all claimed items to the queue. */
  async release(): Promise<void> {
    await this.#giveBack(this.held.map(({ token }) => token))
    this.#held.clear()
    this.ahead.length = 0
  }

  async #giveBack(tokens: readonly ItemToken[]): Promise<void> {
    if (tokens.length === 0) return
    const { statements } = crd.nackItems(tokens.map(({ id, fence }) => ({ id, fence, delayMs: 0 })))
    await this.#store.batch(statements)
  }
}

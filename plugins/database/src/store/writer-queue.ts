import type { SqlResult } from '@svc/contracts'
import type { BoundStatement, SqlOutcome } from '../worker/protocol.ts'

interface QueuedWrite {
  /** A single write, which may share a commit; null for exclusive work in `turn`. */
  readonly statement: BoundStatement | null
  readonly signal: AbortSignal | undefined
  turn(): Promise<void>
  settle(outcome: SqlOutcome): void
  reject(error: unknown): void
}

/** Maximum writes in one commit. */
const MAX_GROUP = 256

/** FIFO queue of writers. Adjacent single writes are committed as a group. */
export class WriterQueue {
  readonly #group: (statements: readonly BoundStatement[]) => Promise<readonly SqlOutcome[]>
  readonly #fail: (failure: Extract<SqlOutcome, { ok: false }>['failure'], statement: BoundStatement) => unknown
  #waiting: QueuedWrite[] = []
  #pumping: Promise<void> | null = null

  constructor(
    group: (statements: readonly BoundStatement[]) => Promise<readonly SqlOutcome[]>,
    fail: (failure: Extract<SqlOutcome, { ok: false }>['failure'], statement: BoundStatement) => unknown
  ) {
    this.#group = group
    this.#fail = fail
  }

  write(statement: BoundStatement, signal: AbortSignal | undefined): Promise<SqlResult> {
    return new Promise((resolve, reject) => {
      this.#add({
        statement,
        signal,
        turn: async () => {},
        settle: outcome => (outcome.ok ? resolve(outcome.result) : reject(this.#fail(outcome.failure, statement))),
        reject
      })
    })
  }

  turn<A>(run: () => Promise<A>, signal: AbortSignal | undefined): Promise<A> {
    return new Promise((resolve, reject) => {
      const turn = (): Promise<void> => run().then(resolve, reject)
      this.#add({ statement: null, signal, turn, settle: () => {}, reject })
    })
  }

  /** Resolves when the queue is empty. */
  async idle(): Promise<void> {
    await this.#pumping
  }

  #add(waiting: QueuedWrite): void {
    if (waiting.signal?.aborted === true) {
      waiting.reject(waiting.signal.reason)
      return
    }
    this.#waiting.push(waiting)
    // Calls that are made before the next microtask form a group.
    this.#pumping ??= Promise.resolve().then(() => this.#pump())
  }

  async #pump(): Promise<void> {
    while (this.#waiting.length > 0) {
      const first = this.#waiting[0] as QueuedWrite
      if (first.statement === null) {
        this.#waiting.shift()
        if (first.signal?.aborted === true) first.reject(first.signal.reason)
        else await first.turn()
      } else await this.#writeGroup()
    }
    this.#pumping = null
  }

  async #writeGroup(): Promise<void> {
    const end = this.#waiting.findIndex(({ statement }) => statement === null)
    const claimed = this.#waiting.splice(0, Math.min(end < 0 ? this.#waiting.length : end, MAX_GROUP))
    const group = claimed.filter(({ signal, reject }) => {
      if (signal?.aborted !== true) return true
      reject(signal.reason)
      return false
    })
    if (group.length === 0) return
    try {
      const outcomes = await this.#group(group.map(({ statement }) => statement as BoundStatement))
      for (const [index, each] of group.entries()) each.settle(outcomes[index] as SqlOutcome)
    } catch (error) {
      for (const { reject } of group) reject(error)
    }
  }
}

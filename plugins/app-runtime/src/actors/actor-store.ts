/** An instance as stores know it: texts of values are those of `losslessText`. */
export interface StoredAddress {
  readonly actor: string
  readonly id: string
  /** The list that `spawn` was given. */
  readonly args: string
}

/** Attempts at a message without a waiting caller. */
const MAX_ATTEMPTS = 5

const FIRST_DELAY = 100

/** When a message is tried again of which so many attempts have failed; null gives it up. */
export function nextAttempt(attempts: number, now: number): number | null {
  return attempts >= MAX_ATTEMPTS ? null : now + FIRST_DELAY * 2 ** (attempts - 1)
}

export interface Message {
  readonly id: number
  readonly event: string
  /** A list. */
  readonly args: string
  /** How often its handler has failed. */
  readonly attempts: number
}

/**
 * Stores the states of actors and pending messages. Changes inside of `transaction` are stored as a
 * whole or not at all, and no other writer is active then, in this process or in others.
 */
export interface ActorStore {
  readonly inTransaction: boolean
  /** Joins a transaction that is open. */
  transaction<A>(run: () => A): A
  load(key: string): string | null
  save(key: string, text: string): void
  post(to: StoredAddress, event: string, args: string, now: number): void
  /** The oldest message of an instance; null where it is not due, or there is none. */
  next(actor: string, id: string, now: number): Message | null
  remove(message: number): void
  /** `again` is when it is tried once more; null gives it up, and the next message has its turn. */
  failed(message: number, error: string, again: number | null, now: number): void
  /** Instances whose oldest message is due. */
  waiting(now: number): readonly StoredAddress[]
  /** When the next message is due; null where there is none. */
  nextDue(): number | null
}

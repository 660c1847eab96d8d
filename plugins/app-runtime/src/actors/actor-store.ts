/** Stored form of an instance; texts of values come from `losslessText`. */
export interface StoredAddress {
  readonly actor: string
  readonly id: string
  /** Arguments of `spawn`, as a list. */
  readonly args: string
}

/** Maximum attempts at a message without a waiting caller. */
const MAX_ATTEMPTS = 5

const FIRST_DELAY = 100

/** Time of the next attempt after this many failures; null after the last attempt. */
export function nextAttempt(attempts: number, now: number): number | null {
  return attempts >= MAX_ATTEMPTS ? null : now + FIRST_DELAY * 2 ** (attempts - 1)
}

export interface ActorMessage {
  readonly id: number
  readonly event: string
  /** Arguments, as a list. */
  readonly args: string
  /** Number of failed attempts. */
  readonly attempts: number
}

/**
 * Stores the states of actors and pending messages. Changes inside `transaction` are atomic, and no other writer is
 * active then, in this process or in others.
 */
export interface ActorStore {
  readonly inTransaction: boolean
  /** Joins an open transaction. */
  transaction<A>(run: () => A): A
  load(key: string): string | null
  save(key: string, text: string): void
  post(to: StoredAddress, event: string, args: string, now: number): void
  /** The oldest message of an instance; null if it is not due or does not exist. */
  next(actor: string, id: string, now: number): ActorMessage | null
  remove(message: number): void
  /** `again` is the time of the next attempt; null abandons the message, and the next one follows. */
  failed(message: number, error: string, again: number | null, now: number): void
  /** Instances whose oldest message is due. */
  waiting(now: number): readonly StoredAddress[]
  /** Time of the next due message; null if there is none. */
  nextDue(): number | null
}

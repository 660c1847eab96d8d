/** Stored form of an instance. Values are JSON from `losslessText`. */
export interface StoredAddress {
  readonly actor: string
  readonly id: string
  /** Arguments of `spawn`, as a list. */
  readonly args: string
}

/** Maximum attempts to handle a sent message. */
const MAX_ATTEMPTS = 5

const FIRST_DELAY = 100

/** Returns the time of the next attempt after this many failures; null after the last attempt. */
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
 * Stores the state of actors and their pending messages. Changes inside `transaction` are atomic, and exclude writers
 * of this and of other processes.
 */
export interface ActorStore {
  readonly inTransaction: boolean
  /** Runs in a transaction, or joins the open one. */
  transaction<A>(run: () => A): A
  load(key: string): string | null
  save(key: string, text: string): void
  post(to: StoredAddress, event: string, args: string, now: number): void
  /** Returns the oldest message of an instance; null if there is none or it is not due. */
  next(actor: string, id: string, now: number): ActorMessage | null
  remove(message: number): void
  /** Records a failed attempt. `again` is the time of the next one; null abandons the message. */
  failed(message: number, error: string, again: number | null, now: number): void
  /** Returns the instances whose oldest message is due. */
  waiting(now: number): readonly StoredAddress[]
  /** Returns the time when the next message is due; null if there is none. */
  nextDue(): number | null
}

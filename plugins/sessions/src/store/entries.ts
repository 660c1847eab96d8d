import type { ContextEntry } from '@svc/contracts'

/** New value of an entry: another one, or none. */
export interface Change {
  readonly value: string
  readonly agent_id: number | null
  readonly expires_at_ms: number | null
}

/** Where context entries lie. Entries that have expired are not there, whether or not they have been cleared away. */
export interface Entries {
  get(key: string, now: number): Promise<ContextEntry | null>
  /**
   * Puts in what `change` makes of the entry that is there, with nothing in between; null leaves it as it is. `change` may be called
   * more than once.
   */
  update(key: string, now: number, change: (entry: ContextEntry | null) => Change | null): Promise<void>
  remove(key: string, now: number): Promise<boolean>
  /** Sorted by key, by code units; `prefix` is taken literally. */
  list(prefix: string, now: number): Promise<readonly ContextEntry[]>
}

export function isAlive({ expires_at_ms }: Pick<ContextEntry, 'expires_at_ms'>, now: number): boolean {
  return expires_at_ms === null || expires_at_ms > now
}

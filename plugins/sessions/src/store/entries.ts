import type { ContextEntry } from '@svc/contracts'

/** New value of an entry. */
export interface Change {
  readonly value: string
  readonly agent_id: number | null
  readonly expires_at_ms: number | null
}

/** Storage of context entries. Expired entries are invisible, deleted or not. */
export interface Entries {
  get(key: string, now: number): Promise<ContextEntry | null>
  /**
   * Replaces an entry by the result of `change`, atomically; null leaves it unchanged. `change` may be called more than
   * once.
   */
  update(key: string, now: number, change: (entry: ContextEntry | null) => Change | null): Promise<void>
  remove(key: string, now: number): Promise<boolean>
  /** Returns live entries, sorted by key in code-unit order. `prefix` is literal, not a pattern. */
  list(prefix: string, now: number): Promise<readonly ContextEntry[]>
}

export function isAlive({ expires_at_ms }: Pick<ContextEntry, 'expires_at_ms'>, now: number): boolean {
  return expires_at_ms === null || expires_at_ms > now
}

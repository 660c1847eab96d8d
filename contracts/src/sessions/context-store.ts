import { service } from '@svc/plugin-sdk'

/** Key-value store that agents and tools share; entries expire. Durable if a database is attached. */
export const contextStore = service<ContextStore>('sessions.context-store@1')

export interface ContextStore {
  get(key: string): Promise<ContextEntry | null>
  /** Stores a value. With `ttlSeconds` null it never expires. */
  set(
    key: string,
    value: string,
    options?: { readonly agent_id?: number; readonly ttlSeconds?: number | null }
  ): Promise<void>
  remove(key: string): Promise<boolean>
  /** Returns live entries sorted by key. */
  list(prefix?: string): Promise<readonly ContextEntry[]>
  /** Number of live entries, without a database query. */
  readonly size: number
}

export interface ContextEntry {
  readonly key: string
  readonly value: string
  readonly agent_id: number | null
  readonly updated_at_ms: number
  readonly expires_at_ms: number | null
}

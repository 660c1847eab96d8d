import type { ContextEntry, ContextStore } from '@svc/contracts'
import type { AttachedDatabase } from '../attached-database.ts'
import { sessionErrors } from '../errors.ts'
import { isStorable } from '../json-bounds.ts'
import { DatabaseEntries } from './database-entries.ts'
import { type Change, type Entries, isAlive } from './entries.ts'
import { MemoryEntries } from './memory-entries.ts'

export const MAX_KEY_LENGTH = 2176
export const MAX_VALUE_LENGTH = 1_048_576

/** Store of context entries: in the database if one is attached, otherwise in this process. */
export class SharedContext implements ContextStore {
  readonly #database: Pick<AttachedDatabase, 'store'>
  readonly #repository: string
  readonly #now: () => number
  readonly #memory = new MemoryEntries()
  /** Expiry times of the entries seen by this process. */
  readonly #expiries = new Map<string, Pick<ContextEntry, 'expires_at_ms'>>()

  constructor(database: Pick<AttachedDatabase, 'store'>, repository: string, now: () => number) {
    this.#database = database
    this.#repository = repository
    this.#now = now
  }

  get size(): number {
    const now = this.#now()
    for (const [key, entry] of this.#expiries) if (!isAlive(entry, now)) this.#expiries.delete(key)
    return this.#expiries.size
  }

  async get(key: string): Promise<ContextEntry | null> {
    // No entry can exist under a key that cannot be stored.
    if (!isStorable(key)) return null
    const entry = await (await this.#entries()).get(key, this.#now())
    this.#track(key, entry)
    return entry
  }

  async set(
    key: string,
    value: string,
    { agent_id, ttlSeconds }: { readonly agent_id?: number; readonly ttlSeconds?: number | null } = {}
  ): Promise<void> {
    const expires_at_ms = this.expiry(ttlSeconds)
    await this.update(key, () => ({ value, agent_id: agent_id ?? null, expires_at_ms }))
  }

  /** See {@link Entries.update}. */
  async update(key: string, change: (entry: ContextEntry | null) => Change | null): Promise<void> {
    check('key', key, MAX_KEY_LENGTH)
    if (key === '') throw sessionErrors.create('SES_CONTEXT_INVALID', 'the key of a context entry is empty')
    let written: Change | null = null
    await (await this.#entries()).update(key, this.#now(), entry => {
      written = change(entry)
      if (written !== null) check(`value of ${JSON.stringify(key)}`, written.value, MAX_VALUE_LENGTH)
      return written
    })
    if (written !== null) this.#track(key, written)
  }

  async remove(key: string): Promise<boolean> {
    this.#expiries.delete(key)
    return isStorable(key) && (await this.#entries()).remove(key, this.#now())
  }

  async list(prefix = ''): Promise<readonly ContextEntry[]> {
    if (!isStorable(prefix)) return []
    const entries = await (await this.#entries()).list(prefix, this.#now())
    if (prefix === '') this.#expiries.clear()
    for (const entry of entries) this.#track(entry.key, entry)
    return entries
  }

  /** Returns the expiry time in Unix milliseconds; null for never. */
  expiry(ttlSeconds: number | null | undefined): number | null {
    return ttlSeconds === undefined || ttlSeconds === null ? null : this.#now() + Math.round(ttlSeconds * 1000)
  }

  async #entries(): Promise<Entries> {
    const store = await this.#database.store()
    return store === null ? this.#memory : new DatabaseEntries(store, this.#repository)
  }

  #track(key: string, entry: Pick<ContextEntry, 'expires_at_ms'> | null): void {
    if (entry === null) this.#expiries.delete(key)
    else this.#expiries.set(key, { expires_at_ms: entry.expires_at_ms })
  }
}

function check(label: string, text: string, maxLength: number): void {
  if (text.length > maxLength)
    throw sessionErrors.create(
      'SES_CONTEXT_INVALID',
      `the ${label.slice(0, 200)} has ${text.length} characters; the limit is ${maxLength} characters`
    )
  if (!isStorable(text))
    throw sessionErrors.create(
      'SES_CONTEXT_INVALID',
      `the ${label.slice(0, 200)} contains U+0000 or a lone surrogate, which cannot be stored`
    )
}

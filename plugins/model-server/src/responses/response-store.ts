import type { Item } from './items.ts'

/** Response that later requests can name, with its own input. */
export interface StoredResponse {
  readonly id: string
  readonly previousId: string | null
  readonly response: { readonly output?: unknown; readonly [field: string]: unknown }
  readonly input: readonly Item[]
}

/** Keeps responses by their owner: only the owner can read or delete them. */
export interface ResponseStore {
  /** True if responses survive a restart of the process. */
  readonly durable: boolean
  /** Rejects if responses cannot be stored now. */
  prepare(): Promise<void>
  save(owner: string, stored: StoredResponse): Promise<void>
  /** Returns the responses that exist and belong to the owner, in any order. */
  find(owner: string, ids: readonly string[]): Promise<readonly StoredResponse[]>
  /**
   * Returns a response and those before it, oldest first; empty if it does not exist. A gap ends the list: then the first
   * one has a `previousId`. The list also ends after {@link MAX_CHAIN} responses or
   * {@link MAX_CHAIN_CHARACTERS} characters.
   */
  chain(owner: string, id: string): Promise<readonly StoredResponse[]>
  /** Returns false if the response does not exist or belongs to another owner. */
  delete(owner: string, id: string): Promise<boolean>
}

/** Maximum number of responses in one conversation. */
export const MAX_CHAIN = 500
/** Maximum size of one conversation in characters of JSON. */
export const MAX_CHAIN_CHARACTERS = 4_194_304
/** Maximum number of stored responses, over all owners; the oldest are deleted. */
export const MAX_RESPONSES = 10_000

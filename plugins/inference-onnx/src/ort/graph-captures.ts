import type { OrtApi, Pointer } from './api.ts'
import { inputsOnHost } from './device-memory.ts'

/**
 * Captures that a session keeps. Each holds memory for what its run computes on the way, so those that were not replayed
 * for longest go.
 */
const MAX_CAPTURES = 16

/** Numbers the captures of a session. */
export class GraphCaptures {
  /** Inputs that are read on the host, once per capture. */
  readonly hostInputs: ReadonlySet<string>
  readonly #api: OrtApi
  readonly #session: Pointer
  /** Callbacks that notify owners of dropped captures, by id; replayed ones move to the end. */
  readonly #forget = new Map<number, () => void>()
  #ids = 0

  constructor(api: OrtApi, session: Pointer) {
    this.#api = api
    this.#session = session
    this.hostInputs = inputsOnHost(api, session)
  }

  /** A new id. No id is used twice, since providers may keep a capture for each thread. */
  begin(forget: () => void): number {
    const id = ++this.#ids
    this.#forget.set(id, forget)
    const [oldest] = this.#forget.keys()
    if (this.#forget.size > MAX_CAPTURES && oldest !== undefined) {
      this.#forget.get(oldest)?.()
      this.drop(oldest)
    }
    return id
  }

  touch(id: number): void {
    const forget = this.#forget.get(id)
    this.#forget.delete(id)
    if (forget !== undefined) this.#forget.set(id, forget)
  }

  /** Frees a capture; no run may be under way. */
  drop(id: number): void {
    this.#forget.delete(id)
    try {
      this.#api.call('SessionReleaseCapturedGraph', this.#session, id)
    } catch {
      // Nothing was captured under it, or the provider frees captures only with the session.
    }
  }
}

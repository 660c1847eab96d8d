import type { OrtApi, Pointer } from './api.ts'
import { inputsOnHost } from './device-memory.ts'

/**
 * Maximum captures of a session; above it the least recently replayed one is dropped. Each capture holds the temporary
 * memory of its run.
 */
const MAX_CAPTURES = 16

/** Assigns ids to the captures of a session. */
export class GraphCaptures {
  /** Inputs that the provider reads on the host, once per capture. */
  readonly hostInputs: ReadonlySet<string>
  readonly #api: OrtApi
  readonly #session: Pointer
  /** Callbacks for dropped captures, by id, least recently replayed first. */
  readonly #forget = new Map<number, () => void>()
  #ids = 0

  constructor(api: OrtApi, session: Pointer) {
    this.#api = api
    this.#session = session
    this.hostInputs = inputsOnHost(api, session)
  }

  /** Returns a new id. Ids are never reused, because providers may keep a capture for each thread. */
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

  /** Frees a capture. Call only when no run is active. */
  drop(id: number): void {
    this.#forget.delete(id)
    try {
      this.#api.call('SessionReleaseCapturedGraph', this.#session, id)
    } catch {
      // No capture exists for the id, or the provider frees captures only with the session.
    }
  }
}

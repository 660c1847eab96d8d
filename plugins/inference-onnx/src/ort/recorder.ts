import type { OrtApi, Pointer } from './api.ts'
import { inputsOnHost } from './device-memory.ts'

/**
 * Recordings that a session keeps. Each holds memory for what its run computes on the way, so those that were not played
 * for longest go.
 */
const MAX_RECORDINGS = 16

/** Numbers the recordings of a session. */
export class Recorder {
  /** Inputs that are read on the host, once per recording. */
  readonly hostInputs: ReadonlySet<string>
  readonly #api: OrtApi
  readonly #session: Pointer
  /** What tells their owners that recordings are gone, by id; those that are played move to the end. */
  readonly #forget = new Map<number, () => void>()
  #ids = 0

  constructor(api: OrtApi, session: Pointer) {
    this.#api = api
    this.#session = session
    this.hostInputs = inputsOnHost(api, session)
  }

  /** A new id. No id is used twice, since providers may keep a recording for each thread. */
  begin(forget: () => void): number {
    const id = ++this.#ids
    this.#forget.set(id, forget)
    const [oldest] = this.#forget.keys()
    if (this.#forget.size > MAX_RECORDINGS && oldest !== undefined) {
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

  /** Frees a recording; no run may be under way. */
  drop(id: number): void {
    this.#forget.delete(id)
    try {
      this.#api.call('SessionReleaseCapturedGraph', this.#session, id)
    } catch {
      // Nothing was recorded under it, or the provider frees recordings with the session alone.
    }
  }
}

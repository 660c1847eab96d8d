import { type LocalLane, textModelNames } from '@svc/contracts'
import { withTimeout } from '@svc/plugin-sdk'

/** Validity of a result, and time limit of the request. */
const FRESH_MS = 30_000
const TIMEOUT_MS = 2_000

export interface LocalProbe {
  readonly isReachable: boolean
  readonly offered: readonly string[]
}

const ABSENT: LocalProbe = { isReachable: false, offered: [] }

/** Remembers whether the local server answers, so that an absent one does not delay each request. */
export class LocalProber {
  #found: { readonly at: number; readonly result: LocalProbe } | undefined

  /** Returns whether the server answers, at most 30 seconds old. */
  async probe(local: Pick<LocalLane, 'models'>, signal?: AbortSignal): Promise<LocalProbe> {
    if (this.#found !== undefined && performance.now() - this.#found.at < FRESH_MS) return this.#found.result
    let result = ABSENT
    try {
      const models = await withTimeout(TIMEOUT_MS, stop => local.models(stop), { signal })
      result = { isReachable: true, offered: textModelNames(models) }
    } catch {
      signal?.throwIfAborted()
    }
    this.#found = { at: performance.now(), result }
    return result
  }

  /** Records that the server failed. The next 30 seconds it gets no requests, if another model can answer. */
  failed(): void {
    this.#found = { at: performance.now(), result: ABSENT }
  }
}

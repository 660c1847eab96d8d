import type { Logger } from '@svc/plugin-sdk'
import { quoted, type UnknownModel } from './served-model.ts'
import { shownName } from './shown-name.ts'

const AGAIN_MS = 600_000
const MAX_NAMES = 100

/** Logs unknown model names that clients request. Limits how often a name is logged, and how many names. */
export class UnknownModels {
  readonly #log: Logger
  readonly #now: () => number
  /** Time of the log entry by requested name, oldest first. */
  readonly #logged = new Map<string, number>()

  /** `now`: monotonic clock in milliseconds. */
  constructor(log: Logger, now: () => number = () => performance.now()) {
    this.#log = log
    this.#now = now
  }

  note({ data: { asked, served } }: UnknownModel, requestId: string): void {
    const now = this.#now()
    for (const [name, at] of this.#logged) {
      if (now - at < AGAIN_MS) break
      this.#logged.delete(name)
    }
    const shown = shownName(asked)
    if (this.#logged.has(shown) || this.#logged.size >= MAX_NAMES) return
    this.#logged.set(shown, now)
    this.#log.warn(
      `a client requested the model ${shown}, but this server has ${quoted(served)}: set INFER_MODEL, or the model of the ` +
        'client, to one of these, or plugins.model-server.model_name to the requested name',
      { request_id: requestId }
    )
  }
}

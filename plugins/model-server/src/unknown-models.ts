import type { Logger } from '@svc/plugin-sdk'
import { quoted, type UnknownModel } from './served-model.ts'
import { shownName } from './shown-name.ts'

const AGAIN_MS = 600_000
const MOST_NAMES = 100

/** Tells the log of names that clients ask for in vain: each once in a while, and never more than a few at a time. */
export class UnknownModels {
  readonly #log: Logger
  readonly #now: () => number
  /** Asked name to when it was logged, the oldest first. */
  readonly #logged = new Map<string, number>()

  /** `now`: a clock in milliseconds that never goes back. */
  constructor(log: Logger, now: () => number = () => performance.now()) {
    this.#log = log
    this.#now = now
  }

  note({ data: { asked, served } }: UnknownModel): void {
    const now = this.#now()
    for (const [name, at] of this.#logged) {
      if (now - at < AGAIN_MS) break
      this.#logged.delete(name)
    }
    const shown = shownName(asked)
    if (this.#logged.has(shown) || this.#logged.size >= MOST_NAMES) return
    this.#logged.set(shown, now)
    this.#log.warn(
      `a client asks for the model ${shown}, and this server has ${quoted(served)}: set INFER_MODEL, or what the client ` +
        'calls it, to one of these, or plugins.model-server.model_name to what it asks for'
    )
  }
}

import type { GenerationView, PreparedSurface, Surface } from '@svc/contracts'
import { type Entries, readEntries } from './entries.ts'

const NONE: Entries = { generation: 0, pages: [], cards: [], actions: [], inbox: [], search: [], broken: [] }

/** Contributions to the console in the serving generation. A mistake in one never refuses a generation. */
export class Registry implements Surface {
  #current: Entries = NONE
  readonly #onChange: (entries: Entries) => void
  #notifying: NodeJS.Immediate | undefined

  /** `onChange` is called after a generation began to serve, once the flip is over. */
  constructor(onChange: (entries: Entries) => void) {
    this.#onChange = onChange
  }

  get current(): Entries {
    return this.#current
  }

  prepare(next: GenerationView): PreparedSurface {
    const entries = readEntries(next)
    return {
      commit: () => {
        this.#current = entries
        this.#notifying ??= setImmediate(() => {
          this.#notifying = undefined
          this.#onChange(this.#current)
        })
      },
      abort: () => {}
    }
  }

  close(): void {
    clearImmediate(this.#notifying)
  }
}

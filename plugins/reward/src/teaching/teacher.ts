import type { Logger } from '@svc/plugin-sdk'
import { rewardErrors } from '../errors.ts'
import type { RewardStore } from '../store/reward-store.ts'
import { type ChainOptions, type TaughtText, teach } from './chain.ts'
import type { Link } from './link.ts'
import type { FixedHint } from './prompt.ts'

/** A hint that was stored with its fixed text. */
export interface StoredHint extends FixedHint {
  readonly user: string
  /** Unix milliseconds. */
  readonly at: number
}

export interface TeacherOptions extends ChainOptions {
  /** Returns the links of the setting; none: only fixed texts are allowed. */
  readonly links: () => readonly Link[]
  readonly store: Pick<RewardStore, 'batch'>
  /** Whether rewards are on. */
  readonly isOn: () => boolean
  /** Starts work that is cancelled on drain. */
  readonly start: (run: (signal: AbortSignal) => Promise<void>) => void
  readonly changed: () => void
  readonly log: Pick<Logger, 'debug'>
}

/** Asks models for the texts of hints, one at a time. */
export class Teacher {
  readonly #options: TeacherOptions
  #isBusy = false
  /** Last hint for which a model was asked. */
  #offered = ''

  constructor(options: TeacherOptions) {
    this.#options = options
  }

  /**
   * Starts to write a better text for a stored hint, and returns at once. Does nothing while another is written, and for
   * the same hint again.
   */
  offer(hint: StoredHint): void {
    const { links, start } = this.#options
    const key = `${hint.kind} ${hint.at}`
    if (this.#isBusy || key === this.#offered || links().length === 0) return
    this.#offered = key
    this.#isBusy = true
    start(async signal => {
      try {
        await this.#replace(hint, signal)
      } finally {
        this.#isBusy = false
      }
    })
  }

  /** Returns a text for a kind of mistake. Throws `RWD_HINT_BUSY`, and the reason of the signal. */
  async explain(hint: FixedHint, signal: AbortSignal): Promise<TaughtText> {
    if (this.#isBusy)
      throw rewardErrors.create('RWD_HINT_BUSY', `hint ${hint.kind}: the text of another hint is being written`, {
        hint: 'try again in 20 seconds'
      })
    this.#isBusy = true
    try {
      return await teach(hint, this.#options.links(), this.#options, signal)
    } finally {
      this.#isBusy = false
    }
  }

  async #replace(hint: StoredHint, signal: AbortSignal): Promise<void> {
    const { links, store, isOn, changed, log } = this.#options
    const { text, source, failed } = await teach(hint, links(), this.#options, signal)
    if (source === 'fixed') log.debug('a hint keeps its fixed text', { kind: hint.kind, failed })
    if (source === 'fixed' || !isOn() || links().length === 0) return
    signal.throwIfAborted()
    const rows = await store.batch(replacing(hint, `${text} (text of a model: ${source})`))
    if (rows > 0) changed()
  }
}

/** Replaces the text in the list of hints, and in the notification if it is not read yet. */
function replacing({ user, kind, text, at }: StoredHint, next: string) {
  return [
    {
      sql: `UPDATE gamify_hint_telemetry SET hint = ?
            WHERE user_id = ? AND mistake_kind = ? AND created_at = ? AND hint = ?`,
      parameters: [next, user, kind, at, text]
    },
    {
      sql: `UPDATE gamify_notifications SET message = ?
            WHERE user_id = ? AND kind = 'hint' AND created_at = ? AND message = ? AND acknowledged_at IS NULL`,
      parameters: [next, user, at, text]
    }
  ]
}

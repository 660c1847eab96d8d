import { setTimeout as delay } from 'node:timers/promises'
import { errorMessage, type Logger } from '@svc/plugin-sdk'
import { HINT_KINDS } from '../rules/hints.ts'
import { rowsOf } from '../store/load-state.ts'
import type { RewardStore } from '../store/reward-store.ts'
import type { StoredHint } from './teacher.ts'

const INTERVAL_MS = 10_000
/** Age up to which a hint gets another text. */
const MAX_AGE_MS = 300_000

export interface HintWatchOptions {
  readonly store: Pick<RewardStore, 'reader'>
  /** Returns the id of the user; null while no model may be asked. */
  readonly user: () => string | null
  readonly offer: (hint: StoredHint) => void
  readonly log: Pick<Logger, 'debug'>
}

/** Finds hints that other processes stored, such as single commands, which end before a model has answered. */
export class HintWatch {
  readonly #options: HintWatchOptions

  constructor(options: HintWatchOptions) {
    this.#options = options
  }

  /** Looks every 10 seconds. Ends with the signal. */
  async run(signal: AbortSignal): Promise<void> {
    for (;;) {
      try {
        await delay(INTERVAL_MS, undefined, { signal, ref: false })
        await this.look(Date.now())
      } catch (error) {
        if (signal.aborted) return
        this.#options.log.debug('new hints could not be read', { reason: errorMessage(error) })
      }
    }
  }

  /** Offers the last hint, if it has its fixed text and is at most five minutes old. */
  async look(now: number): Promise<void> {
    const { store, user: userOf, offer } = this.#options
    const user = userOf()
    if (user === null) return
    const [row] = await rowsOf(
      await store.reader(),
      `SELECT mistake_kind, hint, created_at FROM gamify_hint_telemetry
       WHERE user_id = ? AND hint IS NOT NULL AND created_at >= ? ORDER BY id DESC LIMIT 1`,
      [user, now - MAX_AGE_MS]
    )
    if (row === undefined) return
    const hint = { user, kind: String(row.mistake_kind), text: String(row.hint), at: Number(row.created_at) }
    const isFixed = HINT_KINDS.some(({ kind, texts }) => kind === hint.kind && texts.includes(hint.text))
    if (isFixed) offer(hint)
  }
}

import { userIdOf } from './gate.ts'
import type { Engine } from './pipeline/engine.ts'
import type { Settings } from './settings.ts'
import type { Reader } from './store/load-state.ts'
import type { RewardStore } from './store/reward-store.ts'
import { assertSettingsOn } from './switches.ts'
import type { Teacher } from './teaching/teacher.ts'

/** Topic that is announced after events were processed, or state was changed by an operation. */
export const REWARD_TOPIC = 'reward.progress'

/** Dependencies of the handlers of operations. */
export interface Dependencies {
  readonly settings: () => Settings
  readonly store: RewardStore
  readonly engine: Engine
  /** Returns Unix milliseconds. */
  readonly now: () => number
  /** Checks a program of the language; null without a compiler. */
  readonly check: (source: string, signal: AbortSignal) => Promise<ProgramCheck | null>
  readonly teacher: Pick<Teacher, 'explain'>
  readonly changed: () => void
  /** Called after the stored switch was changed or found changed: true if rewards are on. */
  readonly switched: (on: boolean) => void
}

export interface ProgramCheck {
  readonly ok: boolean
  /** Findings as text. */
  readonly text: string
}

/** Returns a reader of the tables after all queued events are processed. Throws `RWD_OFF`. */
export async function settledReader(
  dependencies: Dependencies
): Promise<{ readonly tx: Reader; readonly user: string }> {
  assertSettingsOn(dependencies)
  await dependencies.engine.flush()
  return { tx: await dependencies.store.reader(), user: userIdOf(dependencies.settings()) }
}

import type { Logger } from '@svc/plugin-sdk'
import { rewardErrors } from './errors.ts'
import { decideGate, type GateReason, switchedOffBy, userIdOf } from './gate.ts'
import type { Engine } from './pipeline/engine.ts'
import type { Settings } from './settings.ts'
import { loadConfig, type Reader } from './store/load-state.ts'
import type { RewardStore } from './store/reward-store.ts'

/** Topic that is announced after events were processed, or state was changed by an operation. */
export const REWARD_TOPIC = 'reward.progress'

/** What handlers of operations use. */
export interface Dependencies {
  readonly settings: () => Settings
  readonly store: RewardStore
  readonly engine: Engine
  readonly log: Pick<Logger, 'warn' | 'debug'>
  readonly now: () => number
  /** Checks a program of the language; null without a compiler. */
  readonly check: (source: string, signal: AbortSignal) => Promise<ProgramCheck | null>
  readonly changed: () => void
}

export interface ProgramCheck {
  readonly ok: boolean
  /** Findings as text. */
  readonly text: string
}

const SWITCHES: Readonly<Record<GateReason, string>> = {
  emergency_off: 'unset SVC_REWARD_EMERGENCY_OFF or plugins.reward.emergency_off',
  session_enabled: 'unset SVC_REWARD_SESSION_ENABLED or plugins.reward.session_enabled',
  session_mode: 'set SVC_REWARD_SESSION_MODE or plugins.reward.session_mode to another mode',
  stored: 'run svc reward on',
  default: 'run svc reward on'
}

/** Returns how to switch the component on again. */
export function howToSwitchOn(reason: GateReason): string {
  return SWITCHES[reason]
}

/** Throws `RWD_OFF` if the settings switch the component off; then nothing may be read or written. */
export function assertSettingsOn({ settings }: Pick<Dependencies, 'settings'>): void {
  const off = switchedOffBy(settings())
  if (off !== null) throw switchedOff(off)
}

/** Throws `RWD_OFF` if the stored configuration switches the component off. */
export async function assertOn({ settings }: Pick<Dependencies, 'settings'>, tx: Reader): Promise<void> {
  const { on, reason } = decideGate(settings(), await loadConfig(tx, userIdOf(settings())))
  if (!on) throw switchedOff(reason)
}

/** Returns a reader of the tables after all queued events are processed. Throws `RWD_OFF`. */
export async function settledReader(
  dependencies: Dependencies
): Promise<{ readonly tx: Reader; readonly user: string }> {
  assertSettingsOn(dependencies)
  await dependencies.engine.flush()
  return { tx: await dependencies.store.reader(), user: userIdOf(dependencies.settings()) }
}

function switchedOff(reason: GateReason) {
  return rewardErrors.create('RWD_OFF', `rewards: switched off by ${reason}`, {
    data: { reason },
    hint: howToSwitchOn(reason)
  })
}

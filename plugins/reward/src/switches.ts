import { rewardErrors } from './errors.ts'
import { type GateReason, switchedOffBy } from './gate.ts'
import type { Settings } from './settings.ts'

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
export function assertSettingsOn({ settings }: { readonly settings: () => Settings }): void {
  const off = switchedOffBy(settings())
  if (off !== null) throw switchedOff(off)
}

export function switchedOff(reason: GateReason) {
  return rewardErrors.create('RWD_OFF', `rewards: switched off by ${reason}`, {
    data: { reason },
    hint: howToSwitchOn(reason)
  })
}

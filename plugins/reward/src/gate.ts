import { userInfo } from 'node:os'
import { type Channel, channelOfMode, type Mode, type TrustTier } from './rules/modes.ts'
import type { Settings } from './settings.ts'

/** Configuration in the database, one row for each user. Null: not set. */
export interface StoredConfig {
  readonly enabled: boolean | null
  readonly mode: Mode | null
  readonly trustTier: TrustTier | null
}

export const NO_STORED_CONFIG: StoredConfig = { enabled: null, mode: null, trustTier: null }

export type GateReason = 'emergency_off' | 'session_enabled' | 'session_mode' | 'stored' | 'default'

export interface Gate {
  readonly on: boolean
  readonly mode: Mode
  /** Setting that decided whether it is on. */
  readonly reason: GateReason
}

type GateSettings = Pick<Settings, 'emergency_off' | 'session_enabled' | 'session_mode'>

/** Returns why the settings switch the component off, whatever the stored configuration is; null if they do not. */
export function switchedOffBy({ emergency_off, session_enabled, session_mode }: GateSettings): GateReason | null {
  if (emergency_off) return 'emergency_off'
  if (session_enabled === false) return 'session_enabled'
  return session_mode === 'off' ? 'session_mode' : null
}

/** Decides in this order: emergency switch, session switch, session mode, stored configuration, default. */
export function decideGate(settings: GateSettings, stored: StoredConfig): Gate {
  const { session_enabled, session_mode } = settings
  const mode = session_mode === undefined || session_mode === 'off' ? (stored.mode ?? 'balanced') : session_mode
  const off = switchedOffBy(settings)
  if (off !== null) return { on: false, mode, reason: off }
  if (session_enabled === true) return { on: true, mode, reason: 'session_enabled' }
  if (session_mode !== undefined) return { on: true, mode, reason: 'session_mode' }
  if (stored.enabled !== null) return { on: stored.enabled, mode, reason: 'stored' }
  return { on: true, mode, reason: 'default' }
}

/** Returns the channel of messages: that of the settings, else that of the mode. */
export function channelOf({ channel }: Pick<Settings, 'channel'>, mode: Mode): Channel {
  if (channel === undefined) return channelOfMode(mode)
  return channel === 'digest' || channel === 'digest_priority' ? 'digest-priority' : channel
}

/** Returns the factor of the experiment; 1 unless the setting is a finite number above 0. */
export function experimentFactor({
  experiment_reward_mult: text = ''
}: Pick<Settings, 'experiment_reward_mult'>): number {
  const factor = text.trim() === '' ? 1 : Number(text)
  return Number.isFinite(factor) && factor > 0 ? factor : 1
}

/** Returns the id of the user: that of the settings, else the user of the operating system, else `local-user`. */
export function userIdOf({ user_id }: Pick<Settings, 'user_id'>): string {
  if (user_id !== undefined) return user_id
  try {
    return userInfo().username || 'local-user'
  } catch {
    return 'local-user'
  }
}

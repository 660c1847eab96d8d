import { NO_STORED_CONFIG, type StoredConfig } from '../gate.ts'
import type { BaseValues } from '../rules/base-values.ts'
import type { PastEvent } from '../rules/combos.ts'
import { type Companion, NEW_COMPANION } from '../rules/companions.ts'
import type { Reward } from '../rules/reward.ts'

/** Crystals of a new profile. */
const STARTING_CRYSTALS = 100

/** Profile of a user. Times are Unix milliseconds. */
export interface Profile {
  level: number
  xp: number
  crystals: number
  lumens: number
  energy: number
  /** Time up to which energy was regenerated. */
  energyAt: number
  streakDays: number
  streakShields: number
  /** Last active day in UTC, YYYY-MM-DD; empty before the first event. */
  lastActiveDay: string
  lastActive: number
  prestige: number
  collegium: string | null
  /** Sequence number of the last event. */
  sequence: number
  messageWindowStart: number
  messageCount: number
}

export interface Quest {
  readonly id: string
  readonly day: string
  readonly questType: string
  readonly modifier: string
  readonly description: string
  readonly target: number
  progress: number
  readonly xpReward: number
  readonly crystalReward: number
  completed: boolean
  readonly expiresAt: number
}

export interface TeachingProfile {
  occurrences: number
  hintsShown: number
  lastSeen: number
  lastHintAt: number | null
}

/** State of one user that events read and change. It is loaded and saved in one transaction. */
export interface UserState {
  readonly user: string
  config: StoredConfig
  profile: Profile
  companion: Companion
  /** Quests by day. */
  readonly quests: Map<string, Quest[]>
  /** Counters by day, and then by name. */
  readonly daily: Map<string, Map<string, number>>
  /** Counters over all time, by type of event. */
  readonly counters: Map<string, number>
  /** Newest events that are part of combos, by type, oldest first. */
  readonly recent: Map<string, PastEvent[]>
  /** Sequence number of the event that completed a combo last, by combo. */
  readonly combos: Map<string, number>
  /** Achievements, with the time when they were reached. */
  readonly achievements: Map<string, number>
  readonly teaching: Map<string, TeachingProfile>
  /** Base values that replace the built-in ones, by type of event. */
  readonly overrides: ReadonlyMap<string, BaseValues>
  /** Dedupe keys of the batch that were already processed. */
  readonly seen: Set<string>
}

/** Returns the state of a user without any event. */
export function newUserState(user: string, now: number): UserState {
  return {
    user,
    config: NO_STORED_CONFIG,
    profile: {
      level: 1,
      xp: 0,
      crystals: STARTING_CRYSTALS,
      lumens: 0,
      energy: 100,
      energyAt: now,
      streakDays: 0,
      streakShields: 0,
      lastActiveDay: '',
      lastActive: 0,
      prestige: 0,
      collegium: null,
      sequence: 0,
      messageWindowStart: 0,
      messageCount: 0
    },
    companion: NEW_COMPANION,
    quests: new Map(),
    daily: new Map(),
    counters: new Map(),
    recent: new Map(),
    combos: new Map(),
    achievements: new Map(),
    teaching: new Map(),
    overrides: new Map(),
    seen: new Set()
  }
}

/** Kind of a reward: of the event itself, or of something that it completed. */
export type AwardSource = 'event' | 'special' | 'combo' | 'streak' | 'quest' | 'battle'

export interface Snapshot {
  readonly type: string
  readonly source: AwardSource
  readonly base: BaseValues
  readonly reward: Pick<Reward, 'xp' | 'crystals' | 'lumens' | 'multiplier' | 'grindCapped'> &
    Partial<Pick<Reward, 'parts'>>
  readonly modeLabel: string
  readonly streakDays: number
  readonly at: number
}

export type MessageKind = 'level' | 'achievement' | 'quest' | 'combo' | 'hint' | 'reward'

/** Rows that events add. */
export interface NewRows {
  readonly agentEvents: {
    readonly agentId: string
    readonly type: string
    readonly json: string
    readonly at: number
  }[]
  readonly processed: {
    readonly sequence: number
    readonly type: string
    readonly at: number
    readonly key: string | null
  }[]
  readonly snapshots: Snapshot[]
  readonly messages: { readonly kind: MessageKind; readonly text: string; readonly at: number }[]
  readonly levels: { readonly level: number; readonly xp: number; readonly prestige: number; readonly at: number }[]
  readonly hints: {
    readonly kind: string
    readonly type: string
    readonly outcome: string
    readonly text: string | null
    readonly at: number
  }[]
  readonly feedback: { readonly feedback: string; readonly json: string; readonly at: number }[]
}

export function newRows(): NewRows {
  return { agentEvents: [], processed: [], snapshots: [], messages: [], levels: [], hints: [], feedback: [] }
}

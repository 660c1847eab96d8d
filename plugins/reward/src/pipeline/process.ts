import { ACHIEVEMENTS, countAchievements, doubtAchievements, profileAchievements } from '../rules/achievements.ts'
import { type BaseValues, baseValues, NO_VALUES } from '../rules/base-values.ts'
import { COMBO_TYPES, completedCombos, KEPT_PER_TYPE } from '../rules/combos.ts'
import { companionAfter } from '../rules/companions.ts'
import { decideHint, hintKindOf } from '../rules/hints.ts'
import { energyAt, levelOf, maxEnergy } from '../rules/levels.ts'
import { admitMessage } from '../rules/message-limit.ts'
import type { Channel, Mode, TrustTier } from '../rules/modes.ts'
import { hintFrequency, learningCrystals, MODE_RULES, modeLabel } from '../rules/modes.ts'
import { countsFor, questsOf } from '../rules/quests.ts'
import { rewardOf } from '../rules/reward.ts'
import { dayOf, streakBonus, streakOn } from '../rules/streak.ts'
import type { AwardSource, MessageKind, NewRows, UserState } from '../store/user-state.ts'
import type { ValidEvent } from './event.ts'
import { Occurrences } from './occurrences.ts'

/** Policy under which events are processed. */
export interface Policy {
  readonly mode: Mode
  readonly channel: Channel
  readonly verbosity: 'quiet' | 'normal' | 'rich'
  readonly maxMessagesPerHour: number
  readonly experiment: string
  readonly experimentFactor: number
  readonly tier: TrustTier
}

/** Highest total of experience, crystals and lumens: sums up to it are exact. */
const MAX_TOTAL = 1_000_000_000_000_000
/** Counter of events whose types have no values. */
const OTHER = '(other)'
/** Counter of a day: 1 while the last build failed. */
const BUILD_BROKEN = '(build broken)'
/** Beginning of the counters of a day for rewarded events of single commands. */
const OF_COMMANDS = '(commands) '
const FEEDBACK_TYPES: ReadonlySet<string> = new Set([
  'ai_thumbs_up',
  'ai_thumbs_down',
  'ai_example_written',
  'ai_example_accepted'
])

const MILESTONES: ReadonlySet<MessageKind> = new Set(['level', 'achievement'])

/**
 * Processes one valid event: changes the state, and adds rows. Returns false for a duplicate, which changes nothing. The
 * order is: dedupe, event row, daily counter, companion, reward, build specials, combos, achievements, hint.
 */
export function processEvent(
  state: UserState,
  rows: NewRows,
  occurrences: Occurrences,
  policy: Policy,
  valid: ValidEvent
): boolean {
  if (valid.key !== null) {
    if (state.seen.has(valid.key)) return false
    state.seen.add(valid.key)
  }
  new EventRun(state, rows, occurrences, policy, valid).run()
  return true
}

/** Fixed reward, to which no factor applies. */
export interface Grant {
  readonly type: string
  readonly source: AwardSource
  readonly xp: number
  readonly crystals: number
  /** Achievement that comes with it. */
  readonly achievement?: string
  /** Unix milliseconds. */
  readonly at: number
}

/** Grants a fixed reward: changes the state, and adds rows. */
export function grantFixed(state: UserState, rows: NewRows, policy: Policy, grant: Grant): void {
  const { type, at } = grant
  const event: ValidEvent = { type, event: {}, json: '{}', agentId: null, key: null, at }
  new EventRun(state, rows, new Occurrences(new Map()), policy, event).grant(grant)
}

class EventRun {
  readonly #state: UserState
  readonly #rows: NewRows
  readonly #occurrences: Occurrences
  readonly #policy: Policy
  readonly #event: ValidEvent
  /** Day in UTC. A clock that goes backwards does not return to an earlier day. */
  readonly #day: string

  constructor(state: UserState, rows: NewRows, occurrences: Occurrences, policy: Policy, event: ValidEvent) {
    this.#state = state
    this.#rows = rows
    this.#occurrences = occurrences
    this.#policy = policy
    this.#event = event
    const day = dayOf(event.at)
    this.#day = day < state.profile.lastActiveDay ? state.profile.lastActiveDay : day
  }

  run(): void {
    const { type, json, agentId, at } = this.#event
    const { user } = this.#state
    this.#rows.agentEvents.push({ agentId: agentId ?? user, type, json, at })
    this.#sequence()
    const known = this.#state.overrides.get(type) ?? baseValues(type)
    const today = this.#count(known === null ? OTHER : type)
    this.#companion()
    this.#streak()
    const base = known ?? NO_VALUES
    const isRewarded = base.xp > 0 || base.crystals > 0 || base.lumens > 0
    this.#award(type, 'event', base)
    this.#quests(type, isRewarded)
    this.#buildSpecials(today)
    this.#combos()
    if (type === 'task_resolved') for (const name of doubtAchievements(this.#event.event)) this.#achieve(name)
    for (const name of countAchievements(type, this.#state.counters.get(type) ?? 0)) this.#achieve(name)
    for (const name of profileAchievements(this.#state.profile.level, this.#state.profile.streakDays))
      this.#achieve(name)
    if (FEEDBACK_TYPES.has(type)) this.#rows.feedback.push({ feedback: type, json, at })
    this.#hint()
  }

  #sequence(): void {
    const { profile, recent } = this.#state
    const { type, at, key } = this.#event
    profile.sequence += 1
    this.#rows.processed.push({ sequence: profile.sequence, type, at, key })
    if (!COMBO_TYPES.has(type)) return
    const past = recent.get(type) ?? []
    past.push({ sequence: profile.sequence, at })
    recent.set(type, past.slice(-KEPT_PER_TYPE))
  }

  /** Counts an event, and returns its number of the day. */
  #count(name: string): number {
    const { counters } = this.#state
    counters.set(name, (counters.get(name) ?? 0) + 1)
    const today = this.#dailyCounters()
    const count = (today.get(name) ?? 0) + 1
    today.set(name, count)
    return count
  }

  #dailyCounters(): Map<string, number> {
    const { daily } = this.#state
    const today = daily.get(this.#day) ?? new Map<string, number>()
    daily.set(this.#day, today)
    return today
  }

  #companion(): void {
    const { profile } = this.#state
    const { type, at } = this.#event
    this.#state.companion = companionAfter(
      this.#state.companion,
      type,
      profile.lastActive === 0 ? 0 : at - profile.lastActive
    )
    const { energy, at: energyTime } = energyAt(
      { energy: profile.energy, at: profile.energyAt },
      maxEnergy(profile.level),
      at
    )
    profile.energy = energy
    profile.energyAt = energyTime
    profile.lastActive = Math.max(profile.lastActive, at)
  }

  #streak(): void {
    const { profile } = this.#state
    if (profile.lastActiveDay === this.#day) return
    const { days, lastDay, shields } = streakOn(
      { days: profile.streakDays, lastDay: profile.lastActiveDay, shields: profile.streakShields },
      this.#day
    )
    profile.streakDays = days
    profile.lastActiveDay = lastDay
    profile.streakShields = shields
    this.#grant('daily_streak', 'streak', streakBonus(days), 0)
  }

  /** Rewards an event by the formula. */
  #award(type: string, source: AwardSource, base: BaseValues): void {
    const { profile, user } = this.#state
    const { mode, experimentFactor, tier } = this.#policy
    if (base === NO_VALUES) return
    const reward = rewardOf(type, base, {
      mode,
      experimentFactor,
      streakDays: profile.streakDays,
      tier,
      prestige: profile.prestige,
      occurrence: this.#occurrence(type),
      learningCrystals: mode === 'learning' ? learningCrystals(user, this.#day, type) : 0
    })
    // After the limit of occurrences an event earns nothing at all, and leaves no snapshot either.
    if (reward.parts.grind === 0) return
    if (reward.shield) profile.streakShields += 1
    this.#snapshot(type, source, base, reward)
    this.#add(reward.xp, reward.crystals, reward.lumens)
    if (reward.xp + reward.crystals > 0 && source !== 'combo')
      this.#message('reward', `${type}: ${reward.xp} xp, ${reward.crystals} crystals`)
  }

  /**
   * Returns the number of an event of its type: 1 for the first. It counts from the start of the process, and for events
   * of single commands from the start of the day: otherwise each command would be the first.
   */
  #occurrence(type: string): number {
    if (this.#event.isSpooled !== true) return this.#occurrences.next(this.#state.user, type)
    const today = this.#dailyCounters()
    const name = `${OF_COMMANDS}${type}`
    const count = (today.get(name) ?? 0) + 1
    today.set(name, count)
    return count
  }

  grant({ type, source, xp, crystals, achievement }: Grant): void {
    this.#grant(type, source, xp, crystals)
    if (achievement !== undefined) this.#achieve(achievement)
  }

  /** Grants a fixed amount, to which no factor applies. */
  #grant(type: string, source: AwardSource, xp: number, crystals: number): void {
    const base = { xp, crystals, lumens: 0, shield: false }
    this.#snapshot(type, source, base, { xp, crystals, lumens: 0, multiplier: 1, grindCapped: false })
    this.#add(xp, crystals, 0)
  }

  #snapshot(type: string, source: AwardSource, base: BaseValues, reward: NewRows['snapshots'][number]['reward']): void {
    const { mode, experiment } = this.#policy
    this.#rows.snapshots.push({
      type,
      source,
      base,
      reward,
      modeLabel: modeLabel(mode, experiment),
      streakDays: this.#state.profile.streakDays,
      at: this.#event.at
    })
  }

  #add(xp: number, crystals: number, lumens: number): void {
    const { profile } = this.#state
    profile.xp = Math.min(profile.xp + xp, MAX_TOTAL)
    profile.crystals = Math.min(profile.crystals + crystals, MAX_TOTAL)
    profile.lumens = Math.min(profile.lumens + lumens, MAX_TOTAL)
    const level = levelOf(profile.xp)
    if (level <= profile.level) return
    profile.level = level
    this.#rows.levels.push({ level, xp: profile.xp, prestige: profile.prestige, at: this.#event.at })
    this.#message('level', `Level ${level}`)
  }

  #quests(type: string, isRewarded: boolean): void {
    for (const quest of this.#todaysQuests()) {
      if (quest.completed || this.#event.at >= quest.expiresAt || !countsFor(quest.questType, type, isRewarded))
        continue
      quest.progress += 1
      if (quest.progress < quest.target) continue
      quest.completed = true
      this.#grant('quest_completed', 'quest', quest.xpReward, quest.crystalReward)
      this.#message('quest', `Quest completed: ${quest.description}`)
      this.#achieve('first_quest')
    }
  }

  #todaysQuests() {
    const { quests, user } = this.#state
    const known = quests.get(this.#day)
    if (known !== undefined) return known
    const created = questsOf(user, this.#day).map((quest, place) => ({
      ...quest,
      id: `${user}:${this.#day}:${place}`,
      day: this.#day,
      progress: 0,
      completed: false
    }))
    quests.set(this.#day, created)
    return created
  }

  /** `today`: number of events of this type today. */
  #buildSpecials(today: number): void {
    const { type } = this.#event
    if (type !== 'build_failed' && type !== 'build_clean') return
    const counters = this.#dailyCounters()
    if (type === 'build_failed') {
      counters.set(BUILD_BROKEN, 1)
      return
    }
    if (counters.get(BUILD_BROKEN) === 1) this.#special('phoenix_bonus')
    if (counters.has(BUILD_BROKEN)) counters.set(BUILD_BROKEN, 0)
    if (today === 3) this.#special('build_clean_streak_3')
  }

  #special(type: string): void {
    this.#award(type, 'special', this.#state.overrides.get(type) ?? baseValues(type) ?? NO_VALUES)
  }

  #combos(): void {
    const { type, at } = this.#event
    const { recent, combos, profile, overrides } = this.#state
    for (const { name, base } of completedCombos(type, at, recent, combos)) {
      combos.set(name, profile.sequence)
      this.#award(name, 'combo', overrides.get(name) ?? base)
      this.#message('combo', `Combo: ${name.replaceAll('_', ' ')}`)
    }
  }

  #achieve(name: string): void {
    const { achievements } = this.#state
    if (achievements.has(name)) return
    achievements.set(name, this.#event.at)
    this.#message('achievement', `Achievement: ${ACHIEVEMENTS.get(name)?.title ?? name}`)
  }

  #hint(): void {
    const { type, at } = this.#event
    const { teaching, user } = this.#state
    const kind = hintKindOf(type)
    if (kind === null) return
    const profile = teaching.get(kind.kind) ?? { occurrences: 0, hintsShown: 0, lastSeen: at, lastHintAt: null }
    teaching.set(kind.kind, profile)
    profile.occurrences += 1
    profile.lastSeen = at
    const frequency = hintFrequency(this.#policy.mode, this.#policy.experiment)
    const decision = decideHint(kind, profile, { user, frequency, now: at })
    const isShown = decision.show && this.#message('hint', decision.text)
    if (isShown) {
      profile.hintsShown += 1
      profile.lastHintAt = at
    }
    const outcome = decision.show ? (isShown ? 'shown' : 'muted') : decision.reason
    this.#rows.hints.push({ kind: kind.kind, type, outcome, text: isShown ? decision.text : null, at })
  }

  /** Adds a message, unless mode, channel, verbosity or the limit per hour suppress it. Returns whether it was added. */
  #message(kind: MessageKind, text: string): boolean {
    const { channel, verbosity, maxMessagesPerHour, mode } = this.#policy
    if (channel === 'off' || channel === 'digest-priority' || verbosity === 'quiet') return false
    const isMilestone = MILESTONES.has(kind)
    if (!isMilestone && (channel === 'serious' || !MODE_RULES[mode].overlays)) return false
    if (kind === 'reward' && verbosity !== 'rich') return false
    const { profile } = this.#state
    const { at } = this.#event
    const messages = admitMessage(
      { start: profile.messageWindowStart, count: profile.messageCount },
      at,
      maxMessagesPerHour
    )
    if (messages === null) return false
    profile.messageWindowStart = messages.start
    profile.messageCount = messages.count
    this.#rows.messages.push({ kind, text, at })
    return true
  }
}

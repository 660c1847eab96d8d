import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Occurrences, type Policy, processEvent, validateEvent } from '#pipeline'
import { decideGate } from '#root'
import {
  admitMessage,
  type BaseValues,
  baseValues,
  energyAt,
  fnv1a,
  grindFactor,
  hintScale,
  learningCrystals,
  levelOf,
  modeLabel,
  prestigeFactor,
  type RewardContext,
  rewardOf,
  streakBonus,
  streakOn,
  xpForLevel
} from '#rules'
import { newRows, newUserState } from '#store'

/** Written by tools/reward-vectors.py, which knows the rules but not this implementation. */
const vectors = JSON.parse(readFileSync(join(import.meta.dirname, 'fixtures', 'vectors.json'), 'utf8')) as Readonly<
  Record<string, readonly any[][]>
>

const values = ([xp, crystals, lumens, shield]: any[]): BaseValues => ({ xp, crystals, lumens, shield })

/** Implementations by vector: arguments to result, in the form of the vector. */
const checks: Readonly<Record<string, (...args: any[]) => unknown>> = {
  base: (type: string) => {
    const found = baseValues(type)
    return found === null ? null : [found.xp, found.crystals, found.lumens, found.shield]
  },
  fnv1a: (text: string) => fnv1a(text).toString(16).padStart(16, '0'),
  learning: ([user, day, type]: [string, string, string]) => learningCrystals(user, day, type),
  grind: (type: string, count: number) => grindFactor(type, count),
  reward: (type: string, context: RewardContext) => {
    const base = baseValues(type) ?? values([0, 0, 0, false])
    const { xp, crystals, lumens, shield, multiplier } = rewardOf(type, base, context)
    return [xp, crystals, lumens, shield, multiplier]
  },
  level: (xp: number) => levelOf(xp),
  needed: (level: number) => xpForLevel(level),
  prestige: (count: number) => prestigeFactor(count),
  energy: (energy: number, at: number, max: number, now: number) => Object.values(energyAt({ energy, at }, max, now)),
  streak: ([days, lastDay, shields]: [number, string, number], day: string) => {
    const after = streakOn({ days, lastDay, shields }, day)
    return [after.days, after.lastDay, after.shields]
  },
  streakBonus: (days: number) => streakBonus(days),
  label: (mode: 'balanced', experiment: string) => modeLabel(mode, experiment),
  hintScale: (experiment: string) => hintScale(experiment),
  combos: (events: readonly [string, number][]) => extras('combo', events),
  builds: (types: readonly string[]) =>
    extras(
      'special',
      types.map((type, at) => [type, at])
    ),
  gate: ([emergency_off, enabled, mode, storedEnabled, storedMode]: any[]) => {
    const settings = { emergency_off, session_enabled: enabled ?? undefined, session_mode: mode ?? undefined }
    const gate = decideGate(settings, { enabled: storedEnabled, mode: storedMode, trustTier: null })
    return [gate.on, gate.mode]
  },
  messages: (times: readonly number[], limit: number) => {
    let window = { start: 0, count: 0 }
    return times.map(at => {
      const next = admitMessage(window, at, limit)
      window = next ?? window
      return next !== null
    })
  }
}

const POLICY: Policy = {
  mode: 'balanced',
  channel: 'off',
  verbosity: 'quiet',
  maxMessagesPerHour: 0,
  experiment: '',
  experimentFactor: 1,
  tier: 'linked'
}

/** Returns the rewards of a source that each event added. Times are seconds of one day. */
function extras(source: string, events: readonly (readonly [string, number])[]): string[][] {
  const start = Date.parse('2026-03-01T00:00:00Z')
  const state = newUserState('ada', start)
  const occurrences = new Occurrences(new Map())
  return events.map(([type, seconds]) => {
    const rows = newRows()
    processEvent(state, rows, occurrences, POLICY, validateEvent({ type }, start + seconds * 1_000))
    return rows.snapshots.filter(each => each.source === source).map(each => each.type)
  })
}

for (const [name, cases] of Object.entries(vectors))
  t.test(`${name} has the results that were computed independently, in ${cases.length} cases`, async t => {
    const check = checks[name]
    if (check === undefined) throw new Error(`no implementation for the vectors ${name}`)
    for (const each of cases) {
      const [expected] = each.slice(-1)
      const found = check(...each.slice(0, -1))
      if (JSON.stringify(found) !== JSON.stringify(expected)) t.same(found, expected, JSON.stringify(each.slice(0, -1)))
    }
    t.ok(cases.length > 0)
  })

t.test('there are at least 2,000 vectors', async t => {
  t.ok(Object.values(vectors).reduce((sum, cases) => sum + cases.length, 0) >= 2_000)
})

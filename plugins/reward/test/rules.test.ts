import fc from 'fast-check'
import t from 'tap'
import { channelOf } from '#root'
import {
  ACHIEVEMENTS,
  admitMessage,
  baseValues,
  companionAfter,
  decideHint,
  EVENT_TYPES,
  energyAt,
  graceDays,
  grindFactor,
  HINT_KINDS,
  levelOf,
  maxEnergy,
  NEW_COMPANION,
  QUEST_TYPES,
  questsOf,
  rewardOf,
  streakOn,
  xpForLevel
} from '#rules'

const type = fc.constantFrom(...EVENT_TYPES)
const day = fc
  .integer({ min: 0, max: 2_000 })
  .map(offset => new Date(Date.UTC(2026, 0, 1 + offset)).toISOString().slice(0, 10))

t.test('a level is the inverse of its experience, also at its borders and for large amounts', async t => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 6_000_000 }), level => {
      const xp = xpForLevel(level)
      return levelOf(xp) === level && levelOf(xp - 1) === Math.max(1, level - 1) && levelOf(xp + 1) === level
    })
  )
  fc.assert(
    fc.property(fc.maxSafeInteger().map(Math.abs), xp => {
      const level = levelOf(xp)
      return xpForLevel(level) <= xp && xp < xpForLevel(level + 1)
    })
  )
  t.equal(levelOf(0), 1)
  t.equal(levelOf(99), 1)
  t.equal(levelOf(100), 2)
  t.equal(levelOf(250), 3)
})

t.test('a repeated event never earns more, and nothing from the 31st on', async t => {
  fc.assert(
    fc.property(type, fc.integer({ min: 1, max: 60 }), (name, count) => {
      const [now, next] = [grindFactor(name, count), grindFactor(name, count + 1)]
      return next <= now && (count < 30 || next === 0)
    })
  )
  t.equal(grindFactor('bug_fix', 30), 0.1)
})

t.test('a multiplier is bounded, and rewards are whole numbers of 0 or more', async () => {
  const context = fc.record({
    mode: fc.constantFrom('balanced' as const, 'serious' as const, 'learning' as const),
    experimentFactor: fc.double({ min: 0, max: Number.MAX_VALUE, minExcluded: true }),
    streakDays: fc.nat(10_000),
    tier: fc.constantFrom('novice' as const, 'linked' as const, 'proven' as const, 'master' as const),
    prestige: fc.nat(1_000),
    occurrence: fc.integer({ min: 1, max: 100 }),
    learningCrystals: fc.nat(3)
  })
  fc.assert(
    fc.property(type, context, (name, each) => {
      const { xp, crystals, lumens, multiplier } = rewardOf(name, baseValues(name) ?? fail(name), each)
      const isBounded =
        multiplier >= 0 && multiplier <= Math.max(each.experimentFactor * 1.25 * 1.5 * 1.5 * 1.5 * 1.6, 0)
      return isBounded && [xp, crystals, lumens].every(value => Number.isSafeInteger(value) && value >= 0)
    })
  )
})

t.test('energy never exceeds its maximum, never falls, and keeps the rest of an interval', async () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 300 }),
      fc.nat(100),
      fc.array(fc.nat(2_000_000), { maxLength: 8 }),
      (level, energy, steps) => {
        const max = maxEnergy(level)
        let now = 1_000
        const total = steps.reduce((sum, step) => sum + step, 0)
        const stepped = steps.reduce((state, step) => energyAt(state, max, (now += step)), { energy, at: 1_000 })
        const once = energyAt({ energy, at: 1_000 }, max, 1_000 + total)
        return stepped.energy <= max && stepped.energy >= energy && stepped.energy === once.energy
      }
    )
  )
})

t.test('a streak survives its grace days and no more, and a shield one longer gap', async t => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 400 }), fc.integer({ min: 1, max: 100 }), fc.nat(3), (days, gap, shields) => {
      const after = streakOn(
        { days, lastDay: '2026-01-01', shields },
        new Date(Date.UTC(2026, 0, 1 + gap)).toISOString().slice(0, 10)
      )
      if (gap - 1 <= graceDays(days)) return after.days === days + 1 && after.shields === shields
      return shields > 0 ? after.days === days + 1 && after.shields === shields - 1 : after.days === 1
    })
  )
  const streak = { days: 5, lastDay: '2026-01-05', shields: 0 }
  t.equal(streakOn(streak, '2026-01-05'), streak, 'the same day changes nothing')
  t.equal(streakOn(streak, '2026-01-04'), streak, 'nor does a clock that goes backwards')
})

t.test('no window holds more messages than the limit', async () => {
  fc.assert(
    fc.property(fc.nat(20), fc.array(fc.nat(2_000_000), { maxLength: 60 }), (limit, gaps) => {
      let window = { start: 0, count: 0 }
      let now = 10_000_000_000
      const windows = new Map<number, number>()
      for (const gap of gaps) {
        now += gap
        const next = admitMessage(window, now, limit)
        if (next === null) continue
        if (now - next.start >= 3_600_000) return false
        window = next
        windows.set(next.start, (windows.get(next.start) ?? 0) + 1)
      }
      return [...windows.values()].every(count => count <= limit)
    })
  )
})

t.test('events that come late do not begin a window of messages again', async t => {
  const full = { start: 10_000_000_000, count: 12 }
  t.equal(admitMessage(full, full.start - 1_000, 12), null)
  t.same(
    admitMessage(full, full.start - 3_600_000, 12),
    { start: full.start - 3_600_000, count: 1 },
    'a clock set back'
  )
})

t.test('a user has three different quests a day, always the same ones', async t => {
  fc.assert(
    fc.property(fc.string({ maxLength: 20 }), day, (user, each) => {
      const quests = questsOf(user, each)
      const types = new Set(quests.map(({ questType }) => questType))
      const expires = Date.parse(each) + 86_400_000
      return (
        types.size === 3 &&
        JSON.stringify(questsOf(user, each)) === JSON.stringify(quests) &&
        quests.every(({ target, expiresAt }) => target >= 1 && expiresAt === expires)
      )
    })
  )
  t.equal(QUEST_TYPES.length, 14)
  const known = new Set(EVENT_TYPES)
  t.same(
    QUEST_TYPES.flatMap(({ events }) => events).filter(event => !known.has(event)),
    []
  )
})

t.test('two hints of a kind are a cooldown apart, and no hint is shown at a frequency of 0', async t => {
  fc.assert(
    fc.property(
      fc.constantFrom(...HINT_KINDS),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.array(fc.nat(4_000_000), { minLength: 1, maxLength: 40 }),
      (kind, frequency, gaps) => {
        let [now, lastHintAt, hintsShown] = [10_000_000, null as number | null, 0]
        return gaps.every((gap, index) => {
          now += gap
          const decision = decideHint(
            kind,
            { occurrences: index + 1, lastHintAt, hintsShown },
            { user: 'ada', frequency, now }
          )
          if (!decision.show) return true
          const isAllowed = frequency > 0 && (lastHintAt === null || now - lastHintAt >= kind.cooldownSeconds * 1_000)
          lastHintAt = now
          hintsShown += 1
          return isAllowed && decision.text !== ''
        })
      }
    )
  )
  t.ok(HINT_KINDS.every(({ cooldownSeconds }) => cooldownSeconds >= 300 && cooldownSeconds <= 86_400))
  const shown = Array.from({ length: 1_000 }, (_, at) =>
    decideHint(
      HINT_KINDS[0] ?? fail('no hints'),
      { occurrences: at, lastHintAt: null, hintsShown: 0 },
      { user: 'ada', frequency: 0.5, now: 0 }
    )
  ).filter(({ show }) => show).length
  t.ok(shown > 400 && shown < 600, `about half of the mistakes have a hint: ${shown}`)
})

t.test('health and energy of a companion stay between 0 and 100', async () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(type, fc.nat(40_000_000)), { maxLength: 200 }), events => {
      let companion = NEW_COMPANION
      return events.every(([event, rest]) => {
        companion = companionAfter(companion, event, rest)
        return [companion.health, companion.energy].every(value => value >= 0 && value <= 100)
      })
    })
  )
})

t.test('a channel that is not set follows from the mode', async t => {
  t.equal(channelOf({}, 'serious'), 'serious')
  t.equal(channelOf({}, 'learning'), 'balanced')
  t.equal(channelOf({ channel: 'digest_priority' }, 'balanced'), 'digest-priority')
  t.ok(ACHIEVEMENTS.size >= 15)
})

function fail(what: string): never {
  throw new Error(`missing: ${what}`)
}

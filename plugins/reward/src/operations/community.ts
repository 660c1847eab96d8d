import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { type Dependencies, REWARD_TOPIC, settledReader } from '../dependencies.ts'
import { rewardErrors } from '../errors.ts'
import { MOODS, NEW_COMPANION, spriteOf } from '../rules/companions.ts'
import { levelOf, maxEnergy, PRESTIGE_LEVEL, xpAfterPrestige } from '../rules/levels.ts'
import { companionId, moodOf, rowsOf } from '../store/load-state.ts'
import { COMPANION_NAME } from '../store/save-state.ts'
import { gamifyTool, rewardTool } from './expose.ts'

const { RWD_OFF, RWD_COLLEGIUM_JOINED, RWD_PRESTIGE_LEVEL } = rewardErrors.specs

export const collegiumJoin = defineOperation({
  id: 'reward.collegium_join',
  summary: 'Join a collegium, a group of users of this project',
  input: t.object({
    name: t.string({ pattern: '^[A-Za-z0-9][A-Za-z0-9 _-]{0,63}$', description: 'Name of the collegium.' })
  }),
  output: t.object({
    collegium: t.string(),
    members: t.integer({ description: 'Members in this database, with the user.' }),
    created: t.boolean({ description: 'Whether the user is the first member.' })
  }),
  errors: { RWD_OFF, RWD_COLLEGIUM_JOINED },
  expose: {
    http: { method: 'POST', path: '/api/reward/collegium' },
    mcp: gamifyTool('collegium_join', 'When the user names a group. A user has one; it cannot be left.'),
    rpc: true,
    cli: { command: 'reward join', args: ['name'], view: { fields: ['collegium', 'members', 'created'] } }
  }
})

export const checkMood = defineOperation({
  id: 'reward.check_mood',
  summary: 'Show mood, health and energy of the companion',
  input: t.object({}),
  output: t.object({
    name: t.string(),
    mood: t.enum(MOODS),
    health: t.integer({ description: '0 to 100.' }),
    energy: t.integer({ description: '0 to 100.' }),
    picture: t.string()
  }),
  errors: { RWD_OFF },
  effect: 'read',
  watch: { on: [REWARD_TOPIC], minMs: 1_000 },
  expose: {
    http: { method: 'GET', path: '/api/reward/companion' },
    mcp: rewardTool('check_mood', 'How the recent work went, in one word. Totals: svc_gamify_progress_snapshot.'),
    rpc: true,
    cli: { command: 'reward companion', view: { fields: ['name', 'mood', 'health', 'energy', 'picture'] } }
  }
})

export const prestigeOperation = defineOperation({
  id: 'reward.prestige',
  summary: 'Start again with a tenth of the experience, for higher rewards',
  input: t.object({}),
  output: t.object({ prestige: t.integer(), level: t.integer(), xp: t.integer() }),
  errors: { RWD_OFF, RWD_PRESTIGE_LEVEL },
  effect: 'destructive',
  expose: { rpc: true, cli: { command: 'reward prestige', view: { fields: ['prestige', 'level', 'xp'] } } }
})

export function collegiumHandler(dependencies: Dependencies): Handler<typeof collegiumJoin> {
  return ({ name }) =>
    dependencies.engine.change(async ({ tx, state, process }) => {
      const { profile, user } = state
      if (profile.collegium !== null)
        throw rewardErrors.create(
          'RWD_COLLEGIUM_JOINED',
          `collegium ${name}: ${user} is a member of ${profile.collegium}`,
          {
            data: { collegium: profile.collegium },
            hint: 'a user has one collegium'
          }
        )
      const [row] = await rowsOf(tx, 'SELECT count(*) AS members FROM gamify_profiles WHERE collegium = ?', [name])
      const others = Number(row?.members ?? 0)
      profile.collegium = name
      process({ type: others === 0 ? 'collegium_created' : 'collegium_joined', collegium: name })
      return { collegium: name, members: others + 1, created: others === 0 }
    })
}

export function moodHandler(dependencies: Dependencies): Handler<typeof checkMood> {
  return async () => {
    const { tx, user } = await settledReader(dependencies)
    const [row] = await rowsOf(tx, 'SELECT mood, health, energy FROM gamify_companions WHERE id = ?', [
      companionId(user)
    ])
    const mood = row === undefined ? NEW_COMPANION.mood : moodOf(row.mood)
    return {
      name: COMPANION_NAME,
      mood,
      health: Number(row?.health ?? NEW_COMPANION.health),
      energy: Number(row?.energy ?? NEW_COMPANION.energy),
      picture: spriteOf(mood)
    }
  }
}

export function prestigeHandler(dependencies: Dependencies): Handler<typeof prestigeOperation> {
  return () =>
    dependencies.engine.change(async ({ state: { profile } }) => {
      if (profile.level < PRESTIGE_LEVEL)
        throw rewardErrors.create('RWD_PRESTIGE_LEVEL', `prestige: the user has level ${profile.level}`, {
          data: { level: profile.level },
          hint: `it needs level ${PRESTIGE_LEVEL}`
        })
      profile.xp = xpAfterPrestige(profile.xp)
      profile.level = levelOf(profile.xp)
      profile.energy = Math.min(profile.energy, maxEnergy(profile.level))
      profile.prestige += 1
      return { prestige: profile.prestige, level: profile.level, xp: profile.xp }
    })
}

import { randomUUID } from 'node:crypto'
import type { DatabaseTransaction } from '@svc/contracts'
import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { type Dependencies, settledReader } from '../dependencies.ts'
import { rewardErrors } from '../errors.ts'
import { wellFormed } from '../pipeline/event.ts'
import { BATTLE_CRYSTALS, BATTLE_ENERGY, BATTLE_XP, BUGS, type Bug, bugOf, lostLines } from '../rules/battles.ts'
import { energyAt, maxEnergy } from '../rules/levels.ts'
import { grindFactor } from '../rules/reward.ts'
import { dayOf } from '../rules/streak.ts'
import { companionId, type Row, rowsOf } from '../store/load-state.ts'
import { gamifyTool } from './expose.ts'

const { RWD_OFF, RWD_BATTLE_UNKNOWN, RWD_BATTLE_ENERGY, RWD_BATTLE_NO_COMPILER } = rewardErrors.specs

const BATTLE_WON = 'battle_won'
/** Characters of a submitted program. */
export const MAX_CODE_LENGTH = 20_000

export const battleStart = defineOperation({
  id: 'reward.battle_start',
  summary: 'Get a program with an error to repair',
  input: t.object({}),
  output: t.object({
    battle_id: t.string(),
    bug_type: t.string(),
    description: t.string(),
    code: t.string({ description: 'Source of the program.' }),
    energy: t.integer({ description: 'Energy that is left.' }),
    text: t.string({ description: 'The battle as text, with the next step.' })
  }),
  errors: { RWD_OFF, RWD_BATTLE_ENERGY },
  expose: {
    http: { method: 'POST', path: '/api/reward/battles' },
    mcp: gamifyTool(
      'battle_start',
      'For a user who wants an exercise. It costs energy; an open battle is returned again.'
    ),
    rpc: true,
    cli: { command: 'reward battle', view: { text: 'text' } }
  }
})

export const battleSubmit = defineOperation({
  id: 'reward.battle_submit',
  summary: 'Submit the repaired program of a battle',
  input: t.object({
    battle_id: t.string({ minLength: 1, maxLength: 100, description: 'Id of the battle.' }),
    code: t.string({ minLength: 1, maxLength: MAX_CODE_LENGTH, description: 'Source of the whole program.' })
  }),
  output: t.object({
    success: t.boolean(),
    findings: t.string({ description: 'What is still wrong.' }),
    xp_earned: t.integer(),
    crystals_earned: t.integer(),
    attempts: t.integer()
  }),
  errors: { RWD_OFF, RWD_BATTLE_UNKNOWN, RWD_BATTLE_NO_COMPILER },
  expose: {
    http: { method: 'POST', path: '/api/reward/battles/:battle_id/submit' },
    mcp: gamifyTool('battle_submit', 'The compiler judges it. To get a program: svc_gamify_battle_start.'),
    rpc: true
  }
})

export function battleStartHandler(dependencies: Dependencies): Handler<typeof battleStart> {
  return () =>
    dependencies.engine.change(async ({ tx, state, now }) => {
      const { user, profile } = state
      const { energy, at } = energyAt({ energy: profile.energy, at: profile.energyAt }, maxEnergy(profile.level), now)
      const [open] = await openBattles(tx, user)
      if (open !== undefined)
        return started(
          String(open.id),
          {
            bugType: String(open.bug_type),
            description: String(open.bug_description),
            code: String(open.bug_code)
          },
          energy
        )
      if (energy < BATTLE_ENERGY)
        throw rewardErrors.create(
          'RWD_BATTLE_ENERGY',
          `battle: it costs ${BATTLE_ENERGY} energy; the user has ${energy}`,
          {
            data: { energy, needed: BATTLE_ENERGY },
            hint: 'wait: 1 energy returns every 5 minutes'
          }
        )
      const [row] = await rowsOf(tx, 'SELECT count(*) AS fought FROM gamify_battles WHERE user_id = ?', [user])
      const bug = bugOf(user, Number(row?.fought ?? 0))
      const id = randomUUID()
      await tx.execute(
        `INSERT INTO gamify_battles (id, user_id, companion_id, bug_type, bug_description, bug_code, started_at)
         VALUES (?, ?, ?, ?, ?, ?, ?)`,
        [id, user, companionId(user), bug.bugType, bug.description, bug.code, now]
      )
      profile.energy = energy - BATTLE_ENERGY
      profile.energyAt = at
      return started(id, bug, profile.energy)
    })
}

function started(
  id: string,
  { bugType, description, code }: Pick<Bug, 'bugType' | 'description' | 'code'>,
  energy: number
) {
  const next = `Repair it, and submit it: svc reward battle submit ${id} FILE`
  return { battle_id: id, bug_type: bugType, description, code, energy, text: `${description}\n\n${code}\n${next}\n` }
}

export function battleSubmitHandler(dependencies: Dependencies): Handler<typeof battleSubmit> {
  return async ({ battle_id, code }, { signal }) => {
    const { tx: reader, user } = await settledReader(dependencies)
    const battle = await openBattle(reader, user, battle_id)
    const findings = await judge(dependencies, battle, code, signal)
    return await dependencies.engine.change(async ({ tx, now, grant }) => {
      // Another submission may have ended the battle meanwhile.
      const current = await openBattle(tx, user, battle_id)
      const success = findings === ''
      const factor = success ? grindFactor(BATTLE_WON, (await wonToday(tx, user, now)) + 1) : 0
      const [xp, crystals] = [Math.round(BATTLE_XP * factor), Math.round(BATTLE_CRYSTALS * factor)]
      const attempts = Number(current.attempts) + 1
      await tx.execute(
        `UPDATE gamify_battles SET submitted_code = ?, success = ?, xp_earned = ?, crystals_earned = ?,
           duration_secs = ?, attempts = ? WHERE id = ?`,
        [
          wellFormed(code),
          success ? 1 : null,
          xp,
          crystals,
          Math.max(0, Math.round((now - Number(current.started_at)) / 1_000)),
          attempts,
          battle_id
        ]
      )
      if (success) grant({ type: BATTLE_WON, source: 'battle', xp, crystals, achievement: 'first_battle' })
      return { success, findings, xp_earned: xp, crystals_earned: crystals, attempts }
    })
  }
}

/** Returns what is wrong with a submission; empty if it is right. */
async function judge(dependencies: Dependencies, battle: Row, code: string, signal: AbortSignal): Promise<string> {
  const bug = BUGS.find(({ bugType }) => bugType === battle.bug_type)
  const lost = bug === undefined ? [] : lostLines(bug, code)
  if (lost.length > 0) return `The program must still have: ${lost.join('; ')}`
  const check = await dependencies.check(code, signal)
  if (check === null)
    throw rewardErrors.create('RWD_BATTLE_NO_COMPILER', 'battle: no plugin checks programs', {
      hint: 'enable the plugin compiler'
    })
  return check.ok ? '' : check.text
}

/** Returns how many battles the user won that began on this day (UTC). */
async function wonToday(tx: Pick<DatabaseTransaction, 'query'>, user: string, now: number): Promise<number> {
  const sql = 'SELECT count(*) AS won FROM gamify_battles WHERE user_id = ? AND success = 1 AND started_at >= ?'
  const [row] = await rowsOf(tx, sql, [user, Date.parse(dayOf(now))])
  return Number(row?.won ?? 0)
}

function openBattles(tx: Pick<DatabaseTransaction, 'query'>, user: string): Promise<Row[]> {
  return rowsOf(tx, 'SELECT * FROM gamify_battles WHERE user_id = ? AND success IS NULL ORDER BY started_at LIMIT 1', [
    user
  ])
}

async function openBattle(tx: Pick<DatabaseTransaction, 'query'>, user: string, id: string): Promise<Row> {
  const [battle] = await rowsOf(tx, 'SELECT * FROM gamify_battles WHERE user_id = ? AND id = ? AND success IS NULL', [
    user,
    id
  ])
  if (battle !== undefined) return battle
  throw rewardErrors.create('RWD_BATTLE_UNKNOWN', `battle ${id}: it does not exist, or is over`, {
    data: { battle_id: id },
    hint: 'start a battle to get an id'
  })
}

import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { type Dependencies, REWARD_TOPIC, settledReader } from '../dependencies.ts'
import { rewardErrors } from '../errors.ts'
import { type BaseValues, baseValues, EVENT_TYPES } from '../rules/base-values.ts'
import { COMBOS } from '../rules/combos.ts'
import { loadOverrides, MAX_OVERRIDES } from '../store/load-state.ts'

const { RWD_OFF, RWD_EVENT_TYPE_UNKNOWN, RWD_VALUES_FULL } = rewardErrors.specs

const type = t.string({
  pattern: '^[a-z][a-z0-9_]{0,99}$',
  description: 'Type of event: lower-case letters, digits and underscores.'
})
const amount = (what: string) => t.integer({ default: 0, minimum: 0, maximum: 1_000_000, description: what })
const row = t.object({
  type: t.string(),
  xp: t.integer(),
  crystals: t.integer(),
  lumens: t.integer(),
  shield: t.boolean({ description: 'Whether the event adds a streak shield.' }),
  overridden: t.boolean({ description: 'Whether the values differ from the built-in ones.' })
})

export const valuesOperation = defineOperation({
  id: 'reward.values',
  summary: 'List the base values of types of events',
  input: t.object({}),
  output: t.object({ values: t.array(row) }),
  errors: { RWD_OFF },
  effect: 'read',
  watch: { on: [REWARD_TOPIC], minMs: 1_000 },
  expose: {
    http: { method: 'GET', path: '/api/reward/values' },
    rpc: true,
    cli: {
      command: 'reward values',
      view: { rows: 'values', columns: ['type', 'xp', 'crystals', 'lumens', 'shield', 'overridden'] }
    }
  }
})

export const valuesSet = defineOperation({
  id: 'reward.values_set',
  summary: 'Replace the base values of a type of event',
  input: t.object({
    type,
    xp: amount('Experience.'),
    crystals: amount('Crystals.'),
    lumens: amount('Lumens.'),
    shield: t.boolean({ default: false, description: 'Whether the event adds a streak shield.' })
  }),
  output: row,
  errors: { RWD_OFF, RWD_VALUES_FULL },
  idempotent: true,
  expose: {
    http: { method: 'PUT', path: '/api/reward/values/:type' },
    rpc: true,
    cli: { command: 'reward values set', args: ['type'] }
  }
})

export const valuesReset = defineOperation({
  id: 'reward.values_reset',
  summary: 'Restore the built-in base values of a type of event',
  input: t.object({ type }),
  output: t.object({ type: t.string(), values: t.nullable(row, { description: 'Null: the type is unknown.' }) }),
  errors: { RWD_OFF, RWD_EVENT_TYPE_UNKNOWN },
  effect: 'destructive',
  expose: {
    http: { method: 'DELETE', path: '/api/reward/values/:type' },
    rpc: true,
    cli: { command: 'reward values reset', args: ['type'] }
  }
})

export function valuesHandler(dependencies: Dependencies): Handler<typeof valuesOperation> {
  return async () => {
    const { tx } = await settledReader(dependencies)
    const overrides = await loadOverrides(tx)
    const types = new Set([...EVENT_TYPES, ...COMBOS.map(({ name }) => name), ...overrides.keys()])
    return {
      values: [...types].flatMap(each => {
        const found = overrides.get(each) ?? builtIn(each)
        return found === null ? [] : [rowOf(each, found, overrides.has(each))]
      })
    }
  }
}

export function valuesSetHandler(dependencies: Dependencies): Handler<typeof valuesSet> {
  return async ({ type, xp, crystals, lumens, shield }) => {
    await dependencies.engine.change(async ({ tx, state: { overrides } }) => {
      if (overrides.size >= MAX_OVERRIDES && !overrides.has(type))
        throw rewardErrors.create('RWD_VALUES_FULL', `type ${type}: ${MAX_OVERRIDES} types have stored values`, {
          data: { type },
          hint: 'restore the built-in values of another type first'
        })
      await tx.execute(
        `INSERT INTO gamify_event_config (event_type, xp, crystals, lumens, shield) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT (event_type) DO UPDATE SET xp = excluded.xp, crystals = excluded.crystals,
           lumens = excluded.lumens, shield = excluded.shield`,
        [type, xp, crystals, lumens, shield]
      )
    })
    return rowOf(type, { xp, crystals, lumens, shield }, true)
  }
}

export function valuesResetHandler(dependencies: Dependencies): Handler<typeof valuesReset> {
  return async ({ type }) => {
    const { changes } = await dependencies.engine.change(({ tx }) =>
      tx.execute('DELETE FROM gamify_event_config WHERE event_type = ?', [type])
    )
    if (changes === 0)
      throw rewardErrors.create('RWD_EVENT_TYPE_UNKNOWN', `type ${type}: it has no stored values`, {
        data: { type },
        hint: 'list the values to see which types are overridden'
      })
    const found = builtIn(type)
    return { type, values: found === null ? null : rowOf(type, found, false) }
  }
}

function builtIn(type: string): BaseValues | null {
  return baseValues(type) ?? COMBOS.find(({ name }) => name === type)?.base ?? null
}

function rowOf(type: string, values: BaseValues, overridden: boolean) {
  return { type, ...values, overridden }
}

import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { type Dependencies, REWARD_TOPIC } from '../dependencies.ts'
import { rewardErrors } from '../errors.ts'
import { channelOf, decideGate, type StoredConfig, userIdOf } from '../gate.ts'
import { MODES, TRUST_TIERS } from '../rules/modes.ts'
import { loadConfig } from '../store/load-state.ts'
import { assertSettingsOn } from '../switches.ts'

const { RWD_OFF } = rewardErrors.specs

const DEFAULT = 'default'

const config = t.object({
  enabled: t.boolean({ description: 'Whether events are rewarded, by settings and stored configuration together.' }),
  decided_by: t.string(),
  mode: t.enum(MODES),
  channel: t.string(),
  verbosity: t.string(),
  max_messages_per_hour: t.integer(),
  stored_enabled: t.enum(['on', 'off', DEFAULT]),
  stored_mode: t.enum([...MODES, DEFAULT]),
  trust_tier: t.enum(TRUST_TIERS)
})
const VIEW = {
  fields: [
    'enabled',
    'decided_by',
    'mode',
    'channel',
    'verbosity',
    'max_messages_per_hour',
    'stored_enabled',
    'stored_mode',
    'trust_tier'
  ]
} as const

export const configOperation = defineOperation({
  id: 'reward.config',
  summary: 'Show the configuration of rewards',
  input: t.object({}),
  output: config,
  errors: { RWD_OFF },
  effect: 'read',
  watch: { on: [REWARD_TOPIC], minMs: 1_000 },
  expose: {
    http: { method: 'GET', path: '/api/reward/config' },
    rpc: true,
    cli: { command: 'reward config', view: VIEW }
  }
})

export const configSet = defineOperation({
  id: 'reward.config_set',
  summary: 'Store a mode, a trust tier or the switch of rewards',
  description: 'Settings and environment variables of the session take precedence over the stored configuration.',
  input: t.object({
    enabled: t.optional(t.enum(['on', 'off', DEFAULT], { description: 'Whether events are rewarded. Default: on.' })),
    mode: t.optional(t.enum([...MODES, DEFAULT], { description: 'Mode of rewards. Default: balanced.' })),
    trust_tier: t.optional(
      t.enum([...TRUST_TIERS, DEFAULT], { description: 'Factor of rewards: 0.5, 1, 1.2 or 1.5. Default: linked.' })
    )
  }),
  output: config,
  errors: { RWD_OFF },
  idempotent: true,
  expose: {
    http: { method: 'PUT', path: '/api/reward/config' },
    rpc: true,
    cli: { command: 'reward config set', view: VIEW }
  }
})

export const switchOff = defineOperation({
  id: 'reward.off',
  summary: 'Switch rewards off',
  input: t.object({}),
  output: config,
  errors: { RWD_OFF },
  idempotent: true,
  expose: { rpc: true, cli: { command: 'reward off', view: VIEW } }
})

export const switchOn = defineOperation({
  id: 'reward.on',
  summary: 'Switch rewards on',
  input: t.object({}),
  output: config,
  errors: { RWD_OFF },
  idempotent: true,
  expose: { rpc: true, cli: { command: 'reward on', view: VIEW } }
})

export function configHandler(dependencies: Dependencies): Handler<typeof configOperation> {
  return async () => {
    assertSettingsOn(dependencies)
    const user = userIdOf(dependencies.settings())
    return await shown(dependencies, await loadConfig(await dependencies.store.reader(), user))
  }
}

export function configSetHandler(dependencies: Dependencies): Handler<typeof configSet> {
  return ({ enabled, mode, trust_tier }) =>
    change(dependencies, stored => ({
      enabled: enabled === undefined ? stored.enabled : enabled === DEFAULT ? null : enabled === 'on',
      mode: mode === undefined ? stored.mode : mode === DEFAULT ? null : mode,
      trustTier: trust_tier === undefined ? stored.trustTier : trust_tier === DEFAULT ? null : trust_tier
    }))
}

/** Returns the handler that stores whether rewards are on. */
export function switchHandler(dependencies: Dependencies, enabled: boolean): () => ReturnType<typeof change> {
  return () => change(dependencies, stored => ({ ...stored, enabled }))
}

async function change(dependencies: Dependencies, edit: (stored: StoredConfig) => StoredConfig) {
  assertSettingsOn(dependencies)
  await dependencies.engine.flush()
  const user = userIdOf(dependencies.settings())
  const next = await dependencies.store.transaction(async tx => {
    const { enabled, mode, trustTier } = edit(await loadConfig(tx, user))
    await tx.execute(
      `INSERT INTO gamify_config (user_id, enabled, mode, trust_tier, updated_at) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (user_id) DO UPDATE SET enabled = excluded.enabled, mode = excluded.mode,
         trust_tier = excluded.trust_tier, updated_at = excluded.updated_at`,
      [user, enabled === null ? null : Number(enabled), mode, trustTier, new Date(dependencies.now()).toISOString()]
    )
    return { enabled, mode, trustTier }
  })
  dependencies.changed()
  return await shown(dependencies, next)
}

async function shown({ settings, switched, engine }: Dependencies, stored: StoredConfig) {
  const current = settings()
  await engine.noteSwitch(stored.enabled)
  const { on, mode, reason } = decideGate(current, stored)
  switched(on)
  return {
    enabled: on,
    decided_by: reason,
    mode,
    channel: channelOf(current, mode),
    verbosity: current.verbosity,
    max_messages_per_hour: current.max_messages_per_hour,
    stored_enabled: stored.enabled === null ? DEFAULT : stored.enabled ? 'on' : 'off',
    stored_mode: stored.mode ?? DEFAULT,
    trust_tier: stored.trustTier ?? 'linked'
  } as const
}

import {
  DELEGATION_SCOPES,
  SECRET_PROFILES,
  SECRET_STATUSES,
  secretErrors,
  VAULT_OPERATIONS,
  vaultErrors
} from '@svc/contracts'
import { defineOperation, t } from '@svc/plugin-sdk'
import { commandErrors } from './errors.ts'
import { BUNDLE_NAMES, DOCTOR_PROFILES, MODES, WORKFLOWS } from './requirements.ts'
import { STORES } from './store.ts'

/** Scope of callers that may see the state of secrets and change them. */
export const ADMIN = ['secrets.admin']
const errors = { ...secretErrors.specs, ...vaultErrors.specs, ...commandErrors.specs }

export const doctorFields = {
  workflow: t.enum(WORKFLOWS, { default: 'chat', description: 'Work that the secrets are needed for' }),
  profile: t.optional(t.enum(DOCTOR_PROFILES, { description: 'Profile to check; default: the configured one' })),
  mode: t.enum(MODES, { default: 'auto', description: 'Whether models run on this machine or at a provider' }),
  bundle: t.optional(t.enum(BUNDLE_NAMES, { description: 'Set of secrets to check in addition' }))
}

/** Name of a declared secret in inputs. */
export const secretName = t.string({
  minLength: 1,
  maxLength: 256,
  description: 'Id, environment variable or registry of the secret'
})

const row = t.object({
  id: t.string(),
  canonical_env: t.string(),
  status: t.enum(SECRET_STATUSES),
  source: t.nullable(t.string()),
  class: t.string(),
  material_kind: t.string(),
  capabilities: t.array(t.string()),
  bundle_membership: t.array(t.string()),
  is_present: t.boolean(),
  redacted_value: t.string(),
  remediation: t.string(),
  deprecated_alias_in_use: t.nullable(t.string()),
  feature_gate_missing: t.nullable(t.string())
})

export const doctorOperation = defineOperation({
  id: 'secrets.doctor',
  summary: 'Check the declared secrets without showing them',
  description: 'Resolves every declared secret and checks the requirements of a workflow. Values are redacted.',
  input: t.object(doctorFields),
  output: t.object({
    healthy: t.boolean({ description: 'True if every blocking requirement is met' }),
    schema: t.string(),
    generated_at_ms: t.integer(),
    workflow: t.string(),
    profile: t.string(),
    mode: t.string(),
    vault_diagnostic: t.nullable(
      t.object({
        mode: t.string(),
        url_source: t.string(),
        url_host_hint: t.string(),
        token_source: t.string(),
        token_present: t.boolean(),
        compat_aliases_allowed: t.boolean(),
        problem: t.nullable(t.string())
      })
    ),
    backend_mode: t.string(),
    rollout_flags: t.object({
      profile: t.string(),
      cutover_phase: t.string(),
      hard_cut: t.boolean(),
      legacy_sources_allowed: t.boolean(),
      backend_selected_by: t.string(),
      backend_problem: t.nullable(t.string()),
      keyring: t.string(),
      keyring_detail: t.nullable(t.string())
    }),
    secrets: t.array(row),
    account_warning: t.optional(t.string()),
    suggested_migrations: t.array(t.string())
  }),
  // Each call asks the backends for every secret.
  scopes: ADMIN,
  effect: 'read',
  timeoutMs: 120_000,
  concurrency: 1,
  errors,
  expose: { http: { method: 'GET', path: '/api/secrets/doctor' }, rpc: true }
})

export const backendStatusOperation = defineOperation({
  id: 'secrets.backend_status',
  summary: 'Show the selected backend of secrets, and the state of all',
  input: t.object({}),
  output: t.object({
    healthy: t.boolean({ description: 'True if the selected backend can be used' }),
    backend_mode: t.string(),
    selected_by: t.string(),
    backends: t.array(t.object({ name: t.string(), selected: t.boolean(), state: t.string(), detail: t.string() }))
  }),
  scopes: ADMIN,
  effect: 'read',
  errors,
  expose: {
    http: { method: 'GET', path: '/api/secrets/backends' },
    rpc: true,
    cli: {
      command: 'secrets backend-status',
      view: { rows: 'backends', columns: ['name', 'selected', 'state', 'detail'] }
    }
  }
})

export const setOperation = defineOperation({
  id: 'secrets.set',
  summary: 'Store a secret in the vault, the keyring or the auth file',
  input: t.object({
    name: secretName,
    value: t.secret({ minLength: 1, maxLength: 65_536, description: 'The secret' }),
    store: t.enum(STORES, { default: 'auto', description: 'Place; auto: the selected backend, else the keyring' }),
    username: t.optional(t.string({ minLength: 1, maxLength: 256, description: 'User name at the registry' })),
    override: t.optional(
      t.enum(SECRET_PROFILES, { description: 'Profile that uses this value instead of the canonical one; vault only' })
    )
  }),
  output: t.object({ name: t.string(), store: t.string(), version: t.optional(t.integer()) }),
  scopes: ADMIN,
  errors,
  expose: { http: { method: 'POST', path: '/api/secrets' }, rpc: true }
})

export const versionsOperation = defineOperation({
  id: 'secrets.versions',
  summary: 'List the versions of a secret in the vault',
  input: t.object({ name: secretName }),
  output: t.object({
    name: t.string(),
    versions: t.array(
      t.object({
        version: t.integer(),
        operation: t.enum(VAULT_OPERATIONS),
        created_by: t.string(),
        created_at: t.string({ description: 'Time as ISO 8601' }),
        current: t.boolean()
      })
    )
  }),
  scopes: ADMIN,
  effect: 'read',
  errors,
  expose: {
    http: { method: 'GET', path: '/api/secrets/:name/versions' },
    rpc: true,
    cli: {
      command: 'secrets versions',
      args: ['name'],
      view: { rows: 'versions', columns: ['version', 'operation', 'created_by', 'created_at', 'current'] }
    }
  }
})

export const rollbackOperation = defineOperation({
  id: 'secrets.rollback',
  summary: 'Restore an earlier version of a secret in the vault',
  input: t.object({ name: secretName, number: t.integer({ minimum: 1, description: 'Version to restore' }) }),
  output: t.object({ name: t.string(), version: t.integer({ description: 'The new version' }), text: t.string() }),
  scopes: ADMIN,
  errors,
  expose: {
    http: { method: 'POST', path: '/api/secrets/:name/rollback' },
    rpc: true,
    cli: { command: 'secrets rollback', args: ['name', 'number'], view: { text: 'text' } }
  }
})

export const rewrapOperation = defineOperation({
  id: 'secrets.rewrap',
  summary: 'Encrypt the data keys of the vault with the configured key',
  input: t.object({}),
  output: t.object({ changed: t.integer({ description: 'Number of changed rows' }), text: t.string() }),
  scopes: ADMIN,
  timeoutMs: 600_000,
  concurrency: 1,
  errors,
  expose: {
    http: { method: 'POST', path: '/api/secrets/rewrap' },
    rpc: true,
    cli: { command: 'secrets rewrap', view: { text: 'text' } }
  }
})

export const auditOperation = defineOperation({
  id: 'secrets.audit',
  summary: 'Show the audit log of the vault',
  description:
    'Reads and writes are recorded in the profiles prod and hard_cut, or with plugins.secrets-local.audit_log.',
  input: t.object({
    name: t.optional(secretName),
    limit: t.integer({ default: 50, minimum: 1, maximum: 1_000, description: 'Maximum number of rows' }),
    before: t.optional(t.integer({ minimum: 1, description: 'Only older rows: the field next of the previous page' }))
  }),
  output: t.object({
    next: t.nullable(t.integer({ description: 'Value of before for the next page; null on the last' })),
    rows: t.array(
      t.object({
        id: t.integer(),
        at: t.string({ description: 'Time as ISO 8601' }),
        secret: t.string(),
        action: t.string(),
        actor: t.string(),
        outcome: t.string(),
        detail: t.string()
      })
    )
  }),
  scopes: ADMIN,
  effect: 'read',
  errors,
  expose: {
    http: { method: 'GET', path: '/api/secrets/audit' },
    rpc: true,
    cli: {
      command: 'secrets audit',
      args: ['name'],
      view: { rows: 'rows', columns: ['at', 'secret', 'action', 'actor', 'outcome', 'detail'] }
    }
  }
})

export const removeOverrideOperation = defineOperation({
  id: 'secrets.remove_override',
  summary: 'Remove the value of a profile from the vault',
  input: t.object({
    name: secretName,
    override: t.enum(SECRET_PROFILES, { description: 'Profile that then uses the canonical value' })
  }),
  output: t.object({ name: t.string(), text: t.string() }),
  effect: 'destructive',
  scopes: ADMIN,
  errors,
  expose: {
    http: { method: 'DELETE', path: '/api/secrets/:name/overrides/:override' },
    rpc: true,
    cli: { command: 'secrets remove-override', args: ['name', 'override'], view: { text: 'text' } }
  }
})

const MAX_MINUTES = 43_200
const delegationToken = t.secret({ minLength: 1, maxLength: 256, description: 'Token of the delegation' })

export const delegationsOperation = defineOperation({
  id: 'secrets.delegations',
  summary: 'List the delegations of secrets to agents',
  input: t.object({}),
  output: t.object({
    delegations: t.array(
      t.object({
        id: t.string(),
        secret: t.string(),
        agent: t.string(),
        scopes: t.array(t.enum(DELEGATION_SCOPES)),
        parent: t.string(),
        issued_at: t.string({ description: 'Time as ISO 8601' }),
        expires_at: t.string(),
        state: t.enum(['active', 'expired', 'revoked'])
      })
    )
  }),
  scopes: ADMIN,
  effect: 'read',
  errors,
  expose: {
    http: { method: 'GET', path: '/api/secrets/delegations' },
    rpc: true,
    cli: {
      command: 'secrets delegations',
      view: { rows: 'delegations', columns: ['id', 'secret', 'agent', 'scopes', 'expires_at', 'state'] }
    }
  }
})

export const delegateOperation = defineOperation({
  id: 'secrets.delegate',
  summary: 'Let an agent use one secret of the vault for a time',
  description: 'Returns a token, once. The agent sends it to secrets.delegated.read or secrets.delegated.rotate.',
  input: t.object({
    name: secretName,
    agent: t.string({ minLength: 1, maxLength: 128, pattern: '^[\\w.:@-]+$', description: 'Id of the agent' }),
    scope: t.array(t.enum(DELEGATION_SCOPES), { default: ['read'], minItems: 1, description: 'Rights of the agent' }),
    minutes: t.integer({ default: 60, minimum: 1, maximum: MAX_MINUTES, description: 'Minutes until it expires' })
  }),
  output: t.object({ id: t.string(), token: t.string(), expires_at: t.string(), text: t.string() }),
  scopes: ADMIN,
  errors,
  expose: {
    http: { method: 'POST', path: '/api/secrets/:name/delegations' },
    rpc: true,
    cli: { command: 'secrets delegate', args: ['name'], view: { text: 'text' } }
  }
})

export const revokeOperation = defineOperation({
  id: 'secrets.revoke',
  summary: 'End a delegation of a secret',
  input: t.object({ id: t.string({ minLength: 1, maxLength: 64, description: 'Id of the delegation' }) }),
  output: t.object({ id: t.string(), revoked: t.boolean(), text: t.string() }),
  effect: 'destructive',
  scopes: ADMIN,
  errors,
  expose: {
    http: { method: 'DELETE', path: '/api/secrets/delegations/:id' },
    rpc: true,
    cli: { command: 'secrets revoke', args: ['id'], view: { text: 'text' } }
  }
})

// The token of the delegation is the right: these have no scope.
export const readDelegatedOperation = defineOperation({
  id: 'secrets.delegated.read',
  summary: 'Read the secret of a delegation',
  input: t.object({ token: delegationToken }),
  output: t.object({ value: t.secret() }),
  effect: 'read',
  errors,
  expose: { http: { method: 'POST', path: '/api/secrets/delegated/read' }, rpc: true }
})

export const rotateDelegatedOperation = defineOperation({
  id: 'secrets.delegated.rotate',
  summary: 'Replace the secret of a delegation',
  input: t.object({
    token: delegationToken,
    value: t.secret({ minLength: 1, maxLength: 65_536, description: 'The new secret' })
  }),
  output: t.object({ version: t.integer() }),
  errors,
  expose: { http: { method: 'POST', path: '/api/secrets/delegated/rotate' }, rpc: true }
})

export const operations = [
  doctorOperation,
  backendStatusOperation,
  setOperation,
  versionsOperation,
  rollbackOperation,
  rewrapOperation,
  auditOperation,
  removeOverrideOperation,
  delegationsOperation,
  delegateOperation,
  revokeOperation,
  readDelegatedOperation,
  rotateDelegatedOperation
]

import type { SecretVault } from '@svc/contracts'
import type { Call, Handler } from '@svc/plugin-sdk'
import type { BackendMode } from './backend-choice.ts'
import { type DoctorContext, examine } from './doctor.ts'
import type {
  auditOperation,
  backendStatusOperation,
  delegateOperation,
  delegationsOperation,
  doctorOperation,
  readDelegatedOperation,
  removeOverrideOperation,
  revokeOperation,
  rewrapOperation,
  rollbackOperation,
  rotateDelegatedOperation,
  setOperation,
  versionsOperation
} from './operations.ts'
import type { Secrets } from './secrets.ts'
import { noVault, storeSecret } from './store.ts'

/** Returns the author of a change for versions and the audit log. */
function authorOf({ surface }: Pick<Call, 'surface'>): string {
  return surface === 'cli' || surface === 'mcp' ? surface : 'api'
}

export function doctorHandler(
  context: (by: string, signal: AbortSignal) => DoctorContext
): Handler<typeof doctorOperation> {
  return async (input, call) => {
    const { report, healthy } = await examine(input, context(authorOf(call), call.signal))
    return {
      ...report,
      healthy,
      secrets: report.secrets.map(secret => ({
        ...secret,
        capabilities: [...secret.capabilities],
        bundle_membership: [...secret.bundle_membership]
      })),
      suggested_migrations: [...report.suggested_migrations]
    }
  }
}

export function backendStatusHandler(secrets: Secrets): Handler<typeof backendStatusOperation> {
  return async (_input, call) => {
    const { mode, because, problem } = await secrets.choose(secrets.policy, authorOf(call))
    const { backends, keyring, authFile } = secrets.options
    const vault = await backends.vault?.status()
    const ring = await keyring?.status()
    const line = (name: BackendMode | 'keyring' | 'auth_file', state: string, detail: string) => ({
      ...{ name, selected: name === mode, state, detail }
    })
    const external = (name: 'infisical' | 'vault', isThere: boolean) =>
      line(name, isThere ? 'provided' : 'absent', isThere ? '' : `no active plugin provides secrets.backend.${name}@1`)
    const warnings = authFile.warnings()
    return {
      healthy: problem === null && (mode !== 'vox_cloud' || vault?.problem === null),
      backend_mode: mode,
      selected_by: because,
      backends: [
        line('env_only', 'active', 'environment variables'),
        vault === undefined
          ? line('vox_cloud', 'absent', 'the plugin secrets-local is not active')
          : line(
              'vox_cloud',
              vault.problem === null ? 'active' : 'failed',
              vault.problem ?? `${vault.mode} ${vault.hostHint}`
            ),
        external('vault', backends.hashicorp !== undefined),
        external('infisical', backends.infisical !== undefined),
        ring === undefined
          ? line('keyring', 'absent', 'the plugin secrets-keyring is not active')
          : line(
              'keyring',
              'active',
              ring.kind === 'os' ? ring.place : `private files in ${ring.place}: ${ring.reason}`
            ),
        line('auth_file', warnings.length === 0 ? 'active' : 'warning', warnings.join('; ') || authFile.path)
      ]
    }
  }
}

export function setHandler(secrets: Secrets): Handler<typeof setOperation> {
  return (input, call) => storeSecret(secrets, { ...input, by: authorOf(call) })
}

export function versionsHandler(secrets: Secrets): Handler<typeof versionsOperation> {
  return async ({ name }) => {
    const { id, key } = keyOf(secrets, name)
    const versions = await vaultOf(secrets).versions(key)
    return {
      name: id,
      versions: versions.map(({ version, operation, createdBy, createdAtMs, current }) => ({
        ...{ version, operation, created_by: createdBy, created_at: new Date(createdAtMs).toISOString(), current }
      }))
    }
  }
}

export function rollbackHandler(secrets: Secrets): Handler<typeof rollbackOperation> {
  return async ({ name, number: version }, call) => {
    const { id, key } = keyOf(secrets, name)
    const next = await vaultOf(secrets).rollback(key, version, { by: authorOf(call) })
    return { name: id, version: next, text: `${id} has the value of version ${version} again, as version ${next}` }
  }
}

export function rewrapHandler(secrets: Secrets): Handler<typeof rewrapOperation> {
  return async (_input, call) => {
    const changed = await vaultOf(secrets).rewrap({ by: authorOf(call) })
    return { changed, text: changed === 0 ? 'all data keys were current' : `encrypted ${changed} data keys again` }
  }
}

export function auditHandler(secrets: Secrets): Handler<typeof auditOperation> {
  return async ({ name, limit, before }) => {
    const key = name === undefined ? undefined : keyOf(secrets, name).key
    // One more row shows whether there is another page.
    const found = await vaultOf(secrets).audit(limit + 1, key, before)
    const rows = found.slice(0, limit)
    const next = found.length > limit ? (rows.at(-1)?.id ?? null) : null
    return { next, rows: rows.map(({ atMs, ...row }) => ({ at: new Date(atMs).toISOString(), ...row })) }
  }
}

export function removeOverrideHandler(secrets: Secrets): Handler<typeof removeOverrideOperation> {
  return async ({ name, override }, call) => {
    const { id, key } = keyOf(secrets, name)
    await vaultOf(secrets).override(key, override, null, { by: authorOf(call) })
    return { name: id, text: `${id} has no separate value for the profile ${override}` }
  }
}

export function delegationsHandler(secrets: Secrets): Handler<typeof delegationsOperation> {
  return async () => {
    const now = secrets.options.now()
    const delegations = await vaultOf(secrets).delegations()
    return {
      delegations: delegations.map(({ id, secret, agent, scopes, parent, issuedAtMs, expiresAtMs, revokedAtMs }) => ({
        ...{ id, secret, agent, scopes: [...scopes], parent },
        issued_at: new Date(issuedAtMs).toISOString(),
        expires_at: new Date(expiresAtMs).toISOString(),
        state:
          revokedAtMs !== null ? ('revoked' as const) : expiresAtMs <= now ? ('expired' as const) : ('active' as const)
      }))
    }
  }
}

export function delegateHandler(secrets: Secrets): Handler<typeof delegateOperation> {
  return async ({ name, agent, scope, minutes }, call) => {
    const { id: secret, key } = keyOf(secrets, name)
    const request = { agent, scopes: scope, ttlMs: minutes * 60_000, by: authorOf(call) }
    const { delegation, token } = await vaultOf(secrets).delegate(key, request)
    const expires = new Date(delegation.expiresAtMs).toISOString()
    const text = `${agent} may ${scope.join(' and ')} ${secret} until ${expires} with this token, which is shown once:\n${token}`
    return { id: delegation.id, token, expires_at: expires, text }
  }
}

export function revokeHandler(secrets: Secrets): Handler<typeof revokeOperation> {
  return async ({ id }, call) => {
    const revoked = await vaultOf(secrets).revoke(id, authorOf(call))
    return { id, revoked, text: revoked ? `ended the delegation ${id}` : `no active delegation ${id}` }
  }
}

export function readDelegatedHandler(secrets: Secrets): Handler<typeof readDelegatedOperation> {
  return async ({ token }) => {
    const { value } = await vaultOf(secrets).getDelegated(token, secrets.policy.profile)
    return { value }
  }
}

export function rotateDelegatedHandler(secrets: Secrets): Handler<typeof rotateDelegatedOperation> {
  return async ({ token, value }) => {
    const { version } = await vaultOf(secrets).rotateDelegated(token, value)
    return { version }
  }
}

/** Returns the vault. Throws `SCR_NO_VAULT`. */
export function vaultOf(secrets: Secrets): SecretVault {
  const { vault } = secrets.options.backends
  if (vault === undefined) throw noVault()
  return vault
}

/** Returns the id of a declared secret and its key in the vault. Throws `SEC_UNDECLARED`. */
export function keyOf(secrets: Secrets, name: string): { readonly id: string; readonly key: string } {
  const { id, env, backendKey } = secrets.catalog().get(name)
  return { id, key: backendKey ?? env }
}

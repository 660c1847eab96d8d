import { join } from 'node:path'
import type { SecretStatus, VaultStatus } from '@svc/contracts'
import { errorMessage } from '@svc/plugin-sdk'
import { KEYRING_SENTINEL } from './auth-file.ts'
import { variablesOf } from './catalog.ts'
import type { ListedSecret } from './declared-list.ts'
import { readEnvFile } from './env-file.ts'
import { redact, scrub } from './redact.ts'
import {
  activeMode,
  type Bundle,
  bundlesOf,
  type DoctorProfile,
  doctorProfileOf,
  type Mode,
  type Requirement,
  requirementsOf,
  type Workflow
} from './requirements.ts'
import type { Resolved } from './resolve.ts'
import type { Secrets } from './secrets.ts'

const DOCTOR_SCHEMA = 'svc.secrets.doctor/v1'

export interface DoctorInput {
  readonly workflow: Workflow
  readonly profile?: DoctorProfile
  readonly mode: Mode
  readonly bundle?: Bundle
}

export interface DoctorContext {
  readonly secrets: Secrets
  readonly projectRoot: string
  /** Names of active plugins. */
  readonly active: ReadonlySet<string>
  /** Reader, for the audit log. */
  readonly by: string
  readonly signal?: AbortSignal
}

/** Group of required secrets with its state. */
export interface Group extends Requirement {
  readonly met: boolean
}

export interface DoctorResult {
  /** Document of the format `json-v1`. */
  readonly report: DoctorReport
  readonly groups: readonly Group[]
  readonly activeMode: 'local' | 'cloud'
  readonly healthy: boolean
}

export interface DoctorReport {
  readonly schema: string
  readonly generated_at_ms: number
  readonly workflow: Workflow
  readonly profile: DoctorProfile
  readonly mode: Mode
  readonly vault_diagnostic: VaultDiagnostic | null
  readonly backend_mode: string
  readonly rollout_flags: {
    readonly profile: string
    readonly cutover_phase: string
    readonly hard_cut: boolean
    readonly legacy_sources_allowed: boolean
    readonly backend_selected_by: string
    readonly backend_problem: string | null
    readonly keyring: string
    readonly keyring_detail: string | null
  }
  readonly secrets: readonly DoctorRow[]
  readonly account_warning?: string
  readonly suggested_migrations: readonly string[]
}

export interface VaultDiagnostic {
  readonly mode: string
  readonly url_source: string
  readonly url_host_hint: string
  readonly token_source: string
  readonly token_present: boolean
  readonly compat_aliases_allowed: boolean
  readonly problem: string | null
}

export interface DoctorRow {
  readonly id: string
  readonly canonical_env: string
  readonly status: SecretStatus
  readonly source: string | null
  readonly class: string
  readonly material_kind: string
  readonly capabilities: readonly string[]
  readonly bundle_membership: readonly string[]
  readonly is_present: boolean
  readonly redacted_value: string
  readonly remediation: string
  readonly deprecated_alias_in_use: string | null
  readonly feature_gate_missing: string | null
}

/** Resolves all declared secrets and checks the requirements of a workflow. Returns no value of a secret. */
export async function examine(input: DoctorInput, context: DoctorContext): Promise<DoctorResult> {
  const { secrets, signal } = context
  const profile = input.profile ?? doctorProfileOf(secrets.policy.profile)
  const policy =
    input.profile === undefined ? secrets.policy : secrets.policyFor(profile === 'mobile' ? 'dev' : profile)
  const { choice, resolve } = await secrets.open(context.by, policy)
  const listed = secrets.catalog().secrets
  const outcomes = new Map<ListedSecret, Resolved>()
  // One at a time: backends answer quickly, and a keyring may ask the user.
  for (const secret of listed) {
    signal?.throwIfAborted()
    outcomes.set(secret, await resolve(secret, signal))
  }
  const groups = requirementsOf(input.workflow, profile, input.mode, input.bundle).map(each => groupOf(each, outcomes))
  const vault = (await secrets.options.backends.vault?.status()) ?? null
  const keyring = await keyringState(secrets)
  const warning =
    vault?.accountIsDefault === true && choice.mode === 'vox_cloud'
      ? `the vault uses the account ${vault.account}, which every project shares; set SVC_ACCOUNT_ID to separate them`
      : undefined
  const report: DoctorReport = {
    schema: DOCTOR_SCHEMA,
    generated_at_ms: secrets.options.now(),
    workflow: input.workflow,
    profile,
    mode: input.mode,
    vault_diagnostic: vault === null ? null : diagnosticOf(vault),
    backend_mode: choice.mode,
    rollout_flags: {
      profile: policy.profile,
      cutover_phase: policy.phase,
      hard_cut: policy.hardCut,
      legacy_sources_allowed: policy.legacySources,
      backend_selected_by: choice.because,
      backend_problem: choice.problem,
      ...keyring
    },
    secrets: listed.map(secret => rowOf(secret, outcomes.get(secret) as Resolved, context.active)),
    ...(warning === undefined ? {} : { account_warning: warning }),
    suggested_migrations: suggestions(context, outcomes)
  }
  const values = [...outcomes.values()].flatMap(({ value }) => value ?? [])
  const healthy =
    groups.every(({ met }) => met) && [...outcomes.values()].every(({ finding }) => !isBlocking(finding.status))
  // A message of a backend or a path may contain a value.
  return { report: scrub(report, values), groups, activeMode: activeMode(input.mode, profile), healthy }
}

/** True if a status is an error whatever the workflow needs. */
function isBlocking(status: SecretStatus): boolean {
  return status === 'MissingRequired'
}

export function vaultStatusLine(vault: VaultDiagnostic | null): string {
  if (vault === null) return 'cloudless_vault_store: none (the plugin secrets-local is not active)'
  const { mode, url_source, url_host_hint, token_source, token_present, compat_aliases_allowed } = vault
  const fields = { mode, url_source, url_host_hint, token_source, token_present, compat_aliases_allowed }
  return `cloudless_vault_store: ${Object.entries(fields)
    .map(([name, value]) => `${name}=${value}`)
    .join('; ')}`
}

function groupOf(requirement: Requirement, outcomes: ReadonlyMap<ListedSecret, Resolved>): Group {
  const isPresent = (variable: string): boolean =>
    [...outcomes].some(([secret, { value }]) => value !== undefined && variablesOf(secret).includes(variable))
  const { kind, variables } = requirement
  return { ...requirement, met: kind === 'ALL_OF' ? variables.every(isPresent) : variables.some(isPresent) }
}

function diagnosticOf(vault: VaultStatus): VaultDiagnostic {
  return {
    mode: vault.mode,
    url_source: vault.urlSource,
    url_host_hint: vault.hostHint,
    token_source: vault.tokenSource,
    token_present: vault.tokenPresent,
    compat_aliases_allowed: vault.compatAliasesAllowed,
    problem: vault.problem
  }
}

async function keyringState(secrets: Secrets): Promise<{ keyring: string; keyring_detail: string | null }> {
  const { keyring } = secrets.options
  if (keyring === undefined) return { keyring: 'none', keyring_detail: 'the plugin secrets-keyring is not active' }
  try {
    const { kind, place, reason } = await keyring.status()
    return { keyring: kind, keyring_detail: kind === 'os' ? place : `private files in ${place}: ${reason}` }
  } catch (error) {
    return { keyring: 'none', keyring_detail: errorMessage(error) }
  }
}

function rowOf(secret: ListedSecret, { finding, value }: Resolved, active: ReadonlySet<string>): DoctorRow {
  const { deprecatedAliases = [], plugin } = secret
  const { place } = finding
  return {
    id: secret.id,
    canonical_env: secret.env,
    status: finding.status,
    source: finding.source,
    class: secret.class ?? 'operator',
    material_kind: secret.material ?? 'token',
    capabilities: [...(secret.capabilities ?? [])],
    bundle_membership: bundlesOf(variablesOf(secret)),
    is_present: finding.present,
    redacted_value: redact(value),
    remediation: finding.detail === null ? secret.remediation : `${finding.detail}; ${secret.remediation}`,
    deprecated_alias_in_use: place !== null && deprecatedAliases.includes(place) ? place : null,
    feature_gate_missing: plugin === undefined || active.has(plugin) ? null : plugin
  }
}

function suggestions({ secrets, projectRoot }: DoctorContext, outcomes: ReadonlyMap<ListedSecret, Resolved>): string[] {
  const found: string[] = []
  const file = join(projectRoot, '.env')
  try {
    const variables = [...(readEnvFile(file)?.keys() ?? [])]
    const listed = [...outcomes.keys()]
    const known = variables.filter(name => listed.some(secret => variablesOf(secret).includes(name)))
    if (known.length > 0)
      found.push(`${file} has ${known.join(', ')}; run: svc secrets import-env --file ${file} and remove the lines`)
  } catch (error) {
    found.push(errorMessage(error))
  }
  for (const [secret, { finding }] of outcomes) {
    const isStored = finding.present && finding.source !== 'EnvCanonical' && finding.source !== 'EnvAlias'
    if (isStored) found.push(...secrets.usesOf(secret).map(use => `${secret.env} is stored, but not used; run: ${use}`))
    if (finding.place !== null && secret.deprecatedAliases?.includes(finding.place) === true)
      found.push(`rename the variable ${finding.place} to ${secret.env}`)
  }
  try {
    const { authFile } = secrets.options
    const plain = [...authFile.entries()].filter(([, { token }]) => token !== KEYRING_SENTINEL).map(([name]) => name)
    if (plain.length > 0 || authFile.legacyToken() !== null)
      found.push(`tokens in ${authFile.path} are not encrypted; run: svc secrets migrate-auth-store`)
    found.push(...authFile.warnings())
  } catch (error) {
    found.push(errorMessage(error))
  }
  return found
}

import type { DeclaredSecret, SecretFinding, SecretSource, SecretStatus, SecretsPolicy } from '@svc/contracts'
import { errorMessage } from '@svc/plugin-sdk'

const DAY_MS = 86_400_000
/** Part of the permitted age after which a secret counts as nearing its expiry. */
const NEARING = 0.9

export interface BackendSecret {
  readonly value: string
  /** Whether a value of the profile was used instead of the canonical one. */
  readonly overridden?: boolean
  readonly rotatedAtMs?: number
}

/** Places that secrets come from. `backend`: null if only the environment and files are used. */
export interface Sources {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly backend: {
    readonly name: string
    get(key: string, signal?: AbortSignal): Promise<BackendSecret | null>
  } | null
  /** Returns a token of the keyring or of the auth file; null without one. */
  registry(secret: DeclaredSecret): Promise<Found | null>
  /** Returns a value of the mesh file; null without one. */
  meshEnv(secret: DeclaredSecret): Found | null
  now(): number
}

export interface Found {
  readonly value: string
  readonly source: SecretSource
  readonly place: string
}

/** Outcome with the value; absent without an accepted one. */
export interface Resolved {
  readonly finding: SecretFinding
  readonly value?: string
}

/**
 * Searches a declared secret: environment, backend, keyring and auth file, mesh file. A blank value ends the search.
 * In strict profiles a deprecated variable ends it, too, and a backend that fails. Never throws.
 */
export async function resolveSecret(
  secret: DeclaredSecret,
  policy: SecretsPolicy,
  sources: Sources,
  signal?: AbortSignal
): Promise<Resolved> {
  const outcome = outcomeOf(secret)
  const fromEnv = inEnvironment(secret, policy, sources.env)
  if (fromEnv !== null && fromEnv.status !== 'RejectedSourcePolicy' && fromEnv.status !== 'RejectedClassPolicy')
    return outcome(fromEnv)
  const failures: string[] = []
  try {
    const fromBackend = await inBackend(secret, sources, signal)
    if (fromBackend !== null) return outcome(fromBackend)
  } catch (error) {
    const detail = `${sources.backend?.name}: ${errorMessage(error)}`
    if (policy.strict) return outcome({ status: 'BackendUnavailable', detail })
    failures.push(detail)
  }
  if (policy.legacySources && (!policy.strict || secret.compatInStrict !== false)) {
    for (const search of [() => sources.registry(secret), () => sources.meshEnv(secret)]) {
      try {
        const found = await search()
        if (found === null) continue
        const { value, source, place } = found
        if (isBlank(value)) return outcome({ status: 'InvalidEmpty', place, detail: `${place} is empty` })
        return outcome({ status: 'Present', source, place, value })
      } catch (error) {
        failures.push(errorMessage(error))
      }
    }
  }
  if (failures.length > 0) return outcome({ status: 'BackendUnavailable', detail: failures.join('; ') })
  return outcome(fromEnv ?? { status: secret.policy === 'required' ? 'MissingRequired' : 'MissingOptional' })
}

interface Outcome {
  readonly status: SecretStatus
  readonly source?: SecretSource
  readonly place?: string
  readonly detail?: string
  readonly value?: string
}

function outcomeOf({ id }: DeclaredSecret): (outcome: Outcome) => Resolved {
  return ({ status, source = null, place = null, detail = null, value }) => {
    const finding = { id, status, source, place, detail, present: value !== undefined }
    return value === undefined ? { finding } : { finding, value }
  }
}

/** Returns the outcome of the environment; null if no variable is set. A rejected variable does not end the search. */
function inEnvironment(
  { env: canonical, aliases = [], deprecatedAliases = [], environmentInStrict = true }: DeclaredSecret,
  { strict, legacySources, phase, profile }: SecretsPolicy,
  env: Sources['env']
): Outcome | null {
  const name = [canonical, ...aliases, ...deprecatedAliases].find(each => env[each] !== undefined)
  if (name === undefined) return null
  const value = env[name] as string
  const place = name
  if (!legacySources)
    return { status: 'RejectedSourcePolicy', place, detail: `${name} is set, but the phase ${phase} refuses variables` }
  if (strict && !environmentInStrict)
    return {
      status: 'RejectedClassPolicy',
      place,
      detail: `${name} is set, but the profile ${profile} wants a backend`
    }
  if (isBlank(value)) return { status: 'InvalidEmpty', place, detail: `${name} is set, but empty` }
  if (!deprecatedAliases.includes(name))
    return { status: 'Present', source: name === canonical ? 'EnvCanonical' : 'EnvAlias', place, value }
  const detail = `${name} is deprecated; use ${canonical}`
  if (strict) return { status: 'RejectedLegacyAlias', place, detail }
  return { status: 'DeprecatedAliasUsed', source: 'EnvAlias', place, detail, value }
}

async function inBackend(
  secret: DeclaredSecret,
  { backend, now }: Sources,
  signal: AbortSignal | undefined
): Promise<Outcome | null> {
  if (backend === null) return null
  const key = secret.backendKey ?? secret.env
  const found = await backend.get(key, signal)
  if (found === null) return null
  const { value, overridden = false, rotatedAtMs } = found
  const place = `${backend.name}/${key}`
  if (isBlank(value)) return { status: 'InvalidEmpty', place, detail: `${place} is empty` }
  const about = { source: 'ExternalBackend', place, value } as const
  const { rotationDays } = secret
  if (rotationDays !== undefined && rotatedAtMs !== undefined) {
    const days = (now() - rotatedAtMs) / DAY_MS
    const detail = `stored ${Math.floor(days)} days ago, limit ${rotationDays}`
    if (days > rotationDays) return { ...about, status: 'StaleRotation', detail }
    if (days > rotationDays * NEARING) return { ...about, status: 'NearingExpiry', detail }
  }
  return { ...about, status: overridden ? 'ProfileOverrideUsed' : 'Present' }
}

function isBlank(value: string): boolean {
  return value.trim() === ''
}

import type { KernelAdmin } from '../kernel/admin.ts'

/** Profiles of the resolver. All but `dev` are strict. */
export const SECRET_PROFILES = ['dev', 'ci', 'prod', 'hard_cut'] as const
export type SecretProfile = (typeof SECRET_PROFILES)[number]

/** Phases of the move from environment variables and files to a backend. */
export const CUTOVER_PHASES = ['shadow', 'canary', 'enforce', 'decommission'] as const
export type CutoverPhase = (typeof CUTOVER_PHASES)[number]

export interface SecretsPolicy {
  readonly profile: SecretProfile
  /** True for every profile but `dev`: deprecated variables are rejected. */
  readonly strict: boolean
  readonly phase: CutoverPhase
  readonly hardCut: boolean
  /** Whether secrets may come from environment variables, the keyring, the auth file and the mesh file. */
  readonly legacySources: boolean
  /** Whether `SVC_SQL_*` and `LEGACY_SQL_*` apply. */
  readonly legacySqlAliases: boolean
}

/** Returns the policy of the settings `[plugins.secrets]`; without that plugin, the policy of its defaults. */
export function secretsPolicy(admin: Pick<KernelAdmin, 'settings'> | undefined): SecretsPolicy {
  const settings = new Map(admin?.settings('plugins.secrets').map(({ key, value }) => [key, value]) ?? [])
  const read = (name: string): unknown => settings.get(`plugins.secrets.${name}`)
  return policyOf({ profile: read('profile'), phase: read('cutover_phase'), hardCut: read('hard_cut') === true })
}

/** Returns the policy for names as users write them. An unknown phase is `shadow`, an unknown profile is `dev`. */
export function policyOf(names: {
  readonly profile: unknown
  readonly phase: unknown
  readonly hardCut: boolean
}): SecretsPolicy {
  const profile = profileOf(names.profile) ?? 'dev'
  const phase = CUTOVER_PHASES.find(each => each === lowerCase(names.phase)) ?? 'shadow'
  const strict = profile !== 'dev'
  const isCut = phase === 'enforce' || phase === 'decommission'
  return {
    profile,
    strict,
    phase,
    hardCut: names.hardCut,
    legacySources: !isCut && !(phase === 'canary' && strict),
    legacySqlAliases: !names.hardCut && !isCut
  }
}

/** Returns the profile of a name or a synonym, such as `prod_strict`; null for another text. */
export function profileOf(name: unknown): SecretProfile | null {
  const known = lowerCase(name)
  if (known === 'hardcut') return 'hard_cut'
  return SECRET_PROFILES.find(each => each === known || `${each}_strict` === known) ?? null
}

function lowerCase(text: unknown): string {
  return typeof text === 'string' ? text.trim().toLowerCase() : ''
}

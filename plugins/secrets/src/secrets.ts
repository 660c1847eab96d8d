import {
  type DeclaredSecret,
  type DeclaredSecretResolver,
  type KernelAdmin,
  policyOf,
  type SecretFinding,
  type SecretKeyring,
  type SecretProfile,
  type SecretsPolicy,
  secretErrors
} from '@svc/contracts'
import { type AuthFile, KEYRING_SENTINEL, PACKAGE_REGISTRY } from './auth-file.ts'
import { type BackendChoice, type Backends, chooseBackend } from './backend-choice.ts'
import { SecretCatalog, variablesOf } from './catalog.ts'
import type { ListedSecret } from './declared-list.ts'
import { findInMeshEnv } from './mesh-env.ts'
import { type Found, type Resolved, resolveSecret, type Sources } from './resolve.ts'
import type { Settings } from './settings.ts'

/** Collection of the keyring with secrets that users stored. */
export const COLLECTION = 'vox-secrets'
const LEGACY_SQL = /^(?:SVC|LEGACY)_SQL_/

export interface SecretsOptions {
  readonly settings: Settings
  readonly admin: Pick<KernelAdmin, 'settings'> | undefined
  readonly keyring: SecretKeyring | undefined
  readonly backends: Backends
  readonly authFile: AuthFile
  /** Files that may hold secrets of the mesh, by precedence. */
  readonly meshFiles: readonly string[]
  readonly env: Sources['env']
  /** Secrets that plugins declare. */
  declared(): readonly DeclaredSecret[]
  now(): number
}

/** Resolver of declared secrets. */
export class Secrets implements DeclaredSecretResolver {
  readonly options: SecretsOptions
  readonly policy: SecretsPolicy

  constructor(options: SecretsOptions) {
    const { profile, cutover_phase: phase, hard_cut: hardCut } = options.settings
    this.options = options
    this.policy = policyOf({ profile, phase, hardCut })
  }

  catalog(): SecretCatalog {
    return new SecretCatalog(this.options.declared(), this.options.admin?.settings() ?? [])
  }

  /** Returns the policy of another profile, with the same phase. */
  policyFor(profile: SecretProfile): SecretsPolicy {
    return policyOf({ profile, phase: this.policy.phase, hardCut: this.policy.hardCut })
  }

  choose(policy: SecretsPolicy, by: string): Promise<BackendChoice> {
    const { settings, backends, env } = this.options
    return chooseBackend(settings.backend, policy, backends, env, by)
  }

  /** Returns a function that resolves secrets with one choice of the backend, for many secrets. */
  async open(by: string, policy = this.policy, { mesh = true }: { readonly mesh?: boolean } = {}) {
    const choice = await this.choose(policy, by)
    const { env, meshFiles, now } = this.options
    const sources: Sources = {
      env,
      backend: choice.backend,
      registry: secret => this.#inRegistry(secret),
      meshEnv: secret => (mesh ? inMeshFiles(secret, meshFiles) : null),
      now
    }
    const resolve = (secret: ListedSecret, signal?: AbortSignal): Promise<Resolved> =>
      resolveSecret(policy.legacySqlAliases ? secret : withoutLegacySql(secret), policy, sources, signal)
    return { choice, resolve }
  }

  /** Returns the commands that make unset settings with the variables of a secret use it. */
  usesOf(secret: DeclaredSecret): string[] {
    const variables = [secret.env, ...(secret.aliases ?? [])]
    const settings = this.options.admin?.settings() ?? []
    return settings
      .filter(({ env, value }) => (value ?? '') === '' && env.some(name => variables.includes(name)))
      .map(({ key }) => `svc config set ${key}=secret://auto/${secret.env}`)
  }

  async find(idOrVariable: string, signal?: AbortSignal): Promise<SecretFinding> {
    return (await this.#resolved(idOrVariable, 'svc', signal)).finding
  }

  async resolve(idOrVariable: string, signal?: AbortSignal): Promise<string> {
    const { finding, value } = await this.#resolved(idOrVariable, 'svc', signal)
    if (value !== undefined) return value
    throw refusal(this.catalog().get(idOrVariable), finding)
  }

  async #resolved(idOrVariable: string, by: string, signal?: AbortSignal): Promise<Resolved> {
    const secret = this.catalog().get(idOrVariable)
    const { resolve } = await this.open(by)
    return resolve(secret, signal)
  }

  async #inRegistry(secret: DeclaredSecret): Promise<Found | null> {
    const { keyring, authFile } = this.options
    const { registry } = secret
    // It may have been stored under its variable while the plugin that declares the registry was not active.
    const names = registry === undefined ? [secret.env] : [registry, secret.env]
    for (const name of names) {
      const stored = (await keyring?.get(COLLECTION, name)) ?? null
      if (stored !== null) return { value: stored, source: 'SecureStore', place: `keyring ${COLLECTION}/${name}` }
    }
    const entries = authFile.entries()
    for (const name of names) {
      const token = entries.get(name)?.token
      if (token !== undefined && token !== KEYRING_SENTINEL)
        return { value: token, source: 'AuthJson', place: authFile.path }
    }
    const legacy = registry === PACKAGE_REGISTRY ? authFile.legacyToken() : null
    return legacy === null ? null : { value: legacy, source: 'LegacyAuthToken', place: authFile.legacyPath }
  }
}

/** Returns the error for a secret without an accepted value. It contains no secret. */
export function refusal(secret: DeclaredSecret, { status, detail }: SecretFinding): Error {
  const hint = secret.remediation
  const because = detail === null ? '' : `: ${detail}`
  const message = `the secret ${secret.id} (${secret.env})`
  switch (status) {
    case 'BackendUnavailable':
      return secretErrors.create('SEC_BACKEND_UNAVAILABLE', `${message} cannot be read${because}`, {
        hint: 'svc secrets backend-status shows the state of the backends'
      })
    case 'RejectedLegacyAlias':
    case 'RejectedSourcePolicy':
    case 'RejectedClassPolicy':
    case 'InvalidEmpty':
      return secretErrors.create('SEC_REJECTED', `${message} is not accepted${because}`, { hint })
    default:
      return secretErrors.create('SEC_NOT_FOUND', `${message} is not set${because}`, { hint })
  }
}

/** The mesh file holds only secrets of a mesh. */
function inMeshFiles(secret: DeclaredSecret, files: readonly string[]): Found | null {
  if (!isMeshSecret(secret)) return null
  const found = findInMeshEnv(variablesOf(secret), files)
  return found === null ? null : { value: found.value, source: 'MeshEnvFile', place: found.file }
}

export function isMeshSecret({ env, shareable = false }: DeclaredSecret): boolean {
  return shareable && env.startsWith('SVC_MESH_')
}

function withoutLegacySql<A extends DeclaredSecret>(secret: A): A {
  const kept = (names: readonly string[] = []): string[] => names.filter(name => !LEGACY_SQL.test(name))
  return { ...secret, aliases: kept(secret.aliases), deprecatedAliases: kept(secret.deprecatedAliases) }
}

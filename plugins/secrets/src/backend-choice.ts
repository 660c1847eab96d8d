import type { SecretBackend, SecretsPolicy, SecretVault, VaultStatus } from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
import type { Sources } from './resolve.ts'
import type { Settings } from './settings.ts'

export type BackendMode = 'env_only' | 'infisical' | 'vault' | 'vox_cloud'

export interface BackendChoice {
  readonly mode: BackendMode
  /** Setting, variable or rule that selected the backend. */
  readonly because: string
  /** Backend to ask; null for `env_only`. It rejects if its plugin is not active. */
  readonly backend: Sources['backend']
  /** Why the selected backend cannot be used, or null. */
  readonly problem: string | null
}

/** Backends of active plugins. */
export interface Backends {
  readonly vault: SecretVault | undefined
  readonly infisical: SecretBackend | undefined
  readonly hashicorp: SecretBackend | undefined
}

interface Choice {
  readonly mode: BackendMode
  readonly because: string
}

/** Selects the backend by the phase, the setting, or the rules of `auto`. `by`: reader, for the audit log of the vault. */
export async function chooseBackend(
  setting: Settings['backend'],
  policy: SecretsPolicy,
  backends: Backends,
  env: Sources['env'],
  by: string
): Promise<BackendChoice> {
  const choice = await chooseMode(setting, policy, backends, env)
  const { mode } = choice
  if (mode === 'env_only') return { ...choice, backend: null, problem: null }
  if (mode === 'vox_cloud') {
    const { vault } = backends
    if (vault === undefined) return missing(choice, 'secrets.vault@1')
    const backend = { name: mode, get: (key: string) => vault.get(key, policy.profile, by) }
    return { ...choice, backend, problem: null }
  }
  const provided = mode === 'infisical' ? backends.infisical : backends.hashicorp
  if (provided === undefined) return missing(choice, `secrets.backend.${mode}@1`)
  return { ...choice, backend: { name: mode, get: readerOf(provided) }, problem: null }
}

async function chooseMode(
  setting: Settings['backend'],
  { phase }: SecretsPolicy,
  { vault, infisical, hashicorp }: Backends,
  env: Sources['env']
): Promise<Choice> {
  if (phase === 'decommission') return { mode: 'vox_cloud', because: 'the phase decommission' }
  if (setting !== 'auto') return { mode: modeOf(setting), because: 'plugins.secrets.backend' }
  const status: VaultStatus | undefined = await vault?.status()
  if (status !== undefined && status.selectedBy !== null) return { mode: 'vox_cloud', because: status.selectedBy }
  const token = ['INFISICAL_TOKEN', 'INFISICAL_SERVICE_TOKEN'].find(name => isSet(env[name]))
  if (infisical !== undefined && token !== undefined) return { mode: 'infisical', because: token }
  if (hashicorp !== undefined && isSet(env.VAULT_ADDR) && isSet(env.VAULT_TOKEN))
    return { mode: 'vault', because: 'VAULT_ADDR and VAULT_TOKEN' }
  if (status?.hasMasterKey === true) return { mode: 'vox_cloud', because: 'a master key in the keyring' }
  return { mode: 'env_only', because: 'no backend is set up' }
}

function modeOf(setting: Exclude<Settings['backend'], 'auto'>): BackendMode {
  if (setting === 'env') return 'env_only'
  return setting === 'voxcloud' ? 'vox_cloud' : setting
}

function missing(choice: Choice, token: string): BackendChoice {
  const problem = `no active plugin provides ${token}`
  const backend = {
    name: choice.mode,
    async get(): Promise<never> {
      throw new Error(problem)
    }
  }
  return { ...choice, backend, problem }
}

function readerOf(backend: SecretBackend) {
  return async (key: string, signal?: AbortSignal): Promise<{ readonly value: string } | null> => {
    try {
      return { value: await backend.resolve(key, signal) }
    } catch (error) {
      if (isSvcError(error, 'SEC_NOT_FOUND')) return null
      throw error
    }
  }
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== ''
}

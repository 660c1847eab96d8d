import { homedir } from 'node:os'
import { join } from 'node:path'
import {
  type DatabaseStore,
  type InferenceChatRequest,
  imagesOf,
  isOffered,
  type LocalLane,
  unlessChosen
} from '@svc/contracts'
import type { Logger } from '@svc/plugin-sdk'
import { categoryOf } from './choice/categories.ts'
import type { ChoiceInput } from './choice/input.ts'
import { needsOf } from './choice/needs.ts'
import { parseWeights, weightsFor } from './choice/weights.ts'
import { type LocalProbe, LocalProber } from './local-probe.ts'
import { ProviderAccess } from './provider-access.ts'
import type { HostedName } from './provider-list.ts'
import { type ModelEntry, toEntry } from './registry/entry.ts'
import { type LoadOptions, type Registry, type RegistryPlaces, RegistrySource } from './registry/registry.ts'
import type { Selections } from './selections.ts'
import { profileOf, type Settings, usesLocalServers } from './settings.ts'
import type { StoredKeySource } from './stored-keys.ts'
import type { UsageLedger } from './usage/ledger.ts'
import { type Limits, readLimits } from './usage/limits.ts'
import { Standings } from './usage/standing.ts'

const DEFAULT_COMPLEXITY = 5

export interface PlannerParts {
  readonly settings: () => Settings
  readonly ledger: UsageLedger
  readonly selections: Selections
  readonly keys: StoredKeySource
  readonly store: () => DatabaseStore | undefined
  readonly log: Logger
}

/** Input of a choice, and what it was made from. */
export interface Plan {
  readonly input: ChoiceInput
  readonly registry: Registry
  readonly standings: Standings
  readonly access: ProviderAccess
}

/** Collects everything that the choice of a model depends on. */
export class Planner {
  readonly prober = new LocalProber()
  readonly registry: RegistrySource
  readonly #parts: PlannerParts
  #limits: { readonly key: string; readonly limits: Promise<Limits> } | undefined

  constructor(parts: PlannerParts) {
    this.#parts = parts
    this.registry = new RegistrySource(parts.log)
  }

  async plan(
    request: InferenceChatRequest,
    local: LocalLane,
    options: { readonly refresh?: boolean } = {}
  ): Promise<Plan> {
    const { ledger, selections } = this.#parts
    const settings = this.#parts.settings()
    const { purpose = {}, signal } = request
    const access = await this.access(signal)
    const isAllowed = usesLocalServers(profileOf(settings)) && access.isAllowed('ollama')
    const [registry, probe, rows, limits, selected, freeOnly] = await Promise.all([
      this.load(local.model, { ...options, create: true, ...(signal === undefined ? {} : { signal }) }),
      isAllowed ? this.prober.probe(local, signal) : Promise.resolve<LocalProbe>({ isReachable: false, offered: [] }),
      ledger.rows(),
      this.#readLimits(settings),
      selections.of(purpose.session),
      this.#hasSpent(settings, purpose.session)
    ])
    const standings = new Standings(rows, limits, Date.now())
    const category = categoryOf(purpose.category)
    const needs = needsOf(request, category, request.maxTokens ?? local.defaults.maxTokens)
    const seeing = await this.#seeing([local.model, request.model, selected?.model], request, probe, local)
    const { complexity = DEFAULT_COMPLEXITY, costPreference = null } = purpose
    const input: ChoiceInput = {
      models: withVision(
        registry.models.map(entry =>
          entry.provider === 'custom' && entry.url === null && settings.custom_url !== undefined
            ? { ...entry, url: settings.custom_url }
            : entry
        ),
        seeing
      ),
      premium: registry.premium,
      requested: request.model === undefined || request.model === local.model ? null : request.model,
      selected: selected?.model ?? null,
      previous: selections.previous(purpose.session),
      needs,
      category,
      isLatencyCritical: purpose.latencyCritical === true,
      freeOnly,
      local: { isAllowed, isReady: isReady(local.model, probe), model: local.model, offered: probe.offered },
      hasKey: name => access.hasKey(name),
      isAllowed: name => access.isAllowed(name),
      standingOf: entry => standings.of(entry),
      score: {
        weights: weightsFor(parseWeights(settings.priority), { complexity, costPreference }),
        promptTokens: needs.promptTokens,
        isMobile: profileOf(settings).startsWith('mobile_'),
        fillsGap: purpose.fillInMiddle === true
      },
      preferred: settings.strategy === 'provider_auto' ? undefined : (settings.preferred_model ?? null),
      gemini: {
        policy: settings.gemini_policy,
        openrouter: settings.openrouter_gemini_model,
        google: settings.google_gemini_model
      }
    }
    return { input, registry, standings, access }
  }

  /** Returns the names among `names` of local models that accept images, if the request has any. */
  async #seeing(
    names: readonly (string | undefined)[],
    request: InferenceChatRequest,
    { isReachable, offered }: LocalProbe,
    local: LocalLane
  ): Promise<ReadonlySet<string>> {
    if (!isReachable || imagesOf(request).length === 0) return new Set()
    const known = [...new Set(names)].filter(
      name => name !== undefined && isOffered(unlessChosen(name, offered), offered)
    )
    const seen = await Promise.all(
      known.map(name => local.sees(unlessChosen(name as string, offered), request.signal).catch(() => null))
    )
    request.signal?.throwIfAborted()
    return new Set(known.filter((_, at) => seen[at] === true) as string[])
  }

  /** Returns what is left of the limits of today. Asks no server and reads no model list. */
  async quotas(signal?: AbortSignal): Promise<Pick<Plan, 'standings' | 'access'>> {
    const [access, rows, limits] = await Promise.all([
      this.access(signal),
      this.#parts.ledger.rows(),
      this.#readLimits(this.#parts.settings())
    ])
    return { access, standings: new Standings(rows, limits, Date.now()) }
  }

  /** Returns the keys and addresses of hosted providers. */
  async access(signal?: AbortSignal): Promise<ProviderAccess> {
    const settings = this.#parts.settings()
    const isSet = (name: HostedName): boolean => settings[`${name}_api_key`] !== undefined
    return new ProviderAccess(settings, await this.#parts.keys.load(isSet, signal))
  }

  /** Returns the model registry. `localModel`: model of the local server. */
  async load(localModel: string, options: LoadOptions = {}): Promise<Registry> {
    const access = await this.access(options.signal)
    return this.registry.load(localModel, placesOf(this.#parts.settings(), access, process.env), options)
  }

  /** Returns the limits; the file is read again when the settings change, and at most every second. */
  #readLimits(settings: Settings): Promise<Limits> {
    const { daily_limit, limited_providers, daily_limits_file, daily_limits_json } = settings
    const second = daily_limits_file === undefined ? 0 : Math.floor(performance.now() / 1_000)
    const key = JSON.stringify([daily_limit, limited_providers, daily_limits_file, daily_limits_json, second])
    if (this.#limits?.key !== key) {
      this.#limits = {
        key,
        limits: readLimits(settings as Parameters<typeof readLimits>[0], problem => this.#warn(problem))
      }
    }
    return this.#limits.limits
  }

  readonly #warned = new Set<string>()

  #warn(problem: string): void {
    if (this.#warned.has(problem)) return
    this.#warned.add(problem)
    this.#parts.log.warn('daily limits of providers', { problem })
  }

  /** True if the session has spent its budget, by the costs that the orchestrator recorded. */
  async #hasSpent({ session_max_cost_usd: limit }: Settings, session: string | undefined): Promise<boolean> {
    const store = this.#parts.store()
    if (limit === undefined || session === undefined || store === undefined) return false
    try {
      const { rows } = await store.query('SELECT sum(cost_usd) FROM cost_records WHERE session_id = ?', [session])
      return Number(rows[0]?.[0] ?? 0) > limit
    } catch (error) {
      this.#warn(`the costs of a session are not readable: ${String(error)}`)
      return false
    }
  }
}

/** Returns the models, with vision for the local ones that the server reports it for. */
function withVision(models: readonly ModelEntry[], seeing: ReadonlySet<string>): readonly ModelEntry[] {
  if (seeing.size === 0) return models
  const isSeeing = ({ provider, id }: ModelEntry): boolean => provider === 'ollama' && seeing.has(id)
  const known = new Map(models.filter(isSeeing).map(entry => [entry.id, entry]))
  const able = [...seeing].map(id => {
    const entry = known.get(id) ?? toEntry({ providerType: 'ollama', id })
    return { ...entry, capabilities: { ...entry.capabilities, supportsVision: true } }
  })
  return [...models.filter(entry => !isSeeing(entry)), ...able]
}

function isReady(model: string, { isReachable, offered }: LocalProbe): boolean {
  if (!isReachable) return false
  return isOffered(unlessChosen(model, offered), offered)
}

/** Returns the files and addresses of the registry. */
function placesOf(settings: Settings, access: ProviderAccess, env: NodeJS.ProcessEnv): RegistryPlaces {
  const config = env.XDG_CONFIG_HOME || join(env.HOME || homedir(), '.config')
  return {
    modelsFile: settings.models_file ?? join(config, 'svc', 'models.toml'),
    catalogCache: settings.catalog_cache ?? join(env.HOME || homedir(), '.vox', 'cache', 'model-catalog.v1.json'),
    catalogUrl: settings.catalog_url,
    refreshMs: settings.catalog_refresh_s * 1_000,
    readsCatalog: access.hasKey('openrouter') && access.isAllowed('openrouter')
  }
}

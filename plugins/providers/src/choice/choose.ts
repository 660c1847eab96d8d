import { inferenceErrors, isOffered } from '@svc/contracts'
import { HOSTED, HOSTED_NAMES, type HostedName } from '../provider-list.ts'
import { AUTO_MODEL } from '../registry/bootstrap.ts'
import { type ModelEntry, nameOf, type Tier, toEntry } from '../registry/entry.ts'
import { CATEGORIES, type CategoryName } from './categories.ts'
import type { ChoiceInput } from './input.ts'
import { lackOf } from './needs.ts'
import { type ScoreContext, scoreOf } from './score.ts'
import { adviceFor, cheapest, DEFAULT_RETRY_MS, isUsable, refused, rejection, shortage } from './usable.ts'

export type ChoiceRule =
  | 'requested'
  | 'selected'
  | 'premium'
  | 'session'
  | 'local'
  | 'latency_critical_free'
  | 'provider_auto'
  | 'preferred_model'
  | 'score'
  | 'cheapest_free'
  | 'cheapest'
  | 'fallback'

export interface Choice {
  readonly entry: ModelEntry
  readonly rule: ChoiceRule
  /** Human-readable remark; null if there is none. */
  readonly warning: string | null
}

/**
 * Chooses the model of a request.
 *
 * Throws `ICL_MODEL_UNKNOWN`, `ICL_UNAUTHORIZED` (no key), `ICL_REFUSED` (not allowed, or lacks a capability),
 * `ICL_BUSY` (no calls left, or cooling down) and `ICL_UNREACHABLE` if nothing is left.
 */
export function choose(input: ChoiceInput): Choice {
  if (input.requested !== null)
    return { entry: requestedEntry(input.requested, input), rule: 'requested', warning: null }
  return (
    selectedChoice(input) ??
    namedChoice(input.premium[input.category], 'premium', input) ??
    namedChoice(input.previous, 'session', input) ??
    localChoice(input) ??
    automaticChoice(input) ??
    lastResort(input)
  )
}

function requestedEntry(name: string, input: ChoiceInput): ModelEntry {
  const { local } = input
  const localEntry = () => findLocal(name, input)
  if (local.isAllowed && isOffered(name, local.offered)) return localEntry()
  const entry = findHosted(name, input)
  if (entry !== undefined) {
    const problem = rejection(entry, input) ?? shortage(entry, input)
    if (problem !== null) throw problem
    return entry
  }
  // The local server reports what it offers instead.
  if (local.isAllowed) return localEntry()
  throw inferenceErrors.create(
    'ICL_MODEL_UNKNOWN',
    `the request names the model "${name}", which no hosted provider offers`,
    {
      data: { model: name },
      hint: 'svc models list shows the models, and models.toml adds further ones'
    }
  )
}

/** A selection that cannot be used is an error; one without calls left is passed over. */
function selectedChoice(input: ChoiceInput): Choice | null {
  const { selected, local } = input
  if (selected === null) return null
  const hosted = findHosted(selected, input)
  if (hosted === undefined || (local.isAllowed && isOffered(selected, local.offered))) {
    const entry = findLocal(selected, input)
    const problem = rejection(entry, input)
    if (problem !== null) throw problem
    const isThere = selected === local.model ? local.isReady : isOffered(selected, local.offered)
    return isThere ? { entry, rule: 'selected', warning: null } : null
  }
  const problem = rejection(hosted, input)
  if (problem !== null) throw problem
  return shortage(hosted, input) === null ? { entry: hosted, rule: 'selected', warning: null } : null
}

function namedChoice(name: string | null | undefined, rule: ChoiceRule, input: ChoiceInput): Choice | null {
  if (name === null || name === undefined) return null
  if (isOffered(name, input.local.offered)) {
    const entry = findLocal(name, input)
    return isUsable(entry, input) ? { entry, rule, warning: null } : null
  }
  const entry = findHosted(name, input)
  return entry !== undefined && isUsable(entry, input) ? { entry, rule, warning: null } : null
}

function localChoice(input: ChoiceInput): Choice | null {
  const entry = findLocal(input.local.model, input)
  return input.local.isReady && isUsable(entry, input) ? { entry, rule: 'local', warning: null } : null
}

/** Chooses among hosted models. The rule for Gemini applies only here. */
function automaticChoice(input: ChoiceInput): Choice | null {
  const usable = input.models.filter(entry => entry.provider !== 'ollama' && isUsable(entry, input))
  const auto = usable.find(({ provider, id }) => provider === 'openrouter' && id === AUTO_MODEL)
  const rated = usable.filter(entry => entry !== auto)
  const free = rated.filter(({ isFree }) => isFree)
  if (input.isLatencyCritical) {
    const entry = best(free, input)
    if (entry !== undefined) return withGemini({ entry, rule: 'latency_critical_free', warning: null }, input)
  }
  if (input.preferred !== undefined) {
    const preferred = input.preferred === null ? undefined : findHosted(input.preferred, input)
    if (preferred !== undefined && isUsable(preferred, input))
      return { entry: preferred, rule: 'preferred_model', warning: null }
    const why =
      input.preferred === null ? 'no model is preferred' : `the preferred model "${input.preferred}" is not usable`
    if (auto !== undefined) return { entry: auto, rule: 'provider_auto', warning: `${why}; OpenRouter chooses` }
  }
  if (auto !== undefined) return { entry: auto, rule: 'provider_auto', warning: null }
  const scored = best(suited(rated, input.category), input)
  if (scored !== undefined) return withGemini({ entry: scored, rule: 'score', warning: null }, input)
  const cheapestFree = cheapest(free)
  if (cheapestFree !== undefined)
    return withGemini({ entry: cheapestFree, rule: 'cheapest_free', warning: null }, input)
  const entry = cheapest(rated)
  return entry === undefined ? null : withGemini({ entry, rule: 'cheapest', warning: null }, input)
}

/** Returns the local server, whose error then says why it does not answer; throws if the profile excludes it. */
function lastResort(input: ChoiceInput): Choice {
  const { local } = input
  const entry = findLocal(local.model, input)
  const keyed = HOSTED_NAMES.filter(name => input.hasKey(name) && input.isAllowed(name))
  const able = input.models.filter(({ provider }) => (keyed as readonly string[]).includes(provider))
  if (keyed.length > 0 && able.every(each => lackOf(each, input.needs) !== null)) {
    // The local server may be able to, or reports why not.
    if (local.isReady && local.isAllowed && input.isAllowed('ollama')) return { entry, rule: 'local', warning: null }
    const lack = lackOf(able[0] ?? entry, input.needs)
    throw refused(`no model of ${keyed.join(', ')} can answer this request: ${lack}`, adviceFor(entry, input))
  }
  if (local.isAllowed && input.isAllowed('ollama') && (keyed.length === 0 || !local.isReady))
    return { entry, rule: 'local', warning: null }
  if (keyed.length > 0) {
    throw inferenceErrors.create('ICL_BUSY', `all providers exhausted or unavailable: ${keyed.join(', ')}`, {
      data: { retryAfterMs: retryDelay(input), providers: keyed },
      hint: 'svc models usage shows the calls that are left, and which models cool down'
    })
  }
  const variables = HOSTED_NAMES.filter(input.isAllowed).map(name => HOSTED[name].variable)
  throw inferenceErrors.create(
    'ICL_UNREACHABLE',
    'no model is available: local servers are excluded, and no allowed provider has a key',
    { hint: `set one of ${variables.join(', ')}, or SVC_INFERENCE_PROFILE=desktop_local` }
  )
}

function retryDelay({ models, standingOf }: ChoiceInput): number {
  const delays = models.map(entry => standingOf(entry).retryAfterMs ?? Number.POSITIVE_INFINITY)
  const soonest = Math.min(...delays)
  return Number.isFinite(soonest) ? soonest : DEFAULT_RETRY_MS
}

/** Models with the strength and the context of a category; those of its preferred tier, if there are any. */
export function suited(models: readonly ModelEntry[], category: CategoryName): readonly ModelEntry[] {
  const { strength, minContext, tier } = CATEGORIES[category]
  const fit = models.filter(
    ({ strengths, capabilities: { maxContext } }) =>
      strengths.includes(strength) && (maxContext === 0 || maxContext >= minContext * 1_000)
  )
  const preferred = fit.filter(({ capabilities }) => capabilities.tier === (tier as Tier))
  return preferred.length > 0 ? preferred : fit
}

function best(models: readonly ModelEntry[], input: ChoiceInput): ModelEntry | undefined {
  return rank(models, input)[0]
}

/** Sorts models by their score, best first. */
export function rank(models: readonly ModelEntry[], { score, standingOf, category }: ChoiceInput): ModelEntry[] {
  const context: ScoreContext = { ...score, strength: CATEGORIES[category].strength }
  const scores = new Map(models.map(entry => [entry, scoreOf(entry, standingOf(entry), context)]))
  return [...models].sort((a, b) => (scores.get(b) ?? 0) - (scores.get(a) ?? 0))
}

/** Replaces a Gemini model that was chosen automatically, as the policy says. */
function withGemini(choice: Choice, input: ChoiceInput): Choice {
  const { policy, openrouter } = input.gemini
  if (!choice.entry.id.includes('gemini') || policy === 'registry_default') return choice
  if (policy === 'openrouter_first') {
    const entry = find('openrouter', openrouter, input)
    return isUsable(entry, input) ? { ...choice, entry } : choice
  }
  const entry = googleDirect(input)
  return isUsable(entry, input) ? { ...choice, entry } : choice
}

function googleDirect(input: ChoiceInput): ModelEntry {
  return find('google', input.gemini.google, input)
}

/** Attempts of one request so far. */
export interface Attempts {
  /** Names of models. */
  readonly tried: Set<string>
  /** Routes of {@link fallback} that were taken. */
  readonly routes: Set<'google' | 'local' | 'hosted'>
}

/**
 * Returns the model to try after a failure; null if there is none. Each route is taken once: from Gemini on OpenRouter
 * to Google, from a hosted provider to the local server, and to the cheapest model of another hosted provider.
 */
export function fallback(failed: ModelEntry, { tried, routes }: Attempts, input: ChoiceInput): ModelEntry | null {
  const isNew = (entry: ModelEntry): boolean => !tried.has(nameOf(entry)) && isUsable(entry, input)
  const take = (route: 'google' | 'local' | 'hosted', entry: ModelEntry | undefined): ModelEntry | null => {
    if (routes.has(route) || entry === undefined || !isNew(entry)) return null
    routes.add(route)
    return entry
  }
  const isGemini = failed.provider === 'openrouter' && failed.id.includes('gemini')
  const google = isGemini && input.gemini.policy === 'openrouter_first' ? take('google', googleDirect(input)) : null
  if (google !== null) return google
  const local = failed.provider === 'ollama' ? null : take('local', localFallbacks(input).find(isNew))
  if (local !== null) return local
  const others = input.models.filter(
    entry => entry.provider !== 'ollama' && entry.provider !== failed.provider && isNew(entry)
  )
  const priced = others.filter(({ id }) => id !== AUTO_MODEL)
  return take('hosted', cheapest(suited(priced, input.category)) ?? cheapest(priced) ?? others[0])
}

/** Local models, the one with the largest context first, and the default model before others of unknown context. */
function localFallbacks(input: ChoiceInput): ModelEntry[] {
  const { local, models } = input
  const others = models.filter(({ provider, id }) => provider === 'ollama' && isOffered(id, local.offered))
  const all = [
    ...(local.isReady ? [findLocal(local.model, input)] : []),
    ...others.filter(({ id }) => id !== local.model)
  ]
  return all.sort((a, b) => b.capabilities.maxContext - a.capabilities.maxContext)
}

/** Finds a hosted model by `provider/id` or by its id. Models of providers with a key come first. */
export function findHosted(
  name: string,
  { models, hasKey }: Pick<ChoiceInput, 'models' | 'hasKey'>
): ModelEntry | undefined {
  const hosted = models.filter(({ provider }) => provider !== 'ollama')
  const exact = hosted.filter(entry => nameOf(entry) === name)
  const same = hosted.filter(({ id, canonicalSlug }) => id === name || canonicalSlug === name)
  const found = [...exact, ...same]
  return found.find(({ provider }) => hasKey(provider as HostedName)) ?? found[0]
}

function findLocal(name: string, { models }: ChoiceInput): ModelEntry {
  const known = models.find(({ provider, id }) => provider === 'ollama' && id === name)
  return known ?? toEntry({ providerType: 'ollama', id: name })
}

function find(provider: 'openrouter' | 'google', id: string, { models }: ChoiceInput): ModelEntry {
  const providerType = provider === 'google' ? 'google_direct' : 'open_router'
  return models.find(entry => entry.provider === provider && entry.id === id) ?? toEntry({ providerType, id })
}

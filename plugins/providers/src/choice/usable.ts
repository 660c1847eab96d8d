import { inferenceErrors, isOffered } from '@svc/contracts'
import { defined } from '@svc/plugin-sdk'
import { HOSTED, type HostedName } from '../provider-list.ts'
import { type ModelEntry, meanPriceOf, nameOf } from '../registry/entry.ts'
import type { ChoiceInput } from './input.ts'
import { lackOf } from './needs.ts'

/** Retry delay if no model names one. */
export const DEFAULT_RETRY_MS = 60_000

export function isUsable(entry: ModelEntry, input: ChoiceInput): boolean {
  return problemWith(entry, input) === null
}

/** Returns why a model cannot answer the request; null if it can. Takes the same time for any number of models. */
export function problemWith(entry: ModelEntry, input: ChoiceInput): Error | null {
  return refusal(entry, input) ?? shortage(entry, input)
}

/** Returns why a model must not be used, whatever its load. */
function refusal(entry: ModelEntry, input: ChoiceInput): Error | null {
  return inadmissible(entry, input) ?? incapable(entry, input) ?? overspent(entry, input)
}

/** Like {@link refusal}, for a model that a person named: the error also names a model that can answer. */
export function rejection(entry: ModelEntry, input: ChoiceInput): Error | null {
  const lacks = inadmissible(entry, input) === null && lackOf(entry, input.needs) !== null
  return lacks ? incapable(entry, input, adviceFor(entry, input)) : refusal(entry, input)
}

function incapable(entry: ModelEntry, { needs }: ChoiceInput, advice: Advice = {}): Error | null {
  const lack = lackOf(entry, needs)
  return lack === null ? null : refused(`the model "${nameOf(entry)}" cannot answer this request: ${lack}`, advice)
}

interface Advice {
  readonly hint?: string
  readonly data?: { readonly alternative: string }
}

/** Names another model that can answer the request: one that is usable now, else one that needs a key first. */
export function adviceFor(entry: ModelEntry, input: ChoiceInput): Advice {
  const able = input.models.filter(
    each =>
      each !== entry &&
      input.isAllowed(each.provider) &&
      lackOf(each, input.needs) === null &&
      (each.provider !== 'ollama' || isOffered(each.id, input.local.offered))
  )
  const usable = cheapest(able.filter(each => isUsable(each, input)))
  if (usable !== undefined) {
    const alternative = nameOf(usable)
    return { data: { alternative }, hint: `request the model "${alternative}"` }
  }
  const other = cheapest(able.filter(({ provider }) => provider !== 'ollama' && !input.hasKey(provider)))
  if (other === undefined) return {}
  const { variable } = HOSTED[other.provider as HostedName]
  const alternative = nameOf(other)
  return { data: { alternative }, hint: `set ${variable}, and request the model "${alternative}"` }
}

/** Returns why a model must not be used for any request. */
function inadmissible(entry: ModelEntry, input: ChoiceInput): Error | null {
  const name = nameOf(entry)
  if (!input.isAllowed(entry.provider)) {
    return refused(`the model "${name}" is not allowed: plugins.providers.allowed does not name ${entry.provider}`)
  }
  if (entry.provider === 'ollama') {
    if (!input.local.isAllowed) return refused(`the model "${name}" is not allowed: the profile excludes local servers`)
  } else if (!input.hasKey(entry.provider)) {
    const { title, variable } = HOSTED[entry.provider]
    return inferenceErrors.create('ICL_UNAUTHORIZED', `${variable} is not set (required for ${title} models)`, {
      at: { path: `plugins.providers.${entry.provider}_api_key` },
      hint: `set ${variable} to a key of ${title}, or choose another model with svc models set`
    })
  } else if (entry.provider === 'custom' && entry.url === null) {
    return refused(`the model "${name}" has no URL; set url in models.toml, or plugins.providers.custom_url`)
  }
  return null
}

function overspent(entry: ModelEntry, { freeOnly }: ChoiceInput): Error | null {
  if (!freeOnly || entry.isFree) return null
  return refused(
    `the model "${nameOf(entry)}" is not free, and the session has spent plugins.providers.session_max_cost_usd`
  )
}

/** Returns why a model cannot be used now. */
export function shortage(entry: ModelEntry, { standingOf }: ChoiceInput): Error | null {
  const { remaining, isRateLimited, retryAfterMs } = standingOf(entry)
  const data = { retryAfterMs: retryAfterMs ?? DEFAULT_RETRY_MS }
  if (isRateLimited) {
    return inferenceErrors.create('ICL_BUSY', `the model "${nameOf(entry)}" cools down after an error`, { data })
  }
  if (remaining === null || remaining > 0) return null
  return inferenceErrors.create('ICL_BUSY', `the model "${nameOf(entry)}" has no calls left today`, {
    data,
    hint: 'wait until 00:00 UTC, or raise its limit: plugins.providers.daily_limit, or rate_limit_rpd in models.toml'
  })
}

export function refused(message: string, { hint, data }: Advice = {}): Error {
  return inferenceErrors.create('ICL_REFUSED', message, { data: { status: 400, ...data }, ...defined({ hint }) })
}

export function cheapest(models: readonly ModelEntry[]): ModelEntry | undefined {
  return [...models].sort((a, b) => meanPriceOf(a) - meanPriceOf(b))[0]
}

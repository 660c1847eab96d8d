import { readFile } from 'node:fs/promises'
import type { ModelEntry } from '../registry/entry.ts'

/** Calls for each UTC day, by `provider/model`. The model may be `*` or `:free`. */
export type Limits = ReadonlyMap<string, number>

export interface LimitSettings {
  readonly daily_limit: number
  readonly limited_providers: string
  readonly daily_limits_file?: string
  readonly daily_limits_json?: string
}

const MAX_FILE_CHARACTERS = 1_048_576

/** Returns the limits: the defaults, then the file, then the text. `warn` receives what is ignored. */
export async function readLimits(settings: LimitSettings, warn: (problem: string) => void): Promise<Limits> {
  const { daily_limits_file: file, daily_limits_json: text } = settings
  const limits = defaultLimits(settings)
  if (file !== undefined) {
    const content = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      warn(`${file} is not readable: ${error.code ?? error.message}`)
      return null
    })
    if (content !== null) override(limits, content, file, warn)
  }
  if (text !== undefined) override(limits, text, 'plugins.providers.daily_limits_json', warn)
  return limits
}

export function defaultLimits({ daily_limit, limited_providers }: LimitSettings): Map<string, number> {
  const limits = new Map<string, number>()
  for (const name of limited_providers.split(',').map(each => each.trim().toLowerCase())) {
    if (name === '' || name === 'ollama') continue
    limits.set(`${name}/*`, daily_limit)
    if (name === 'openrouter') limits.set('openrouter/:free', Math.floor(daily_limit / 2))
  }
  return limits
}

/** Adds the entries `"provider/model": whole number` of a flat JSON object. Other entries are ignored. */
function override(limits: Map<string, number>, text: string, source: string, warn: (problem: string) => void): void {
  let document: unknown
  try {
    document = text.length > MAX_FILE_CHARACTERS ? null : JSON.parse(text)
  } catch {
    document = null
  }
  if (typeof document !== 'object' || document === null || Array.isArray(document)) {
    warn(`${source} holds no JSON object, and is ignored`)
    return
  }
  for (const [name, calls] of Object.entries(document)) {
    if (/^[^/]+\/./.test(name) && Number.isSafeInteger(calls) && calls >= 0) limits.set(name, calls)
  }
}

export interface Limit {
  readonly calls: number
  /** Whether the calls of one model, of the free models, or of the whole provider count. */
  readonly scope: 'model' | 'free' | 'provider'
}

/** Returns the most specific limit of a model; null if it is unlimited. */
export function limitOf(limits: Limits, { provider, id }: Pick<ModelEntry, 'provider' | 'id'>): Limit | null {
  const exact = limits.get(`${provider}/${id}`)
  if (exact !== undefined) return { calls: exact, scope: 'model' }
  const free = id.endsWith(':free') ? limits.get(`${provider}/:free`) : undefined
  if (free !== undefined) return { calls: free, scope: 'free' }
  const any = limits.get(`${provider}/*`)
  return any === undefined ? null : { calls: any, scope: 'provider' }
}

/** Returns the model name of usage rows: the free models of OpenRouter share one, and so do local models. */
export function usageModel({ provider, id }: Pick<ModelEntry, 'provider' | 'id'>): string {
  if (provider === 'ollama') return '*'
  return provider === 'openrouter' && id.endsWith(':free') ? ':free' : id
}

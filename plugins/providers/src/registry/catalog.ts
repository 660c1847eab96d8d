import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isSvcError } from '@svc/plugin-sdk'
import { providerErrors } from '../errors.ts'
import { connectFailure } from '../explain.ts'
import { PRICE_PAGES } from './bootstrap.ts'
import { type EntryFields, type ModelEntry, type Tier, toEntry } from './entry.ts'

const MAX_BYTES = 33_554_432
const MAX_MODELS = 5_000
const TIMEOUT_MS = 10_000

export interface Catalog {
  /** Unix milliseconds. */
  readonly fetchedAt: number
  readonly models: readonly ModelEntry[]
}

interface CacheFile {
  readonly version: 1
  readonly fetched_at: string
  /** Rows as the provider sent them. */
  readonly data: readonly unknown[]
}

/** Returns the cached list; null if there is none, or it is damaged: the next reading replaces it. */
export async function readCache(path: string): Promise<Catalog | null> {
  try {
    const { version, fetched_at, data } = JSON.parse(await readFile(path, 'utf8')) as CacheFile
    const fetchedAt = Date.parse(fetched_at)
    if (version !== 1 || Number.isNaN(fetchedAt) || !Array.isArray(data)) return null
    return { fetchedAt, models: toModels(data, fetchedAt) }
  } catch {
    return null
  }
}

/**
 * Reads OpenRouter's model list and stores it in the cache. A cache that cannot be written is no error. Throws
 * `PRV_CATALOG_UNREACHABLE` and `PRV_CATALOG_INVALID`.
 */
export async function fetchCatalog(url: string, cache: string): Promise<Catalog> {
  const data = await fetchRows(url)
  const fetchedAt = Date.now()
  const models = toModels(data, fetchedAt)
  if (models.length === 0) throw invalid(url, 'it contains no model')
  const file: CacheFile = { version: 1, fetched_at: new Date(fetchedAt).toISOString(), data }
  await store(cache, JSON.stringify(file)).catch(() => {})
  return { fetchedAt, models }
}

async function fetchRows(url: string): Promise<readonly unknown[]> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) })
    if (!response.ok) throw unreachable(url, `the response is HTTP ${response.status}`)
    const { data } = JSON.parse(await boundedText(response, url)) as { data?: unknown }
    if (!Array.isArray(data)) throw invalid(url, 'it contains no list "data"')
    return data.slice(0, MAX_MODELS)
  } catch (error) {
    if (isSvcError(error)) throw error
    if (error instanceof SyntaxError) throw invalid(url, 'it is no JSON')
    throw unreachable(url, connectFailure(error))
  }
}

async function boundedText(response: Response, url: string): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  for await (const part of response.body ?? []) {
    bytes += part.byteLength
    if (bytes > MAX_BYTES) throw invalid(url, `it is larger than ${MAX_BYTES} bytes`)
    text += decoder.decode(part, { stream: true })
  }
  return text + decoder.decode()
}

/** Replaces the file in one step, so that another process never reads half of it. */
async function store(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  const temporary = `${path}.${process.pid}.${crypto.randomUUID()}`
  await writeFile(temporary, text)
  await rename(temporary, path)
}

/** Row of `GET /api/v1/models`. Prices are US dollars for one token, as text. */
interface CatalogRow {
  readonly id?: unknown
  readonly canonical_slug?: unknown
  readonly context_length?: unknown
  readonly architecture?: { readonly input_modalities?: unknown; readonly output_modalities?: unknown }
  readonly pricing?: Readonly<Record<string, unknown>>
  readonly top_provider?: { readonly max_completion_tokens?: unknown; readonly is_moderated?: unknown }
  readonly supported_parameters?: unknown
}

/** Translates the rows; skips those without an id or with a price that depends on the chosen model (-1). */
function toModels(rows: readonly unknown[], fetchedAt: number): readonly ModelEntry[] {
  const price = { priceAsOf: new Date(fetchedAt).toISOString().slice(0, 10), priceSource: PRICE_PAGES.open_router }
  return rows.flatMap(row => {
    const entry = typeof row === 'object' && row !== null ? toFields(row as CatalogRow) : null
    return entry === null ? [] : [toEntry({ ...entry, ...price })]
  })
}

function toFields(row: CatalogRow): EntryFields | null {
  const { id, pricing = {}, architecture, top_provider } = row
  const input = price(pricing.prompt)
  const output = price(pricing.completion)
  if (typeof id !== 'string' || id === '' || input === null || output === null) return null
  const parameters = texts(row.supported_parameters)
  const inputs = texts(architecture?.input_modalities)
  const outputs = texts(architecture?.output_modalities)
  const context = whole(row.context_length)
  return {
    id,
    canonicalSlug: typeof row.canonical_slug === 'string' ? row.canonical_slug : id,
    providerType: 'open_router',
    maxTokens: whole(top_provider?.max_completion_tokens) || Math.min(context || 8_192, 8_192),
    costPer1kInput: input,
    costPer1kOutput: output,
    costPer1kCacheRead: price(pricing.input_cache_read),
    costPer1kCacheCreation: price(pricing.input_cache_write),
    supportsPromptCaching: price(pricing.input_cache_read) !== null,
    pricingSource: 'open_router',
    strengths: strengthsOf(id),
    supportedParameters: parameters,
    capabilities: {
      supportsJson: parameters.includes('response_format') || parameters.includes('structured_outputs'),
      supportsVision: inputs.includes('image'),
      supportsNativeTools: parameters.includes('tools'),
      supportsToolUse: parameters.includes('tools'),
      reasoning: parameters.includes('reasoning'),
      webSearch: parameters.includes('web_search_options'),
      imageGeneration: outputs.includes('image'),
      audioInput: inputs.includes('audio'),
      audioOutput: outputs.includes('audio'),
      maxContext: context,
      tier: tierOf(output),
      isModerated: top_provider?.is_moderated === true
    }
  }
}

/** Returns US dollars for 1,000 tokens; null if it is missing or negative. */
function price(value: unknown): number | null {
  const perToken = typeof value === 'string' && value !== '' ? Number(value) : Number.NaN
  return Number.isFinite(perToken) && perToken >= 0 ? perToken * 1_000 : null
}

function whole(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : 0
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter(each => typeof each === 'string') : []
}

/** The list has no strengths: models for code name it, others are for general use. */
function strengthsOf(id: string): readonly string[] {
  const code = /cod(e|er|ex|estral)|devstral/.test(id) ? ['codegen', 'debugging', 'review'] : []
  return [...code, 'logic', 'planning', 'research', 'parsing', 'inter_agent']
}

/** Tier by the price of 1,000 output tokens. */
function tierOf(output: number): Tier {
  return output < 0.001 ? 'light' : output < 0.008 ? 'pro' : 'elite'
}

function unreachable(url: string, why: string): Error {
  return providerErrors.create(
    'PRV_CATALOG_UNREACHABLE',
    `the model list of ${new URL(url).origin} was not loaded: ${why}`
  )
}

function invalid(url: string, why: string): Error {
  return providerErrors.create(
    'PRV_CATALOG_INVALID',
    `the model list of ${new URL(url).origin} is not readable: ${why}`
  )
}

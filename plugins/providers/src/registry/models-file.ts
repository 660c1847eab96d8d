import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { errorMessage } from '@svc/plugin-sdk'
import { parse } from 'smol-toml'
import { CATEGORIES, CATEGORY_NAMES } from '../choice/categories.ts'
import { providerErrors } from '../errors.ts'
import { PROVIDER_TYPES, type ProviderType } from '../provider-list.ts'
import { type EntryFields, type ModelCapabilities, type ModelEntry, TIERS, type Tier, toEntry } from './entry.ts'

const MAX_FILE_BYTES = 4_194_304

const HEADER = `# Models of svc. An entry replaces the built-in model with the same provider and id, and adds a new one otherwise.
# Prices are US dollars for 1,000 tokens. Provider types:
# ${Object.keys(PROVIDER_TYPES).join(', ')}.
#
# [[models]]
# id = "my-model"
# provider_type = "custom"
# url = "https://models.example.org"
# max_tokens = 4096
# cost_per_1k_input = 0.001
# cost_per_1k_output = 0.002
# strengths = ["codegen", "logic"]
# capabilities = { max_context = 32000, tier = "pro", supports_vision = false }
#
# Premium models pin a task category:
# [premium]
# codegen = "anthropic/claude-sonnet-4-5"
`

export interface ModelsFile {
  readonly models: readonly ModelEntry[]
  /** Model names by task category. */
  readonly premium: Readonly<Record<string, string>>
}

/** Reads `models.toml`; a missing file is empty. Throws `PRV_MODELS_FILE_INVALID`. */
export async function readModelsFile(path: string): Promise<ModelsFile> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw invalid(path, errorMessage(error))
    return { models: [], premium: {} }
  }
  if (text.length > MAX_FILE_BYTES) throw invalid(path, `it is larger than ${MAX_FILE_BYTES} bytes`)
  return parseModels(text, path)
}

/** Writes a `models.toml` with explanations, unless there is one. A folder that is not writable is no error. */
export async function writeDefaults(path: string): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, HEADER, { flag: 'wx' })
  } catch {
    // The file exists, or the built-in models are used without it.
  }
}

/** Throws `PRV_MODELS_FILE_INVALID`, naming the entry and the field. */
export function parseModels(text: string, path: string): ModelsFile {
  let document: Record<string, unknown>
  try {
    document = parse(text) as Record<string, unknown>
  } catch (error) {
    throw invalid(path, errorMessage(error).split('\n')[0] ?? '')
  }
  const { models = [], premium = {}, ...others } = document
  const [other] = Object.keys(others)
  if (other !== undefined) throw invalid(path, `"${other}" is not known; the tables are models and premium`)
  if (!Array.isArray(models)) throw invalid(path, 'models is no list; write each model as [[models]]')
  return {
    models: models.map((row: unknown, at) =>
      toEntry(readFields(row, problem => invalid(path, `models[${at}]: ${problem}`)))
    ),
    premium: readPremium(premium, problem => invalid(path, problem))
  }
}

type Fail = (problem: string) => Error

/** Checks and translates one field. */
type Reader = (value: unknown, name: string, fail: Fail) => unknown

const text: Reader = (value, name, fail) => {
  if (typeof value === 'string' && value !== '') return value
  throw fail(`${name} is no text`)
}
const flag: Reader = (value, name, fail) => {
  if (typeof value === 'boolean') return value
  throw fail(`${name} is neither true nor false`)
}
const amount: Reader = (value, name, fail) => {
  if (typeof value === 'number' && Number.isFinite(value) && value >= 0) return value
  throw fail(`${name} is no number of at least 0`)
}
const share: Reader = (value, name, fail) => {
  if (typeof value === 'number' && value >= 0 && value <= 1) return value
  throw fail(`${name} is no number from 0 to 1`)
}
const count: Reader = (value, name, fail) => {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0) return value
  throw fail(`${name} is no whole number above 0`)
}
const texts: Reader = (value, name, fail) => {
  if (Array.isArray(value) && value.every(each => typeof each === 'string')) return value
  throw fail(`${name} is no list of texts`)
}
const address: Reader = (value, name, fail) => {
  if (typeof value === 'string' && /^https?:\/\//.test(value) && URL.canParse(value)) return value
  throw fail(`${name} is no URL`)
}

const FIELDS: Readonly<Record<string, readonly [keyof EntryFields, Reader]>> = {
  id: ['id', text],
  canonical_slug: ['canonicalSlug', text],
  url: ['url', address],
  max_tokens: ['maxTokens', count],
  cost_per_1k: ['costPer1k', amount],
  cost_per_1k_input: ['costPer1kInput', amount],
  cost_per_1k_output: ['costPer1kOutput', amount],
  cost_per_1k_cache_creation: ['costPer1kCacheCreation', amount],
  cost_per_1k_cache_read: ['costPer1kCacheRead', amount],
  supports_prompt_caching: ['supportsPromptCaching', flag],
  is_free: ['isFree', flag],
  strengths: ['strengths', texts],
  supported_parameters: ['supportedParameters', texts]
}

/** Fields of which each one sets the price. */
const PRICES = ['cost_per_1k', 'cost_per_1k_input', 'cost_per_1k_output', 'is_free']

const CAPABILITIES: Readonly<Record<string, readonly [keyof ModelCapabilities, Reader]>> = {
  supports_json: ['supportsJson', flag],
  supports_vision: ['supportsVision', flag],
  supports_native_tools: ['supportsNativeTools', flag],
  supports_tool_use: ['supportsToolUse', flag],
  reasoning: ['reasoning', flag],
  web_search: ['webSearch', flag],
  image_generation: ['imageGeneration', flag],
  audio_input: ['audioInput', flag],
  audio_output: ['audioOutput', flag],
  max_context: ['maxContext', count],
  tier: [
    'tier',
    (value, name, fail) => {
      if (TIERS.includes(value as Tier)) return value
      throw fail(`${name} is none of ${TIERS.join(', ')}`)
    }
  ],
  rate_limit_rpm: ['rateLimitRpm', count],
  rate_limit_rpd: ['rateLimitRpd', count],
  latency_p50_ms: ['latencyP50Ms', amount],
  is_moderated: ['isModerated', flag],
  uptime_score: ['uptimeScore', share]
}

function readFields(row: unknown, fail: Fail): EntryFields {
  if (!isTable(row)) throw fail('it is no table')
  const { capabilities = {}, provider_type, ...rest } = row
  if (typeof provider_type !== 'string' || !Object.hasOwn(PROVIDER_TYPES, provider_type))
    throw fail(`provider_type is none of ${Object.keys(PROVIDER_TYPES).join(', ')}`)
  if (!isTable(capabilities)) throw fail('capabilities is no table')
  const fields = translate(rest, FIELDS, '', fail)
  if (fields.id === undefined) throw fail('id is missing')
  if ('rate_limit_rpd' in capabilities && PROVIDER_TYPES[provider_type as ProviderType] === 'ollama')
    throw fail('capabilities.rate_limit_rpd is only for hosted models: the calls of local models are counted together')
  if (fields.url !== undefined && provider_type !== 'custom') throw fail('url is only for provider_type = "custom"')
  return {
    pricingSource: PRICES.some(name => name in rest) ? 'user_config' : 'unknown',
    ...fields,
    id: fields.id as string,
    providerType: provider_type as ProviderType,
    capabilities: translate(capabilities, CAPABILITIES, 'capabilities.', fail)
  }
}

function translate(
  table: Readonly<Record<string, unknown>>,
  fields: Readonly<Record<string, readonly [string, Reader]>>,
  prefix: string,
  fail: Fail
): Record<string, unknown> {
  const translated = Object.entries(table).map(([name, value]) => {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined
    if (field === undefined)
      throw fail(`${prefix}${name} is not known; the fields are ${Object.keys(fields).join(', ')}`)
    return [field[0], field[1](value, `${prefix}${name}`, fail)] as const
  })
  return Object.fromEntries(translated)
}

function readPremium(value: unknown, fail: Fail): Record<string, string> {
  if (!isTable(value)) throw fail('premium is no table')
  for (const [category, model] of Object.entries(value)) {
    if (!Object.hasOwn(CATEGORIES, category))
      throw fail(`premium.${category} is not known; the categories are ${CATEGORY_NAMES.join(', ')}`)
    text(model, `premium.${category}`, fail)
  }
  return value as Record<string, string>
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)
}

function invalid(path: string, problem: string): Error {
  return providerErrors.create('PRV_MODELS_FILE_INVALID', `${path}: ${problem}`, {
    at: { file: path },
    hint: 'correct the file, or move it away to use the built-in models'
  })
}

import { type Signal, signal } from '@preact/signals'

/** Texts of the fields, as the person entered them. Empty: the server's default. */
export interface SettingsData {
  readonly system: string
  readonly temperature: string
  /** Temperature of the second model while two are compared. Empty: the same. */
  readonly secondTemperature: string
  readonly topP: string
  readonly maxTokens: string
  readonly seed: string
  /** One stop string a line. */
  readonly stop: string
  readonly thinking: 'default' | 'on' | 'off'
  readonly logprobs: boolean
  /** JSON: a list of tools in OpenAI's format. */
  readonly tools: string
  readonly toolChoice: 'auto' | 'required' | 'none'
  /** JSON Schema of the answer. */
  readonly schema: string
}

export type Settings = { readonly [K in keyof SettingsData]: Signal<SettingsData[K]> }

const DEFAULTS: SettingsData = {
  system: '',
  temperature: '',
  secondTemperature: '',
  topP: '',
  maxTokens: '',
  seed: '',
  stop: '',
  thinking: 'default',
  logprobs: false,
  tools: '',
  toolChoice: 'auto',
  schema: ''
}

export function newSettings(data: Partial<SettingsData> = {}): Settings {
  return Object.fromEntries(
    Object.entries({ ...DEFAULTS, ...data }).map(([name, value]) => [name, signal(value)])
  ) as unknown as Settings
}

export function settingsData(settings: Settings): SettingsData {
  return Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [name, (value as Signal<unknown>).value])
  ) as unknown as SettingsData
}

export type Parsed<A> =
  | { readonly ok: true; readonly value: A | undefined }
  | { readonly ok: false; readonly problem: string }

interface NumberRange {
  readonly minimum: number
  readonly maximum: number
  readonly integer?: boolean
}

export const RANGES = {
  temperature: { minimum: 0, maximum: 2 },
  secondTemperature: { minimum: 0, maximum: 2 },
  topP: { minimum: 0, maximum: 1 },
  maxTokens: { minimum: 1, maximum: 1_000_000, integer: true },
  seed: { minimum: 0, maximum: Number.MAX_SAFE_INTEGER, integer: true }
} as const satisfies Record<string, NumberRange>

/** Parses a number; undefined if the field is empty. */
export function parseNumber(text: string, { minimum, maximum, integer = false }: NumberRange): Parsed<number> {
  if (text.trim() === '') return { ok: true, value: undefined }
  const value = Number(text)
  const noun = integer ? 'a whole number' : 'a number'
  if (!Number.isFinite(value) || (integer && !Number.isInteger(value))) return { ok: false, problem: `must be ${noun}` }
  if (value < minimum || value > maximum) return { ok: false, problem: `must be from ${minimum} to ${maximum}` }
  return { ok: true, value }
}

/** Parses a JSON Schema; undefined if the field is empty. */
export function parseSchema(text: string): Parsed<Readonly<Record<string, unknown>>> {
  if (text.trim() === '') return { ok: true, value: undefined }
  const parsed = parseJson(text)
  if (!parsed.ok) return parsed
  if (!isObject(parsed.value)) return { ok: false, problem: 'A JSON Schema must be an object.' }
  return { ok: true, value: parsed.value }
}

/** Parses a list of tools in OpenAI's format, or of bare functions; undefined if the field is empty. */
export function parseTools(text: string): Parsed<readonly object[]> {
  if (text.trim() === '') return { ok: true, value: undefined }
  const parsed = parseJson(text)
  if (!parsed.ok) return parsed
  const list = Array.isArray(parsed.value) ? parsed.value : [parsed.value]
  const tools: object[] = []
  for (const [index, each] of list.entries()) {
    const declared = isObject(each) && isObject(each.function) ? each.function : each
    if (!isObject(declared) || typeof declared.name !== 'string' || declared.name === '')
      return { ok: false, problem: `Tool ${index + 1} has no name.` }
    if (declared.parameters !== undefined && !isObject(declared.parameters))
      return { ok: false, problem: `The parameters of ${declared.name} must be a JSON Schema.` }
    tools.push({ type: 'function', function: declared })
  }
  return { ok: true, value: tools.length === 0 ? undefined : tools }
}

function parseJson(text: string): { ok: true; value: unknown } | { ok: false; problem: string } {
  try {
    return { ok: true, value: JSON.parse(text) }
  } catch (error) {
    return { ok: false, problem: `Not JSON: ${(error as Error).message}` }
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Names of the fields that are invalid. */
export function invalidFields(settings: Settings): (keyof SettingsData)[] {
  const numbers = (Object.keys(RANGES) as (keyof typeof RANGES)[]).filter(
    name => !parseNumber(settings[name].value, RANGES[name]).ok
  )
  return [
    ...numbers,
    ...(parseTools(settings.tools.value).ok ? [] : (['tools'] as const)),
    ...(parseSchema(settings.schema.value).ok ? [] : (['schema'] as const))
  ]
}

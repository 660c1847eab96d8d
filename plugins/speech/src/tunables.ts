import { readFile } from 'node:fs/promises'
import { type JsonSchema, type Schema, t } from '@svc/plugin-sdk'
import { pluginErrors } from './errors.ts'

interface Tunable<D extends number | boolean> {
  /** Table and key in the file of SVC_ORATIO_CONFIG, and in the status. */
  readonly group: string
  readonly key: string
  readonly env: string
  readonly default: D
  readonly minimum?: number
  readonly maximum?: number
  readonly integer?: boolean
  readonly description: string
}

const share = { minimum: 0, maximum: 1 }
const DAY_MS = 86_400_000

function integerTunable(
  [group, key, env]: readonly [string, string, string],
  value: number,
  minimum: number,
  description: string,
  maximum = DAY_MS
): Tunable<number> {
  return { group, key, env: `SVC_ORATIO_${env}`, default: value, minimum, maximum, integer: true, description }
}

function fractionTunable(
  [group, key, env]: readonly [string, string, string],
  value: number,
  description: string
): Tunable<number> {
  return { group, key, env: `SVC_ORATIO_${env}`, default: value, ...share, description }
}

/** Values that settings, environment variables and the file of SVC_ORATIO_CONFIG can change. */
const TUNABLES = {
  capture_timeout_ms: integerTunable(
    ['session_timing', 'capture_timeout_ms', 'CAPTURE_TIMEOUT_MS'],
    12_000,
    100,
    'Maximum time without data on an upload or a stream, in milliseconds.'
  ),
  max_duration_ms: integerTunable(
    ['session_timing', 'max_duration_ms', 'MAX_DURATION_MS'],
    120_000,
    100,
    'Time limit for a recording from its arrival to its text, in milliseconds.'
  ),
  inference_deadline_ms: integerTunable(
    ['session_timing', 'inference_deadline_ms', 'INFERENCE_DEADLINE_MS'],
    0,
    0,
    'Time limit of the recogniser for a recording, in milliseconds; 0 means max_duration_ms.'
  ),
  heartbeat_ms: integerTunable(
    ['session_timing', 'heartbeat_ms', 'HEARTBEAT_MS'],
    3_000,
    50,
    'Interval of heartbeats on a stream, and minimum interval of partial texts, in milliseconds.'
  ),
  refine_conservative_base: fractionTunable(
    ['refine', 'conservative_base', 'REFINE_CONSERVATIVE_BASE'],
    0.82,
    'Confidence of a text without corrections, in the profile conservative.'
  ),
  refine_balanced_base: fractionTunable(
    ['refine', 'balanced_base', 'REFINE_BALANCED_BASE'],
    0.87,
    'Confidence of a text without corrections, in the profile balanced.'
  ),
  refine_aggressive_base: fractionTunable(
    ['refine', 'aggressive_base', 'REFINE_AGGRESSIVE_BASE'],
    0.9,
    'Confidence of a text without corrections, in the profile aggressive.'
  ),
  refine_penalty_per_trace: fractionTunable(
    ['refine', 'penalty_per_trace', 'REFINE_PENALTY_PER_TRACE'],
    0.015,
    'Confidence penalty of each correction.'
  ),
  refine_penalty_cap: fractionTunable(
    ['refine', 'penalty_cap', 'REFINE_PENALTY_CAP'],
    0.25,
    'Maximum confidence penalty of all corrections.'
  ),
  refine_confidence_min: fractionTunable(
    ['refine', 'confidence_min', 'REFINE_CONFIDENCE_MIN'],
    0.1,
    'Lowest confidence.'
  ),
  refine_confidence_max: fractionTunable(
    ['refine', 'confidence_max', 'REFINE_CONFIDENCE_MAX'],
    0.99,
    'Highest confidence.'
  ),
  tool_route_min_confidence: fractionTunable(
    ['routing', 'tool_min_confidence', 'TOOL_ROUTE_MIN_CONFIDENCE'],
    0.55,
    'Confidence below which a caller should confirm the text.'
  ),
  hf_retry_attempts: integerTunable(
    ['hf', 'retry_attempts', 'HF_RETRY_ATTEMPTS'],
    3,
    1,
    'Maximum attempts to download a file of a model.',
    20
  ),
  hf_retry_delay_ms: integerTunable(
    ['hf', 'retry_delay_ms', 'HF_RETRY_DELAY_MS'],
    600,
    0,
    'Delay between two download attempts, in milliseconds.'
  ),
  llm_refinement_default: {
    group: 'llm',
    key: 'refinement_default',
    env: 'SVC_ORATIO_LLM_REFINEMENT_DEFAULT',
    default: false as boolean,
    description: 'Whether a language model corrects texts with low confidence.'
  } satisfies Tunable<boolean>,
  llm_min_confidence: fractionTunable(
    ['llm', 'min_confidence', 'LLM_MIN_CONFIDENCE'],
    0.82,
    'Confidence below which the language model corrects a text.'
  ),
  llm_max_output_tokens: integerTunable(
    ['llm', 'max_output_tokens', 'LLM_MAX_OUTPUT_TOKENS'],
    512,
    64,
    'Maximum tokens in a reply of the language model.',
    1_000_000
  ),
  logit_bias_strength: {
    group: 'logit',
    key: 'bias_strength',
    env: 'SVC_ORATIO_LOGIT_BIAS_STRENGTH',
    default: 0.8,
    minimum: 0,
    maximum: 20,
    description: 'Bonus on the logits of lexicon words; 0 for none.'
  } as Tunable<number>,
  logit_bias_max_tokens: integerTunable(
    ['logit', 'bias_max_tokens', 'LOGIT_BIAS_MAX_TOKENS'],
    256,
    0,
    'Maximum lexicon tokens with a bonus.',
    100_000
  ),
  stream_partial_quiet_ms: integerTunable(
    ['stream', 'partial_quiet_ms', 'STREAM_PARTIAL_QUIET_MS'],
    350,
    50,
    'Pause on a stream after which a partial text is sent, in milliseconds.'
  ),
  stream_max_wait_ms: integerTunable(
    ['stream', 'max_wait_ms', 'STREAM_MAX_WAIT_MS'],
    2_500,
    200,
    'Maximum delay of a partial text during continuous audio, in milliseconds.'
  ),
  stream_max_buffer_ms: integerTunable(
    ['stream', 'max_buffer_ms', 'STREAM_MAX_BUFFER_MS'],
    300_000,
    1_000,
    'Maximum audio buffered by a stream, in milliseconds.',
    7_200_000
  )
} as const satisfies Readonly<Record<string, Tunable<number> | Tunable<boolean>>>

type Name = keyof typeof TUNABLES
export type Tunables = {
  readonly [K in Name]: (typeof TUNABLES)[K]['default'] extends boolean ? boolean : number
}
export type TunableSettings = { readonly [K in Name]?: Tunables[K] }

const NAMES = Object.keys(TUNABLES) as readonly Name[]

/** Schemas of the settings, without defaults, so that the file applies to unset ones. */
export const tunableSettings = Object.fromEntries(NAMES.map(name => [name, t.optional(schemaOf(TUNABLES[name]))])) as {
  readonly [K in Name]: Schema<Tunables[K]> & { readonly '~optional': true }
}

function schemaOf(tunable: Tunable<number> | Tunable<boolean>): JsonSchema {
  const { env, minimum, maximum, integer = false } = tunable
  const annotations = { 'x-env': env, description: `${tunable.description} Default: ${tunable.default}.` }
  if (typeof tunable.default === 'boolean') return t.boolean({ ...annotations, 'x-env-type': 'truthy' })
  const range = { ...(minimum === undefined ? {} : { minimum }), ...(maximum === undefined ? {} : { maximum }) }
  return integer ? t.integer({ ...annotations, ...range }) : t.number({ ...annotations, ...range })
}

/** Returns the effective values: the setting, else the file, else the default. Throws `SPP_CONFIG_INVALID`. */
export async function tunablesOf(settings: TunableSettings, file: string | null): Promise<Tunables> {
  const filed = file === null ? {} : await readTunables(file)
  return Object.fromEntries(
    NAMES.map(name => [name, settings[name] ?? filed[name] ?? TUNABLES[name].default])
  ) as unknown as Tunables
}

/** Returns the values grouped by the tables of the file. */
export function groupsOf(tunables: Tunables): Readonly<Record<string, Readonly<Record<string, number | boolean>>>> {
  const groups: Record<string, Record<string, number | boolean>> = {}
  for (const name of NAMES) {
    const { group, key } = TUNABLES[name]
    groups[group] = { ...groups[group], [key]: tunables[name] }
  }
  return groups
}

async function readTunables(file: string): Promise<Partial<Record<Name, number | boolean>>> {
  const invalid = (why: string) =>
    pluginErrors.create('SPP_CONFIG_INVALID', `${file}: ${why}`, {
      at: { file },
      hint: 'check the file in plugins.speech.config_file'
    })
  let document: Record<string, unknown>
  try {
    const { parse } = await import('smol-toml')
    document = parse(await readFile(file, 'utf8'))
  } catch (error) {
    throw invalid((error as Error).message)
  }
  const found: Partial<Record<Name, number | boolean>> = {}
  for (const [group, table] of Object.entries(document)) {
    if (typeof table !== 'object' || table === null) throw invalid(`${group} is not a table`)
    for (const [key, value] of Object.entries(table)) {
      const name = NAMES.find(each => TUNABLES[each].group === group && TUNABLES[each].key === key)
      if (name === undefined) throw invalid(`${group}.${key} is unknown`)
      if (!fits(value, TUNABLES[name]))
        throw invalid(`${group}.${key} is ${JSON.stringify(value)}; it must be ${ruleOf(TUNABLES[name])}`)
      found[name] = value
    }
  }
  return found
}

function ruleOf({ default: value, minimum, maximum, integer = false }: Tunable<number> | Tunable<boolean>): string {
  if (typeof value === 'boolean') return 'true or false'
  return `${integer ? 'a whole number' : 'a number'} from ${minimum ?? '-∞'} to ${maximum ?? '∞'}`
}

function fits(value: unknown, tunable: Tunable<number> | Tunable<boolean>): value is number | boolean {
  if (typeof value !== typeof tunable.default) return false
  if (typeof value !== 'number') return true
  const { minimum = -Infinity, maximum = Infinity, integer = false } = tunable
  return value >= minimum && value <= maximum && (!integer || Number.isInteger(value))
}

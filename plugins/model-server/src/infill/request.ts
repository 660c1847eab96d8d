import { defined, t } from '@svc/plugin-sdk'
import { bodyReader, invalid } from '../body-reader.ts'
import type { CompletionRequest } from '../completions.ts'
import { UNSUPPORTED_EXTENSIONS } from '../openai/extensions.ts'
import { guidedConstraint } from '../openai/guided.ts'
import { emptyList, never, only, refuseUnsupported, type UnsupportedFields } from '../unsupported-fields.ts'
import type { InfillText } from './prompt.ts'

export interface InfillRequest {
  readonly model: string | undefined
  readonly stream: boolean
  readonly text: InfillText
  /** Fields that the response contains; empty: all. */
  readonly fields: readonly string[]
  readonly limits: InfillLimits
  /** Whether the response contains the ids of the generated tokens. */
  readonly returnTokens: boolean
  readonly options: Omit<CompletionRequest, 'prompt'>
}

/** Limits that end an answer after its first line; 0 for none. */
export interface InfillLimits {
  /** Milliseconds since the first token. */
  readonly predictMs: number
  /** Minimum indentation of the lines after the first, in characters. */
  readonly indentation: number
}

const MAX_STOP_STRINGS = 64
const MAX_EXTRA = 1_000
const MAX_FIELDS = 100
const MAX_ALTERNATIVES = 20
const MAX_TIME_MS = 86_400_000
const open = { additionalProperties: true }
const stopString = t.string({ minLength: 1 })

const infillBody = t.object(
  {
    model: t.optional(t.string()),
    input_prefix: t.optional(t.string()),
    input_suffix: t.optional(t.string()),
    input_extra: t.optional(
      t.array(t.object({ text: t.string(), filename: t.optional(t.string({ maxLength: 1_024 })) }, open), {
        maxItems: MAX_EXTRA,
        description: `a list of up to ${MAX_EXTRA} objects with 'text' and 'filename'`
      })
    ),
    prompt: t.optional(t.string()),
    stream: t.optional(t.boolean()),
    n_predict: t.optional(t.integer({ minimum: -2 })),
    temperature: t.optional(t.number({ minimum: 0 })),
    top_k: t.optional(t.integer({ minimum: -1 })),
    top_p: t.optional(t.number({ minimum: 0, maximum: 1 })),
    min_p: t.optional(t.number({ minimum: 0, maximum: 1 })),
    typical_p: t.optional(t.number({ minimum: 0, maximum: 1 })),
    repeat_penalty: t.optional(t.number({ exclusiveMinimum: 0 })),
    repeat_last_n: t.optional(t.integer({ minimum: -1 })),
    presence_penalty: t.optional(t.number({ minimum: -2, maximum: 2 })),
    frequency_penalty: t.optional(t.number({ minimum: -2, maximum: 2 })),
    seed: t.optional(t.integer()),
    stop: t.optional(
      t.union([stopString, t.array(stopString, { maxItems: MAX_STOP_STRINGS })], {
        description: `a string or a list of up to ${MAX_STOP_STRINGS} strings, none of them empty`
      })
    ),
    logit_bias: t.optional(t.unknown()),
    n_probs: t.optional(t.integer({ minimum: 0, maximum: MAX_ALTERNATIVES })),
    t_max_predict_ms: t.optional(t.integer({ minimum: 0, maximum: MAX_TIME_MS })),
    n_indent: t.optional(t.integer({ minimum: 0, maximum: 10_000 })),
    return_tokens: t.optional(t.boolean()),
    response_fields: t.optional(t.array(t.string({ maxLength: 256 }), { maxItems: MAX_FIELDS }))
  },
  open
)

/** Options of llama.cpp's `/completion` that would change the answer. Others, such as `samplers`, have no effect. */
const UNSUPPORTED: UnsupportedFields = {
  ...UNSUPPORTED_EXTENSIONS,
  post_sampling_probs: only(false),
  dynatemp_range: only(0),
  dry_multiplier: only(0),
  xtc_probability: only(0),
  n_cmpl: only(1),
  lora: emptyList,
  image_data: emptyList,
  response_format: never
}

const readBody = bodyReader(infillBody)

/** Parses the body of `POST /infill`. Throws `MSV_REQUEST_INVALID` or `MSV_UNSUPPORTED`, both naming the field. */
export function readInfillRequest(raw: unknown): InfillRequest {
  const body = readBody(raw)
  refuseUnsupported(body, UNSUPPORTED)
  const { input_prefix = '', input_suffix = '', input_extra = [], prompt = '', n_predict, seed, stop } = body
  const { temperature, top_p, top_k, min_p, typical_p, repeat_penalty, repeat_last_n } = body
  const { presence_penalty, frequency_penalty, n_probs = 0 } = body
  const constraint = guidedConstraint(body)
  const sampling = {
    ...defined({ temperature, topP: top_p, minP: min_p, typicalP: typical_p }),
    ...(top_k === undefined ? {} : { topK: Math.max(0, top_k) }),
    ...defined({ repeatPenalty: repeat_penalty, repeatLastN: repeat_last_n }),
    ...defined({ presencePenalty: presence_penalty, frequencyPenalty: frequency_penalty }),
    // A negative seed means a random seed for every request.
    ...(seed === undefined || seed < 0 ? {} : { seed }),
    ...(body.logit_bias === undefined ? {} : { logitBias: logitBiasOf(body.logit_bias) })
  }
  return {
    model: body.model,
    stream: body.stream ?? false,
    text: {
      prefix: input_prefix + prompt,
      suffix: input_suffix,
      extra: input_extra.map(({ text, filename = 'tmp' }) => ({ text, filename }))
    },
    fields: body.response_fields ?? [],
    limits: { predictMs: body.t_max_predict_ms ?? 0, indentation: body.n_indent ?? 0 },
    returnTokens: body.return_tokens ?? false,
    options: {
      sampling,
      ...(n_predict === undefined ? {} : { maxTokens: n_predict < 0 ? ('rest' as const) : n_predict }),
      ...(stop === undefined ? {} : { stop: [stop].flat() }),
      ...(n_probs === 0 ? {} : { logprobs: n_probs }),
      ...defined({ constraint })
    }
  }
}

const MAX_BIASES = 10_000

/** Parses pairs of a token id and a bias, or of a token id and `false`, which forbids the token. */
function logitBiasOf(value: unknown): ReadonlyMap<number, number> {
  const pairs = Array.isArray(value) ? value : Object.entries(value ?? {}).map(([token, bias]) => [Number(token), bias])
  const found = pairs.slice(0, MAX_BIASES + 1).map((pair): [number, number] => {
    const [token, bias] = Array.isArray(pair) ? pair : []
    const number = bias === false ? Number.NEGATIVE_INFINITY : bias
    if (Number.isSafeInteger(token) && token >= 0 && typeof number === 'number' && !Number.isNaN(number)) {
      return [token, number]
    }
    throw invalid(`'logit_bias' must be a list of pairs of a token id and a number or false`, 'logit_bias')
  })
  if (found.length > MAX_BIASES) throw invalid(`'logit_bias' has more than ${MAX_BIASES} pairs`, 'logit_bias')
  return new Map(found)
}

import type { SamplingOptions } from '@svc/contracts'
import { defined, t } from '@svc/plugin-sdk'
import { type BodyProblem, bodyReader, invalid, withoutNulls } from '../body-reader.ts'
import type { CompletionRequest } from '../completions.ts'
import { only, refuseUnsupported, type UnsupportedFields } from '../unsupported-fields.ts'

const MAX_STOP_STRINGS = 64
const stopString = t.string({ minLength: 1 })

/**
 * Supported `options`. Unknown options, and options that tune another engine, are accepted without effect, as in
 * Ollama.
 */
const optionFields = {
  temperature: t.optional(t.number({ minimum: 0 })),
  num_predict: t.optional(t.integer()),
  num_ctx: t.optional(t.integer({ minimum: 1 })),
  top_p: t.optional(t.number({ minimum: 0, maximum: 1 })),
  top_k: t.optional(t.integer({ minimum: -1 })),
  min_p: t.optional(t.number({ minimum: 0, maximum: 1 })),
  typical_p: t.optional(t.number({ minimum: 0, maximum: 1 })),
  seed: t.optional(t.integer()),
  stop: t.optional(
    t.union([stopString, t.array(stopString, { maxItems: MAX_STOP_STRINGS })], {
      description: `a string or a list of up to ${MAX_STOP_STRINGS} strings, none of them empty`
    })
  ),
  repeat_penalty: t.optional(t.number({ exclusiveMinimum: 0 })),
  repeat_last_n: t.optional(t.integer({ minimum: -1 })),
  presence_penalty: t.optional(t.number({ minimum: -2, maximum: 2 })),
  frequency_penalty: t.optional(t.number({ minimum: -2, maximum: 2 }))
}

const options = t.object(optionFields, { additionalProperties: true })

/** Unsupported sampling options, each with the values that disable it. */
const UNSUPPORTED: UnsupportedFields = {
  mirostat: only(0),
  tfs_z: only(1),
  penalize_newline: only(true)
}

/** Names of the supported options, and of those that are refused unless they are disabled. */
export const OPTION_NAMES: ReadonlySet<string> = new Set([...Object.keys(optionFields), ...Object.keys(UNSUPPORTED)])

const readFields = bodyReader(options, ({ path, expected, got }: BodyProblem) => {
  return `invalid option "${path[0]}": must be ${expected}, got ${got}`
})

/** Parses the `options` of a request. Throws `MSV_REQUEST_INVALID` or `MSV_UNSUPPORTED`, naming the option. */
export function readOptions(raw: unknown): Omit<CompletionRequest, 'prompt' | 'constraint' | 'logprobs'> {
  if (raw === undefined) return { sampling: {} }
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw))
    throw invalid(`'options' must be an object`, 'options')
  refuseUnsupported(raw, UNSUPPORTED, 'options')
  const fields = readFields(withoutNulls(raw))
  const { temperature, top_p, top_k, min_p, typical_p, seed, repeat_penalty, repeat_last_n } = fields
  const sampling: SamplingOptions = {
    ...defined({ temperature, topP: top_p }),
    ...(top_k === undefined ? {} : { topK: Math.max(0, top_k) }),
    ...defined({ minP: min_p, typicalP: typical_p }),
    // A negative seed means a random seed for every request.
    ...(seed === undefined || seed < 0 ? {} : { seed }),
    ...defined({ repeatPenalty: repeat_penalty, repeatLastN: repeat_last_n }),
    ...(fields.presence_penalty === undefined ? {} : { presencePenalty: fields.presence_penalty }),
    ...(fields.frequency_penalty === undefined ? {} : { frequencyPenalty: fields.frequency_penalty })
  }
  return {
    sampling,
    ...(fields.num_predict === undefined ? {} : { maxTokens: maxTokensOf(fields.num_predict) }),
    ...(fields.num_ctx === undefined ? {} : { contextLimit: fields.num_ctx }),
    ...(fields.stop === undefined ? {} : { stop: [fields.stop].flat() })
  }
}

/** Returns `rest` for -1 (no limit) and -2 (until the context is full); other values become at least 1. */
function maxTokensOf(numPredict: number): number | 'rest' {
  return numPredict === -1 || numPredict === -2 ? 'rest' : Math.max(1, numPredict)
}

import { defined, t } from '@svc/plugin-sdk'
import { bodyReader, invalid } from '../body-reader.ts'
import type { CompletionRequest, FieldConstraint } from '../completions.ts'
import type { Grammars } from '../grammars.ts'
import type { TextPrompt } from '../text-prompt.ts'
import { emptyList, never, refuseUnsupported, type UnsupportedFields, unsupported } from '../unsupported-fields.ts'
import { UNSUPPORTED_EXTENSIONS } from './extensions.ts'
import { guidedConstraint } from './guided.ts'
import { responseFormat } from './response-format.ts'
import { samplingFields, samplingOf } from './sampling.ts'

export interface OpenAiCompletionRequest {
  readonly model: string | undefined
  readonly stream: boolean
  readonly includeUsage: boolean
  /** Whether to repeat the prompt before the answer. */
  readonly echo: boolean
  /** Number of alternatives to report for each token; undefined: no log probabilities. */
  readonly logprobs: number | undefined
  /** Number of alternatives to report for each token of the prompt; undefined: no report in the form of vLLM. */
  readonly promptLogprobs: number | undefined
  readonly prompts: readonly TextPrompt[]
  /** Number of answers to return for each prompt: the most probable of `bestOf` generated ones. */
  readonly n: number
  readonly bestOf: number
  options(choice: number): Omit<CompletionRequest, 'prompt'>
}

const MAX_ALTERNATIVES = 20
const MAX_CHOICES = 128
const MAX_PROMPTS = 256
/** Default of the OpenAI API. */
const DEFAULT_MAX_TOKENS = 16
const open = { additionalProperties: true }
const tokens = t.array(t.integer({ minimum: 0 }), { minItems: 1 })

const completionBody = t.object(
  {
    ...samplingFields,
    model: t.optional(t.string()),
    prompt: t.union(
      [t.string(), tokens, t.array(t.union([t.string(), tokens]), { minItems: 1, maxItems: MAX_PROMPTS })],
      { description: `a string, a list of token ids, or a list of up to ${MAX_PROMPTS} of either` }
    ),
    suffix: t.optional(t.string()),
    stream: t.optional(t.boolean()),
    stream_options: t.optional(t.object({ include_usage: t.optional(t.boolean()) }, open)),
    max_tokens: t.optional(t.integer({ minimum: 0 })),
    logprobs: t.optional(t.integer({ minimum: 0, maximum: MAX_ALTERNATIVES })),
    prompt_logprobs: t.optional(t.integer({ minimum: 0, maximum: MAX_ALTERNATIVES })),
    echo: t.optional(t.boolean()),
    n: t.optional(t.integer({ minimum: 1, maximum: MAX_CHOICES })),
    best_of: t.optional(t.integer({ minimum: 1, maximum: MAX_CHOICES })),
    response_format: t.optional(t.object({ type: t.string() }, open))
  },
  open
)

const { prompt_logprobs: _, ...extensions } = UNSUPPORTED_EXTENSIONS

const UNSUPPORTED: UnsupportedFields = {
  ...extensions,
  messages: emptyList,
  tools: emptyList,
  prompt_embeds: never
}

const readBody = bodyReader(completionBody)

/**
 * Parses the body of `POST /v1/completions`.
 * Throws `MSV_REQUEST_INVALID` or `MSV_UNSUPPORTED`, both naming the field.
 */
export function readCompletionRequest(raw: unknown, grammars: Grammars): OpenAiCompletionRequest {
  const body = readBody(raw)
  refuseUnsupported(body, UNSUPPORTED)
  const { stream = false, echo = false, n = 1, stop, logprobs, max_tokens = DEFAULT_MAX_TOKENS, suffix = '' } = body
  const { prompt_logprobs: promptLogprobs } = body
  const bestOf = body.best_of ?? n
  if (body.stream_options !== undefined && !stream) {
    throw invalid(`'stream_options' is only allowed when 'stream' is true`, 'stream_options')
  }
  if (bestOf < n) throw invalid(`'best_of' must be at least 'n', which is ${n}, got ${bestOf}`, 'best_of')
  if (bestOf > n && stream) throw invalid(`'best_of' above 'n' is not allowed when 'stream' is true`, 'best_of')
  if (max_tokens === 0 && !echo && promptLogprobs === undefined) {
    throw invalid(`'max_tokens' of 0 is only allowed with 'echo' or 'prompt_logprobs'`, 'max_tokens')
  }
  if (promptLogprobs !== undefined && stream) {
    throw invalid(`'prompt_logprobs' is not allowed when 'stream' is true`, 'prompt_logprobs')
  }
  if (echo && suffix !== '') throw unsupported('echo', `it cannot be combined with 'suffix'`)
  const constraint = guidedConstraint(body) ?? constraintOf(body.response_format, grammars)
  return {
    model: body.model,
    stream,
    includeUsage: body.stream_options?.include_usage ?? false,
    echo,
    logprobs,
    promptLogprobs,
    prompts: promptsOf(body.prompt).map(prompt => ({ prompt, ...(suffix === '' ? {} : { suffix }) })),
    n,
    bestOf,
    options: choice => ({
      sampling: samplingOf(body, choice),
      maxTokens: max_tokens,
      ...(stop === undefined ? {} : { stop: [stop].flat() }),
      // The answers are ranked by their log probabilities.
      ...(logprobs === undefined && bestOf === n ? {} : { logprobs: logprobs ?? 0 }),
      ...defined({ constraint })
    })
  }
}

function constraintOf(format: { readonly type: string } | undefined, grammars: Grammars): FieldConstraint | undefined {
  return format === undefined ? grammars.byDefault() : responseFormat(format, grammars)
}

function promptsOf(
  prompt: string | readonly number[] | readonly (string | readonly number[])[]
): readonly (string | readonly number[])[] {
  if (typeof prompt === 'string') return [prompt]
  return prompt.every(each => typeof each === 'number') ? [prompt as readonly number[]] : (prompt as readonly string[])
}

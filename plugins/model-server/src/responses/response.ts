import { randomBytes } from 'node:crypto'
import type { GenerateUsage } from '@svc/contracts'
import type { WireError } from '../wire-error.ts'
import type { ResponsesBody } from './body.ts'
import type { Item } from './items.ts'

export type ResponseStatus = 'in_progress' | 'completed' | 'incomplete' | 'failed'

/** Fields of a response that are known before its answer. */
export interface ResponseHead {
  readonly id: string
  /** Seconds since the epoch. */
  readonly created_at: number
  readonly [field: string]: unknown
}

/** End of a response. `usage` is null if it failed. */
export interface ResponseEnd {
  readonly status: ResponseStatus
  readonly output: readonly Item[]
  readonly usage: object | null
  readonly error?: object
}

const ID_BYTES = 24

/** Returns a new id, which cannot be guessed. */
export function newResponseId(): string {
  return `resp_${randomBytes(ID_BYTES).toString('hex')}`
}

/** Returns the fields that repeat the request. `temperature`: the one that applies. `stored`: whether it will be stored. */
export function responseHead(
  body: ResponsesBody,
  { id, model, temperature, stored }: { id: string; model: string; temperature: number; stored: boolean }
): ResponseHead {
  const { format, verbosity } = body.text ?? {}
  return {
    id,
    object: 'response',
    created_at: Math.floor(Date.now() / 1000),
    background: false,
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    metadata: body.metadata ?? {},
    model,
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    previous_response_id: body.previous_response_id ?? null,
    reasoning: { effort: body.reasoning?.effort ?? null, summary: body.reasoning?.summary ?? null },
    store: stored,
    temperature,
    text: { format: format ?? { type: 'text' }, verbosity: verbosity ?? 'medium' },
    tool_choice: body.tool_choice ?? 'auto',
    tools: (body.tools ?? []).map(tool => ({
      description: null,
      parameters: null,
      ...tool,
      strict: tool.strict ?? false
    })),
    top_logprobs: body.top_logprobs ?? 0,
    top_p: body.top_p ?? null,
    truncation: body.truncation ?? 'disabled',
    ...(body.user === undefined ? {} : { user: body.user })
  }
}

/** Returns a response as JSON. */
export function responseOf(head: ResponseHead, { status, output, usage, error }: ResponseEnd): ResponseHead {
  return {
    ...head,
    status,
    completed_at: status === 'completed' ? Math.floor(Date.now() / 1000) : null,
    error: error ?? null,
    incomplete_details: status === 'incomplete' ? { reason: 'max_output_tokens' } : null,
    output,
    usage
  }
}

export function usageOf(usage: GenerateUsage, thinkingTokens: number): object {
  return {
    input_tokens: usage.promptTokens,
    input_tokens_details: { cached_tokens: usage.cachedTokens },
    output_tokens: usage.completionTokens,
    output_tokens_details: { reasoning_tokens: thinkingTokens },
    total_tokens: usage.promptTokens + usage.completionTokens
  }
}

/** Returns the error of a failed response. */
export function failureOf({ status, message }: WireError): object {
  return { code: status >= 500 ? 'server_error' : 'invalid_prompt', message }
}

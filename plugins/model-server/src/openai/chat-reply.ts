import { randomUUID } from 'node:crypto'
import type { GenerateUsage } from '@svc/contracts'
import type { Logger } from '@svc/plugin-sdk'
import type { CompletionEvent } from '../completions.ts'
import { type LogprobEntry, logprobEntries } from '../token-logprobs.ts'
import { toWireError } from '../wire-error.ts'
import { openAiError } from './error-shape.ts'

/** What is the same in every chunk of one answer. */
export interface ReplyHead {
  readonly id: string
  /** Seconds since the epoch. */
  readonly created: number
  readonly model: string
  /** Changes with the weights. */
  readonly system_fingerprint: string
}

export function replyHead(model: string, digest: string): ReplyHead {
  return {
    id: `chatcmpl-${randomUUID()}`,
    created: Math.floor(Date.now() / 1000),
    model,
    system_fingerprint: `fp_${digest.slice(0, 10)}`
  }
}

/** The whole answer as one `chat.completion`. */
export async function chatCompletion(head: ReplyHead, events: AsyncIterable<CompletionEvent>): Promise<object> {
  let content = ''
  let logprobs: LogprobEntry[] | null = null
  let finish: Extract<CompletionEvent, { type: 'done' }> | undefined
  for await (const event of events) {
    if (event.type === 'done') finish = event
    else {
      content += event.text
      const entries = logprobEntries(event)
      if (entries !== undefined) logprobs = [...(logprobs ?? []), ...entries]
    }
  }
  return {
    id: head.id,
    object: 'chat.completion',
    created: head.created,
    model: head.model,
    system_fingerprint: head.system_fingerprint,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content, refusal: null },
        logprobs: logprobs === null ? null : { content: logprobs, refusal: null },
        finish_reason: finish?.finishReason ?? 'stop'
      }
    ],
    ...(finish === undefined ? {} : { usage: usageOf(finish.usage) })
  }
}

/**
 * The answer as server-sent events: a chunk with the role, one for every piece of text, one with the reason for the
 * end, one with the usage when it was asked for, then `[DONE]`. An error in between is the last event.
 */
export async function* chatCompletionChunks(
  head: ReplyHead,
  events: AsyncIterable<CompletionEvent>,
  includeUsage: boolean,
  log: Logger
): AsyncGenerator<string, void> {
  const chunk = (choices: readonly object[], usage: object | null = null) =>
    data({
      id: head.id,
      object: 'chat.completion.chunk',
      created: head.created,
      model: head.model,
      system_fingerprint: head.system_fingerprint,
      choices,
      ...(includeUsage ? { usage } : {})
    })
  const choice = (delta: object, finish_reason: string | null = null, logprobs: object | null = null) =>
    chunk([{ index: 0, delta, logprobs, finish_reason }])
  try {
    yield choice({ role: 'assistant', content: '' })
    for await (const event of events) {
      if (event.type === 'text') {
        const entries = logprobEntries(event)
        yield choice({ content: event.text }, null, entries === undefined ? null : { content: entries, refusal: null })
      } else {
        yield choice({}, event.finishReason)
        if (includeUsage) yield chunk([], usageOf(event.usage))
      }
    }
    yield 'data: [DONE]\n\n'
  } catch (error) {
    yield data(openAiError(toWireError(error, log)))
  }
}

function data(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`
}

function usageOf({ promptTokens, completionTokens }: GenerateUsage): object {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens
  }
}

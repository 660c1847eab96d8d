import type { AnswerEvent } from '../answer/answer.ts'
import type { JobEvent } from '../concurrent-jobs.ts'
import { type LogprobEntry, logprobEntries } from '../token-logprobs.ts'
import { type RequestContext, toWireError } from '../wire-error.ts'
import { openAiError } from './error-shape.ts'
import { type ReplyHead, STREAM_END, serverSentEvent } from './reply-head.ts'
import { UsageTotal } from './usage.ts'

type Events = AsyncIterable<JobEvent<AnswerEvent>>

interface Choice {
  content: string
  thinking: string
  readonly logprobs: LogprobEntry[]
  readonly calls: object[]
  finishReason: string
}

/** Resolves to the complete response as one `chat.completion`. `wantsLogprobs`: whether to report log probabilities. */
export async function chatCompletion(
  head: ReplyHead,
  events: Events,
  count: number,
  wantsLogprobs: boolean
): Promise<object> {
  const usage = new UsageTotal()
  const choices = Array.from({ length: count }, (): Choice => {
    return { content: '', thinking: '', logprobs: [], calls: [], finishReason: 'stop' }
  })
  for await (const { index, event } of events) {
    const choice = choices[index] as Choice
    if (event.type === 'text') {
      choice.content += event.text
      choice.logprobs.push(...(logprobEntries(event) ?? []))
    } else if (event.type === 'thinking') choice.thinking += event.text
    else if (event.type === 'called') {
      const { id, name, arguments: text } = event.call
      choice.calls.push({ id, type: 'function', function: { name, arguments: text } })
    } else if (event.type === 'done') {
      choice.finishReason = event.finishReason
      usage.add(event.usage, event.thinkingTokens)
    }
  }
  return {
    id: head.id,
    object: 'chat.completion',
    created: head.created,
    model: head.model,
    system_fingerprint: head.system_fingerprint,
    choices: choices.map((choice, index) => ({
      index,
      message: messageOf(choice),
      logprobs: wantsLogprobs ? { content: choice.logprobs, refusal: null } : null,
      finish_reason: choice.finishReason
    })),
    usage: usage.report()
  }
}

function messageOf({ content, thinking, calls }: Choice): object {
  return {
    role: 'assistant',
    content: content === '' && calls.length > 0 ? null : content,
    refusal: null,
    ...(thinking === '' ? {} : { reasoning_content: thinking }),
    ...(calls.length === 0 ? {} : { tool_calls: calls })
  }
}

/**
 * Yields the response as server-sent events. Each choice has a chunk with the role, one per piece and one with the
 * finish reason. The usage, if requested, and `[DONE]` follow. An error after the start is the last event.
 */
export async function* chatCompletionChunks(
  head: ReplyHead,
  events: Events,
  count: number,
  includeUsage: boolean,
  context: RequestContext
): AsyncGenerator<string, void> {
  const usage = new UsageTotal()
  const chunk = (choices: readonly object[], total: object | null = null) =>
    serverSentEvent({
      id: head.id,
      object: 'chat.completion.chunk',
      created: head.created,
      model: head.model,
      system_fingerprint: head.system_fingerprint,
      choices,
      ...(includeUsage ? { usage: total } : {})
    })
  const piece = (index: number, delta: object, finish_reason: string | null = null, logprobs: object | null = null) =>
    chunk([{ index, delta, logprobs, finish_reason }])
  try {
    for (let index = 0; index < count; index++) yield piece(index, { role: 'assistant', content: '' })
    for await (const { index, event } of events) {
      if (event.type === 'text') {
        const entries = logprobEntries(event)
        const logprobs = entries === undefined ? null : { content: entries, refusal: null }
        yield piece(index, { content: event.text }, null, logprobs)
      } else if (event.type === 'done') {
        usage.add(event.usage, event.thinkingTokens)
        yield piece(index, {}, event.finishReason)
      } else {
        const delta = deltaOf(event)
        if (delta !== undefined) yield piece(index, delta)
      }
    }
    if (includeUsage) yield chunk([], usage.report())
    yield STREAM_END
  } catch (error) {
    yield serverSentEvent(openAiError(toWireError(error, context)))
  }
}

function deltaOf(event: Exclude<AnswerEvent, { type: 'text' | 'done' }>): object | undefined {
  switch (event.type) {
    case 'thinking':
      return { reasoning_content: event.text }
    case 'call': {
      const { index, id, name } = event
      return { tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }
    }
    case 'arguments':
      return { tool_calls: [{ index: event.index, function: { arguments: event.text } }] }
    case 'called':
      return undefined
  }
}

import type { GenerateUsage, TokenLogprob } from '@svc/contracts'
import type { AnswerEnd, AnswerEvent } from '../answer/answer.ts'
import { openAiError } from '../openai/error-shape.ts'
import { serverSentEvent } from '../openai/reply-head.ts'
import { type RequestContext, toWireError } from '../wire-error.ts'

export interface InfillHead {
  readonly model: string
  /** True if the prompt does not contain the whole text of the request. */
  readonly truncated: boolean
  /** Names of the fields to return; empty: all. `a/b` is the field `b` of the object `a`. */
  readonly fields: readonly string[]
  /** Returns the generated tokens so far; null if the response does not contain them. */
  readonly tokens: (() => readonly number[]) | null
}

type TextEvent = Extract<AnswerEvent, { type: 'text' }>

/** Resolves to the complete response in llama.cpp's form. */
export async function infillReply(head: InfillHead, events: AsyncIterable<AnswerEvent>): Promise<object> {
  let content = ''
  const probabilities: object[] = []
  let end: AnswerEnd | undefined
  for await (const event of events) {
    if (event.type === 'text') {
      content += event.text
      probabilities.push(...(probabilitiesOf(event) ?? []))
    } else if (event.type === 'done') end = event
  }
  const probs = probabilities.length === 0 ? {} : { completion_probabilities: probabilities }
  return chosen(head, { ...lastRow(head, end as AnswerEnd, content), content, ...probs })
}

/** Yields the response as server-sent events; the last one has the counts. An error after the start is the last event. */
export async function* infillChunks(
  head: InfillHead,
  events: AsyncIterable<AnswerEvent>,
  context: RequestContext
): AsyncGenerator<string, void> {
  let content = ''
  let sent = 0
  try {
    for await (const event of events) {
      if (event.type === 'text') {
        content += event.text
        const all = head.tokens?.() ?? []
        const tokens = all.slice(sent)
        sent = all.length
        const probabilities = probabilitiesOf(event)
        const probs = probabilities === undefined ? {} : { completion_probabilities: probabilities }
        yield serverSentEvent({ index: 0, content: event.text, tokens, stop: false, ...probs })
      } else if (event.type === 'done') {
        yield serverSentEvent(chosen(head, { ...lastRow(head, event, content), content: '', tokens: [] }))
      }
    }
  } catch (error) {
    yield serverSentEvent(openAiError(toWireError(error, context)))
  }
}

function lastRow(head: InfillHead, { finishReason, stopString, usage }: AnswerEnd, content: string): object {
  return {
    index: 0,
    content,
    tokens: head.tokens?.() ?? [],
    stop: true,
    model: head.model,
    tokens_predicted: usage.completionTokens,
    tokens_evaluated: usage.promptTokens,
    tokens_cached: usage.promptTokens + usage.completionTokens,
    has_new_line: content.includes('\n'),
    truncated: head.truncated,
    stop_type: stopString !== undefined ? 'word' : finishReason === 'length' ? 'limit' : 'eos',
    stopping_word: stopString ?? '',
    timings: timingsOf(usage)
  }
}

function timingsOf({ promptTokens, cachedTokens, promptNs, completionTokens, completionNs }: GenerateUsage): object {
  const evaluated = promptTokens - cachedTokens
  const each = (ns: number, count: number) => (count === 0 ? 0 : ns / 1e6 / count)
  const rate = (ns: number, count: number) => (ns === 0 ? 0 : count / (ns / 1e9))
  return {
    cache_n: cachedTokens,
    prompt_n: evaluated,
    prompt_ms: promptNs / 1e6,
    prompt_per_token_ms: each(promptNs, evaluated),
    prompt_per_second: rate(promptNs, evaluated),
    predicted_n: completionTokens,
    predicted_ms: completionNs / 1e6,
    predicted_per_token_ms: each(completionNs, completionTokens),
    predicted_per_second: rate(completionNs, completionTokens)
  }
}

function probabilitiesOf({ logprobs }: TextEvent): object[] | undefined {
  const entry = ({ token, text, logprob }: TokenLogprob) => ({
    id: token,
    token: text,
    bytes: [...Buffer.from(text)],
    logprob
  })
  return logprobs?.map(token => ({ ...entry(token), top_logprobs: token.top.map(entry) }))
}

/** Returns the requested fields; missing ones are omitted. */
function chosen({ fields }: InfillHead, reply: object): object {
  if (fields.length === 0) return reply
  return Object.fromEntries(
    fields.flatMap(path => {
      const names = path.split('/')
      let value: unknown = reply
      for (const name of names) {
        const isObject = typeof value === 'object' && value !== null && Object.hasOwn(value, name)
        value = isObject ? (value as Record<string, unknown>)[name] : undefined
      }
      return value === undefined ? [] : [[names.at(-1) as string, value]]
    })
  )
}

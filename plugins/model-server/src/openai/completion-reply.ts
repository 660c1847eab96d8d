import type { AnswerEvent } from '../answer/answer.ts'
import type { JobEvent } from '../concurrent-jobs.ts'
import { type LogprobEntry, logprobEntries } from '../token-logprobs.ts'
import { type RequestContext, toWireError } from '../wire-error.ts'
import { openAiError } from './error-shape.ts'
import { type ReplyHead, STREAM_END, serverSentEvent } from './reply-head.ts'
import { UsageTotal } from './usage.ts'

type Events = AsyncIterable<JobEvent<AnswerEvent>>

export interface CompletionShape {
  /** Text to repeat before the answers, by prompt. */
  readonly echoes: readonly string[]
  /** Number of answers to return for each prompt, and to generate for it. */
  readonly n: number
  readonly bestOf: number
  /** Whether to report log probabilities. */
  readonly logprobs: boolean
}

interface Choice {
  text: string
  readonly logprobs: LogprobEntry[]
  finishReason: string
}

/** Resolves to the complete response as one `text_completion`. */
export async function textCompletion(head: ReplyHead, events: Events, shape: CompletionShape): Promise<object> {
  const { echoes, n, bestOf } = shape
  const usage = new UsageTotal()
  const all = echoes.map(text =>
    Array.from({ length: bestOf }, (): Choice => ({ text, logprobs: [], finishReason: 'stop' }))
  )
  for await (const { index, event } of events) {
    const prompt = Math.floor(index / bestOf)
    const choice = all[prompt]?.[index % bestOf] as Choice
    if (event.type === 'text') {
      choice.text += event.text
      choice.logprobs.push(...(logprobEntries(event) ?? []))
    } else if (event.type === 'done') {
      choice.finishReason = event.finishReason
      usage.add(event.usage, 0, prompt)
    }
  }
  const chosen = all.flatMap((choices, prompt) =>
    (bestOf > n ? choices.toSorted((a, b) => likelihood(b) - likelihood(a)).slice(0, n) : choices).map(choice => ({
      choice,
      offset: echoes[prompt]?.length ?? 0
    }))
  )
  return {
    ...rowOf(head),
    choices: chosen.map(({ choice, offset }, index) => ({
      text: choice.text,
      index,
      logprobs: shape.logprobs ? logprobsReport(choice.logprobs, offset).report : null,
      finish_reason: choice.finishReason
    })),
    usage: usage.report()
  }
}

/** Yields the response as server-sent events, then `[DONE]`. An error after the start is the last event. */
export async function* textCompletionChunks(
  head: ReplyHead,
  events: Events,
  shape: CompletionShape,
  includeUsage: boolean,
  context: RequestContext
): AsyncGenerator<string, void> {
  const { echoes, n } = shape
  const usage = new UsageTotal()
  const offsets = new Map<number, number>()
  const chunk = (choices: readonly object[], total: object | null = null) =>
    serverSentEvent({ ...rowOf(head), choices, ...(includeUsage ? { usage: total } : {}) })
  const piece = (index: number, text: string, finish_reason: string | null = null, logprobs: object | null = null) =>
    chunk([{ text, index, logprobs, finish_reason }])
  try {
    for (const [prompt, text] of echoes.entries()) {
      for (let choice = 0; text !== '' && choice < n; choice++) yield piece(prompt * n + choice, text)
    }
    for await (const { index, event } of events) {
      if (event.type === 'text') {
        const entries = logprobEntries(event)
        const { report, end } = logprobsReport(entries ?? [], offsets.get(index) ?? 0)
        offsets.set(index, end)
        yield piece(index, event.text, null, entries === undefined ? null : report)
      } else if (event.type === 'done') {
        usage.add(event.usage, 0, Math.floor(index / n))
        yield piece(index, '', event.finishReason)
      }
    }
    if (includeUsage) yield chunk([], usage.report())
    yield STREAM_END
  } catch (error) {
    yield serverSentEvent(openAiError(toWireError(error, context)))
  }
}

function rowOf({ id, created, model, system_fingerprint }: ReplyHead): object {
  return { id, object: 'text_completion', created, model, system_fingerprint }
}

/** Returns the mean log probability of the tokens of an answer. */
function likelihood({ logprobs }: Choice): number {
  return logprobs.reduce((sum, { logprob }) => sum + logprob, 0) / Math.max(1, logprobs.length)
}

/** Returns the parallel lists of the API, one entry per token. `offset`: position of the first token in the text. */
function logprobsReport(
  entries: readonly LogprobEntry[],
  offset: number
): { readonly report: object; readonly end: number } {
  let end = offset
  const text_offset = entries.map(({ token }) => {
    const at = end
    end += token.length
    return at
  })
  return {
    report: {
      tokens: entries.map(({ token }) => token),
      token_logprobs: entries.map(({ logprob }) => logprob),
      top_logprobs: entries.map(({ top_logprobs }) =>
        Object.fromEntries(top_logprobs.map(({ token, logprob }) => [token, logprob]))
      ),
      text_offset
    },
    end
  }
}

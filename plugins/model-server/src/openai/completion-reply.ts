import type { AnswerEvent } from '../answer/answer.ts'
import type { JobEvent } from '../concurrent-jobs.ts'
import type { PromptToken } from '../prompt-scores.ts'
import { type LogprobEntry, logprobEntries } from '../token-logprobs.ts'
import { type RequestContext, toWireError } from '../wire-error.ts'
import { openAiError } from './error-shape.ts'
import { type ReplyHead, STREAM_END, serverSentEvent } from './reply-head.ts'
import { UsageTotal } from './usage.ts'

type Events = AsyncIterable<JobEvent<AnswerEvent>>

export interface CompletionShape {
  readonly prompts: readonly PromptReport[]
  /** Number of answers to return for each prompt, and to generate for it. */
  readonly n: number
  readonly bestOf: number
  /** Whether to report log probabilities. */
  readonly logprobs: boolean
}

/** Report of one prompt in its choices. */
export interface PromptReport {
  /** Text to repeat before the answers; empty for none. */
  readonly echo: string
  /** Tokens of the repeated text, and the number of alternatives to report for each. */
  readonly logprobs?: { readonly tokens: readonly PromptToken[]; readonly top: number }
  /** Value of the field `prompt_logprobs`. */
  readonly report?: readonly (object | null)[]
}

interface Choice {
  text: string
  readonly logprobs: LogprobEntry[]
  finishReason: string
}

/** Resolves to the complete response as one `text_completion`. */
export async function textCompletion(head: ReplyHead, events: Events, shape: CompletionShape): Promise<object> {
  const { prompts, n, bestOf } = shape
  const usage = new UsageTotal()
  const all = prompts.map(({ echo }) =>
    Array.from({ length: bestOf }, (): Choice => ({ text: echo, logprobs: [], finishReason: 'stop' }))
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
      prompt: prompts[prompt] as PromptReport
    }))
  )
  return {
    ...rowOf(head),
    choices: chosen.map(({ choice, prompt }, index) => ({
      text: choice.text,
      index,
      logprobs: shape.logprobs ? wholeReport(choice.logprobs, prompt) : null,
      finish_reason: choice.finishReason,
      ...(prompt.report === undefined ? {} : { prompt_logprobs: prompt.report })
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
  const { prompts, n } = shape
  const usage = new UsageTotal()
  const offsets = new Map<number, number>()
  const chunk = (choices: readonly object[], total: object | null = null) =>
    serverSentEvent({ ...rowOf(head), choices, ...(includeUsage ? { usage: total } : {}) })
  const piece = (index: number, text: string, finish_reason: string | null = null, logprobs: object | null = null) =>
    chunk([{ text, index, logprobs, finish_reason }])
  try {
    for (const [at, { echo, logprobs }] of prompts.entries()) {
      const start = logprobs === undefined ? undefined : logprobsReport(promptEntries(logprobs), 0)
      for (let choice = 0; echo !== '' && choice < n; choice++) {
        offsets.set(at * n + choice, echo.length)
        yield piece(at * n + choice, echo, null, start?.report ?? null)
      }
    }
    for await (const { index, event } of events) {
      if (event.type === 'text') {
        const entries = logprobEntries(event)
        const { report, end } = logprobsReport((entries ?? []).map(answerEntry), offsets.get(index) ?? 0)
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

/** Token in the lists of the API. */
interface ReportEntry {
  readonly token: string
  /** Null for the first token of a prompt. */
  readonly logprob: number | null
  readonly top_logprobs: readonly Pick<LogprobEntry, 'token' | 'logprob'>[]
  /** Number of characters that the token adds to the text. */
  readonly length: number
}

function wholeReport(answer: readonly LogprobEntry[], { echo, logprobs }: PromptReport): object {
  if (logprobs === undefined) return logprobsReport(answer.map(answerEntry), echo.length).report
  return logprobsReport([...promptEntries(logprobs), ...answer.map(answerEntry)], 0).report
}

function answerEntry(entry: LogprobEntry): ReportEntry {
  return { ...entry, length: entry.token.length }
}

function promptEntries({ tokens, top }: NonNullable<PromptReport['logprobs']>): readonly ReportEntry[] {
  return tokens.map(({ text, length, score }) => ({
    token: text,
    length,
    logprob: score?.logprob ?? null,
    top_logprobs: (score?.top ?? []).slice(0, top).map(each => ({ token: each.text, logprob: each.logprob }))
  }))
}

/** Returns the parallel lists of the API, one entry per token. `offset`: position of the first token in the text. */
function logprobsReport(
  entries: readonly ReportEntry[],
  offset: number
): { readonly report: object; readonly end: number } {
  let end = offset
  const text_offset = entries.map(({ length }) => {
    const at = end
    end += length
    return at
  })
  return {
    report: {
      tokens: entries.map(({ token }) => token),
      token_logprobs: entries.map(({ logprob }) => logprob),
      top_logprobs: entries.map(({ logprob, top_logprobs }) =>
        // Of tokens with equal text, such as parts of characters, the most likely one is reported.
        logprob === null ? null : Object.fromEntries(top_logprobs.toReversed().map(each => [each.token, each.logprob]))
      ),
      text_offset
    },
    end
  }
}

import type { GenerateUsage } from '@svc/contracts'
import type { Logger } from '@svc/plugin-sdk'
import type { CompletionEvent } from '../completions.ts'
import { type LogprobEntry, logprobEntries } from '../token-logprobs.ts'
import { toWireError } from '../wire-error.ts'

/** Which route answers: they differ in the field that holds the text. */
export type ReplyKind = 'chat' | 'generate'

export interface ReplyHead {
  readonly kind: ReplyKind
  readonly model: string
  /** `process.hrtime.bigint()` when the request came in. */
  readonly startedNs: bigint
}

/** The answer to a request that only wants the model to be loaded. */
export function loadedReply(head: ReplyHead): object {
  return { ...row(head, ''), done: true, done_reason: 'load' }
}

/** The whole answer as one object. */
export async function singleReply(head: ReplyHead, events: AsyncIterable<CompletionEvent>): Promise<object> {
  let text = ''
  const logprobs: LogprobEntry[] = []
  let end: object = {}
  for await (const event of events) {
    if (event.type === 'done') end = endOf(head, event)
    else {
      text += event.text
      logprobs.push(...(logprobEntries(event) ?? []))
    }
  }
  return { ...row(head, text), ...(logprobs.length === 0 ? {} : { logprobs }), ...end }
}

/** The answer as lines of JSON, the last one with the counts. An error in between is the last line. */
export async function* replyRows(
  head: ReplyHead,
  events: AsyncIterable<CompletionEvent>,
  log: Logger
): AsyncGenerator<string, void> {
  try {
    for await (const event of events) {
      if (event.type === 'done') yield line({ ...row(head, ''), ...endOf(head, event) })
      else {
        const logprobs = logprobEntries(event)
        yield line({ ...row(head, event.text), done: false, ...(logprobs === undefined ? {} : { logprobs }) })
      }
    }
  } catch (error) {
    yield line({ error: toWireError(error, log).message })
  }
}

export function line(value: object): string {
  return `${JSON.stringify(value)}\n`
}

function row({ kind, model }: ReplyHead, text: string): object {
  const created_at = new Date().toISOString()
  return kind === 'chat'
    ? { model, created_at, message: { role: 'assistant', content: text } }
    : { model, created_at, response: text }
}

/** Durations are nanoseconds. The model is loaded once, before any request, so loading takes none. */
function endOf(head: ReplyHead, event: { finishReason: string; usage: GenerateUsage }): object {
  const { usage } = event
  return {
    done: true,
    done_reason: event.finishReason,
    total_duration: Number(process.hrtime.bigint() - head.startedNs),
    load_duration: 0,
    prompt_eval_count: usage.promptTokens,
    prompt_eval_duration: Math.round(usage.promptNs),
    eval_count: usage.completionTokens,
    eval_duration: Math.round(usage.completionNs)
  }
}

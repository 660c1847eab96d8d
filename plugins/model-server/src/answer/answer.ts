import type { GenerateUsage, LoadedModel } from '@svc/contracts'
import { defined } from '@svc/plugin-sdk'
import type { Completion, CompletionEvent, FieldConstraint } from '../completions.ts'
import { AnswerReader, type AnswerReading } from './answer-reader.ts'
import type { ToolCallPiece } from './tool-call-reader.ts'

type TextEvent = Extract<CompletionEvent, { type: 'text' }>
type EndEvent = Extract<CompletionEvent, { type: 'done' }>

/** Part of an answer, independent of the wire format. */
export type AnswerEvent =
  | { readonly type: 'text'; readonly text: string; readonly logprobs?: NonNullable<TextEvent['logprobs']> }
  | { readonly type: 'thinking'; readonly text: string }
  | Exclude<ToolCallPiece, { type: 'text' }>
  | AnswerEnd

export interface AnswerEnd {
  readonly type: 'done'
  readonly finishReason: 'stop' | 'length' | 'tool_calls'
  /** The stop string that ended the text; absent if none did. */
  readonly stopString?: string
  readonly usage: GenerateUsage
  /** Tokens of the thoughts; the completion tokens include them. */
  readonly thinkingTokens: number
}

/** Answer so far, and the constraint under which it continues. */
export interface Continuation {
  /** The answer so far, as the model sees it. */
  readonly raw: string
  /** Constraint on the rest of the answer; absent: none. */
  readonly constraint?: FieldConstraint
}

/** Continues an answer after `generated` tokens. Resolves to null if the token limit is reached. */
export type Proceed = (continuation: Continuation, generated: number) => Promise<Completion | null>

/**
 * Splits an answer into thoughts, text and calls while it is generated. A constraint may begin inside the answer: after
 * the thoughts, or at the arguments of a strict function. Generation then stops and continues under the constraint.
 */
export async function* readAnswer(
  first: Completion,
  reading: AnswerReading,
  model: LoadedModel,
  proceed: Proceed
): AsyncGenerator<AnswerEvent, void> {
  if (reading.thinking === null && reading.tools === null) {
    for await (const event of first) yield event.type === 'done' ? { ...event, thinkingTokens: 0 } : event
    return
  }
  const reader = new AnswerReader(reading, model)
  let completion: Completion | null = first
  let usage: GenerateUsage | undefined
  let finishReason: AnswerEnd['finishReason'] = 'length'
  let stopString: string | undefined
  while (completion !== null) {
    const end: EndEvent = yield* readPart(reader, completion)
    usage = usage === undefined ? end.usage : sumOf(usage, end.usage)
    finishReason = end.finishReason
    stopString = end.stopString
    const { events, continuation } = reader.endPart(end.finishReason)
    yield* events
    if (continuation === undefined) break
    finishReason = 'length'
    stopString = undefined
    completion = await proceed(continuation, usage.completionTokens)
  }
  if (usage === undefined) return
  if (finishReason === 'stop' && reader.calledWhole) finishReason = 'tool_calls'
  yield { type: 'done', finishReason, ...defined({ stopString }), usage, thinkingTokens: reader.thinkingTokens }
}

async function* readPart(reader: AnswerReader, completion: Completion): AsyncGenerator<AnswerEvent, EndEvent> {
  for await (const event of completion) {
    if (event.type === 'done') return event
    if (reader.pausing) continue
    yield* reader.push(event)
    if (reader.pausing) completion.finish()
  }
  throw new Error('a completion ended without its final event')
}

/** Adds the usage of two parts of an answer. The prompt is that of the first part. */
function sumOf(first: GenerateUsage, next: GenerateUsage): GenerateUsage {
  return {
    promptTokens: first.promptTokens,
    cachedTokens: first.cachedTokens,
    completionTokens: first.completionTokens + next.completionTokens,
    queueNs: first.queueNs + next.queueNs,
    promptNs: first.promptNs + next.promptNs,
    completionNs: first.completionNs + next.completionNs
  }
}

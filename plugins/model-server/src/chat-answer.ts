import type { LoadedModel } from '@svc/contracts'
import { type AnswerEvent, type Proceed, readAnswer } from './answer/answer.ts'
import { type AnswerReading, PLAIN } from './answer/answer-reader.ts'
import { type ChatIntent, planChat } from './chat-plan.ts'
import type { Completion, CompletionRequest, Completions } from './completions.ts'
import { withDefaultMessages, withDefaultOptions } from './defaults/model-defaults.ts'
import type { Prompt } from './prompt.ts'
import type { RequestTaps } from './request-taps.ts'
import type { ServedModel } from './served-model.ts'

/** Chat request, independent of the wire format. */
export interface ChatRequest {
  readonly intent: ChatIntent
  readonly options: Omit<CompletionRequest, 'prompt' | 'constraint'>
}

export interface ChatAnswer {
  readonly promptTokens: readonly number[]
  /** Tokens of the part of the answer that was read so far. */
  readonly answerTokens: readonly number[]
  readonly events: AsyncIterable<AnswerEvent>
  /** Ends the generation early, with finish reason `stop`, unless the answer has a second part. */
  finish(): void
}

/**
 * Starts an answer to a conversation. Throws like {@link planChat} and {@link Completions.start}, and the errors of
 * taps.
 */
export async function startChat(
  served: ServedModel,
  completions: Completions,
  requested: ChatRequest,
  signal: AbortSignal,
  taps: RequestTaps
): Promise<ChatAnswer> {
  const { model } = served.ready()
  const options = withDefaultOptions(requested.options, served.defaults)
  const intent = await taps.intent(model, withDefaultMessages(requested.intent, served.defaults))
  const { prompt, constraint, reading } = await planChat(model, served.name, intent, options)
  const { startedAt = performance.now() } = options
  const started = { ...options, prompt, startedAt, ...(constraint === undefined ? {} : { constraint }) }
  const completion = await completions.start(started, signal)
  const limit = options.maxTokens ?? completions.limits.maxTokens
  const proceed: Proceed = async ({ raw, constraint: rule }, generated) => {
    const maxTokens = limit === 'rest' ? limit : limit - generated
    if (maxTokens !== 'rest' && maxTokens <= 0) return null
    const { stop, ...rest } = options
    const next = { ...rest, prompt: extended(model, prompt, raw), startedAt, maxTokens, admitted: true }
    // A stop string could end a forced call inside its arguments.
    const stops = stop === undefined || rule?.field === 'tools' ? {} : { stop }
    return completions.start({ ...next, ...stops, ...(rule === undefined ? {} : { constraint: rule }) }, signal)
  }
  return chatAnswer(completion, reading, model, proceed, taps)
}

/** Starts the completion of a prompt without a conversation. Throws like {@link Completions.start}. */
export async function startText(
  served: ServedModel,
  completions: Completions,
  request: CompletionRequest,
  signal: AbortSignal,
  taps: RequestTaps
): Promise<ChatAnswer> {
  const completion = await completions.start(request, signal)
  return chatAnswer(completion, PLAIN, served.ready().model, async () => null, taps)
}

/** Returns the prompt with the beginning of the answer appended. */
function extended(model: LoadedModel, prompt: Prompt, raw: string): Prompt {
  if (prompt.kind === 'text') return { kind: 'text', text: prompt.text + raw }
  return { kind: 'tokens', tokens: [...prompt.tokens, ...model.tokenize(raw, { special: true })] }
}

function chatAnswer(
  completion: Completion,
  reading: AnswerReading,
  model: LoadedModel,
  proceed: Proceed,
  taps: RequestTaps
): ChatAnswer {
  const answerTokens: number[] = []
  const recorded = (part: Completion): Completion => ({
    ...part,
    async *[Symbol.asyncIterator]() {
      for await (const event of part) {
        if (event.type === 'text') for (const token of event.tokens) answerTokens.push(token)
        yield event
      }
    }
  })
  const proceedRecorded: Proceed = async (continuation, generated) => {
    // Tokenise the whole answer again: its tokens can differ from those of the parts at the boundary.
    answerTokens.splice(0, answerTokens.length, ...model.tokenize(continuation.raw, { special: true }))
    const part = await proceed(continuation, generated)
    return part === null ? null : recorded(part)
  }
  return {
    promptTokens: completion.promptTokens,
    answerTokens,
    finish: () => completion.finish(),
    events: taps.events(readAnswer(recorded(completion), reading, model, proceedRecorded), text => {
      answerTokens.splice(0, answerTokens.length, ...model.tokenize(text))
    })
  }
}

import type { LoadedModel } from '@svc/contracts'
import { type AnswerEvent, type AnswerReading, PLAIN, readAnswer } from './answer/answer.ts'
import { type ChatIntent, planChat } from './chat-plan.ts'
import type { Completion, CompletionRequest, Completions } from './completions.ts'
import type { ServedModel } from './served-model.ts'

/** A chat request after its wire format has been taken off. */
export interface ChatRequest {
  readonly intent: ChatIntent
  readonly options: Omit<CompletionRequest, 'prompt' | 'constraint'>
}

export interface ChatAnswer {
  readonly promptTokens: readonly number[]
  /** Tokens of the answer, as far as its events have been read. */
  readonly answerTokens: readonly number[]
  readonly events: AsyncIterable<AnswerEvent>
}

/** Lets the model answer a conversation. Throws as {@link planChat} and {@link Completions.start} do. */
export async function startChat(
  served: ServedModel,
  completions: Completions,
  { intent, options }: ChatRequest,
  signal: AbortSignal
): Promise<ChatAnswer> {
  const { model } = served.ready()
  const { prompt, constraint, reading } = planChat(model, served.name, intent, options.contextLimit)
  const request = { ...options, prompt, ...(constraint === undefined ? {} : { constraint }) }
  const completion = await completions.start(request, signal)
  return chatAnswer(completion, reading, model)
}

/** Lets the model go on with a prompt that is no conversation. Throws as {@link Completions.start} does. */
export async function startText(
  served: ServedModel,
  completions: Completions,
  request: CompletionRequest,
  signal: AbortSignal
): Promise<ChatAnswer> {
  return chatAnswer(await completions.start(request, signal), PLAIN, served.ready().model)
}

function chatAnswer(completion: Completion, reading: AnswerReading, model: LoadedModel): ChatAnswer {
  const answerTokens: number[] = []
  const noted = {
    ...completion,
    async *[Symbol.asyncIterator]() {
      for await (const event of completion) {
        if (event.type === 'text') for (const token of event.tokens) answerTokens.push(token)
        yield event
      }
    }
  }
  return { promptTokens: completion.promptTokens, answerTokens, events: readAnswer(noted, reading, model) }
}

import { isDeepStrictEqual } from 'node:util'
import {
  type ChatToolCall,
  type LoadedModel,
  type ModelHooks,
  type ModelPrompt,
  type ModelRequest,
  NO_MODEL_HOOKS
} from '@svc/contracts'
import { defined } from '@svc/plugin-sdk'
import type { AnswerEvent } from './answer/answer.ts'
import type { ChatIntent, ToolIntent } from './chat-plan.ts'
import { refuseUnknownTokens, type TextPrompt, textOf } from './text-prompt.ts'

/** Triggers the model hooks for one client request, which may ask for several answers. */
export class RequestTaps {
  readonly #hooks: ModelHooks
  readonly #name: string
  #intent: Promise<ChatIntent> | undefined

  /** `name`: model name that clients send. */
  constructor(hooks: ModelHooks, name: string) {
    this.#hooks = hooks
    this.#name = name
  }

  /** Resolves to the conversation as changed by taps. Throws the errors of taps. */
  intent(model: LoadedModel, intent: ChatIntent): Promise<ChatIntent> {
    this.#intent ??= this.#changedIntent(model, intent)
    return this.#intent
  }

  async #changedIntent(model: LoadedModel, intent: ChatIntent): Promise<ChatIntent> {
    const { messages, tools, context = [], templateText } = intent
    // Tokens outside the vocabulary are rejected later, when the prompt is rendered.
    const isKnown = context.length > 0 && context.every(token => token < model.info.vocabularySize)
    const original: ModelRequest = {
      model: this.#name,
      messages,
      ...defined({
        tools: tools?.functions,
        context: isKnown ? model.detokenize(context) : undefined,
        template: templateText
      })
    }
    const changed = await this.#hooks.request(original)
    if (changed === original) return intent
    const { tools: _, context: __, ...rest } = intent
    const tokens =
      changed.context === original.context ? context : model.tokenize(changed.context ?? '', { special: true })
    return {
      ...rest,
      messages: changed.messages,
      ...defined({
        tools: tools && toolsOf(tools, changed.tools),
        context: tokens.length === 0 ? undefined : tokens
      })
    }
  }

  /** Resolves to a text prompt as changed by taps. Throws the errors of taps. */
  async prompt(model: LoadedModel, text: TextPrompt): Promise<TextPrompt> {
    refuseUnknownTokens(model, text.prompt)
    const prompt: ModelPrompt = { text: textOf(model, text.prompt), raw: true, ...defined({ suffix: text.suffix }) }
    const original: ModelRequest = { model: this.#name, messages: [], prompt }
    const changed = (await this.#hooks.request(original)).prompt ?? prompt
    if (changed.text === prompt.text && changed.suffix === prompt.suffix) return text
    return { prompt: changed.text, ...defined({ suffix: changed.suffix }) }
  }

  /** Yields an answer as changed by taps. `onChanged` receives the text of an answer that a tap changed. */
  events(events: AsyncIterable<AnswerEvent>, onChanged: (text: string) => void): AsyncIterable<AnswerEvent> {
    if (this.#hooks === NO_MODEL_HOOKS) return events
    const answer = new TappedAnswer(this.#hooks.holdsAnswers)
    return answer.events(this.#hooks.answer(this.#name, answer.parts(events)), onChanged)
  }
}

function toolsOf(tools: ToolIntent, functions: ToolIntent['functions'] = []): ToolIntent | undefined {
  if (functions === tools.functions) return tools
  if (functions.length === 0) return undefined
  return { ...tools, functions, forced: functions.filter(({ name }) => tools.forced.some(each => each.name === name)) }
}

/** Part of an answer in the form that hooks see, with whole calls. Parts of type `passed` bypass the hooks. */
type Part =
  | Extract<AnswerEvent, { type: 'text' | 'thinking' | 'done' }>
  | { readonly type: 'tool-call'; readonly call: ChatToolCall; readonly made: CalledEvent }
  | { readonly type: 'passed'; readonly event: AnswerEvent }

type CalledEvent = Extract<AnswerEvent, { type: 'called' }>

/** Converts between the events of an answer and the parts that hooks see. */
class TappedAnswer {
  readonly #holds: boolean
  /** Text and thinking as the model wrote them. */
  readonly #written = { text: '', thinking: '' }

  /** `holds`: whether taps may change the answer. */
  constructor(holds: boolean) {
    this.#holds = holds
  }

  /** Joins the pieces of each call. If taps may change the answer, an incomplete call is omitted. */
  async *parts(events: AsyncIterable<AnswerEvent>): AsyncGenerator<Part, void> {
    for await (const event of events) {
      if (event.type === 'text' || event.type === 'thinking') {
        this.#written[event.type] += event.text
        yield event
      } else if (event.type === 'done') yield event
      else {
        if (!this.#holds) yield { type: 'passed', event }
        const call = event.type === 'called' ? wholeCall(event) : undefined
        if (call !== undefined) yield { type: 'tool-call', call, made: event as CalledEvent }
      }
    }
  }

  async *events(parts: AsyncIterable<Part>, onChanged: (text: string) => void): AsyncGenerator<AnswerEvent, void> {
    const sent = { text: '', thinking: '' }
    for await (const part of parts) {
      if (part.type === 'passed') yield part.event
      else if (part.type === 'tool-call') {
        if (this.#holds) yield* callEvents(part)
      } else {
        if (part.type !== 'done') sent[part.type] += part.text
        else if (sent.text !== this.#written.text || sent.thinking !== this.#written.thinking) onChanged(sent.text)
        yield part
      }
    }
  }
}

/** Returns the call, or undefined if it is incomplete or its arguments are not an object. */
function wholeCall({ call: { id, name, arguments: text }, complete }: CalledEvent): ChatToolCall | undefined {
  if (!complete) return undefined
  try {
    const values: unknown = JSON.parse(text)
    const isObject = typeof values === 'object' && values !== null && !Array.isArray(values)
    return isObject ? { id, name, arguments: values as ChatToolCall['arguments'] } : undefined
  } catch {
    return undefined
  }
}

/** Yields the events of a complete call. If no tap changed the call, its arguments stay as the model wrote them. */
function* callEvents({ call, made }: Extract<Part, { type: 'tool-call' }>): Generator<AnswerEvent, void> {
  const { id, name } = call
  const { index } = made.call
  const text = isDeepStrictEqual(call, wholeCall(made)) ? made.call.arguments : JSON.stringify(call.arguments)
  yield { type: 'call', index, id, name, start: 0 }
  yield { type: 'arguments', index, text }
  yield { ...made, call: { index, id, name, arguments: text } }
}

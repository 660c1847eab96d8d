import { defined, type PluginContext } from '@svc/plugin-sdk'
import type { ChatToolCall } from './engine.ts'
import { type ModelRequest, modelAnswer, modelAnswered, modelRequest, modelToolCall } from './hooks.ts'

/** Event of an answer that hooks inspect; events of other types pass unchanged. The last event has the type `done`. */
export interface AnswerPart {
  readonly type: string
  readonly text?: string
  readonly call?: ChatToolCall
}

/**
 * Triggers the hooks of model requests and answers. Each request passes them once in a process: in the model server for
 * requests of its clients, or in the inference client for the requests that it sends.
 */
export interface ModelHooks {
  /** Returns the request as taps changed it. Rethrows the error of a tap. */
  request<R extends ModelRequest>(request: R): Promise<R>
  /** True if taps may change an answer, so that parts of it are buffered. */
  readonly holdsAnswers: boolean
  /**
   * Yields the parts of an answer as taps changed them: `text`, `thinking`, `tool-call` with a complete call, `done`.
   * Text that no tap changed arrives in the same parts.
   */
  answer<E extends AnswerPart>(model: string, parts: AsyncIterable<E>): AsyncIterable<E>
}

/** Hooks that do nothing, for a request that has already passed the hooks, or a program without plugins. */
export const NO_MODEL_HOOKS: ModelHooks = {
  request: async request => request,
  holdsAnswers: false,
  answer: (_model, parts) => parts
}

/** Fields of a request that taps may change. */
const CHANGEABLE = ['messages', 'prompt', 'tools', 'context'] as const

type Context = Pick<PluginContext, 'isTapped' | 'trigger'>

export function modelHooks(ctx: Context): ModelHooks {
  return {
    async request(request) {
      if (!ctx.isTapped(modelRequest)) return request
      const { model, messages, prompt, tools, context, template } = request
      const tapInput: ModelRequest = defined({ model, messages, prompt, tools, context, template })
      const changed = (await ctx.trigger(modelRequest, tapInput)) ?? tapInput
      // A field that a tap removed is removed from the request.
      const fields: Pick<ModelRequest, (typeof CHANGEABLE)[number]> = changed
      return { ...request, ...Object.fromEntries(CHANGEABLE.map(field => [field, fields[field]])) }
    },
    get holdsAnswers() {
      return ctx.isTapped(modelAnswer) || ctx.isTapped(modelToolCall)
    },
    answer(model, parts) {
      const holds = { text: ctx.isTapped(modelAnswer), calls: ctx.isTapped(modelToolCall) }
      return holds.text || holds.calls || ctx.isTapped(modelAnswered) ? tapped(ctx, model, parts, holds) : parts
    }
  }
}

async function* tapped<E extends AnswerPart>(
  ctx: Pick<PluginContext, 'trigger'>,
  model: string,
  parts: AsyncIterable<E>,
  holds: { readonly text: boolean; readonly calls: boolean }
): AsyncGenerator<E, void> {
  let [text, thinking] = ['', '']
  const toolCalls: ChatToolCall[] = []
  let held: E[] = []
  for await (const part of parts) {
    let next = part
    if (part.type === 'done') {
      if (holds.text) {
        const answer = (await ctx.trigger(modelAnswer, { model, text, thinking })) ?? { text, thinking }
        if (answer.text !== text || answer.thinking !== thinking) held = changed(answer, held)
        text = answer.text
        thinking = answer.thinking
        yield* held
      }
      // Errors of taps are logged by the kernel.
      ctx.trigger(modelAnswered, { model, text, thinking, toolCalls }).catch(() => {})
      yield part
      continue
    }
    if (part.type === 'text') text += part.text ?? ''
    else if (part.type === 'thinking') thinking += part.text ?? ''
    else if (part.type === 'tool-call' && part.call !== undefined) {
      if (holds.calls) {
        const { call } = (await ctx.trigger(modelToolCall, { model, call: part.call })) ?? { call: part.call }
        next = { ...part, call }
      }
      toolCalls.push(next.call as ChatToolCall)
    }
    if (holds.text) held.push(next)
    else yield next
  }
}

/** Returns the parts of an answer with the changed text. Token details, such as probabilities, are dropped. */
function changed<E extends AnswerPart>(answer: { text: string; thinking: string }, held: readonly E[]): E[] {
  const written = (['thinking', 'text'] as const).flatMap(type => {
    return answer[type] === '' ? [] : [{ type, text: answer[type] } as unknown as E]
  })
  return [...written, ...held.filter(({ type }) => type !== 'text' && type !== 'thinking')]
}

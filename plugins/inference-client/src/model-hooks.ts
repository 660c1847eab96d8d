import {
  type InferenceChatEvent,
  type InferenceChatRequest,
  modelAnswer,
  modelRequest,
  modelToolCall
} from '@svc/contracts'
import { defined, type PluginContext } from '@svc/plugin-sdk'

type Asked = Omit<InferenceChatRequest, 'model'> & { readonly model: string }

/** Hooks of a chat: what taps change takes the place of what was said. */
export interface ModelHooks {
  request<R extends Asked>(request: R): Promise<R>
  /** Yields the events of a chat, with what the taps made of them. */
  answer(model: string, events: AsyncIterable<InferenceChatEvent>): AsyncIterable<InferenceChatEvent>
}

/** Changes nothing: for a client without a context. */
export const NO_HOOKS: ModelHooks = { request: async request => request, answer: (_model, events) => events }

export function modelHooks(ctx: Pick<PluginContext, 'isTapped' | 'trigger'>): ModelHooks {
  return {
    async request(request) {
      if (!ctx.isTapped(modelRequest)) return request
      const { model, messages, prompt, tools } = request
      const changed = await ctx.trigger(modelRequest, defined({ model, messages, prompt, tools }))
      return { ...request, ...changed, model }
    },
    answer(model, events) {
      const answer = ctx.isTapped(modelAnswer)
      return answer || ctx.isTapped(modelToolCall) ? tapped(ctx, model, events, answer) : events
    }
  }
}

async function* tapped(
  ctx: Pick<PluginContext, 'trigger'>,
  model: string,
  events: AsyncIterable<InferenceChatEvent>,
  whole: boolean
): AsyncGenerator<InferenceChatEvent, void> {
  let [text, thinking] = ['', '']
  const calls: InferenceChatEvent[] = []
  for await (const event of events) {
    if (event.type === 'tool-call') {
      const { call } = (await ctx.trigger(modelToolCall, { model, call: event.call })) ?? event
      if (whole) calls.push({ ...event, call })
      else yield { ...event, call }
    } else if (!whole) yield event
    else if (event.type === 'text') text += event.text
    else if (event.type === 'thinking') thinking += event.text
    else {
      const answer = (await ctx.trigger(modelAnswer, { model, text, thinking })) ?? { text, thinking }
      if (answer.thinking !== '') yield { type: 'thinking', text: answer.thinking }
      if (answer.text !== '') yield { type: 'text', text: answer.text }
      yield* calls
      yield event
    }
  }
}

import { hook, t } from '@svc/plugin-sdk'
import type { InferencePrompt } from './client.ts'
import type { ChatTool, ChatToolCall } from './engine.ts'
import type { InferenceMessage } from './images.ts'

/** A request to a model, before it is sent. */
export interface ModelRequest {
  readonly model: string
  readonly messages: readonly InferenceMessage[]
  readonly prompt?: ModelPrompt
  readonly tools?: readonly ChatTool[]
  readonly context?: string
  readonly template?: string
}

/** Prompt text in place of messages. `suffix`: the text after the gap that the model fills. */
export interface ModelPrompt extends InferencePrompt {
  readonly suffix?: string
}

const more = { additionalProperties: true } as const
const toolCall = t.object({ id: t.string(), name: t.string(), arguments: t.record(t.unknown()) }, more)

/** Triggered before a request is sent to a model. A tap may return changed messages, prompt, tools or context. */
export const modelRequest = hook<[ModelRequest], ModelRequest>('inference.request', 'waterfall', {
  summary: 'Before a request is sent to a model. A tap may redact it, or reject it by throwing.',
  payload: {
    model: 'name of the model; a changed name is ignored',
    messages: 'messages of the conversation, with their images',
    prompt: 'prompt text in place of the messages',
    tools: 'functions that the model may call',
    context: 'text of earlier turns that the client sent as tokens',
    template: 'chat template of the request; a changed template is ignored'
  },
  schema: t.object(
    {
      messages: t.array(
        t.object(
          {
            role: t.enum(['system', 'user', 'assistant', 'tool']),
            content: t.string(),
            thinking: t.optional(t.string()),
            toolCalls: t.optional(t.array(toolCall))
          },
          more
        )
      ),
      prompt: t.optional(
        t.object(
          { text: t.string(), raw: t.boolean(), system: t.optional(t.string()), suffix: t.optional(t.string()) },
          more
        )
      ),
      tools: t.optional(t.array(t.object({ name: t.string(), parameters: t.record(t.unknown()) }, more))),
      context: t.optional(t.string())
    },
    more
  )
})

/** The whole answer of a model. */
export interface ModelAnswer {
  readonly model: string
  readonly text: string
  readonly thinking: string
}

/**
 * While it is tapped, answers are not streamed: taps see the whole text. To only observe, tap {@link modelAnswered}.
 */
export const modelAnswer = hook<[ModelAnswer], ModelAnswer>('inference.answer', 'waterfall', {
  summary:
    'After a model answered. A tap may redact the answer, or reject it by throwing. A stream is held back until then.',
  payload: { model: 'name of the model', text: 'text of the answer', thinking: 'reasoning of the model; often empty' },
  schema: t.object({ text: t.string(), thinking: t.string() }, more)
})

export interface ModelToolCall {
  readonly model: string
  readonly call: ChatToolCall
}

/**
 * Triggered before the caller receives the model's tool call, and so before the tool runs. While it is tapped, calls
 * are held back until they are complete; incomplete calls are dropped.
 */
export const modelToolCall = hook<[ModelToolCall], ModelToolCall>('inference.tool-call', 'waterfall', {
  summary: 'Before a tool call of a model reaches the caller, who runs the tool. A tap may redact or reject it.',
  payload: { model: 'name of the model', call: 'id, name and arguments of the call' },
  schema: t.object({ call: toolCall }, more)
})

/** An answer as the caller received it. */
export interface ModelAnswered extends ModelAnswer {
  readonly toolCalls: readonly ChatToolCall[]
}

/** Triggered after an answer was delivered. Does not buffer streams. */
export const modelAnswered = hook<[ModelAnswered]>('inference.answered', 'parallel', {
  onError: 'skip',
  summary: "After the caller received a model's answer. A stream is not held back.",
  payload: {
    model: 'name of the model',
    text: 'text of the answer, as redacted',
    thinking: 'reasoning of the model; often empty',
    toolCalls: 'complete tool calls, as redacted'
  }
})

import { hook } from '@svc/plugin-sdk'
import type { InferencePrompt } from './client.ts'
import type { ChatMessage, ChatTool, ChatToolCall } from './engine.ts'

/** A request to a model, before it is sent. */
export interface ModelRequest {
  readonly model: string
  readonly messages: readonly ChatMessage[]
  readonly prompt?: ModelPrompt
  readonly tools?: readonly ChatTool[]
  readonly context?: string
  readonly template?: string
}

/** A text in place of messages. `suffix`: the text after the gap that the model fills. */
export interface ModelPrompt extends InferencePrompt {
  readonly suffix?: string
}

/** Before a request is sent to a model. A tap may return a request with other messages, prompt, tools or context. */
export const modelRequest = hook<[ModelRequest], ModelRequest>('inference.request', 'waterfall', {
  summary: 'Before a request is sent to a model. A tap may redact it, or refuse it by a throw.',
  payload: {
    model: 'name of the model; a changed name is ignored',
    messages: 'messages of the conversation',
    prompt: 'text in place of the messages',
    tools: 'functions that the model may call',
    context: 'text of earlier turns that the client sent as tokens',
    template: 'chat template of the request; a changed template is ignored'
  }
})

/** The whole answer of a model. */
export interface ModelAnswer {
  readonly model: string
  readonly text: string
  readonly thinking: string
}

/** While it is tapped, answers are not streamed: a tap sees the whole text. To watch only, tap {@link modelAnswered}. */
export const modelAnswer = hook<[ModelAnswer], ModelAnswer>('inference.answer', 'waterfall', {
  summary:
    'After a model answered. A tap may redact the answer, or refuse it by a throw. A stream is held back until then.',
  payload: { model: 'name of the model', text: 'text of the answer', thinking: 'reasoning of the model; often empty' }
})

export interface ModelToolCall {
  readonly model: string
  readonly call: ChatToolCall
}

/**
 * Before the caller of a model receives a tool call of it, and so before the tool runs. While it is tapped, a call is
 * held back until it is complete, and an incomplete call is left out.
 */
export const modelToolCall = hook<[ModelToolCall], ModelToolCall>('inference.tool-call', 'waterfall', {
  summary: 'Before a tool call of a model is handed to the caller, who runs the tool. A tap may redact or refuse it.',
  payload: { model: 'name of the model', call: 'id, name and arguments of the call' }
})

/** An answer as its caller received it. */
export interface ModelAnswered extends ModelAnswer {
  readonly toolCalls: readonly ChatToolCall[]
}

/** Buffers nothing: a stream continues as without a tap. */
export const modelAnswered = hook<[ModelAnswered]>('inference.answered', 'parallel', {
  onError: 'skip',
  summary: 'After the caller received the answer of a model. A stream is not held back.',
  payload: {
    model: 'name of the model',
    text: 'text of the answer, as redacted',
    thinking: 'reasoning of the model; often empty',
    toolCalls: 'complete tool calls, as redacted'
  }
})

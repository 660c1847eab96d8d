import { hook } from '@svc/plugin-sdk'
import type { InferenceChatRequest } from './client.ts'
import type { ChatMessage, ChatTool, ChatToolCall } from './engine.ts'

/** A request to a model, before it is sent. */
export interface ModelRequest {
  readonly model: string
  readonly messages: readonly ChatMessage[]
  readonly prompt?: InferenceChatRequest['prompt']
  readonly tools?: readonly ChatTool[]
}

/** Before a request is sent to a model. A tap may return a request with other messages, prompt or tools. */
export const modelRequest = hook<[ModelRequest], ModelRequest>('inference.request', 'waterfall', {
  summary: 'Before a request is sent to a model. A tap may redact it, or refuse it by a throw.',
  payload: {
    model: 'name of the model; a changed name is ignored',
    messages: 'messages of the conversation',
    prompt: 'text in place of the messages',
    tools: 'functions that the model may call'
  }
})

/** The whole answer of a model. */
export interface ModelAnswer {
  readonly model: string
  readonly text: string
  readonly thinking: string
}

/** After a model answered. While it is tapped, answers are not streamed: a tap sees the whole text. */
export const modelAnswer = hook<[ModelAnswer], ModelAnswer>('inference.answer', 'waterfall', {
  summary:
    'After a model answered. A tap may redact the answer, or refuse it by a throw. Answers then arrive as a whole.',
  payload: { model: 'name of the model', text: 'text of the answer', thinking: 'reasoning of the model; often empty' }
})

export interface ModelToolCall {
  readonly model: string
  readonly call: ChatToolCall
}

/** Before the caller of a model receives a tool call of it, and so before the tool runs. */
export const modelToolCall = hook<[ModelToolCall], ModelToolCall>('inference.tool-call', 'waterfall', {
  summary: 'Before a tool call of a model is handed to the caller, who runs the tool. A tap may redact or refuse it.',
  payload: { model: 'name of the model', call: 'id, name and arguments of the call' }
})

import type { InferenceChatRequest, InferenceClient } from '@svc/contracts'

export interface ModelAnswer {
  readonly text: string
  readonly model: string
  readonly promptTokens: number
  readonly completionTokens: number
  readonly milliseconds: number
  readonly finishReason: 'stop' | 'length' | 'tool-calls'
}

/** Returns the model's complete answer; reports each piece as it arrives. Throws the errors of the client. */
export async function askModel(
  client: InferenceClient,
  request: InferenceChatRequest,
  onText: (text: string) => void
): Promise<ModelAnswer> {
  const began = performance.now()
  let text = ''
  for await (const event of client.chat(request)) {
    if (event.type === 'text') {
      text += event.text
      onText(event.text)
    }
    if (event.type === 'done') {
      const { model, finishReason, usage } = event
      const milliseconds = performance.now() - began
      const { promptTokens, completionTokens } = usage
      return { text, model, promptTokens, completionTokens, milliseconds, finishReason }
    }
  }
  throw new Error('the model client ended without reporting the end of the answer')
}

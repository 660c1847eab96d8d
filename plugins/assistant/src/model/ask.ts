import type { InferenceChatRequest, InferenceClient } from '@svc/contracts'

export interface ModelAnswer {
  readonly text: string
  readonly model: string
  readonly promptTokens: number
  readonly completionTokens: number
  readonly milliseconds: number
  readonly finishReason: 'stop' | 'length' | 'tool-calls'
  /** Hosted provider; null for the configured server. */
  readonly provider: string | null
  /** US dollars; 0 if no price is known. */
  readonly costUsd: number
}

/**
 * Returns the model's complete answer, which the caller charges; reports each piece as it arrives. Throws the errors of
 * the client.
 */
export async function askModel(
  client: InferenceClient,
  request: InferenceChatRequest,
  onText: (text: string) => void
): Promise<ModelAnswer> {
  const began = performance.now()
  let text = ''
  for await (const event of client.chat({ ...request, purpose: { ...request.purpose, charged: true } })) {
    if (event.type === 'text') {
      text += event.text
      onText(event.text)
    }
    if (event.type === 'done') {
      const { model, finishReason, usage, provider = null, costUsd = 0 } = event
      const milliseconds = performance.now() - began
      const { promptTokens, completionTokens } = usage
      return { text, model, promptTokens, completionTokens, milliseconds, finishReason, provider, costUsd }
    }
  }
  throw new Error('the model client ended without reporting the end of the answer')
}

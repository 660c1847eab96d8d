import type { InferenceClient } from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'

/** Maximum tokens of a prompt and its answer; null if the server does not report it, or has not loaded the model. */
export async function contextLength(client: InferenceClient, signal: AbortSignal): Promise<number | null> {
  try {
    const { model } = client
    const running = await client.running(signal)
    return running.find(({ name }) => name === model || name === `${model}:latest`)?.contextLength ?? null
  } catch (error) {
    signal.throwIfAborted()
    // The model call itself reports why the server does not answer.
    if (isSvcError(error)) return null
    throw error
  }
}

/** Assumed bytes per token, a low estimate. */
const BYTES_PER_TOKEN = 3

/** At most `most` bytes, limited to a share of the context. */
export function bytesWithin(context: number | null, share: number, most: number): number {
  return context === null ? most : Math.min(most, Math.floor(context * share * BYTES_PER_TOKEN))
}

import type { InferenceClient } from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'

/** Returns the context length in tokens; null if the server does not report it, or has not loaded the model. */
export async function contextLength(client: InferenceClient, signal: AbortSignal): Promise<number | null> {
  try {
    const { model } = client
    const running = await client.running(signal)
    return running.find(({ name }) => name === model || name === `${model}:latest`)?.contextLength ?? null
  } catch (error) {
    signal.throwIfAborted()
    // The model call itself will report why the server does not respond.
    if (isSvcError(error)) return null
    throw error
  }
}

/** Assumed bytes per token, a low estimate. */
const BYTES_PER_TOKEN = 3

/** Returns `maxBytes`, or less if a share of the context is smaller. */
export function bytesWithin(context: number | null, share: number, maxBytes: number): number {
  return context === null ? maxBytes : Math.min(maxBytes, Math.floor(context * share * BYTES_PER_TOKEN))
}

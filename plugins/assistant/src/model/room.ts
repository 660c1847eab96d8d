import type { InferenceClient } from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'

/** Tokens that a prompt and its answer may have together; null where the server does not tell, or has not loaded the model. */
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

/** Bytes of text that are taken to be a token, rather too few than too many. */
const BYTES_PER_TOKEN = 3

/** At most `most` bytes, and so many as a share of the context holds. */
export function bytesWithin(context: number | null, share: number, most: number): number {
  return context === null ? most : Math.min(most, Math.floor(context * share * BYTES_PER_TOKEN))
}

import type { Settings } from '../settings.ts'
import type { Hubs } from './plan.ts'

/** Limits of a download. A connection without data is replaced after a minute. */
export const PULL_LIMITS = { attempts: 6, delayMs: 1_000, stallMs: 60_000 } as const

const HUGGING_FACE_HOST = 'huggingface.co'

/**
 * Returns the servers to pull from. The token of the environment belongs to Hugging Face itself, so a mirror does not
 * get it.
 */
export function hubsOf(
  settings: Pick<Settings, 'huggingface_url' | 'huggingface_token' | 'ollama_registry_url'>,
  environment: Readonly<Record<string, string | undefined>> = process.env
): Hubs {
  const huggingFace = new URL(settings.huggingface_url)
  const own = huggingFace.protocol === 'https:' && huggingFace.host === HUGGING_FACE_HOST
  const fromEnvironment = own ? environment.HF_TOKEN || undefined : undefined
  return {
    huggingFace,
    huggingFaceToken: settings.huggingface_token ?? fromEnvironment,
    ollama: new URL(settings.ollama_registry_url)
  }
}

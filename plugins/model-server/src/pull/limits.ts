import { isLoopback } from '@svc/contracts'
import { errors } from '../errors.ts'
import type { Settings } from '../settings.ts'
import type { Hubs } from './plan.ts'

/** Limits of a download. A connection without data is replaced after a minute. */
export const PULL_LIMITS = { attempts: 6, delayMs: 1_000, stallMs: 60_000 } as const

const HUGGING_FACE_HOST = 'huggingface.co'

/**
 * Returns the servers to pull from. The token of the environment belongs to Hugging Face itself, so a mirror does not
 * get it. Throws `MSV_PULL_NAME` if the token of the settings would be sent without encryption to another machine.
 */
export function hubsOf(
  settings: Pick<Settings, 'huggingface_url' | 'huggingface_token' | 'ollama_registry_url'>,
  environment: Readonly<Record<string, string | undefined>> = process.env
): Hubs {
  const huggingFace = new URL(settings.huggingface_url)
  const own = huggingFace.protocol === 'https:' && huggingFace.host === HUGGING_FACE_HOST
  const { huggingface_token: token } = settings
  if (token !== undefined && huggingFace.protocol !== 'https:' && !isLoopback(huggingFace.hostname))
    throw errors.create(
      'MSV_PULL_NAME',
      'plugins.model-server.huggingface_url must begin with https://, since a token is sent to it',
      { hint: 'Change the URL, or remove plugins.model-server.huggingface_token.' }
    )
  const fromEnvironment = own ? environment.HF_TOKEN || undefined : undefined
  return {
    huggingFace,
    huggingFaceToken: token ?? fromEnvironment,
    ollama: new URL(settings.ollama_registry_url)
  }
}

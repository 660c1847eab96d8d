import type { FilledChatRequest, InferenceChatEvent, LocalLane } from '@svc/contracts'
import type { ProviderAccess } from './provider-access.ts'
import { HOSTED, type HostedName } from './provider-list.ts'
import type { ModelEntry } from './registry/entry.ts'
import type { Settings } from './settings.ts'
import { chatWithAnthropic } from './wires/anthropic.ts'
import { withoutFences } from './wires/fences.ts'
import type { GeminiWire } from './wires/gemini.ts'
import { openRouterHeaders } from './wires/openrouter-headers.ts'
import { timed } from './wires/timed.ts'

export interface HostedParts {
  readonly settings: Settings
  readonly access: ProviderAccess
  readonly local: LocalLane
  readonly gemini: GeminiWire
}

/**
 * Sends a request, as the taps changed it, to a hosted provider. Throws `ICL_ADDRESS_INVALID`, `WireFailure` and the
 * errors of `fetch`.
 */
export async function* chatHosted(
  entry: ModelEntry & { readonly provider: HostedName },
  request: FilledChatRequest,
  parts: HostedParts
): AsyncGenerator<InferenceChatEvent, void> {
  const { settings, local } = parts
  const { signal } = request
  const controller = new AbortController()
  const abort = (): void => controller.abort(signal?.reason)
  if (signal?.aborted) abort()
  signal?.addEventListener('abort', abort)
  const filled = withMessages(request)
  try {
    const limits = { firstMs: settings.first_token_timeout_ms, idleMs: settings.idle_timeout_ms }
    const events = timed(stop => send(entry, filled, stop, parts), limits, controller)
    const plain = filled.format === undefined ? events : withoutFences(events)
    yield* local.hooks.answer(entry.id, plain)
  } finally {
    // If the consumer stops reading, the provider must stop generating.
    controller.abort()
    signal?.removeEventListener('abort', abort)
  }
}

function send(
  entry: ModelEntry & { readonly provider: HostedName },
  request: FilledChatRequest,
  signal: AbortSignal,
  { settings, access, local, gemini }: HostedParts
): AsyncIterable<InferenceChatEvent> {
  const { provider, id } = entry
  const { wire, fields } = HOSTED[provider]
  const url = access.url({ ...entry, provider })
  const apiKey = access.key(provider)
  if (wire === 'anthropic') return chatWithAnthropic({ url, apiKey: apiKey ?? '' }, request, signal)
  if (wire === 'gemini') return gemini.chat({ url, apiKey: apiKey ?? '' }, request, signal)
  const isOpenRouter = provider === 'openrouter'
  const target = {
    chatUrl: url,
    apiKey,
    ...(fields === undefined ? {} : { fields }),
    // OpenRouter reports the price of the answer only on request.
    ...(isOpenRouter ? { headers: openRouterHeaders(settings, id), body: { usage: { include: true } } } : {})
  }
  return local.openAi(target, request, signal)
}

/** Hosted providers have no text completion: a prompt becomes messages. */
function withMessages({ prompt, ...request }: FilledChatRequest): FilledChatRequest {
  if (prompt === undefined) return request
  const { text, system } = prompt
  const user = { role: 'user', content: text } as const
  const messages = system === undefined ? [user] : [{ role: 'system', content: system } as const, user]
  return { ...request, messages }
}

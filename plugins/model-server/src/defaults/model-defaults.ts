import type { ChatMessage, LoadedModel } from '@svc/contracts'
import type { ChatIntent } from '../chat-plan.ts'
import type { CompletionRequest } from '../completions.ts'
import type { RequestTemplate } from '../conversation.ts'

/** Options of a request that a model may set. */
export type DefaultOptions = Pick<CompletionRequest, 'sampling' | 'maxTokens' | 'contextLimit' | 'stop'>

/** Defaults of requests that do not set these: from a model of the Ollama registry, or from `/api/create`. */
export interface ModelDefaults {
  /** Absent: the template of the model's files. */
  readonly template?: RequestTemplate
  readonly system: string
  /** Messages before those of each conversation. */
  readonly messages: readonly ChatMessage[]
  readonly options: DefaultOptions
  /** The options as they were written. */
  readonly parameters: Readonly<Record<string, unknown>>
  readonly licenses: readonly string[]
  /** Parts that come with the model and are not used, each with the reason. */
  readonly notes: readonly string[]
}

export const NO_DEFAULTS: ModelDefaults = {
  system: '',
  messages: [],
  options: { sampling: {} },
  parameters: {},
  licenses: [],
  notes: []
}

/** Returns a request with the defaults that it does not set. */
export function withDefaultOptions<A extends DefaultOptions>(request: A, { options }: ModelDefaults): A {
  if (options === NO_DEFAULTS.options) return request
  return { ...options, ...request, sampling: { ...options.sampling, ...request.sampling } }
}

/** Returns a conversation with the template, the messages and the system message that it does not set. */
export function withDefaultMessages(intent: ChatIntent, { template, system, messages }: ModelDefaults): ChatIntent {
  // A continued conversation has them already.
  const isBegun = (intent.context ?? []).length > 0
  const all = isBegun ? intent.messages : [...messages, ...intent.messages]
  const needsSystem = !isBegun && system !== '' && all[0]?.role !== 'system'
  return {
    ...intent,
    messages: needsSystem ? [{ role: 'system', content: system }, ...all] : all,
    ...(template === undefined || intent.template !== undefined ? {} : { template })
  }
}

/** Returns what a model can do with its own template or that of its defaults. */
export function chatCapabilitiesOf(
  { chatCapabilities }: Pick<LoadedModel, 'chatCapabilities'>,
  { template }: ModelDefaults
): LoadedModel['chatCapabilities'] {
  return typeof template === 'object' ? { tools: template.hasTools, thinking: template.hasThinking } : chatCapabilities
}

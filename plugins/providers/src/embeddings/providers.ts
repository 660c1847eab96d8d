import {
  inferenceErrors,
  isWireFailure,
  type LocalLane,
  type RemoteEmbedder,
  type RemoteEmbeddings
} from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
import { connectFailure, explain } from '../explain.ts'
import type { Planner } from '../planner.ts'
import type { ProviderAccess } from '../provider-access.ts'
import { profileOf, type Settings, usesLocalServers } from '../settings.ts'
import type { UsageLedger } from '../usage/ledger.ts'
import { openRouterHeaders } from '../wires/openrouter-headers.ts'
import { RemoteModelEmbedder } from './remote-model.ts'
import type { EmbeddingAnswer, EmbeddingTarget } from './request.ts'

/** Providers of embeddings in the order in which they are tried, with their default models. */
const HOSTED_MODELS = {
  huggingface: 'sentence-transformers/all-MiniLM-L6-v2',
  openai: 'text-embedding-3-small',
  openrouter: 'openai/text-embedding-3-small'
} as const
type EmbeddingProvider = keyof typeof HOSTED_MODELS

/** The same model as the default of Hugging Face, by its name in Ollama. */
const LOCAL_MODEL = 'all-minilm'
/** US dollars of a million tokens, for providers that report no cost. */
const USD_PER_MILLION: Readonly<Record<string, number>> = {
  'text-embedding-3-small': 0.02,
  'text-embedding-3-large': 0.13
}
const CHAT_PATH = /\/chat\/completions\/?$/

export interface ProviderEmbeddingsParts {
  readonly settings: () => Settings
  readonly planner: Pick<Planner, 'access'>
  readonly ledger: Pick<UsageLedger, 'record'>
  /** Undefined while the inference client is disabled. */
  readonly local: () => LocalLane | undefined
}

/** Embedding models of hosted providers and of the local model server. */
export class ProviderEmbeddings implements RemoteEmbeddings {
  readonly #parts: ProviderEmbeddingsParts

  constructor(parts: ProviderEmbeddingsParts) {
    this.#parts = parts
  }

  async open(signal?: AbortSignal): Promise<RemoteEmbedder | null> {
    const settings = this.#parts.settings()
    const access = await this.#parts.planner.access(signal)
    const names = Object.keys(HOSTED_MODELS) as EmbeddingProvider[]
    const provider = names.find(name => access.hasKey(name) && access.isAllowed(name))
    if (provider !== undefined) return this.#hosted(provider, settings, access)
    const local = this.#parts.local()
    const isAllowed = usesLocalServers(profileOf(settings)) && access.isAllowed('ollama')
    return isAllowed && local !== undefined ? this.#local(local, settings, signal) : null
  }

  #hosted(provider: EmbeddingProvider, settings: Settings, access: ProviderAccess): RemoteEmbedder {
    const model = settings.embedding_model ?? HOSTED_MODELS[provider]
    const apiKey = access.key(provider)
    const chatUrl = access.url({ provider, url: null })
    const target: EmbeddingTarget = {
      format: provider === 'huggingface' ? 'huggingface' : 'openai',
      url: provider === 'huggingface' ? featuresUrl(chatUrl, model) : embeddingsUrl(chatUrl, provider),
      headers: {
        authorization: `Bearer ${apiKey}`,
        ...(provider === 'openrouter' ? openRouterHeaders(settings, model) : {})
      },
      model
    }
    const coolDownMs = settings.cool_down_ms
    return new RemoteModelEmbedder({
      provider,
      target,
      timeoutMs: settings.first_token_timeout_ms,
      explain: error => explain(error, { provider, model, apiKey, began: false, coolDownMs }).error,
      answered: answer => this.#count(provider, model, answer)
    })
  }

  /** Returns the model of the local server; null if the server does not compute embeddings with it. */
  async #local(local: LocalLane, settings: Settings, signal?: AbortSignal): Promise<RemoteEmbedder | null> {
    const model = settings.embedding_model ?? LOCAL_MODEL
    try {
      const { url, api, headers } = await local.connection(signal)
      const target: EmbeddingTarget = {
        format: api,
        url: api === 'ollama' ? `${url}/api/embed` : `${url}/v1/embeddings`,
        headers,
        model
      }
      const embedder = new RemoteModelEmbedder({
        provider: 'local',
        target,
        timeoutMs: settings.first_token_timeout_ms,
        explain: error => explainLocal(error, url, model),
        answered: () => undefined
      })
      // Lists of models do not tell which of them compute embeddings.
      await embedder.embed(['probe'], signal === undefined ? {} : { signal })
      return embedder
    } catch (error) {
      signal?.throwIfAborted()
      if (isSvcError(error) && error.code.startsWith('ICL_')) return null
      throw error
    }
  }

  #count(provider: EmbeddingProvider, id: string, { tokens, costUsd }: EmbeddingAnswer): void {
    const price = USD_PER_MILLION[id.replace(/^openai\//, '')] ?? 0
    this.#parts.ledger.record({
      entry: { provider, id },
      category: 'embedding',
      agent: null,
      inputTokens: tokens,
      outputTokens: 0,
      estimatedUsd: (tokens * price) / 1e6,
      reportedUsd: costUsd,
      requestId: null
    })
  }
}

/** Returns the URL next to that of the chat. */
function embeddingsUrl(chatUrl: string, provider: EmbeddingProvider): string {
  if (CHAT_PATH.test(chatUrl)) return chatUrl.replace(CHAT_PATH, '/embeddings')
  const path = `plugins.providers.${provider}_url`
  throw inferenceErrors.create('ICL_ADDRESS_INVALID', `${path} does not end with /chat/completions`, {
    at: { path },
    hint: 'write the complete URL of the chat: that of embeddings is next to it'
  })
}

function featuresUrl(chatUrl: string, model: string): string {
  const path = model.split('/').map(encodeURIComponent).join('/')
  return new URL(`/hf-inference/models/${path}/pipeline/feature-extraction`, chatUrl).href
}

function explainLocal(error: unknown, url: string, model: string): unknown {
  if (isSvcError(error)) return error
  if (!isWireFailure(error)) {
    const reason = connectFailure(error)
    return inferenceErrors.create('ICL_UNREACHABLE', `the model server at ${url} is not reachable: ${reason}`)
  }
  const { status, message, retryAfterMs } = error
  const text = `the model server at ${url} cannot embed with the model "${model}" (${status}): ${message}`
  if (status === 401 || status === 403) return inferenceErrors.create('ICL_UNAUTHORIZED', text)
  if (status === 404) return inferenceErrors.create('ICL_MODEL_UNKNOWN', text, { data: { model } })
  if (status === 429 || status === 503) return inferenceErrors.create('ICL_BUSY', text, { data: { retryAfterMs } })
  return inferenceErrors.create('ICL_REFUSED', text, { data: { status } })
}

import { parseJsonBody } from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
import { type Body, chatPrompt, embeddingPrompt, textPrompt } from './canonical-prompt.ts'
import { routerErrors } from './errors.ts'
import { plainName } from './model-name.ts'
import type { PlacementRequest } from './placement.ts'
import { promptBlocks } from './prompt-blocks.ts'

/** A route whose requests are sent to a model server. */
export interface RoutedPath {
  readonly path: string
  readonly summary: string
  /** `show` only reads the description of a model. */
  readonly kind: 'chat' | 'text' | 'embedding' | 'show'
  readonly api: 'openai' | 'ollama'
}

export const ROUTED_PATHS: readonly RoutedPath[] = [
  { path: '/v1/chat/completions', summary: 'Chat in the OpenAI format', kind: 'chat', api: 'openai' },
  { path: '/v1/completions', summary: 'Completion in the OpenAI format', kind: 'text', api: 'openai' },
  { path: '/v1/embeddings', summary: 'Embeddings in the OpenAI format', kind: 'embedding', api: 'openai' },
  { path: '/api/chat', summary: 'Chat in the Ollama format', kind: 'chat', api: 'ollama' },
  { path: '/api/generate', summary: 'Completion in the Ollama format', kind: 'text', api: 'ollama' },
  { path: '/api/embed', summary: 'Embeddings in the Ollama format', kind: 'embedding', api: 'ollama' },
  { path: '/api/embeddings', summary: 'Embedding in the older Ollama format', kind: 'embedding', api: 'ollama' },
  { path: '/api/show', summary: 'Details of a model in the Ollama format', kind: 'show', api: 'ollama' }
]

/** A request that was read and not yet placed. */
export interface RoutedRequest extends PlacementRequest {
  readonly path: string
  /** The unchanged body. */
  readonly body: Buffer
  /** True if the answer is sent in pieces, so that its first byte is its first token. */
  readonly isStream: boolean
  /** True for a request whose answer a model generates. */
  readonly isGeneration: boolean
}

/** Reads the model, the prompt and the kind of answer from a body. Throws `IRT_REQUEST_INVALID`. */
export function readRequest({ path, kind, api }: RoutedPath, bytes: Buffer): RoutedRequest {
  const body = parse(bytes)
  const named = kind === 'show' ? (body.model ?? body.name) : body.model
  if (typeof named !== 'string' || named === '') {
    throw routerErrors.create('IRT_REQUEST_INVALID', "'model' must be the name of a model", {
      data: { param: 'model' },
      hint: 'GET /v1/models lists the models'
    })
  }
  const model = plainName(named)
  const isGeneration = kind === 'chat' || kind === 'text'
  const hashed = promptBlocks(model, PROMPTS[kind](body))
  return {
    path,
    body: bytes,
    model,
    needsOllamaRoutes: api === 'ollama',
    // Only generations leave their prompt in the cache of a server.
    prompt: isGeneration ? hashed : { ...hashed, blocks: [], bytes: 0 },
    isStream: isGeneration && (api === 'ollama' ? body.stream !== false : body.stream === true),
    isGeneration
  }
}

const PROMPTS: Readonly<Record<RoutedPath['kind'], (body: Body) => string>> = {
  chat: chatPrompt,
  text: textPrompt,
  embedding: embeddingPrompt,
  show: () => ''
}

function parse(bytes: Buffer): Body {
  let value: unknown
  try {
    value = parseJsonBody(bytes)
  } catch (error) {
    throw isSvcError(error) ? routerErrors.create('IRT_REQUEST_INVALID', error.message, { cause: error }) : error
  }
  if (value === undefined) throw routerErrors.create('IRT_REQUEST_INVALID', 'missing request body')
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Body
  throw routerErrors.create('IRT_REQUEST_INVALID', 'the request body must be a JSON object')
}

import type { Vectors } from '@svc/contracts'
import { defined, defineOperation, type Handler, type Infer, t } from '@svc/plugin-sdk'
import { readModelFiles } from '../catalogue/model-files.ts'
import { errors } from '../errors.ts'
import { MODELS_TOPIC } from '../statistics-operation.ts'
import { vectorAt } from './reply.ts'
import type { ServedEmbedder } from './served.ts'

/** Maximum texts of a comparison. */
const MAX_TEXTS = 64
const TIMEOUT_MS = 600_000

const {
  MSV_BUSY,
  MSV_CONTEXT_EXCEEDED,
  MSV_EMBEDDINGS,
  MSV_MODEL_FAILED,
  MSV_REQUEST_INVALID,
  MSV_STOPPED,
  MSV_TIMEOUT
} = errors.specs

const embedderSummary = t.object({
  name: t.string({ description: 'Name of the model that clients send.' }),
  kind: t.enum(['embedding', 'reranker']),
  status: t.enum(['idle', 'loading', 'ready', 'unloaded', 'failed']),
  detail: t.string({ description: 'State of the model in one sentence.' }),
  directory: t.string({ description: 'Folder of the model.' }),
  family: t.optional(t.string()),
  dimensions: t.optional(t.integer({ description: 'Numbers of a vector.' })),
  context: t.optional(t.integer({ description: 'Maximum tokens of a text.' })),
  parameters: t.optional(t.integer({ description: 'Number of weights.' })),
  device: t.optional(t.string()),
  size_bytes: t.optional(t.integer({ description: 'Size of the weights in their files.' })),
  requests: t.integer({ description: 'Requests since the process started.' }),
  problem: t.optional(t.string({ description: 'Why the files cannot be read.' }))
})

export const modelEmbedders = defineOperation({
  id: 'model.embedders',
  summary: 'Show the embedding model and the reranker',
  description: 'Family, dimensions and context are known after the first load.',
  input: t.object({}),
  output: t.object({ models: t.array(embedderSummary) }),
  effect: 'read',
  watch: { on: [MODELS_TOPIC] },
  expose: {
    http: { method: 'GET', path: '/api/models/embedders' },
    rpc: true,
    cli: {
      command: 'model embedders',
      view: { rows: 'models', columns: ['name', 'kind', 'status', 'family', 'dimensions', 'context', 'size_bytes'] }
    }
  }
})

export const modelSimilarity = defineOperation({
  id: 'model.similarity',
  summary: 'Compare texts with a query by their meaning',
  description: 'Uses the embedding model and the reranker, whichever is configured. The most similar text comes first.',
  input: t.object({
    query: t.string({ minLength: 1, description: 'Text to compare with.' }),
    texts: t.array(t.string({ minLength: 1 }), { minItems: 1, maxItems: MAX_TEXTS, description: 'Texts to compare.' })
  }),
  output: t.object({
    results: t.array(
      t.object({
        text: t.string(),
        similarity: t.optional(t.number({ description: 'Cosine of the vectors, -1 to 1.' })),
        relevance: t.optional(t.number({ description: 'Score of the reranker, 0 to 1.' }))
      })
    )
  }),
  errors: {
    MSV_BUSY,
    MSV_CONTEXT_EXCEEDED,
    MSV_EMBEDDINGS,
    MSV_MODEL_FAILED,
    MSV_REQUEST_INVALID,
    MSV_STOPPED,
    MSV_TIMEOUT
  },
  effect: 'read',
  timeoutMs: TIMEOUT_MS,
  expose: {
    http: { method: 'POST', path: '/api/models/similarity' },
    rpc: true,
    cli: {
      command: 'model similarity',
      args: ['query', 'texts'],
      view: { rows: 'results', columns: ['similarity', 'relevance', 'text'] }
    }
  }
})

export interface Embedders {
  readonly embedder: ServedEmbedder | null
  readonly reranker: ServedEmbedder | null
}

export function listEmbedderStates({ embedder, reranker }: Embedders): Handler<typeof modelEmbedders> {
  return async () => ({ models: await Promise.all([embedder, reranker].flatMap(each => each ?? []).map(summaryOf)) })
}

async function summaryOf(served: ServedEmbedder): Promise<Infer<typeof embedderSummary>> {
  const { name, kind, status, detail, directory, requests, known } = served
  const head = { name, kind, status, detail, directory, requests }
  const info = known && {
    family: known.family,
    context: known.contextLength,
    parameters: known.parameters,
    device: known.device,
    size_bytes: known.sizeBytes,
    ...(kind === 'embedding' ? { dimensions: known.dimensions } : {})
  }
  try {
    const { sizeBytes, family } = await readModelFiles(directory)
    return { ...head, ...defined({ family: family || undefined }), size_bytes: sizeBytes, ...info }
  } catch (error) {
    return { ...head, ...info, ...defined({ problem: error instanceof Error ? error.message : undefined }) }
  }
}

/** Compares by the cosine of vectors, and by the scores of the reranker. Texts beyond the context are cut. */
export function compareTexts({ embedder, reranker }: Embedders): Handler<typeof modelSimilarity> {
  return async ({ query, texts }, call) => {
    if (embedder === null && reranker === null) {
      throw errors.create(
        'MSV_EMBEDDINGS',
        'no model compares texts: there is neither an embedding model nor a reranker',
        {
          hint: 'Set plugins.model-server.embedding_model or reranker_model to a folder with one.'
        }
      )
    }
    const similarities = await embedder?.use(call.signal, async (model, signal) => {
      const options = { truncate: true, signal, dimensions: model.info.dimensions }
      const asked = await model.embed([query], { ...options, role: 'query' })
      return cosines(asked, await model.embed(texts, { ...options, role: 'document' }))
    })
    const scores = await reranker?.use(call.signal, (model, signal) =>
      model.rank(query, texts, { truncate: true, signal })
    )
    const results = texts.map((text, index) => ({
      text,
      ...defined({ similarity: similarities?.[index], relevance: scores?.scores[index] })
    }))
    const order = (each: (typeof results)[number]) => each.relevance ?? each.similarity ?? 0
    return { results: results.sort((a, b) => order(b) - order(a)) }
  }
}

/** Returns the products of the first vector with each other one; all have length 1. */
function cosines(query: Vectors, others: Vectors): readonly number[] {
  const asked = vectorAt(query, 0)
  return Array.from({ length: others.count }, (_, index) => {
    const sum = vectorAt(others, index).reduce((total, value, at) => total + value * (asked[at] as number), 0)
    return Math.min(1, Math.max(-1, sum))
  })
}

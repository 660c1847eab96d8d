import type { SearchService, SearchTrigger } from '@svc/contracts'
import { SEARCH_CORPORA, SEARCH_MODES } from '@svc/contracts'
import { defined, defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { searchErrors } from '../errors.ts'
import { envelopeOf, envelopeSchema, hitFields, planSchema } from '../result/envelope.ts'
import type { Settings } from '../settings.ts'
import type { Library } from '../store/library.ts'

const { SRH_QUERY_INVALID } = searchErrors.specs

export const SEARCH_TOPIC = 'search.index'

const input = {
  query: t.string({ minLength: 1, maxLength: 4_000, description: 'Question or words.' }),
  corpora: t.array(t.enum(SEARCH_CORPORA), {
    default: [],
    maxItems: 6,
    description: 'Where to search. Default: chosen by the words of the query.'
  }),
  mode: t.optional(
    t.enum(SEARCH_MODES, { description: 'Words, vectors or both. Default: chosen by the words of the query.' })
  ),
  limit: t.integer({ default: 8, minimum: 1, maximum: 500, description: 'Maximum hits of each corpus.' }),
  verify: t.boolean({ default: true, description: 'Whether weak results are followed by a shorter query.' }),
  hops: t.integer({
    default: 0,
    minimum: 0,
    maximum: 3,
    description: 'Corrective searches that may follow if the results are still weak.'
  })
}

export const queryOperation = defineOperation({
  id: 'search.query',
  summary: 'Search memories, knowledge, documents, the project and the web',
  input: t.object(input),
  output: envelopeSchema,
  errors: { SRH_QUERY_INVALID },
  effect: 'read',
  timeoutMs: 300_000,
  concurrency: 8,
  expose: {
    http: { method: 'POST', path: '/api/search/query' },
    mcp: {
      name: 'svc_search',
      title: 'Search',
      lane: 'data',
      toolsets: ['search'],
      use: 'First, when you do not know where something is. Its evidence_quality says how far to trust the hits; svc_repo_query_text searches only files.'
    },
    rpc: true,
    cli: {
      command: 'search query',
      args: ['query'],
      view: { rows: 'hits', columns: ['score', 'corpus', 'title', 'line', 'key'], note: 'note' }
    }
  }
})

const explained = t.object({
  ...hitFields,
  text_score: t.nullable(t.number(), { description: 'Score by words; null if words did not find it.' }),
  vector_score: t.nullable(t.number(), { description: 'Score by vectors; null if vectors did not find it.' }),
  factors: t.array(t.string(), { description: 'Factors of the score.' }),
  explanation: t.string({ description: 'Tiers and factors in one line.' })
})

export const explainOperation = defineOperation({
  id: 'search.explain',
  summary: 'Show the plan of a search, and how the scores of its hits came about',
  input: t.object(input),
  output: t.object({ plan: planSchema, hits: t.array(explained), note: t.string() }),
  errors: { SRH_QUERY_INVALID },
  effect: 'read',
  timeoutMs: 300_000,
  concurrency: 4,
  expose: {
    http: { method: 'POST', path: '/api/search/explain' },
    mcp: {
      name: 'svc_search_explain',
      title: 'Explain a search',
      lane: 'data',
      toolsets: ['search'],
      use: 'When hits of svc_search surprise you: it repeats the search and names the factors of each score.'
    },
    rpc: true,
    cli: {
      command: 'search explain',
      args: ['query'],
      view: { rows: 'hits', columns: ['score', 'corpus', 'title', 'explanation'], note: 'note' }
    }
  }
})

export const stateOperation = defineOperation({
  id: 'search.state',
  summary: 'Show what is searched, and the state of the index',
  input: t.object({}),
  output: t.object({
    tiers: t.array(
      t.object({
        name: t.string(),
        corpus: t.enum(SEARCH_CORPORA),
        backend: t.string(),
        leg: t.enum(['text', 'vector']),
        available: t.boolean(),
        reason: t.nullable(t.string(), { description: 'Why the tier is not used.' })
      })
    ),
    memories: t.integer(),
    knowledge_nodes: t.integer(),
    documents: t.integer({ description: 'Documents in the index.' }),
    chunks: t.integer({ description: 'Passages of these documents.' }),
    vectors: t.integer(),
    last_indexed_at: t.nullable(t.string(), { description: 'When the newest document was added, in UTC.' }),
    note: t.string({ description: 'Numbers in one line.' })
  }),
  effect: 'read',
  watch: { on: [SEARCH_TOPIC], minMs: 1_000 },
  expose: {
    http: { method: 'GET', path: '/api/search/state' },
    rpc: true,
    cli: {
      command: 'search status',
      view: { rows: 'tiers', columns: ['name', 'corpus', 'leg', 'available', 'reason'], note: 'note' }
    }
  }
})

interface Parts {
  readonly service: SearchService
  readonly library: Library
  readonly settings: () => Settings
}

export function queryHandler({ service, settings }: Parts, trigger?: SearchTrigger): Handler<typeof queryOperation> {
  return async ({ mode, ...request }, { signal, traceId }) => {
    const result = await service.query({ ...request, ...defined({ mode, trigger, traceId }) }, signal)
    return envelopeOf(result, settings().policy_version)
  }
}

export function explainHandler({ service, settings }: Parts): Handler<typeof explainOperation> {
  return async ({ mode, ...request }, { signal }) => {
    const result = await service.query({ ...request, ...defined({ mode }) }, signal)
    const { note } = envelopeOf(result, settings().policy_version)
    return {
      plan: { ...result.plan, corpora: [...result.plan.corpora] },
      hits: result.hits.map(({ corpus, key, title, text, line, score, tiers, factors, textScore, vectorScore }) => ({
        ...{ corpus, key, title, text, line, score },
        tiers: [...tiers],
        factors: [...factors],
        text_score: textScore,
        vector_score: vectorScore,
        explanation: `${tiers.join(' + ')}: ${factors.join('; ')}`
      })),
      note: `${note}; ${result.plan.because}`
    }
  }
}

const NO_COUNTS = { memories: 0, knowledge_nodes: 0, documents: 0, chunks: 0, vectors: 0, last_indexed_at: null }

export function stateHandler({ service, library }: Parts): Handler<typeof stateOperation> {
  return async () => {
    await library.open()
    const [{ tiers }, counts] = await Promise.all([
      service.status(),
      library.problem === null ? library.counts() : NO_COUNTS
    ])
    const { memories, knowledge_nodes, documents, chunks, vectors } = counts
    return {
      tiers: tiers.map(tier => ({ ...tier })),
      ...counts,
      note: `${memories} memories, ${knowledge_nodes} knowledge nodes, ${documents} documents, ${chunks} passages, ${vectors} vectors`
    }
  }
}

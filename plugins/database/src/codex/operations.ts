import { defineOperation, t } from '@svc/plugin-sdk'
import { pluginErrors } from '../errors.ts'

const { DBP_CODEX_REFUSED, DBP_CODEX_UNKNOWN } = pluginErrors.specs
const name = (description: string) => t.string({ minLength: 1, maxLength: 256, description })
const id = (description: string) => t.integer({ minimum: 1, description })
const json = (description: string) => t.optional(t.unknown({ description: `${description} Any JSON.` }))

/** Operations of the primary-database API, with routes under `/api/codex`. */
export const codexQuery = defineOperation({
  id: 'codex.query',
  summary: 'Read the latest snapshot of a named query',
  input: t.object({ name: name('Name of the query.') }),
  output: t.object({ name: t.string(), snapshot: t.unknown(), updated_at: t.string() }),
  errors: { DBP_CODEX_UNKNOWN },
  effect: 'read',
  expose: { http: { method: 'GET', path: '/api/codex/query/:name' }, rpc: true }
})

export const codexMutate = defineOperation({
  id: 'codex.mutate',
  summary: 'Write a change to the log of a topic',
  input: t.object({
    name: name('Topic of the change.'),
    change_kind: name('Kind of the change, for example insert.'),
    entity_kind: t.optional(t.nullable(t.string({ description: 'Kind of the changed entity.' }))),
    entity_id: t.optional(t.nullable(t.string({ description: 'Id of the changed entity.' }))),
    payload: json('New content of the entity.')
  }),
  output: t.object({ id: t.integer({ description: 'Id of the change; ids increase.' }) }),
  expose: { http: { method: 'POST', path: '/api/codex/mutate/:name' }, rpc: true }
})

export const searchStatus = defineOperation({
  id: 'search.status',
  summary: 'Count documents, chunks and indexing jobs',
  input: t.object({}),
  output: t.object({
    search_documents: t.integer(),
    search_document_chunks: t.integer(),
    search_indexing_jobs: t.integer()
  }),
  effect: 'read',
  expose: { http: { method: 'GET', path: '/api/search/status' }, rpc: true }
})

export const codexResearchSession = defineOperation({
  id: 'codex.research_session',
  summary: 'Store a research session, or update the one with the same key',
  input: t.object({
    session_key: name('Name of the session, unique within its repository.'),
    title: t.optional(t.nullable(t.string())),
    status: t.optional(t.nullable(t.string({ description: 'Default of a new session: open.' }))),
    repository_id: t.optional(t.nullable(t.string({ description: 'Default: no repository.' }))),
    config_json: json('Configuration of the session.'),
    summary_json: json('Summary of the results.')
  }),
  output: t.object({ id: t.integer(), session_key: t.string(), repository_id: t.nullable(t.string()) }),
  expose: { http: { method: 'POST', path: '/api/codex/research-session' }, rpc: true }
})

export const codexConversationVersion = defineOperation({
  id: 'codex.conversation_version',
  summary: 'Store a version of a conversation',
  input: t.object({
    id: id('Conversation.'),
    version_index: t.integer({ minimum: 0, description: 'Number of the version, unique in its conversation.' }),
    label: t.optional(t.nullable(t.string())),
    snapshot_json: json('Content of this version.')
  }),
  output: t.object({
    id: t.integer(),
    conversation_id: t.integer(),
    version_index: t.integer(),
    label: t.nullable(t.string()),
    snapshot_json: t.unknown(),
    created_at: t.string()
  }),
  errors: { DBP_CODEX_REFUSED, DBP_CODEX_UNKNOWN },
  expose: { http: { method: 'POST', path: '/api/codex/conversations/:id/versions' }, rpc: true }
})

export const codexConversationEdge = defineOperation({
  id: 'codex.conversation_edge',
  summary: 'Link two conversations',
  input: t.object({
    from_conversation_id: id('Source conversation.'),
    to_conversation_id: id('Target conversation.'),
    edge_kind: t.string({ minLength: 1, default: 'related' }),
    weight: t.number({ default: 1 }),
    metadata_json: json('Further data.')
  }),
  output: t.object({ id: t.integer() }),
  errors: { DBP_CODEX_REFUSED },
  expose: { http: { method: 'POST', path: '/api/codex/conversation-edges' }, rpc: true }
})

export const codexTopicEvolution = defineOperation({
  id: 'codex.topic_evolution',
  summary: 'Record the outcome of a topic',
  input: t.object({
    id: id('Topic.'),
    event_kind: name('Kind of the outcome, for example renamed.'),
    prior_label: t.optional(t.nullable(t.string())),
    new_label: t.optional(t.nullable(t.string())),
    detail_json: json('Further data.')
  }),
  output: t.object({
    id: t.integer(),
    topic_id: t.integer(),
    event_kind: t.string(),
    prior_label: t.nullable(t.string()),
    new_label: t.nullable(t.string()),
    detail_json: t.unknown(),
    created_at: t.string()
  }),
  errors: { DBP_CODEX_REFUSED },
  expose: { http: { method: 'POST', path: '/api/codex/topics/:id/evolution-events' }, rpc: true }
})

export const codexOperations = [
  codexQuery,
  codexMutate,
  searchStatus,
  codexResearchSession,
  codexConversationVersion,
  codexConversationEdge,
  codexTopicEvolution
] as const

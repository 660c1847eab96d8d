import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { searchErrors } from '../errors.ts'
import type { Knowledge } from '../store/knowledge.ts'
import { STORABLE } from './memory-operations.ts'
import { SEARCH_TOPIC } from './search-operations.ts'

const { SRH_DATABASE_MISSING } = searchErrors.specs

const id = (description: string) =>
  t.string({ minLength: 1, maxLength: 512, pattern: '^[^\\[\\]\\s:\\u0000-\\u001f\\u007f]+$', description })

const node = t.object({
  id: t.string({ description: 'NAME:KEY for a document of a source.' }),
  label: t.string(),
  content: t.string(),
  node_type: t.string(),
  created_at: t.string({ description: 'In UTC.' })
})

export const storeKnowledge = defineOperation({
  id: 'knowledge.store',
  summary: 'Store a node of the knowledge graph',
  input: t.object({
    id: id('Name of the node, such as lease. A node with the same name is replaced.'),
    content: t.string({
      minLength: 1,
      maxLength: 65_536,
      pattern: STORABLE,
      description: 'Definition or explanation.'
    }),
    label: t.string({ default: '', maxLength: 300, pattern: STORABLE, description: 'Label. Default: the name.' }),
    node_type: t.string({ default: 'concept', pattern: '^[a-z][a-z_-]{0,31}$', description: 'Kind of the node.' })
  }),
  output: node,
  errors: { SRH_DATABASE_MISSING },
  effect: 'write',
  expose: {
    http: { method: 'PUT', path: '/api/knowledge' },
    mcp: {
      name: 'svc_knowledge_store',
      lane: 'data',
      toolsets: ['search'],
      use: 'For a concept of the project and its definition. A decision or a fact with a date: svc_memory_store.'
    },
    rpc: true,
    cli: { command: 'knowledge store', args: ['id', 'content'], view: { fields: ['id', 'label', 'node_type'] } }
  }
})

export const listKnowledge = defineOperation({
  id: 'knowledge.list',
  summary: 'List the nodes of the knowledge graph by name',
  input: t.object({
    prefix: t.string({ default: '', maxLength: 512, description: 'Start of the names. Default: all.' }),
    limit: t.integer({ default: 100, minimum: 1, maximum: 1_000, description: 'Maximum nodes.' })
  }),
  output: t.object({ nodes: t.array(node) }),
  errors: { SRH_DATABASE_MISSING },
  effect: 'read',
  watch: { on: [SEARCH_TOPIC], minMs: 1_000 },
  expose: {
    http: { method: 'GET', path: '/api/knowledge' },
    rpc: true,
    cli: { command: 'knowledge list', view: { rows: 'nodes', columns: ['id', 'label', 'node_type', 'created_at'] } }
  }
})

export const forgetKnowledge = defineOperation({
  id: 'knowledge.forget',
  summary: 'Remove a stored node of the knowledge graph',
  input: t.object({ id: id('Name of the node.') }),
  output: t.object({ removed: t.boolean({ description: 'False if there was no such node.' }) }),
  errors: { SRH_DATABASE_MISSING },
  effect: 'destructive',
  expose: {
    http: { method: 'DELETE', path: '/api/knowledge' },
    rpc: true,
    cli: { command: 'knowledge forget', args: ['id'], view: { fields: ['removed'] } }
  }
})

export const storeKnowledgeHandler =
  (knowledge: Knowledge, changed: () => void): Handler<typeof storeKnowledge> =>
  async input => {
    const stored = await knowledge.store({ ...input, label: input.label === '' ? input.id : input.label })
    changed()
    return { ...stored }
  }

export const listKnowledgeHandler =
  (knowledge: Knowledge): Handler<typeof listKnowledge> =>
  async ({ prefix, limit }) => ({ nodes: (await knowledge.list(prefix, limit)).map(each => ({ ...each })) })

export const forgetKnowledgeHandler =
  (knowledge: Knowledge, changed: () => void): Handler<typeof forgetKnowledge> =>
  async ({ id }) => {
    const removed = await knowledge.forget(id)
    if (removed) changed()
    return { removed }
  }

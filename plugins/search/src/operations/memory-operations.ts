import { defineOperation, errorMessage, type Handler, type Logger, t } from '@svc/plugin-sdk'
import { searchErrors } from '../errors.ts'
import type { Memories, Memory } from '../store/memories.ts'
import { SEARCH_TOPIC } from './search-operations.ts'

const { SRH_DATABASE_MISSING, SRH_MEMORY_UNKNOWN } = searchErrors.specs

/** Pattern of texts that the database can store: without U+0000. */
export const STORABLE = '^[^\\u0000]*$'

const key = (description: string) =>
  t.string({ minLength: 1, maxLength: 512, pattern: '^[^\\[\\]\\s\\u0000]+$', description })

const memory = t.object({
  key: t.string(),
  title: t.string(),
  body: t.string(),
  status: t.string(),
  source: t.string(),
  created_at_ms: t.integer(),
  updated_at_ms: t.integer()
})

export const storeMemory = defineOperation({
  id: 'memory.store',
  summary: 'Store a note that later searches find',
  input: t.object({
    key: key('Name of the note, such as decisions/database. A note with the same key is replaced.'),
    body: t.string({ minLength: 1, maxLength: 65_536, pattern: STORABLE, description: 'Text of the note.' }),
    title: t.string({ default: '', maxLength: 300, pattern: STORABLE, description: 'Title. Default: the key.' }),
    status: t.string({
      default: 'current',
      pattern: '^[a-z][a-z_-]{0,31}$',
      description:
        'current (x1.2 of the score), experimental (x0.8), research, roadmap (x0.6), legacy or deprecated (x0.2).'
    }),
    source: t.string({
      default: '',
      maxLength: 512,
      pattern: STORABLE,
      description: 'Where the note comes from, such as a file or a URL.'
    })
  }),
  output: memory,
  errors: { SRH_DATABASE_MISSING },
  effect: 'write',
  expose: {
    http: { method: 'PUT', path: '/api/memory' },
    mcp: {
      name: 'svc_memory_store',
      lane: 'data',
      toolsets: ['search'],
      use: 'For a fact or a decision that later sessions need. Not for secrets, and not for what the project already says.'
    },
    rpc: true,
    cli: {
      command: 'memory store',
      args: ['key', 'body'],
      view: { fields: ['key', 'title', 'status', 'updated_at_ms'] }
    }
  }
})

export const recallMemory = defineOperation({
  id: 'memory.recall',
  summary: 'Show the note with a key',
  input: t.object({ key: key('Key of the note.') }),
  output: memory,
  errors: { SRH_DATABASE_MISSING, SRH_MEMORY_UNKNOWN },
  effect: 'read',
  expose: {
    http: { method: 'GET', path: '/api/memory/item' },
    mcp: {
      name: 'svc_memory_recall',
      lane: 'data',
      toolsets: ['search'],
      use: 'If you know the key of the note. By words: svc_memory_search.'
    },
    rpc: true,
    cli: { command: 'memory show', args: ['key'], view: { text: 'body' } }
  }
})

export const listMemories = defineOperation({
  id: 'memory.list',
  summary: 'List stored notes, newest first',
  input: t.object({
    prefix: t.string({ default: '', maxLength: 512, description: 'Start of the keys. Default: all.' }),
    limit: t.integer({ default: 100, minimum: 1, maximum: 1_000, description: 'Maximum notes.' })
  }),
  output: t.object({ memories: t.array(memory) }),
  errors: { SRH_DATABASE_MISSING },
  effect: 'read',
  watch: { on: [SEARCH_TOPIC], minMs: 1_000 },
  expose: {
    http: { method: 'GET', path: '/api/memory' },
    mcp: {
      name: 'svc_memory_list',
      lane: 'data',
      toolsets: ['search'],
      use: 'To see which notes exist before you store one. It does not rank them: see svc_memory_search.'
    },
    rpc: true,
    cli: { command: 'memory list', view: { rows: 'memories', columns: ['key', 'title', 'status', 'source'] } }
  }
})

export const forgetMemory = defineOperation({
  id: 'memory.forget',
  summary: 'Remove the note with a key',
  input: t.object({ key: key('Key of the note.') }),
  output: t.object({ removed: t.boolean({ description: 'False if there was no such note.' }) }),
  errors: { SRH_DATABASE_MISSING },
  effect: 'destructive',
  expose: {
    http: { method: 'DELETE', path: '/api/memory' },
    mcp: {
      name: 'svc_memory_forget',
      lane: 'data',
      toolsets: ['search'],
      use: 'Only for a note that is wrong. For one that is out of date, store it again with the status legacy.'
    },
    rpc: true,
    cli: { command: 'memory forget', args: ['key'], view: { fields: ['removed'] } }
  }
})

/** Keeps the vectors of notes. */
export interface MemoryVectors {
  store(memory: Memory, signal: AbortSignal): Promise<void>
  remove(key: string): Promise<void>
}

/** The note is stored even if its vector cannot be made. */
export const storeHandler =
  (memories: Memories, vectors: MemoryVectors, changed: () => void, log: Logger): Handler<typeof storeMemory> =>
  async (input, { signal }) => {
    const stored = await memories.store(input)
    changed()
    try {
      await vectors.store(stored, signal)
    } catch (error) {
      log.warn('the vector of a note could not be stored', { key: stored.key, reason: errorMessage(error) })
    }
    return stored
  }

export const recallHandler =
  (memories: Memories): Handler<typeof recallMemory> =>
  ({ key }) =>
    memories.recall(key)

export const listHandler =
  (memories: Memories): Handler<typeof listMemories> =>
  async ({ prefix, limit }) => ({ memories: (await memories.list(prefix, limit)).map(each => ({ ...each })) })

export const forgetHandler =
  (memories: Memories, vectors: MemoryVectors, changed: () => void): Handler<typeof forgetMemory> =>
  async ({ key }) => {
    const removed = await memories.forget(key)
    await vectors.remove(key)
    if (removed) changed()
    return { removed }
  }

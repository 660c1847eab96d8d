import type { DatabaseStore } from '@svc/contracts'
import { defineOperation, type Handler, isSvcError, t } from '@svc/plugin-sdk'
import { listFiles } from './modules.ts'

export const repoIndexStatus = defineOperation({
  id: 'workspace.repoIndexStatus',
  summary: 'Show how much of the project is searchable',
  input: t.object({}),
  output: t.object({
    repository: t.boolean({ description: 'Whether the project is in a git repository.' }),
    files: t.nullable(t.integer(), { description: 'Files that git does not ignore; null without a repository.' }),
    database: t.boolean({ description: 'Whether a database holds an index.' }),
    documents: t.integer({ description: 'Documents in the search index.' }),
    chunks: t.integer({ description: 'Passages of these documents.' }),
    knowledge_nodes: t.integer(),
    last_indexed_at: t.nullable(t.string(), { description: 'When the newest document was added, in UTC.' }),
    jobs: t.record(t.integer(), { description: 'Indexing jobs by state.' })
  }),
  effect: 'read',
  expose: {
    http: { method: 'GET', path: '/api/workspace/index' },
    mcp: {
      name: 'svc_repo_index_status',
      result: 'tool-result',
      lane: 'app',
      readRole: true,
      toolsets: ['workspace'],
      use: 'When a search finds nothing: it says whether there is an index, and how old it is.'
    },
    rpc: true,
    cli: {
      command: 'workspace index',
      view: { fields: ['repository', 'files', 'database', 'documents', 'chunks', 'knowledge_nodes', 'last_indexed_at'] }
    }
  }
})

const COUNTS = `SELECT (SELECT COUNT(*) FROM search_documents), (SELECT COUNT(*) FROM search_document_chunks),
  (SELECT COUNT(*) FROM knowledge_nodes), (SELECT MAX(ingested_at) FROM search_documents)`
const JOBS = 'SELECT status, COUNT(*) FROM search_indexing_jobs GROUP BY status'

export function indexStatusHandler(
  projectRoot: string,
  database: DatabaseStore | undefined
): Handler<typeof repoIndexStatus> {
  return async (_input, { signal }) => {
    const [files, index] = await Promise.all([
      countFiles(projectRoot, signal),
      database === undefined ? null : Promise.all([database.query(COUNTS), database.query(JOBS)])
    ])
    const [documents, chunks, nodes, last] = index?.[0].rows[0] ?? []
    return {
      repository: files !== null,
      files,
      database: database !== undefined,
      documents: Number(documents ?? 0),
      chunks: Number(chunks ?? 0),
      knowledge_nodes: Number(nodes ?? 0),
      last_indexed_at: typeof last === 'string' ? last : null,
      jobs: Object.fromEntries((index?.[1].rows ?? []).map(([status, count]) => [String(status), Number(count)]))
    }
  }
}

/** Counts the files of the repository; null if there is none, or no git. */
async function countFiles(projectRoot: string, signal: AbortSignal): Promise<number | null> {
  try {
    return (await listFiles(projectRoot, ['.'], signal)).length
  } catch (error) {
    if (isSvcError(error, 'WSP_NOT_REPOSITORY') || isSvcError(error, 'WSP_GIT_MISSING')) return null
    throw error
  }
}

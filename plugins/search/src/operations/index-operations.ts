import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { searchErrors } from '../errors.ts'
import type { ProjectIndex } from '../indexing/project-index.ts'
import type { SourceReport } from '../indexing/source-indexer.ts'
import { SEARCH_TOPIC } from './search-operations.ts'

const { SRH_DATABASE_MISSING, SRH_FILE_UNREADABLE, SRH_INDEX_CLOSED, SRH_INDEX_THREAD_ENDED } = searchErrors.specs

const skipped = t.record(t.integer(), { description: 'Files that are not in the index, by reason.' })

export const indexOperation = defineOperation({
  id: 'search.index',
  summary: 'Bring the index of the project up to date',
  description:
    'Reads new and changed files that git does not ignore, and removes those that are gone. A run that was ended continues where it was.',
  input: t.object({
    full: t.boolean({ default: false, description: 'Read unchanged files, too.' })
  }),
  output: t.object({
    files: t.integer({ description: 'Files of the project that git does not ignore.' }),
    indexed: t.integer({ description: 'New and changed files that were read.' }),
    unchanged: t.integer(),
    removed: t.integer({ description: 'Files that are gone, or ignored now.' }),
    skipped,
    chunks: t.integer({ description: 'Passages that were written.' }),
    truncated: t.boolean({ description: 'Whether the project has more files than repo_max_files.' }),
    sources: t.array(
      t.object({
        name: t.string(),
        documents: t.integer({ description: 'Documents that the source lists.' }),
        indexed: t.integer(),
        removed: t.integer(),
        skipped: t.record(t.integer(), { description: 'Documents that are not in the index, by reason.' }),
        problem: t.nullable(t.string(), { description: 'Why documents are missing or old; null if none are.' })
      }),
      { description: 'Sources of other plugins, such as sessions.' }
    ),
    source_problems: t.array(t.string(), { description: 'Why documents of sources are missing or old.' }),
    vectors: t.integer({ description: 'Passages whose vectors were computed.' }),
    vector_problem: t.nullable(t.string(), {
      description: 'Why passages have no vectors although embedding_folder is set.'
    }),
    words_ms: t.integer({ description: 'Milliseconds until all words were indexed; symbols and vectors follow.' }),
    duration_ms: t.integer()
  }),
  errors: { SRH_DATABASE_MISSING, SRH_FILE_UNREADABLE, SRH_INDEX_CLOSED, SRH_INDEX_THREAD_ENDED },
  effect: 'write',
  timeoutMs: 3_600_000,
  concurrency: 2,
  expose: {
    http: { method: 'POST', path: '/api/search/index' },
    mcp: {
      name: 'svc_repo_index_refresh',
      title: 'Update the index',
      lane: 'data',
      toolsets: ['search'],
      use: 'When svc_repo_index_status says that the index is missing or old. It reads only what has changed.'
    },
    rpc: true,
    cli: {
      command: 'search index',
      view: {
        fields: [
          'files',
          'indexed',
          'unchanged',
          'removed',
          'skipped',
          'chunks',
          'truncated',
          'source_problems',
          'vectors',
          'vector_problem',
          'words_ms',
          'duration_ms'
        ]
      }
    }
  }
})

export const indexStateOperation = defineOperation({
  id: 'search.index-state',
  summary: 'Show the index of the project and its newest job',
  input: t.object({}),
  output: t.object({
    documents: t.integer({ description: 'Files in the index.' }),
    chunks: t.integer({ description: 'Passages of these files.' }),
    symbols: t.integer({ description: 'Functions, classes and other definitions in these files.' }),
    skipped,
    skipped_files: t.array(t.string(), {
      description: 'Up to 20 files that are not in the index, with the reason, newest first; not binary and empty ones.'
    }),
    sources: t.record(t.integer(), { description: 'Documents in the index by source, such as sessions.' }),
    job: t.nullable(
      t.object({
        id: t.integer(),
        status: t.string({ description: 'running, done, failed, cancelled or interrupted.' }),
        done: t.integer({ description: 'Files that the job has finished.' }),
        total: t.integer(),
        error: t.nullable(t.string()),
        updated_at: t.string({ description: 'In UTC.' })
      }),
      { description: 'Newest job; null before the first one.' }
    ),
    watched_folders: t.integer({ description: 'Folders whose changes update the index; 0 if none are watched.' }),
    watch_problem: t.nullable(t.string(), { description: 'Why changes may be missed; null if none are.' })
  }),
  errors: { SRH_DATABASE_MISSING },
  effect: 'read',
  watch: { on: [SEARCH_TOPIC], minMs: 1_000 },
  expose: {
    http: { method: 'GET', path: '/api/search/index' },
    rpc: true,
    cli: {
      command: 'search index-status',
      view: {
        fields: [
          'documents',
          'chunks',
          'symbols',
          'skipped',
          'skipped_files',
          'sources',
          'job.status',
          'job.done',
          'job.total',
          'job.error',
          'job.updated_at',
          'watched_folders',
          'watch_problem'
        ]
      }
    }
  }
})

export function indexHandler(index: ProjectIndex): Handler<typeof indexOperation> {
  return async ({ full }, call) => {
    const report = await index.index({
      full,
      signal: call.signal,
      onProgress: (done, total) => call.progress(done, total)
    })
    const sources = report.sources.map(each => ({ ...each, skipped: { ...each.skipped } }))
    return { ...report, skipped: { ...report.skipped }, sources, source_problems: sources.flatMap(problemsOf) }
  }
}

export function indexStateHandler(index: ProjectIndex): Handler<typeof indexStateOperation> {
  return async () => {
    const { job, skipped, skippedFiles, sources, watchedFolders, watchProblem, ...counts } = await index.state()
    return {
      documents: counts.documents,
      chunks: counts.chunks,
      symbols: counts.symbols,
      skipped: { ...skipped },
      skipped_files: skippedFiles.map(({ path, reason }) => `${path}: ${reason}`),
      sources: Object.fromEntries(sources.map(({ name, documents }) => [name, documents])),
      job: job && {
        id: job.id,
        status: job.status,
        done: job.detail?.done ?? 0,
        total: job.detail?.total ?? 0,
        error: job.error,
        updated_at: job.updatedAt
      },
      watched_folders: watchedFolders,
      watch_problem: watchProblem
    }
  }
}

function problemsOf({ name, problem, skipped }: SourceReport): string[] {
  const reasons = Object.entries(skipped).map(([reason, count]) => `${count} ${reason}`)
  return [
    ...(problem === null ? [] : [`${name}: ${problem}`]),
    ...(reasons.length === 0 ? [] : [`${name}: documents left out: ${reasons.join(', ')}`])
  ]
}

import { dashboardPages, SEARCH_CORPORA, SEARCH_MODES, type View } from '@svc/contracts'
import type { PluginContext } from '@svc/plugin-sdk'

const input = {
  query: { from: 'filter', name: 'query' },
  corpus: { from: 'filter', name: 'corpus' },
  mode: { from: 'filter', name: 'mode' }
} as const

const results: View = {
  kind: 'table',
  operation: 'search.results',
  input,
  rows: 'rows',
  key: 'id',
  filters: [
    { name: 'query', label: 'Search' },
    { name: 'corpus', label: 'Where', choices: SEARCH_CORPORA },
    { name: 'mode', label: 'How', choices: SEARCH_MODES }
  ],
  columns: [
    { field: 'title', title: 'Title' },
    { field: 'text', title: 'Passage' },
    { field: 'corpus', title: 'Where', format: 'state' },
    { field: 'score', title: 'Score', format: 'number' },
    { field: 'text_score', title: 'By words', format: 'number' },
    { field: 'vector_score', title: 'By meaning', format: 'number' },
    { field: 'explanation', title: 'Why' }
  ],
  empty: 'No results. Type a question or words into Search.'
}

const evidence: View = {
  kind: 'record',
  operation: 'search.results',
  input,
  columns: [
    { field: 'note', title: 'Result' },
    { field: 'intent', title: 'Intent', format: 'code' },
    { field: 'because', title: 'Because' },
    { field: 'quality', title: 'Quality', format: 'percent' },
    { field: 'verification', title: 'Second search' }
  ],
  empty: 'The evidence of a search appears here.'
}

const index: View = {
  kind: 'record',
  operation: 'search.state',
  columns: [
    { field: 'documents', title: 'Documents', format: 'number' },
    { field: 'chunks', title: 'Passages', format: 'number' },
    { field: 'vectors', title: 'Vectors', format: 'number' },
    { field: 'memories', title: 'Notes', format: 'number' },
    { field: 'knowledge_nodes', title: 'Knowledge nodes', format: 'number' },
    { field: 'last_indexed_at', title: 'Last indexed' }
  ]
}

const job: View = {
  kind: 'record',
  operation: 'search.index-state',
  columns: [
    { field: 'job.status', title: 'Newest job', format: 'state' },
    { field: 'job.done', title: 'Files done', format: 'number' },
    { field: 'job.total', title: 'Files of the job', format: 'number' },
    { field: 'job.error', title: 'Error' },
    { field: 'symbols', title: 'Symbols', format: 'number' },
    { field: 'watched_folders', title: 'Watched folders', format: 'number' },
    { field: 'watch_problem', title: 'Changes that may be missed' }
  ]
}

const tiers: View = {
  kind: 'table',
  operation: 'search.state',
  rows: 'tiers',
  key: 'name',
  columns: [
    { field: 'name', title: 'Source', format: 'code' },
    { field: 'corpus', title: 'Where', format: 'state' },
    { field: 'leg', title: 'By', format: 'state' },
    { field: 'available', title: 'Used', format: 'boolean' },
    { field: 'reason', title: 'Why not' }
  ]
}

const notes: View = {
  kind: 'table',
  operation: 'memory.list',
  rows: 'memories',
  key: 'key',
  columns: [
    { field: 'key', title: 'Key', format: 'code' },
    { field: 'title', title: 'Title' },
    { field: 'body', title: 'Note' },
    { field: 'status', title: 'Status', format: 'state' },
    { field: 'updated_at_ms', title: 'Changed', format: 'time' }
  ],
  filters: [
    { name: 'key', label: 'Key', field: 'key' },
    { name: 'status', label: 'Status', field: 'status' }
  ],
  empty: 'No notes yet. Store one: svc memory store KEY TEXT'
}

/** Contributes the page with the search, the state of its index and the stored notes. */
export function contributePages(ctx: PluginContext): void {
  ctx.contribute(dashboardPages, {
    path: 'search/results',
    title: 'Search',
    summary: 'Search of files, documents, knowledge and notes',
    icon: 'search',
    section: 'build',
    view: {
      kind: 'stack',
      items: [
        { view: results },
        { title: 'Evidence', view: evidence },
        { title: 'Index', view: index },
        { title: 'Update', view: job },
        { view: { kind: 'form', operation: 'search.index', submit: 'Update the index' } },
        { title: 'Sources', view: tiers }
      ]
    }
  })
  ctx.contribute(dashboardPages, {
    path: 'search/notes',
    title: 'Notes',
    summary: 'Notes that agents and people stored',
    icon: 'file-text',
    section: 'build',
    under: 'search/results',
    view: {
      kind: 'stack',
      items: [{ view: notes }, { title: 'Store', view: { kind: 'form', operation: 'memory.store', submit: 'Store' } }]
    }
  })
}

import {
  type Bindings,
  type Column,
  type DashboardPage,
  dashboardActions,
  dashboardInbox,
  dashboardPages,
  PREFLIGHT_PROFILES,
  type View
} from '@svc/contracts'
import type { PluginContext } from '@svc/plugin-sdk'

const LIST = 'publication/publications'
const DETAIL = 'publication/publications/:publication_id'
/** Kind of record that the actions are for. Rows of the list have none: a person approves where the text is. */
const PUBLICATION = 'publication'

const id: Bindings = { publication_id: { from: 'route', name: 'publication_id' } }

const summaryColumns: readonly Column[] = [
  { field: 'publication_id', title: 'Publication', format: 'code' },
  { field: 'title', title: 'Title' },
  { field: 'content_type', title: 'Kind' },
  { field: 'state', title: 'State', format: 'state' },
  { field: 'approvals', title: 'Approvals', format: 'number' },
  { field: 'approvers', title: 'Approved by' },
  { field: 'version', title: 'Version', format: 'number' },
  { field: 'updated_at_ms', title: 'Changed', format: 'time' }
]

const list: DashboardPage = {
  path: LIST,
  title: 'Publication',
  summary: 'What the project publishes, who approved it, and what became of it',
  icon: 'scroll-text',
  section: 'build',
  order: 60,
  view: {
    kind: 'table',
    operation: 'publication.list',
    input: { limit: { value: 1_000 } },
    rows: 'publications',
    key: 'publication_id',
    columns: summaryColumns,
    filters: [
      { name: 'state', label: 'State', field: 'state' },
      { name: 'kind', label: 'Kind', field: 'content_type' },
      { name: 'title', label: 'Title', field: 'title' }
    ],
    open: { page: DETAIL, params: { publication_id: { from: 'row', name: 'publication_id' } } },
    empty: 'Publications appear here after: svc publication prepare FILE'
  }
}

function shown(rows: string, key: string, columns: readonly Column[], empty: string): View {
  return { kind: 'table', operation: 'publication.show', input: id, rows, key, columns, empty }
}

const record: View = {
  kind: 'record',
  operation: 'publication.show',
  input: id,
  field: 'publication',
  name: 'title',
  of: PUBLICATION,
  columns: [
    { field: 'title', title: 'Title' },
    { field: 'author', title: 'Author' },
    { field: 'content_type', title: 'Kind' },
    { field: 'state', title: 'State', format: 'state' },
    { field: 'version', title: 'Version', format: 'number' },
    { field: 'content_sha3_256', title: 'Digest', format: 'code' },
    { field: 'source_ref', title: 'Origin', format: 'code' },
    { field: 'abstract_text', title: 'Abstract' },
    { field: 'metadata_json', title: 'Metadata', format: 'code' },
    { field: 'citations_json', title: 'Citations', format: 'code' },
    { field: 'body_bytes', title: 'Size of the text', format: 'bytes' },
    { field: 'created_at_ms', title: 'Created', format: 'time' },
    { field: 'updated_at_ms', title: 'Changed', format: 'time' }
  ],
  empty: 'There is no such publication.'
}

const gate: View = {
  kind: 'record',
  operation: 'publication.gate',
  input: id,
  columns: [
    { field: 'open', title: 'Gate is open', format: 'boolean' },
    { field: 'codes', title: 'What prevents sending', format: 'json' },
    { field: 'approvers', title: 'Approved by', format: 'json' }
  ]
}

const approvals = shown(
  'approvals',
  'approver',
  [
    { field: 'approver', title: 'Approved by' },
    { field: 'approver_role', title: 'Role', format: 'state' },
    { field: 'approved_at_ms', title: 'Time', format: 'time' },
    { field: 'content_sha3_256', title: 'Digest', format: 'code' }
  ],
  'No approvals of this content yet.'
)

const attempts = shown(
  'attempts',
  'id',
  [
    { field: 'attempted_at_ms', title: 'Time', format: 'time' },
    { field: 'channel', title: 'Channel or archive', format: 'code' },
    { field: 'outcome', title: 'Outcome', format: 'json' },
    { field: 'content_sha3_256', title: 'Digest', format: 'code' }
  ],
  'It was not sent anywhere yet.'
)

const media = shown(
  'media',
  'path',
  [
    { field: 'path', title: 'File', format: 'code' },
    { field: 'media_type', title: 'Type' },
    { field: 'bytes', title: 'Size', format: 'bytes' },
    { field: 'sha3_256', title: 'Digest', format: 'code' }
  ],
  'The text shows no images.'
)

const links = shown(
  'links',
  'id',
  [
    { field: 'kind', title: 'Kind' },
    { field: 'value', title: 'Identifier', format: 'code' },
    { field: 'source', title: 'From', format: 'code' },
    { field: 'created_at_ms', title: 'Time', format: 'time' }
  ],
  'It has no DOI and no address yet.'
)

const history: View = {
  kind: 'stack',
  items: [
    {
      title: 'Events',
      view: shown(
        'events',
        'id',
        [
          { field: 'created_at_ms', title: 'Time', format: 'time' },
          { field: 'status', title: 'Event', format: 'state' },
          { field: 'detail', title: 'Details', format: 'json' }
        ],
        'No events.'
      )
    },
    {
      title: 'Versions',
      view: shown(
        'revisions',
        'version',
        [
          { field: 'version', title: 'Version', format: 'number' },
          { field: 'content_sha3_256', title: 'Digest', format: 'code' },
          { field: 'created_at_ms', title: 'Created', format: 'time' },
          { field: 'approved_at_ms', title: 'Approved', format: 'time' }
        ],
        'No versions.'
      )
    },
    {
      title: 'Changes since the last approved content',
      view: { kind: 'text', operation: 'publication.diff', input: id, field: 'text', format: 'code' }
    }
  ]
}

const preflight: View = {
  kind: 'table',
  operation: 'publication.preflight',
  input: { ...id, profile: { from: 'filter', name: 'profile' } },
  rows: 'findings',
  key: 'message',
  columns: [
    { field: 'severity', title: 'Severity', format: 'state' },
    { field: 'message', title: 'Finding' },
    { field: 'code', title: 'Code', format: 'code' }
  ],
  filters: [{ name: 'profile', label: 'Profile', choices: PREFLIGHT_PROFILES, default: 'default' }],
  empty: 'The profile has no findings.'
}

const worthiness: View = {
  kind: 'record',
  operation: 'publication.worthiness',
  input: id,
  columns: [
    { field: 'score', title: 'Score, 0 to 1', format: 'number' },
    { field: 'decision', title: 'Decision', format: 'state' },
    { field: 'failed_minima', title: 'Below the minimum', format: 'json' },
    { field: 'red_lines', title: 'Red lines', format: 'json' },
    { field: 'reasons', title: 'Reasons', format: 'json' }
  ]
}

const text: View = {
  kind: 'text',
  operation: 'publication.show',
  input: { ...id, body: { value: true } },
  field: 'publication.body_markdown',
  format: 'markdown'
}

const detail: DashboardPage = {
  path: DETAIL,
  title: 'Publication',
  icon: 'scroll-text',
  section: 'build',
  view: {
    kind: 'tabs',
    items: [
      {
        title: 'State',
        view: {
          kind: 'stack',
          items: [
            { view: record },
            { title: 'Gate', view: gate },
            { title: 'Approvals', view: approvals },
            { title: 'Attempts', view: attempts },
            { title: 'Images', view: media },
            { title: 'Links', view: links }
          ]
        }
      },
      { title: 'Text', view: text },
      {
        title: 'Checks',
        view: {
          kind: 'stack',
          items: [
            { title: 'Preflight', view: preflight },
            { title: 'Worthiness', view: worthiness }
          ]
        }
      },
      { title: 'History', view: history }
    ]
  }
}

/** Contributes the list of publications, the page of one, the button that approves, and items of the inbox. */
export function contributeConsole(ctx: Pick<PluginContext, 'contribute'>): void {
  for (const each of [list, detail]) ctx.contribute(dashboardPages, each, `page ${each.path}`)
  const bind: Bindings = {
    publication_id: { from: 'row', name: 'publication_id' },
    // The digest of the row that the person sees: content that changed since then is refused.
    digest: { from: 'row', name: 'content_sha3_256' }
  }
  ctx.contribute(dashboardActions, {
    ...{ on: PUBLICATION, label: 'Approve', operation: 'publication.approve', bind, tone: 'primary' },
    when: { field: 'state', in: ['draft'] }
  })
  ctx.contribute(dashboardActions, {
    ...{ on: PUBLICATION, label: 'Approve with a token', operation: 'publication.approve', bind },
    ask: ['approver', 'approver_token'],
    when: { field: 'state', in: ['draft'] }
  })
  ctx.contribute(dashboardActions, {
    ...{ on: PUBLICATION, label: 'Revoke my approval', operation: 'publication.revoke', bind, tone: 'danger' },
    when: { field: 'state', in: ['draft', 'approved'] }
  })
  ctx.contribute(dashboardInbox, { operation: 'publication.inbox' })
}

import {
  type Bindings,
  type DashboardPage,
  dashboardActions,
  dashboardInbox,
  dashboardPages,
  type View
} from '@svc/contracts'
import type { PluginContext } from '@svc/plugin-sdk'

const LIST = 'news/items'
const DETAIL = 'news/items/:id'
/** Kinds of rows that actions are for. */
const POST = 'news-post'
const ITEM = 'news-item'

const items: View = {
  kind: 'table',
  operation: 'news.items',
  rows: 'items',
  key: 'id',
  of: ITEM,
  columns: [
    { field: 'id', title: 'Item', format: 'code' },
    { field: 'title', title: 'Title' },
    { field: 'status', title: 'Status', format: 'state' },
    { field: 'published_at', title: 'Date', format: 'time' },
    { field: 'channels', title: 'Channels', format: 'json' },
    { field: 'file', title: 'File', format: 'code' }
  ],
  open: { page: DETAIL, params: { id: { from: 'row', name: 'id' } } },
  empty: 'News appear here when docs/news has Markdown files with front matter.'
}

const problems: View = {
  kind: 'table',
  operation: 'news.items',
  rows: 'problems',
  key: 'message',
  columns: [
    { field: 'file', title: 'File', format: 'code' },
    { field: 'line', title: 'Line', format: 'number' },
    { field: 'message', title: 'Problem' },
    { field: 'hint', title: 'Next step' }
  ],
  empty: 'All files can be read.'
}

const posts: View = {
  kind: 'table',
  operation: 'news.status',
  input: { limit: { value: 500 } },
  rows: 'posts',
  key: 'attempt_key',
  of: POST,
  columns: [
    { field: 'id', title: 'Item', format: 'code' },
    { field: 'channel', title: 'Channel', format: 'code' },
    { field: 'state', title: 'State', format: 'state' },
    { field: 'external_id', title: 'Id at the channel', format: 'code' },
    { field: 'code', title: 'Failure', format: 'code' },
    { field: 'message', title: 'Reason' },
    { field: 'attempts', title: 'Attempts', format: 'number' },
    { field: 'updated_at', title: 'Changed', format: 'time' }
  ],
  empty: 'Nothing was sent yet.'
}

const list: DashboardPage = {
  path: LIST,
  title: 'News',
  summary: 'News items, and what became of them on each channel',
  icon: 'radio',
  section: 'build',
  order: 61,
  view: {
    kind: 'tabs',
    items: [
      { title: 'Items', view: items },
      { title: 'Sent', view: posts },
      { title: 'Problems', view: problems }
    ]
  }
}

const detail: DashboardPage = {
  path: DETAIL,
  title: 'News item',
  icon: 'radio',
  section: 'build',
  view: { kind: 'module', entry: 'previews', uses: ['news.preview', 'news.status', 'news.publish'] }
}

/** Contributes the list of items, the page with the previews of one, actions on posts, and items of the inbox. */
export function contributeConsole(ctx: Pick<PluginContext, 'contribute'>): void {
  for (const each of [list, detail]) ctx.contribute(dashboardPages, each, `page ${each.path}`)
  const bind: Bindings = { id: { from: 'row', name: 'id' }, channel: { from: 'row', name: 'channel' } }
  const when = { field: 'state', in: ['unknown'] }
  ctx.contribute(dashboardActions, {
    ...{ on: POST, label: 'It exists', operation: 'news.resolve', bind, when },
    ask: ['sent']
  })
  ctx.contribute(dashboardActions, {
    ...{ on: POST, label: 'It does not exist', operation: 'news.resolve', when, tone: 'danger' },
    bind: { ...bind, not_sent: { value: true } }
  })
  ctx.contribute(dashboardInbox, { operation: 'news.inbox' })
}

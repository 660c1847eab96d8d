import {
  type Column,
  type DashboardPage,
  dashboardActions,
  dashboardCards,
  dashboardInbox,
  dashboardPages
} from '@svc/contracts'
import type { PluginContext } from '@svc/plugin-sdk'

const PAGE = 'updates/updates'

const summary: readonly Column[] = [
  { field: 'current_version', title: 'This version', format: 'code' },
  { field: 'available_version', title: 'Newest version', format: 'code' },
  { field: 'update_available', title: 'Update available', format: 'boolean' },
  { field: 'checked_at', title: 'Last check', format: 'time' }
]

const page: DashboardPage = {
  path: PAGE,
  title: 'Updates',
  summary: 'The version that runs, new ones, and installed ones. Install a version with: svc upgrade --apply',
  icon: 'boxes',
  section: 'system',
  order: 90,
  view: {
    kind: 'stack',
    items: [
      {
        view: {
          kind: 'record',
          operation: 'updates.status',
          of: 'updates',
          columns: [
            ...summary,
            { field: 'breaking', title: 'Other major version', format: 'boolean' },
            { field: 'source', title: 'Source', format: 'code' },
            { field: 'channel', title: 'Channel' },
            { field: 'target_triple', title: 'Machine', format: 'code' },
            { field: 'home', title: 'Folder', format: 'code' },
            { field: 'program', title: 'Program', format: 'code' }
          ]
        }
      },
      {
        title: 'Installed versions',
        view: {
          kind: 'table',
          operation: 'updates.status',
          rows: 'installed',
          key: 'installed_at',
          columns: [
            { field: 'tag', title: 'Release', format: 'code' },
            { field: 'current', title: 'In use', format: 'boolean' },
            { field: 'asset', title: 'Archive' },
            { field: 'installed_at', title: 'Installed', format: 'time' }
          ],
          empty: 'Versions that svc upgrade --apply has installed appear here.'
        }
      }
    ]
  }
}

export function contributeConsole(ctx: Pick<PluginContext, 'contribute'>): void {
  ctx.contribute(dashboardPages, page, `page ${page.path}`)
  ctx.contribute(dashboardActions, {
    on: 'updates',
    label: 'Check now',
    operation: 'updates.check',
    bind: {},
    role: 'operator'
  })
  ctx.contribute(dashboardInbox, { operation: 'updates.inbox' })
  ctx.contribute(dashboardCards, {
    title: 'Updates',
    order: 90,
    size: 's',
    link: { page: PAGE },
    view: { kind: 'record', operation: 'updates.status', columns: summary }
  })
}

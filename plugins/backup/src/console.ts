import { type Column, type DashboardPage, dashboardActions, dashboardInbox, dashboardPages } from '@svc/contracts'
import type { PluginContext } from '@svc/plugin-sdk'

const summary: readonly Column[] = [
  { field: 'last_success', title: 'Last backup', format: 'time' },
  { field: 'last_file', title: 'File', format: 'code' },
  { field: 'last_bytes', title: 'Size', format: 'bytes' },
  { field: 'last_failure', title: 'Last failure' },
  { field: 'next', title: 'Next backup', format: 'time' },
  { field: 'every_hours', title: 'Hours between backups' },
  { field: 'keep', title: 'Backups kept' },
  { field: 'encrypted', title: 'Encrypted', format: 'boolean' },
  { field: 'folder', title: 'Folder', format: 'code' }
]

const page: DashboardPage = {
  path: 'backup/backups',
  title: 'Backups',
  summary: 'The last backup, the schedule and the backups in the folder. Restore one with: svc restore FILE',
  icon: 'database',
  section: 'system',
  order: 85,
  view: {
    kind: 'stack',
    items: [
      { view: { kind: 'record', operation: 'backup.status', of: 'backup', columns: summary } },
      {
        title: 'Backups in the folder',
        view: {
          kind: 'table',
          operation: 'backup.status',
          rows: 'backups',
          key: 'file',
          columns: [
            { field: 'created_at', title: 'Made', format: 'time' },
            { field: 'file', title: 'File', format: 'code' },
            { field: 'bytes', title: 'Size', format: 'bytes' },
            { field: 'encrypted', title: 'Encrypted', format: 'boolean' },
            { field: 'problem', title: 'Problem' }
          ],
          sort: '-created_at',
          empty: 'No backups yet. Make one: svc backup'
        }
      }
    ]
  }
}

export function contributeConsole(ctx: Pick<PluginContext, 'contribute'>): void {
  ctx.contribute(dashboardPages, page, `page ${page.path}`)
  ctx.contribute(dashboardInbox, { operation: 'backup.inbox' })
  ctx.contribute(dashboardActions, {
    on: 'backup',
    label: 'Back up now',
    operation: 'backup.run',
    bind: {},
    role: 'operator'
  })
}

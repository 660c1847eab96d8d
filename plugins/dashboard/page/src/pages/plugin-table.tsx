import type { TableView as Table } from '@svc/contracts'
import { query } from '../router.ts'
import { TableView } from '../views/table.tsx'

const VIEW: Table = {
  kind: 'table',
  operation: 'kernel.plugins.list',
  rows: 'plugins',
  key: 'name',
  filters: [
    { name: 'name', label: 'Filter by name', field: 'name' },
    {
      name: 'state',
      label: 'State',
      field: 'state',
      choices: ['active', 'waiting', 'degraded', 'failed', 'invalid', 'disabled', 'quarantined', 'stuck']
    }
  ],
  columns: [
    { field: 'name' },
    { field: 'state', format: 'state' },
    { field: 'version' },
    { field: 'isolation' },
    { field: 'operations', format: 'number' },
    { field: 'inFlight', title: 'In flight', format: 'number' },
    { field: 'activateMs', title: 'Activation', format: 'ms' },
    { field: 'why' }
  ]
}

/** Table of the plugins. */
export function PluginTable() {
  return (
    <TableView
      label="Plugins"
      scope={{ route: {}, filters: query.value }}
      view={VIEW}
      address={row => `/ui/plugins/${encodeURIComponent(String((row as { name: unknown }).name))}`}
    />
  )
}

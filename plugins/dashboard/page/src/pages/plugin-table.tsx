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

/** States from the one that needs most attention to the one that needs least. */
const ATTENTION = ['failed', 'invalid', 'quarantined', 'stuck', 'waiting', 'degraded', 'active', 'resolved', 'disabled']

interface PluginRow {
  readonly name: string
  readonly state: string
  readonly refused: boolean
}

/** Compares plugins: those with a problem first, then by name. */
function byAttention(a: unknown, b: unknown): number {
  const [one, other] = [a as PluginRow, b as PluginRow]
  return attention(one) - attention(other) || (one.name < other.name ? -1 : 1)
}

function attention({ state, refused }: PluginRow): number {
  const rank = ATTENTION.indexOf(state)
  return refused || rank === -1 ? 0 : rank
}

/** Table of the plugins, those with a problem first. */
export function PluginTable() {
  return (
    <TableView
      label="Plugins"
      scope={{ route: {}, filters: query.value }}
      view={VIEW}
      order={byAttention}
      address={row => `/ui/plugins/${encodeURIComponent(String((row as { name: unknown }).name))}`}
    />
  )
}

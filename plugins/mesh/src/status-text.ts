import type { ExecLease } from '@svc/contracts'

export interface StatusNode {
  readonly id: string
  readonly state: 'ready' | 'maintenance' | 'quarantined'
  readonly seen_seconds_ago: number
  readonly version: string
  readonly labels: string[]
  readonly gpus: number | null
  readonly models: string[]
}

export interface ShownStatus {
  readonly control_urls: readonly string[]
  readonly node_id: string
  readonly queue_depth?: number
  readonly nodes: readonly StatusNode[]
  readonly leases?: readonly ExecLease[]
}

/** Characters that could control a terminal: node ids come from other machines. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: text of other machines must not control a terminal
const CONTROL = /[\x00-\x1f\x7f-\x9f]/g

/** Returns lines without characters that could control a terminal. */
export function plainText(lines: readonly string[]): string {
  return lines.map(line => line.replaceAll(CONTROL, '')).join('\n')
}

/** Returns `1 node` or `2 nodes`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** Formats the nodes and leases of a mesh as tables. */
export function statusText({ control_urls, node_id, queue_depth, nodes, leases = [] }: ShownStatus): string {
  const depth = queue_depth === undefined ? '' : `, ${counted(queue_depth, 'message')}`
  const rows = nodes.map(({ id, state, seen_seconds_ago, version, labels, gpus, models }) => [
    id === node_id ? `${id} (this node)` : id,
    state,
    `${seen_seconds_ago} s ago`,
    version,
    gpus === null ? '' : String(gpus),
    [...labels, ...models].join(' ')
  ])
  const held = leases.map(({ lease_id, scope_key, holder_node_id }) => [lease_id, scope_key, holder_node_id])
  return [
    `${control_urls.join(', ')}: ${counted(nodes.length, 'node')}, ${counted(leases.length, 'lease')}${depth}`,
    ...(rows.length === 0 ? [] : ['', ...table([['NODE', 'STATE', 'SEEN', 'VERSION', 'GPUS', 'LABELS'], ...rows])]),
    ...(held.length === 0 ? [] : ['', ...table([['LEASE', 'SCOPE', 'HOLDER'], ...held])])
  ].join('\n')
}

function table(rows: readonly (readonly string[])[]): string[] {
  const clean = rows.map(row => row.map(cell => cell.replaceAll(CONTROL, '')))
  const widths = (clean[0] ?? []).map((_, column) => Math.max(...clean.map(row => row[column]?.length ?? 0)))
  return clean.map(row =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd()
  )
}

import type { GraphEdge } from '@svc/contracts'
import type { PluginManifest } from '@svc/plugin-sdk'

export interface Graph {
  /** Plugins that can be activated, providers before users. */
  readonly order: readonly string[]
  readonly edges: readonly GraphEdge[]
  /** Plugins that cannot be activated, with the reason. */
  readonly blocked: ReadonlyMap<string, Blocked>
}

export interface Blocked {
  readonly code: 'KRN_WAITING' | 'KRN_CYCLE' | 'KRN_CONFLICT'
  readonly reason: string
  /** The missing service, or the one with two providers; absent for a cycle. */
  readonly token?: string
}

/** Known plugins that cannot be activated. */
export interface Absent {
  /** Disabled plugins. */
  readonly off: readonly Node[]
  /** Enabled plugins that failed, or whose settings or code are invalid. */
  readonly broken: readonly Node[]
  /** Names of those disabled plugins whose code was never read, so that their services are unknown. */
  readonly unread?: readonly string[]
}

type Node = Pick<PluginManifest, 'name' | 'requires' | 'optional' | 'refs' | 'after' | 'provides'>

/**
 * Orders plugins so that each follows the providers of the services that it requires.
 *
 * `builtin` contains the services of the kernel. If a plugin of `absent` provides a missing service, the reason names
 * that plugin.
 */
export function resolveGraph(
  nodes: readonly Node[],
  builtin: ReadonlySet<string>,
  absent: Absent = { off: [], broken: [] }
): Graph {
  const blocked = new Map<string, Blocked>()
  const providers = findProviders(nodes, builtin, blocked)
  const present = new Set(nodes.map(node => node.name))
  const edges = nodes.flatMap(node => edgesOf(node, providers, builtin, present))
  blockWaiting(nodes, edges, blocked, absent)
  const free = nodes.filter(node => !blocked.has(node.name))
  const order = sort(free, edges, blocked)
  blockWaiting(nodes, edges, blocked, absent)
  return { order: order.filter(name => !blocked.has(name)), edges, blocked }
}

function findProviders(
  nodes: readonly Node[],
  builtin: ReadonlySet<string>,
  blocked: Map<string, Blocked>
): Map<string, string> {
  const providers = new Map<string, string>()
  for (const node of nodes) {
    for (const token of node.provides) {
      const owner = builtin.has(token) ? 'the kernel' : providers.get(token)
      if (owner === undefined) providers.set(token, node.name)
      else {
        const reason = `${node.name} and ${owner} both provide ${token}; disable one of them`
        blocked.set(node.name, { code: 'KRN_CONFLICT', reason, token })
      }
    }
  }
  return providers
}

function edgesOf(
  node: Node,
  providers: ReadonlyMap<string, string>,
  builtin: ReadonlySet<string>,
  present: ReadonlySet<string>
): GraphEdge[] {
  const edge = (token: string, kind: GraphEdge['kind']): GraphEdge => ({
    from: node.name,
    token,
    to: providers.get(token) ?? (builtin.has(token) ? 'kernel' : null),
    kind
  })
  const refs = new Set<string>(node.refs)
  return [
    ...node.requires.map(token => edge(token, 'requires')),
    ...node.optional.map(token => edge(token, 'optional')),
    ...[...node.requires, ...node.optional].filter(token => refs.has(token)).map(token => edge(token, 'ref')),
    ...node.after
      .filter(name => present.has(name))
      .map((name): GraphEdge => ({ from: node.name, token: name, to: name, kind: 'after' }))
  ]
}

/** Blocks plugins that require a service without active provider. Repeats, since a blocked plugin may be a provider. */
function blockWaiting(
  nodes: readonly Node[],
  edges: readonly GraphEdge[],
  blocked: Map<string, Blocked>,
  absent: Absent
): void {
  for (let changed = true; changed; ) {
    changed = false
    for (const edge of edges) {
      if (edge.kind !== 'requires' || blocked.has(edge.from)) continue
      if (edge.to !== null && !blocked.has(edge.to)) continue
      const reason = edge.to === null ? missing(edge.token, nodes, absent) : `${edge.to} is not active`
      blocked.set(edge.from, { code: 'KRN_WAITING', reason: `needs ${edge.token}: ${reason}`, token: edge.token })
      changed = true
    }
  }
}

/** Maximum disabled plugins that a reason names. */
const MAX_UNREAD_NAMES = 3

function missing(token: string, nodes: readonly Node[], { off, broken, unread = [] }: Absent): string {
  const gives = (node: Node): boolean => (node.provides as readonly string[]).includes(token)
  const provider = broken.find(gives)
  if (provider !== undefined)
    return `${provider.name} provides it but is not active; run: svc plugins why ${provider.name}`
  const disabled = off.filter(gives)
  if (disabled.length > 0) {
    const names = disabled.map(node => node.name)
    return `${names.join(' or ')} provides it but is disabled; run: svc plugins enable ${names[0]}`
  }
  const base = token.slice(0, token.lastIndexOf('@') + 1)
  for (const node of [...nodes, ...broken, ...off]) {
    const other = node.provides.find(provided => provided.startsWith(base))
    if (other !== undefined) return `${node.name} provides only another major version, ${other}`
  }
  if (unread.length === 0) return 'no known plugin provides it'
  const names = unread.slice(0, MAX_UNREAD_NAMES).join(', ')
  const more = unread.length > MAX_UNREAD_NAMES ? ` and ${unread.length - MAX_UNREAD_NAMES} more` : ''
  return `no known plugin provides it; services of these disabled plugins are unknown: ${names}${more}`
}

/**
 * Sorts plugins depth first, providers before users. Blocks the members of a cycle, with the tokens of its edges as the
 * reason. References impose no order.
 */
function sort(nodes: readonly Node[], edges: readonly GraphEdge[], blocked: Map<string, Blocked>): string[] {
  const names = new Set(nodes.map(node => node.name))
  const refs = new Map(nodes.map(node => [node.name, new Set<string>(node.refs)]))
  const ordering = edges.filter(
    edge =>
      edge.kind !== 'ref' &&
      names.has(edge.from) &&
      edge.to !== null &&
      names.has(edge.to) &&
      !refs.get(edge.from)?.has(edge.token)
  )
  const outgoing = groupByFrom(withoutSoftCycles(ordering))
  const order: string[] = []
  const done = new Set<string>()
  const path: GraphEdge[] = []
  const visit = (name: string): void => {
    const start = path.findIndex(edge => edge.from === name)
    if (start >= 0) blockCycle(path.slice(start), blocked)
    if (start >= 0 || done.has(name)) return
    for (const edge of outgoing.get(name) ?? []) {
      path.push(edge)
      visit(edge.to as string)
      path.pop()
    }
    if (!done.has(name)) {
      done.add(name)
      order.push(name)
    }
  }
  for (const node of [...nodes].sort((a, b) => (a.name < b.name ? -1 : 1))) visit(node.name)
  return order
}

function blockCycle(cycle: readonly GraphEdge[], blocked: Map<string, Blocked>): void {
  const first = cycle[0]?.from ?? ''
  const reason = `dependency cycle: ${cycle.map(edge => `${edge.from} -[${edge.token}]-> `).join('')}${first}`
  for (const edge of cycle) blocked.set(edge.from, { code: 'KRN_CYCLE', reason })
}

/** Returns the edges without optional and `after` edges that would close a cycle. */
function withoutSoftCycles(edges: readonly GraphEdge[]): GraphEdge[] {
  const hard = edges.filter(edge => edge.kind === 'requires')
  const kept = [...hard]
  const outgoing = groupByFrom(hard)
  for (const soft of edges) {
    if (soft.kind === 'requires' || reaches(soft.to as string, soft.from, outgoing)) continue
    kept.push(soft)
    outgoing.set(soft.from, [...(outgoing.get(soft.from) ?? []), soft])
  }
  return kept
}

function reaches(start: string, goal: string, outgoing: ReadonlyMap<string, readonly GraphEdge[]>): boolean {
  const seen = new Set([start])
  for (const at of seen) for (const edge of outgoing.get(at) ?? []) seen.add(edge.to as string)
  return seen.has(goal)
}

function groupByFrom(edges: readonly GraphEdge[]): Map<string, GraphEdge[]> {
  const groups = new Map<string, GraphEdge[]>()
  for (const edge of edges) {
    const group = groups.get(edge.from)
    if (group === undefined) groups.set(edge.from, [edge])
    else group.push(edge)
  }
  return groups
}

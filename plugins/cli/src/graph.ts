import type { EffectNode, GraphEdge } from '@svc/contracts'
import { effectTree } from './render.ts'

// Draws dependencies as text, Graphviz and Mermaid. All dependencies of one plugin on another are one edge.

/** Dependencies of one plugin on another one, or on a service that no plugin provides. */
interface Link {
  readonly from: string
  /** Providing plugin; null if no plugin provides the service. */
  readonly to: string | null
  /** Services and relations, each once. */
  readonly labels: readonly string[]
  /** True if the plugin cannot run without it. */
  readonly required: boolean
  /** Identifies the end of the link: a plugin, or an absent service. */
  readonly end: string
}

function linksOf(edges: readonly GraphEdge[]): Link[] {
  const groups = new Map<string, GraphEdge[]>()
  for (const edge of edges) {
    const key = JSON.stringify([edge.from, edge.to, edge.to === null ? edge.token : null])
    groups.set(key, [...(groups.get(key) ?? []), edge])
  }
  return [...groups.values()].map(group => {
    const [{ from, to, token }] = group as [GraphEdge]
    const tokens = [...new Set(group.map(edge => edge.token))]
    const labels = tokens.map(each => labelOf(each, new Set(group.filter(edge => edge.token === each).map(kindOf))))
    return { from, to, labels, required: group.some(({ kind }) => kind === 'requires'), end: to ?? token }
  })
}

function kindOf({ kind }: GraphEdge): GraphEdge['kind'] {
  return kind
}

function labelOf(token: string, kinds: ReadonlySet<GraphEdge['kind']>): string {
  if (kinds.has('after') && kinds.size === 1) return 'starts after it'
  return kinds.has('requires') ? token : `${token} [optional]`
}

/** Renders a tree for each plugin that no other plugin depends on, with its dependencies below it. */
export function graphText(edges: readonly GraphEdge[]): string {
  if (edges.length === 0) return 'no plugin depends on another'
  const links = linksOf(edges)
  const used = new Set(links.map(({ to }) => to))
  const names = [...new Set(links.map(({ from }) => from))].sort()
  const roots = names.filter(name => !used.has(name))
  const shown = new Set<string>()
  const trees = (roots.length > 0 ? roots : names.slice(0, 1)).map(name => effectTree(branch(name, name, links, shown)))
  // Plugins in a cycle may not be reachable from a root.
  const left = names.filter(name => !shown.has(name)).map(name => effectTree(branch(name, name, links, shown)))
  return [...trees, ...left].join('\n')
}

/** Returns a plugin with its dependencies. A plugin that was already shown is listed without dependencies. */
function branch(name: string, label: string, links: readonly Link[], shown: Set<string>): EffectNode {
  const own = links.filter(({ from }) => from === name)
  const isRepeated = shown.has(name) && own.length > 0
  shown.add(name)
  if (isRepeated) return { label: `${label} …`, children: [] }
  const children = own.map(({ to, labels }) =>
    to === null
      ? { label: `(no provider): ${labels.join(', ')}`, children: [] }
      : branch(to, `${to}: ${labels.join(', ')}`, links, shown)
  )
  return { label, children }
}

export function graphMermaid(edges: readonly GraphEdge[]): string {
  const links = linksOf(edges)
  const ends = endsOf(links)
  const ids = new Map([...ends.keys()].map((end, index) => [end, `n${index}`]))
  const nodes = [...ends].map(([end, { name, absent }]) =>
    absent ? `  ${ids.get(end)}["${name}<br>no provider"]:::absent` : `  ${ids.get(end)}["${name}"]`
  )
  const lines = links.map(link => {
    const arrow = link.required ? '-->' : '-.->'
    return `  ${ids.get(endKey(link.from, true))} ${arrow}|"${link.labels.join('<br>')}"| ${ids.get(endKey(link.end, link.to !== null))}`
  })
  const hasAbsent = links.some(({ to }) => to === null)
  return ['graph LR', ...nodes, ...lines, ...(hasAbsent ? ['  classDef absent stroke-dasharray: 4'] : [])].join('\n')
}

export function graphDot(edges: readonly GraphEdge[]): string {
  const links = linksOf(edges)
  const nodes = [...endsOf(links)].flatMap(([end, { name, absent }]) =>
    absent ? [`  ${quoted(end)} [label=${quoted(`${name}\nno provider`)}, style=dashed]`] : []
  )
  const lines = links.map(link => {
    const style = link.required ? 'solid' : 'dashed'
    const [from, to] = [endKey(link.from, true), endKey(link.end, link.to !== null)].map(quoted)
    return `  ${from} -> ${to} [label=${quoted(link.labels.join('\n'))}, style=${style}]`
  })
  return ['digraph plugins {', '  rankdir = LR', ...nodes, ...lines, '}'].join('\n')
}

/** Returns plugins and absent services in the order of their first use. */
function endsOf(links: readonly Link[]): Map<string, { readonly name: string; readonly absent: boolean }> {
  const all = links.flatMap(({ from, to, end }) => [
    [endKey(from, true), { name: from, absent: false }] as const,
    [endKey(end, to !== null), { name: end, absent: to === null }] as const
  ])
  return new Map(all)
}

/** Key of a node. A plugin and a service may have the same name. */
function endKey(name: string, isPlugin: boolean): string {
  return isPlugin ? name : `no provider of ${name}`
}

function quoted(text: string): string {
  return JSON.stringify(text)
}

import type { ChangeReport, ConfigProblem, EffectNode, GraphEdge, SettingExplanation } from '@svc/contracts'

// Renders reports as plain text. The text is part of the output, so that clients can print it without this plugin's
// code.

export function effectTree(node: EffectNode, indent = ''): string {
  const lines = node.children.map((child, index) => {
    const last = index === node.children.length - 1
    return `${indent}${last ? '└─ ' : '├─ '}${effectTree(child, `${indent}${last ? '   ' : '│  '}`)}`
  })
  return [node.label, ...lines].join('\n')
}

/** Renders a tree for each plugin that no other plugin depends on, with its dependencies below it. */
export function graphText(edges: readonly GraphEdge[]): string {
  if (edges.length === 0) return 'no plugin depends on another'
  const used = new Set(edges.map(edge => edge.to))
  const names = [...new Set(edges.map(edge => edge.from))].sort()
  const roots = names.filter(name => !used.has(name))
  const shown = new Set<string>()
  const trees = (roots.length > 0 ? roots : names.slice(0, 1)).map(name => effectTree(branch(name, '', edges, shown)))
  // Plugins in a cycle may not be reachable from a root.
  const left = names.filter(name => !shown.has(name)).map(name => effectTree(branch(name, '', edges, shown)))
  return [...trees, ...left].join('\n')
}

/** Returns a plugin with its dependencies. A plugin that was already shown is listed without dependencies. */
function branch(name: string, suffix: string, edges: readonly GraphEdge[], shown: Set<string>): EffectNode {
  const own = new Map<string | null, GraphEdge[]>()
  for (const edge of edges.filter(({ from }) => from === name)) {
    const key = edge.to ?? `missing ${edge.token}`
    own.set(key, [...(own.get(key) ?? []), edge])
  }
  const isRepeated = shown.has(name) && own.size > 0
  shown.add(name)
  if (isRepeated) return { label: `${name}${suffix} …`, children: [] }
  const children = [...own.values()].map(group => {
    const [{ to }] = group as [GraphEdge]
    const through = `  (${group.map(label).join(', ')})`
    return to === null ? { label: `missing${through}`, children: [] } : branch(to, through, edges, shown)
  })
  return { label: `${name}${suffix}`, children }
}

export function graphMermaid(edges: readonly GraphEdge[]): string {
  const ids = new Map<string, string>()
  const node = (name: string): string => {
    const id = ids.get(name) ?? `n${ids.size}`
    const isNew = !ids.has(name)
    ids.set(name, id)
    return isNew ? `${id}["${name}"]` : id
  }
  const lines = edges.map(edge => {
    const arrow = edge.kind === 'requires' ? '-->' : '-.->'
    return `  ${node(edge.from)} ${arrow}|"${edge.token}"| ${node(edge.to ?? edge.token)}`
  })
  return ['graph LR', ...lines].join('\n')
}

export function graphDot(edges: readonly GraphEdge[]): string {
  const lines = edges.map(edge => {
    const style = edge.kind === 'requires' ? 'solid' : 'dashed'
    return `  ${JSON.stringify(edge.from)} -> ${JSON.stringify(edge.to ?? edge.token)} [label=${JSON.stringify(edge.token)}, style=${style}]`
  })
  return ['digraph plugins {', '  rankdir = LR', ...lines, '}'].join('\n')
}

function label(edge: GraphEdge): string {
  return edge.kind === 'requires' ? edge.token : `${edge.token}, ${edge.kind}`
}

export function changeText(report: ChangeReport): string {
  const steps = report.steps.length === 0 ? ['nothing to change'] : report.steps
  const end = report.applied ? `generation ${report.generation} serves` : 'dry run: no changes were made'
  return [...steps, end].join('\n')
}

export function explanationText(setting: SettingExplanation): string {
  const place = (layer: string, at: string | null): string => (at === null ? layer : `${layer}, ${at}`)
  return [
    `${setting.key} = ${JSON.stringify(setting.value)}`,
    `  from      ${place(setting.layer, setting.place)}`,
    ...setting.overrides.map(
      other => `  overrides ${JSON.stringify(other.value)} (${place(other.layer, other.place)})`
    ),
    ...(setting.env.length === 0 ? [] : [`  env       ${setting.env.join(', ')}`]),
    `  reload    ${setting.reload}`,
    ...(setting.description === '' ? [] : [`  about     ${setting.description}`])
  ].join('\n')
}

export function problemText(problem: ConfigProblem): string {
  const place =
    problem.file === undefined ? '' : `${[problem.file, problem.line, problem.column].filter(Boolean).join(':')}  `
  const hint = problem.hint === undefined ? '' : `\n    ${problem.hint}`
  return `${place}${problem.severity} ${problem.code}  ${problem.message}${hint}`
}

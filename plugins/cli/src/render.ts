import type { ChangeReport, ConfigProblem, EffectNode, GraphEdge, SettingExplanation } from '@svc/contracts'

/** Plain texts of reports. They are part of the output, so that a client without this plugin's code can print them. */

export function effectTree(node: EffectNode, indent = ''): string {
  const lines = node.children.map((child, index) => {
    const last = index === node.children.length - 1
    return `${indent}${last ? '└─ ' : '├─ '}${effectTree(child, `${indent}${last ? '   ' : '│  '}`)}`
  })
  return [node.label, ...lines].join('\n')
}

export function graphText(edges: readonly GraphEdge[]): string {
  if (edges.length === 0) return 'no plugin depends on another'
  return edges.map(edge => `${edge.from} -[${label(edge)}]-> ${edge.to ?? '(nobody)'}`).join('\n')
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
  const end = report.applied ? `generation ${report.generation} serves` : 'dry run: nothing was changed'
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

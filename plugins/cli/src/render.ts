import type { ChangeReport, ConfigProblem, EffectNode, SettingExplanation } from '@svc/contracts'

// Renders reports as plain text. The text is part of the output, so that clients can print it without this plugin's
// code.

export function effectTree(node: EffectNode, indent = ''): string {
  const lines = node.children.map((child, index) => {
    const last = index === node.children.length - 1
    return `${indent}${last ? '└─ ' : '├─ '}${effectTree(child, `${indent}${last ? '   ' : '│  '}`)}`
  })
  return [node.label, ...lines].join('\n')
}

export function changeText(report: ChangeReport): string {
  const steps = report.steps.length === 0 ? ['nothing to change'] : report.steps
  const end = report.applied ? `generation ${report.generation} serves` : 'dry run: no changes were made'
  return [...steps, end].join('\n')
}

export function explanationText(setting: SettingExplanation): string {
  const place = (layer: string, at: string | null): string => (at === null ? layer : `${layer}, ${at}`)
  const { key, value, refused } = setting
  const isUnset = refused !== undefined && value === null
  return [
    isUnset ? `${key}: no value is in force` : `${key} = ${JSON.stringify(value)}`,
    ...(isUnset ? [] : [`  from      ${place(setting.layer, setting.place)}`]),
    ...setting.overrides.map(
      other => `  overrides ${JSON.stringify(other.value)} (${place(other.layer, other.place)})`
    ),
    ...(refused === undefined
      ? []
      : [`  rejected  ${JSON.stringify(refused.value)} (${place(refused.layer, refused.place)}): ${refused.message}`]),
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

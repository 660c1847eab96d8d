import type {
  ChangeReport,
  ConfigProblem,
  ConflictReport,
  EffectNode,
  GenerationReport,
  PermissionReport,
  SettingExplanation
} from '@svc/contracts'
import type { Permissions } from '@svc/plugin-sdk'

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

/** Summarizes a generation in one line: `1 added: notes; 2 replaced: a, b; 20 kept`. */
export function generationSummary({ added, replaced, removed, kept, refused }: GenerationReport): string {
  if (refused !== null) return `refused: ${refused.message.split('\n', 1)[0]}`
  const named = (label: string, names: readonly string[]): string[] =>
    names.length === 0 ? [] : [`${names.length} ${label}: ${names.join(', ')}`]
  return [
    ...named('added', added),
    ...named('replaced', replaced),
    ...named('removed', removed),
    `${kept.length} kept`
  ].join('; ')
}

export function conflictText({ keys, names }: ConflictReport): string {
  if (keys.length + names.length === 0) return 'no conflicts'
  return [
    ...keys.map(({ key, claims, used, detail }) => {
      const owners = claims.map(({ plugin, state }) => `${plugin} (${state})`).join(', ')
      const lines = detail === '' ? [] : detail.split('\n').map(line => `  ${line}`)
      return [
        `${key}: claimed by ${owners}`,
        `  ${used === null ? 'no plugin has it' : `${used} has it`}`,
        ...lines
      ].join('\n')
    }),
    ...names.map(
      ({ name, used, shadowed }) =>
        `plugin ${name}: ${used} is used\n  ${shadowed} is ignored; remove or rename one of them`
    )
  ].join('\n')
}

export function permissionText({ plugin, isolation, requested, granted, effective }: PermissionReport): string {
  const lines = (title: string, permissions: Permissions | null, none: string): string[] => {
    const entries = Object.entries(permissions ?? {}).filter(([, value]) => value !== undefined)
    if (permissions === null || entries.length === 0) return [`${title}  ${none}`]
    return entries.map(
      ([key, value], index) => `${index === 0 ? title : ' '.repeat(title.length)}  ${key}: ${show(value)}`
    )
  }
  return [
    `${plugin}: isolation ${isolation}`,
    ...lines('  requested', requested, 'nothing'),
    ...lines('  granted  ', granted, granted === null ? 'svc.toml has no permissions for it' : 'nothing'),
    ...lines('  effective', effective, effective === null ? 'everything that svc may do' : 'nothing')
  ].join('\n')
}

function show(value: unknown): string {
  return Array.isArray(value) ? value.join(', ') || 'none' : value === true ? 'yes' : 'no'
}

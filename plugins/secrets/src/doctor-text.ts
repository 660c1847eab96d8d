import { type DoctorResult, type DoctorRow, type Group, vaultStatusLine } from './doctor.ts'

/** Returns the report for people. Values are redacted. */
export function doctorText({ report, groups, activeMode, healthy }: DoctorResult): string {
  const { workflow, profile, mode, rollout_flags: flags } = report
  const blocking = new Set(groups.flatMap(({ variables }) => variables))
  const [required, optional] = [
    report.secrets.filter(({ canonical_env }) => blocking.has(canonical_env)),
    report.secrets.filter(({ canonical_env }) => !blocking.has(canonical_env))
  ]
  return [
    `Secrets for the workflow ${workflow}, profile ${profile}`,
    vaultStatusLine(report.vault_diagnostic),
    ...(report.vault_diagnostic?.problem == null
      ? []
      : [`  the vault cannot be used: ${report.vault_diagnostic.problem}`]),
    `mode: ${activeMode}${mode === 'auto' ? ' (auto)' : ''}`,
    `backend: ${report.backend_mode}, because of ${flags.backend_selected_by}`,
    ...(flags.backend_problem === null ? [] : [`  the backend cannot be used: ${flags.backend_problem}`]),
    `keyring: ${flags.keyring}${flags.keyring_detail === null ? '' : `, ${flags.keyring_detail}`}`,
    ...(report.account_warning === undefined ? [] : [`warning: ${report.account_warning}`]),
    ...section('Suggested migrations', report.suggested_migrations),
    ...section('Blocking requirements', [
      ...groups.map(groupLine),
      ...(groups.length === 0 ? ['none'] : required.flatMap(row => rowLines(row)))
    ]),
    ...section('Optional capabilities', optional.flatMap(optionalLines)),
    ...section('Rollout', [
      `profile ${flags.profile}; phase ${flags.cutover_phase}; hard cut ${flags.hard_cut ? 'on' : 'off'}`,
      `environment variables and files: ${flags.legacy_sources_allowed ? 'allowed' : 'refused'}`
    ]),
    healthy ? 'All blocking requirements are met.' : 'A blocking requirement is not met.'
  ].join('\n')
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ['', `${title}:`, ...lines.map(line => `  ${line}`)]
}

function groupLine({ title, kind, variables, met }: Group): string {
  return `${met ? 'met' : 'NOT MET'}: ${title}, ${kind} ${variables.join(', ')}`
}

function rowLines({ canonical_env, status, source, redacted_value, remediation, is_present }: DoctorRow): string[] {
  const from = source === null ? '' : ` from ${source}`
  return [
    `${canonical_env}: ${status}${from}, ${redacted_value}`,
    ...(is_present && status === 'Present' ? [] : [`  ${remediation}`])
  ]
}

/** Absent optional secrets are only counted by name, since most of them are not needed. */
function optionalLines(row: DoctorRow): string[] {
  return row.status === 'MissingOptional' ? [`${row.canonical_env}: not set`] : rowLines(row)
}

import type { StubSeverity } from '@svc/contracts'
import type { Envelope, WireFinding } from './envelope.ts'

export const FORMATS = ['terminal', 'json', 'llm-json', 'markdown'] as const

export type Format = (typeof FORMATS)[number]

const COLOURS: Readonly<Record<StubSeverity, string>> = { info: '36', warning: '33', error: '31', critical: '35' }

/** Returns the report as text. `suggest`: whether suggestions are part of it; in the envelope, they always are. */
export function render(
  envelope: Envelope,
  format: Format,
  options: { readonly suggest: boolean; readonly colour: boolean }
): string {
  switch (format) {
    case 'json':
      return `${JSON.stringify(envelope, null, 2)}\n`
    case 'llm-json':
      return `${JSON.stringify(forModel(envelope, options.suggest))}\n`
    case 'markdown':
      return markdown(envelope, options.suggest)
    case 'terminal':
      return terminal(envelope, options.suggest, options.colour)
  }
}

function terminal(envelope: Envelope, suggest: boolean, colour: boolean): string {
  const lines: string[] = []
  const paint = (severity: StubSeverity): string =>
    colour ? `\u001b[${COLOURS[severity]}m${severity}\u001b[0m` : severity
  for (const { file, line, column, severity, message, rule_id, suggestion } of envelope.findings) {
    lines.push(`${file}:${line}:${column}: ${paint(severity)}: ${message} [${rule_id}]`)
    if (suggest && suggestion !== undefined) lines.push(`  ${suggestion}`)
  }
  if (envelope.findings_total > envelope.findings.length)
    lines.push(`… and ${envelope.findings_total - envelope.findings.length} more findings`)
  for (const note of envelope.notes) lines.push(`note: ${note}`)
  for (const { file, reason } of envelope.files_not_scanned) lines.push(`not scanned: ${file}: ${reason}`)
  lines.push(summaryOf(envelope))
  return `${lines.join('\n')}\n`
}

/** One line with the counts. */
export function summaryOf({ files_scanned, counts, suppressions_applied }: Envelope): string {
  const parts = (['critical', 'error', 'warning', 'info'] as const)
    .filter(severity => counts[severity] > 0)
    .map(
      severity =>
        `${counts[severity]} ${severity === 'info' || severity === 'critical' ? severity : counts[severity] === 1 ? severity : `${severity}s`}`
    )
  const found = parts.length === 0 ? 'no findings' : parts.join(', ')
  const hidden = suppressions_applied === 0 ? '' : `, ${suppressions_applied} suppressed`
  return `scanned ${files_scanned} files: ${found}${hidden}`
}

/** Short keys and groups by file, since a model pays for each token. */
function forModel(envelope: Envelope, suggest: boolean): object {
  const files: Record<string, object[]> = {}
  const rules: Record<string, object> = {}
  for (const { file, line, rule_id, rule_name, severity, message, suggestion, context } of envelope.findings) {
    const own = files[file] ?? []
    files[file] = own
    own.push({ line, rule: rule_id, message, ...(context === undefined || context === '' ? {} : { code: context }) })
    rules[rule_id] ??= {
      severity,
      name: rule_name,
      ...(suggest && suggestion !== undefined ? { fix: suggestion } : {})
    }
  }
  const { schema_version, files_scanned, counts, findings_total } = envelope
  return { schema_version, files_scanned, counts, findings_total, rules, files }
}

function markdown(envelope: Envelope, suggest: boolean): string {
  const lines = ['# Stub check', '', `${capital(summaryOf(envelope))}.`, '']
  const byFile = new Map<string, WireFinding[]>()
  for (const finding of envelope.findings) {
    const own = byFile.get(finding.file)
    if (own === undefined) byFile.set(finding.file, [finding])
    else own.push(finding)
  }
  for (const [file, findings] of byFile) {
    lines.push(`## ${escaped(file)}`, '')
    for (const { line, severity, message, rule_id, suggestion, context } of findings) {
      lines.push(`- **${severity}** line ${line}: ${escaped(message)} (\`${rule_id}\`)`)
      if (context !== undefined && context !== '') lines.push(`  ${codeSpan(context)}`)
      if (suggest && suggestion !== undefined) lines.push(`  ${escaped(capital(suggestion))}.`)
    }
    lines.push('')
  }
  for (const note of envelope.notes) lines.push(`Note: ${escaped(note)}.`, '')
  return `${lines.join('\n').trimEnd()}\n`
}

/** Code in backticks, whatever backticks it contains. */
function codeSpan(text: string): string {
  const longest = Math.max(0, ...(text.match(/`+/g) ?? []).map(run => run.length))
  const mark = '`'.repeat(longest + 1)
  return longest === 0 ? `${mark}${text}${mark}` : `${mark} ${text} ${mark}`
}

function escaped(text: string): string {
  return text.replace(/[\\`*_{}[\]<>#|]/g, '\\$&')
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1)
}

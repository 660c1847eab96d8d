import { dashboardCards, dashboardPages, STUB_SEVERITIES, type View } from '@svc/contracts'
import type { PluginContext } from '@svc/plugin-sdk'

const EMPTY = 'Findings appear here after a scan. Scan the project below, or run: svc stub-check'

const counts: View = {
  kind: 'record',
  operation: 'stub-check.findings',
  columns: [
    { field: 'scanned_at', title: 'Scanned', format: 'time' },
    { field: 'path', title: 'Path', format: 'code' },
    { field: 'files_scanned', title: 'Files', format: 'number' },
    { field: 'critical', title: 'Critical', format: 'number' },
    { field: 'errors', title: 'Errors', format: 'number' },
    { field: 'warnings', title: 'Warnings', format: 'number' },
    { field: 'infos', title: 'Infos', format: 'number' },
    { field: 'suppressed', title: 'Suppressed', format: 'number' }
  ],
  empty: EMPTY
}

const findings: View = {
  kind: 'table',
  operation: 'stub-check.findings',
  rows: 'findings',
  key: 'key',
  columns: [
    { field: 'severity', title: 'Severity', format: 'state' },
    { field: 'place', title: 'Place', format: 'code' },
    { field: 'finding.message', title: 'Finding' },
    { field: 'finding.rule_id', title: 'Rule', format: 'code' },
    { field: 'finding.context', title: 'Line', format: 'code' },
    { field: 'finding.suggestion', title: 'Next step' }
  ],
  filters: [
    { name: 'severity', label: 'Severity', choices: STUB_SEVERITIES, field: 'severity' },
    { name: 'place', label: 'File', field: 'place' },
    { name: 'rule', label: 'Rule', field: 'finding.rule_id' }
  ],
  empty: EMPTY
}

/** Contributes the page with the findings of the last scan, and a card with their numbers. */
export function contributePages(ctx: PluginContext): void {
  ctx.contribute(dashboardPages, {
    path: 'stub-check/findings',
    title: 'Code findings',
    summary: 'Placeholders, hazards and copied code in the project',
    icon: 'list-checks',
    section: 'build',
    view: {
      kind: 'stack',
      items: [
        { view: counts },
        { title: 'Findings', view: findings },
        { title: 'Scan', view: { kind: 'form', operation: 'stub-check.scan', submit: 'Scan' } }
      ]
    }
  })
  ctx.contribute(dashboardCards, {
    title: 'Code findings',
    size: 's',
    view: counts,
    link: { page: 'stub-check/findings' }
  })
}

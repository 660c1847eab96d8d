import { dashboardCards, dashboardInbox, dashboardPages, STUB_SEVERITIES, type View } from '@svc/contracts'
import type { PluginContext } from '@svc/plugin-sdk'
import { STANDINGS } from './last-scan.ts'

const EMPTY = 'Findings appear here after a scan. Scan the project below, or run: svc stub-check'

const FINDING = 'stub-check/findings/:key'

const counts: View = {
  kind: 'record',
  operation: 'stub-check.summary',
  columns: [
    { field: 'scanned_at', title: 'Scanned', format: 'time' },
    { field: 'path', title: 'Path', format: 'code' },
    { field: 'files_scanned', title: 'Files', format: 'number' },
    { field: 'critical', title: 'Critical', format: 'number' },
    { field: 'errors', title: 'Errors', format: 'number' },
    { field: 'warnings', title: 'Warnings', format: 'number' },
    { field: 'infos', title: 'Infos', format: 'number' },
    { field: 'suppressed', title: 'Suppressed', format: 'number' },
    { field: 'total', title: 'All findings', format: 'number' },
    { field: 'listed', title: 'Listed here', format: 'number' },
    { field: 'new_since_baseline', title: 'New since the baseline', format: 'number' },
    { field: 'raised_since_baseline', title: 'More severe than in the baseline', format: 'number' }
  ],
  empty: EMPTY
}

const card: View = {
  kind: 'record',
  operation: 'stub-check.summary',
  columns: [
    { field: 'scanned_at', title: 'Scanned', format: 'time' },
    { field: 'critical', title: 'Critical', format: 'number' },
    { field: 'errors', title: 'Errors', format: 'number' },
    { field: 'warnings', title: 'Warnings', format: 'number' },
    { field: 'new_since_baseline', title: 'New since the baseline', format: 'number' }
  ],
  empty: EMPTY
}

const findings: View = {
  kind: 'table',
  operation: 'stub-check.findings.feed',
  key: 'key',
  columns: [
    { field: 'severity', title: 'Severity', format: 'state' },
    { field: 'standing', title: 'Baseline', format: 'state' },
    { field: 'place', title: 'Place', format: 'code' },
    { field: 'finding.message', title: 'Finding' },
    { field: 'finding.rule_id', title: 'Rule', format: 'code' }
  ],
  open: { page: FINDING, params: { key: { from: 'row', name: 'key' } } },
  filters: [
    { name: 'severity', label: 'Severity', choices: STUB_SEVERITIES, field: 'severity' },
    { name: 'baseline', label: 'Baseline', choices: STANDINGS, field: 'standing' },
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
  ctx.contribute(dashboardPages, {
    path: FINDING,
    title: 'Finding',
    icon: 'list-checks',
    section: 'build',
    view: {
      kind: 'record',
      operation: 'stub-check.finding',
      input: { key: { from: 'route', name: 'key' } },
      field: 'found',
      name: 'place',
      columns: [
        { field: 'place', title: 'Place', format: 'code' },
        { field: 'severity', title: 'Severity', format: 'state' },
        { field: 'standing', title: 'Baseline', format: 'state' },
        { field: 'finding.message', title: 'Finding' },
        { field: 'finding.context', title: 'Line', format: 'code' },
        { field: 'finding.suggestion', title: 'Next step' },
        { field: 'finding.rule_name', title: 'Name of the rule' },
        { field: 'finding.rule_id', title: 'Rule', format: 'code' },
        { field: 'finding.column', title: 'Column', format: 'number' }
      ],
      empty: 'The last scan has no such finding.'
    }
  })
  ctx.contribute(dashboardCards, {
    title: 'Code findings',
    size: 's',
    view: card,
    link: { page: 'stub-check/findings' }
  })
  ctx.contribute(dashboardInbox, { operation: 'stub-check.inbox' })
}

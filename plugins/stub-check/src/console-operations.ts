import { dashboardInboxOutput, STUB_SEVERITIES } from '@svc/contracts'
import { DeltaLog, defined, defineOperation, deltaOperation, type Handler, t } from '@svc/plugin-sdk'
import { type KeptFinding, type KeptScan, type LastScan, STANDINGS } from './last-scan.ts'
import { STUB_CHECK_TOPIC } from './operations.ts'
import { findingSchema } from './report/envelope.ts'
import type { BaselineRun, BaselineRuns } from './store/baseline-runs.ts'

const summaryFields = {
  scanned_at: t.optional(t.string({ format: 'date-time' })),
  path: t.optional(t.string()),
  files_scanned: t.integer(),
  critical: t.integer(),
  errors: t.integer(),
  warnings: t.integer(),
  infos: t.integer(),
  suppressed: t.integer(),
  total: t.integer({ description: 'All findings of the scan.' }),
  listed: t.integer({ description: 'Findings that are listed, at most 1,000: new ones first, then by severity.' }),
  new_since_baseline: t.optional(
    t.integer({ description: 'Findings that the baseline does not have; absent without a baseline.' })
  ),
  raised_since_baseline: t.optional(t.integer({ description: 'Findings that are more severe than in the baseline.' }))
}

const row = t.object({
  key: t.string(),
  place: t.string({ description: 'File and line.' }),
  severity: t.enum(STUB_SEVERITIES),
  standing: t.optional(
    t.enum(STANDINGS, { description: 'new: not in the baseline. raised: more severe than in the baseline.' })
  ),
  finding: findingSchema
})

export const findingsOperation = defineOperation({
  id: 'stub-check.findings',
  summary: 'Show the findings of the last scan',
  input: t.object({}),
  output: t.object({ ...summaryFields, findings: t.array(row) }),
  effect: 'read',
  expose: { http: { method: 'GET', path: '/api/v2/stub-check/findings' }, rpc: true }
})

export const findingsSummary = defineOperation({
  id: 'stub-check.summary',
  summary: 'Count the findings of the last scan',
  input: t.object({}),
  output: t.object(summaryFields),
  effect: 'read',
  watch: { on: [STUB_CHECK_TOPIC], minMs: 1_000 },
  expose: { rpc: true }
})

export const findingsFeed = deltaOperation({
  id: 'stub-check.findings.feed',
  summary: 'Follow the findings of the last scan',
  row,
  watch: { on: [STUB_CHECK_TOPIC], minMs: 1_000 },
  expose: { rpc: true }
})

export const findingOperation = defineOperation({
  id: 'stub-check.finding',
  summary: 'Show one finding of the last scan',
  input: t.object({ key: t.string({ maxLength: 20, description: 'Key of the finding in the list.' }) }),
  output: t.object({ found: t.optional(row) }),
  effect: 'read',
  watch: { on: [STUB_CHECK_TOPIC], minMs: 1_000 },
  expose: { rpc: true }
})

export const findingsInbox = defineOperation({
  id: 'stub-check.inbox',
  summary: 'List findings that are newer than the baseline',
  input: t.object({}),
  output: dashboardInboxOutput,
  effect: 'read',
  watch: { on: [STUB_CHECK_TOPIC], minMs: 1_000 },
  expose: { rpc: true }
})

const NO_SCAN = {
  files_scanned: 0,
  critical: 0,
  errors: 0,
  warnings: 0,
  infos: 0,
  suppressed: 0,
  total: 0,
  listed: 0
} as const

function summaryOf(scan: KeptScan | null) {
  if (scan === null) return NO_SCAN
  const { counts, files_scanned, suppressions_applied, findings, findings_total, baseline } = scan.envelope
  return {
    scanned_at: scan.at,
    path: scan.path,
    files_scanned,
    critical: counts.critical,
    errors: counts.error,
    warnings: counts.warning,
    infos: counts.info,
    suppressed: suppressions_applied,
    total: findings_total,
    listed: findings.length,
    ...defined({ new_since_baseline: baseline?.added, raised_since_baseline: baseline?.raised })
  }
}

function rowsOf(scan: KeptScan | null) {
  return (scan?.envelope.findings ?? []).map(({ standing, ...finding }: KeptFinding, at) => ({
    key: String(at),
    place: `${finding.file}:${finding.line}`,
    severity: finding.severity,
    finding,
    ...defined({ standing })
  }))
}

export function findingsHandler(last: LastScan): Handler<typeof findingsOperation> {
  return async () => {
    const scan = await last.read()
    return { ...summaryOf(scan), findings: rowsOf(scan) }
  }
}

export function findingHandler(last: LastScan): Handler<typeof findingOperation> {
  return async ({ key }) => defined({ found: rowsOf(await last.read()).find(each => each.key === key) })
}

export function summaryHandler(last: LastScan): Handler<typeof findingsSummary> {
  return async () => summaryOf(await last.read())
}

export function feedHandler(last: LastScan): Handler<typeof findingsFeed> {
  const log = new DeltaLog<ReturnType<typeof rowsOf>[number]>()
  let shownAt: string | undefined
  return async ({ since, limit }) => {
    const scan = await last.read()
    if (scan?.at !== shownAt) log.replaceAll(rowsOf(scan), ({ key }) => key)
    shownAt = scan?.at
    const { upsert, remove, ...delta } = log.read(since, limit)
    return { ...delta, upsert: [...upsert], remove: [...remove] }
  }
}

export function inboxHandler(runs: BaselineRuns): Handler<typeof findingsInbox> {
  return async () => {
    const found = (await runs.list()).filter(({ added, raised }) => added + raised > 0)
    return { items: found.map(itemOf) }
  }
}

function itemOf({ path, name, added, raised, places, at }: BaselineRun) {
  const count = added + raised
  const more = count > places.length ? [`and ${count - places.length} more`] : []
  return {
    id: path,
    kind: 'failure' as const,
    title: `${count} ${count === 1 ? 'finding' : 'findings'} in ${path} that the baseline ${name} does not accept`,
    body: [...places, ...more].map(line => `    ${line.replaceAll(/\s+/g, ' ')}`).join('\n'),
    since: at,
    link: '/ui/p/stub-check/findings',
    answers: [
      { label: 'Scan again', operation: 'stub-check.scan', input: { path, limit: 1 }, tone: 'primary' as const }
    ]
  }
}

import type { DatabaseStore, SqlValue } from '@svc/contracts'
import { defineOperation, type Handler, t } from '@svc/plugin-sdk'
import { runErrors } from '../errors.ts'
import { findRun, type OpenRuns, runFields, runIdField, shownRun, timeText } from './runs.ts'
import { apiJson } from './stored-json.ts'
import { type TimelineBar, timelineBars } from './timeline.ts'
import { WORKFLOWS_TOPIC } from './topic.ts'

const { RUN_WORKFLOW_UNKNOWN } = runErrors.specs

/** Maximum journal entries in an answer: the newest. The stream of the console carries at most 256 kB. */
export const MAX_ENTRIES = 400

/** Maximum characters of a value in an answer. */
const MAX_TEXT = 4_000

const time = t.string({ description: 'RFC 3339, in UTC.' })

export const workflowTimeline = defineOperation({
  id: 'workflow.timeline',
  summary: 'Show when the steps of a workflow run began and ended',
  input: t.object({ run_id: runIdField }),
  output: t.object({
    run: runFields,
    args: t.string({ description: 'Arguments as JSON, in the form of the HTTP API.' }),
    result: t.nullable(
      t.string({ description: 'Result as JSON, in the form of the HTTP API; null until the run has completed.' })
    ),
    bars: t.array(
      t.object({
        lane: t.string({ description: 'Activity and step, timer, signal, or workflow.' }),
        start: time,
        end: t.nullable(t.string({ description: 'null while it lasts.' })),
        state: t.enum([
          'pending',
          'running',
          'waiting',
          'retrying',
          'completed',
          'failed',
          'interrupted',
          'cancelled',
          'received'
        ]),
        attempt: t.nullable(t.integer()),
        label: t.string()
      })
    ),
    journal: t.array(
      t.object({
        entry: t.integer({ description: 'Number of the entry, from 1.' }),
        time,
        event: t.string(),
        step: t.nullable(t.string()),
        activity: t.nullable(t.string()),
        detail: t.string()
      })
    ),
    omitted: t.integer({ description: `Older journal entries, beyond the newest ${MAX_ENTRIES}.` }),
    text: t.string()
  }),
  errors: { RUN_WORKFLOW_UNKNOWN },
  effect: 'read',
  watch: { on: [WORKFLOWS_TOPIC] },
  expose: {
    http: { method: 'GET', path: '/api/workflows/:run_id/timeline' },
    rpc: true,
    cli: { command: 'workflow timeline', args: ['run_id'], view: { text: 'text' } }
  }
})

type Output = Awaited<ReturnType<Handler<typeof workflowTimeline>>>
type Row = readonly SqlValue[]

export function timelineHandler(open: OpenRuns): Handler<typeof workflowTimeline> {
  return async ({ run_id }) => {
    const store = await open()
    const row = await findRun(store, run_id)
    return timelineOf(row, await journalOf(store, run_id), await stepsOf(store, run_id))
  }
}

/** Describes a run, from its row as in `RUNS`. */
export function timelineOf(row: Row, { total, entries }: StoredJournal, steps: StepTimes): Output {
  const run = shownRun(row)
  const { run_id } = run
  const bars = timelineBars({
    run: {
      workflow: run.workflow,
      status: run.status,
      start: Number(row[5]),
      end: numberOrNull(row[6]),
      error: run.error
    },
    journal: entries,
    waitingFor: run.waits_for,
    ...steps
  }).map(shownBar)
  const omitted = total - entries.length
  return {
    run,
    args: cut(apiJson(String(row[10]))),
    result: typeof row[11] === 'string' ? cut(apiJson(row[11])) : null,
    bars,
    journal: entries.map(({ entry, at }, index) => shownEntry(entry, at, omitted + index + 1)),
    omitted,
    text: textOf(run_id, bars, omitted)
  }
}

type StepTimes = Awaited<ReturnType<typeof stepsOf>>

interface StoredJournal {
  readonly total: number
  readonly entries: readonly StoredEntry[]
}

interface StoredEntry {
  readonly entry: Readonly<Record<string, unknown>>
  readonly at: number
}

async function journalOf(store: DatabaseStore, runId: string): Promise<StoredJournal> {
  const [count, newest] = await Promise.all([
    store.query('SELECT count(*) FROM workflow_journal WHERE run_id = ?', [runId]),
    store.query('SELECT entry_json, recorded_at_ms FROM workflow_journal WHERE run_id = ? ORDER BY id DESC LIMIT ?', [
      runId,
      MAX_ENTRIES
    ])
  ])
  const entries = newest.rows.map(([entry, at]): StoredEntry => ({ entry: JSON.parse(String(entry)), at: Number(at) }))
  return { total: Math.max(Number(count.rows[0]?.[0]), entries.length), entries: entries.reverse() }
}

/** Reads the times that the journal does not have. Each list is limited to its newest rows. */
async function stepsOf(store: DatabaseStore, runId: string) {
  const [starts, waits, signals, children] = await Promise.all([
    store.query(
      `SELECT activity_id, attempt_no, recorded_at_ms FROM workflow_activity_attempt_log
        WHERE run_id = ? AND status = 'started' ORDER BY recorded_at_ms DESC LIMIT ?`,
      [runId, MAX_ENTRIES]
    ),
    store.query(
      `SELECT activity_id, activity_name, recorded_at_ms, result_json FROM workflow_activity_log
        WHERE run_id = ? AND status = 'scheduled' ORDER BY recorded_at_ms DESC LIMIT ?`,
      [runId, MAX_ENTRIES]
    ),
    store.query(
      `SELECT signal_key, recorded_at_ms, consumed_at_ms FROM workflow_signal_log
        WHERE run_id = ? ORDER BY id DESC LIMIT ?`,
      [runId, MAX_ENTRIES]
    ),
    store.query(
      `SELECT r.run_id, r.workflow_name, r.status, r.started_at_ms, r.completed_at_ms
        FROM workflow_run_state s JOIN workflow_run_log r ON r.run_id = s.run_id
        WHERE s.parent_run_id = ? ORDER BY r.started_at_ms DESC LIMIT ?`,
      [runId, MAX_ENTRIES]
    )
  ])
  return {
    starts: starts.rows.map(([step, attempt, at]) => ({
      step: String(step),
      attempt: Number(attempt),
      at: Number(at)
    })),
    waits: waits.rows.map(([step, activity, at, due]) => ({
      step: String(step),
      at: Number(at),
      due: activity === 'workflow_wait_signal' ? null : Number(due)
    })),
    signals: signals.rows
      .map(([key, at, consumed]) => ({ key: String(key), at: Number(at), consumed: numberOrNull(consumed) }))
      .reverse(),
    children: children.rows
      .map(([child, workflow, status, start, end]: Row) => ({
        runId: String(child),
        workflow: String(workflow),
        status: String(status) as Output['run']['status'],
        start: Number(start),
        end: numberOrNull(end)
      }))
      .reverse()
  }
}

function shownBar({ start, end, ...bar }: TimelineBar): Output['bars'][number] {
  return { ...bar, start: new Date(start).toISOString(), end: end === null ? null : new Date(end).toISOString() }
}

const KNOWN: ReadonlySet<string> = new Set(['event', 'journal_version', 'activity_id', 'activity', 'workflow'])

function shownEntry(entry: Readonly<Record<string, unknown>>, at: number, number: number): Output['journal'][number] {
  const { event, activity_id: step, activity } = entry
  const details = Object.entries(entry).filter(([key, value]) => !KNOWN.has(key) && value !== null)
  const detail = details.map(([key, value]) => `${key} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
  return {
    entry: number,
    time: timeText(at) as string,
    event: String(event),
    step: typeof step === 'string' ? step : null,
    activity: typeof activity === 'string' ? activity : null,
    detail: cut(detail.join(', '), 300)
  }
}

function textOf(runId: string, bars: Output['bars'], omitted: number): string {
  const now = Date.now()
  const lines = bars.map(({ lane, start, end, state, attempt, label }) => {
    const ms = (end === null ? now : Date.parse(end)) - Date.parse(start)
    const parts = [start, `${ms} ms`, state, lane, attempt === null ? '' : `attempt ${attempt}`, label]
    return `  ${parts.filter(part => part !== '').join('  ')}`
  })
  const older = omitted === 0 ? [] : [`  ${omitted} older journal entries are not shown`]
  return [runId, ...older, ...lines].join('\n')
}

function cut(text: string, length = MAX_TEXT): string {
  return text.length > length ? `${text.slice(0, length)}…` : text
}

function numberOrNull(value: SqlValue | undefined): number | null {
  return typeof value === 'number' ? value : null
}

import { dashboardInboxOutput, dashboardSearchOutput, type InboxItem } from '@svc/contracts'
import { defineOperation, type Handler, type Infer, t } from '@svc/plugin-sdk'
import { MESH_SIGNAL } from './mesh-steps.ts'
import type { OpenRuns } from './runs.ts'
import { WORKFLOWS_TOPIC } from './topic.ts'

export const MAX_ITEMS = 200
export const MAX_RESULTS = 20
/** Maximum characters of a run's arguments that an item shows. */
export const MAX_ARGUMENTS = 500

export const workflowInbox = defineOperation({
  id: 'workflow.inbox',
  summary: 'List workflow runs that wait for a signal',
  input: t.object({}),
  output: dashboardInboxOutput,
  effect: 'read',
  watch: { on: [WORKFLOWS_TOPIC] },
  expose: {
    rpc: true,
    cli: { command: 'workflow inbox', view: { rows: 'items', columns: ['id', 'title', 'since'] } }
  }
})

type WaitingItem = Infer<typeof dashboardInboxOutput>['items'][number]

/** Returns the runs that wait for a signal which was not sent yet, those that wait longest first. */
export function inboxHandler(open: OpenRuns): Handler<typeof workflowInbox> {
  return async () => {
    const store = await open()
    const { rows } = await store.query(
      `SELECT r.run_id, r.workflow_name, s.program, s.waiting_for, r.updated_at_ms,
          substr(s.args_json, 1, ${MAX_ARGUMENTS + 1})
        FROM workflow_run_log r JOIN workflow_run_state s ON s.run_id = r.run_id
        WHERE r.status = 'waiting' AND s.waiting_for IS NOT NULL AND s.waiting_for NOT LIKE '${MESH_SIGNAL}%' AND NOT EXISTS (
          SELECT 1 FROM workflow_signal_log g
            WHERE g.run_id = r.run_id AND g.signal_key = s.waiting_for AND g.consumed_at_ms IS NULL)
        ORDER BY r.updated_at_ms, r.run_id LIMIT ?`,
      [MAX_ITEMS]
    )
    return {
      items: rows.map(([run, workflow, program, key, since, args]) =>
        itemOf(String(run), String(workflow), String(program), String(key), Number(since), String(args))
      )
    }
  }
}

export function itemOf(
  runId: string,
  workflow: string,
  program: string,
  key: string,
  since: number,
  args: string
): WaitingItem {
  const shown = args.length > MAX_ARGUMENTS ? `${args.slice(0, MAX_ARGUMENTS)}…` : args
  return {
    id: `${runId} ${key}`,
    kind: 'signal',
    title: `${workflow} waits for the signal ${key}`,
    // The body is Markdown: a code span keeps what the arguments contain, unless they contain its quote.
    body: `Arguments: ${shown.includes('`') ? shown : `\`${shown}\``}\n\nRun ${runId} of ${program} continues when the signal ${key} arrives.`,
    since,
    link: runLink(runId),
    answers: [
      {
        label: 'Send signal',
        operation: 'workflow.signal',
        input: { run_id: runId, key },
        ask: ['payload'],
        tone: 'primary'
      },
      { label: 'Cancel run', operation: 'workflow.cancel', input: { run_id: runId }, tone: 'danger' }
    ]
  } satisfies InboxItem
}

export const workflowSearch = defineOperation({
  id: 'workflow.search',
  summary: 'Find workflow runs by id or name of the workflow',
  input: t.object({ text: t.string({ maxLength: 1000, description: 'Part of the id or the name.' }) }),
  output: dashboardSearchOutput,
  effect: 'read',
  expose: {
    rpc: true,
    cli: { command: 'workflow search', args: ['text'], view: { rows: 'results', columns: ['kind', 'title', 'link'] } }
  }
})

export function searchHandler(open: OpenRuns): Handler<typeof workflowSearch> {
  return async ({ text }) => {
    const words = text.trim()
    if (words === '') return { results: [] }
    const store = await open()
    const { rows } = await store.query(
      `SELECT run_id, workflow_name, status FROM workflow_run_log
        WHERE instr(lower(run_id), lower(:text)) > 0 OR instr(lower(workflow_name), lower(:text)) > 0
        ORDER BY started_at_ms DESC, run_id LIMIT :limit`,
      { text: words, limit: MAX_RESULTS }
    )
    return {
      results: rows.map(([run, workflow, status]) => foundRun(String(run), String(workflow), String(status)))
    }
  }
}

export function foundRun(runId: string, workflow: string, status: string) {
  return { title: `${workflow} ${runId} (${status})`, kind: 'workflow run', link: runLink(runId) }
}

/** Returns the path of a run's page in the console. */
function runLink(runId: string): string {
  return `/ui/p/app-runtime/workflows/${encodeURIComponent(runId)}`
}

import type { SharedWorkflowRuns, SqlValue, WorkflowHistory, WorkflowRun } from '@svc/contracts'
import type { Handler } from '@svc/plugin-sdk'
import { MESH_SIGNAL } from './mesh-steps.ts'
import {
  assertOpen,
  assertSendable,
  inspected,
  losslessJson,
  prunedRuns,
  type workflowCancel,
  type workflowInspect,
  type workflowList,
  type workflowPrune,
  type workflowSignal
} from './operations.ts'
import { boundsOf, type Retention } from './prune.ts'
import { MAX_CHILDREN, type RecordedRuns } from './replay.ts'
import type { RecordedRun } from './replay-store.ts'
import { resetRun, runningNow, unknownStep, type workflowReset } from './reset.ts'
import { shownRun, unknownRun } from './runs.ts'
import { MAX_ENTRIES, timelineOf, type workflowTimeline } from './timeline-operation.ts'
import {
  foundRun,
  itemOf,
  MAX_ARGUMENTS,
  MAX_ITEMS,
  MAX_RESULTS,
  type workflowInbox,
  type workflowSearch
} from './waiting.ts'

/** Opens the runs on a server that several hosts share. */
export type OpenShared = () => Promise<SharedWorkflowRuns>

/** Handlers of the operations on runs that are on a server. `changed` is called after each change. */
export function sharedHandlers(open: OpenShared, keeping: () => Retention, changed: () => void) {
  const list: Handler<typeof workflowList> = async ({
    workflow = null,
    status = null,
    program = null,
    active,
    limit
  }) => {
    const runs = await (await open()).list({ workflow, status, program, active, limit })
    return { runs: runs.map(run => shownRun(rowOf(run))) }
  }
  const inspect: Handler<typeof workflowInspect> = async ({ run_id }) => {
    const runs = await open()
    const row = rowOf(await found(runs, run_id))
    const { entries } = await runs.journal(run_id, null)
    return inspected(
      row,
      entries.map(({ entry, at }) => [entry, at])
    )
  }
  const timeline: Handler<typeof workflowTimeline> = async ({ run_id }) => {
    const runs = await open()
    const row = rowOf(await found(runs, run_id))
    const [{ total, entries }, times] = await Promise.all([
      runs.journal(run_id, MAX_ENTRIES),
      runs.times(run_id, MAX_ENTRIES)
    ])
    return timelineOf(
      row,
      { total, entries: entries.map(({ entry, at }) => ({ entry: JSON.parse(entry), at })) },
      {
        starts: [...times.starts],
        waits: times.waits.map(({ step, activity, at, due }) => ({
          step,
          at,
          due: activity === 'workflow_wait_signal' ? null : due
        })),
        signals: [...times.signals].reverse(),
        children: times.children
          .map(({ runId, workflow, status, startedAt, completedAt }) => ({
            runId,
            workflow,
            status,
            start: startedAt,
            end: completedAt
          }))
          .reverse()
      }
    )
  }
  const signal: Handler<typeof workflowSignal> = async ({ run_id, key, payload }) => {
    assertSendable(key)
    const runs = await open()
    const status = await runs.send(run_id, key, payload === undefined ? null : losslessJson(payload), Date.now())
    if (status === null) throw unknownRun(run_id, runs.location)
    assertOpen(run_id, status)
    changed()
    return { run_id, status, text: `${run_id} was signalled: ${key}` }
  }
  const cancel: Handler<typeof workflowCancel> = async ({ run_id }) => {
    const runs = await open()
    const status = await runs.cancel(run_id, Date.now())
    if (status === null) throw unknownRun(run_id, runs.location)
    changed()
    return { run_id, status, text: `${run_id} is ${status}` }
  }
  const reset: Handler<typeof workflowReset> = async ({ run_id, step }) => {
    const runs = await open()
    const end = await runs.reset(run_id, step ?? null, Date.now())
    if (end.kind === 'unknown_run') throw unknownRun(run_id, runs.location)
    if (end.kind === 'unknown_step') throw unknownStep(run_id, step)
    if (end.kind === 'running') throw runningNow(end.runId)
    changed()
    const { status } = await found(runs, run_id)
    return resetRun(run_id, status, end.dropped)
  }
  const prune: Handler<typeof workflowPrune> = async ({ keep_runs, keep_days, program = null, dry_run: dryRun }) => {
    const retention = keeping()
    const kept = { runs: keep_runs ?? retention.runs, days: keep_days ?? retention.days }
    const count = await (await open()).prune({ program, ...boundsOf(kept, Date.now()), dryRun })
    if (!dryRun && count > 0) changed()
    return prunedRuns(count, dryRun)
  }
  const inbox: Handler<typeof workflowInbox> = async () => {
    const limits = { limit: MAX_ITEMS, argsLength: MAX_ARGUMENTS + 1, hiddenPrefix: MESH_SIGNAL }
    const waiting = await (await open()).waiting(limits)
    return {
      items: waiting.map(({ runId, workflow, program, waitingFor, updatedAt, args }) =>
        itemOf(runId, workflow, program, String(waitingFor), updatedAt, args)
      )
    }
  }
  const search: Handler<typeof workflowSearch> = async ({ text }) => {
    const words = text.trim()
    if (words === '') return { results: [] }
    const runs = await (await open()).search(words, MAX_RESULTS)
    return { results: runs.map(({ runId, workflow, status }) => foundRun(runId, workflow, status)) }
  }
  return { list, inspect, timeline, signal, cancel, reset, prune, inbox, search }
}

/** The recorded runs on a server, for replays. */
export function recordedShared(open: OpenShared): () => Promise<RecordedRuns> {
  return async () => {
    const runs = await open()
    return {
      programOf: async runId => (await found(runs, runId)).program,
      async read(runId) {
        const recorded: RecordedRun[] = []
        for (const id of await runs.family(runId, MAX_CHILDREN + 1)) {
          const record = await runs.find(id)
          if (record !== null) recorded.push(recordedRun(record, await runs.history(id)))
        }
        return recorded
      }
    }
  }
}

function recordedRun(record: WorkflowRun, history: WorkflowHistory): RecordedRun {
  const { completed, scheduled, attempts, args, generation } = history
  return {
    record,
    completed: completed.map(({ step, ...rest }) => [step, rest]),
    scheduled: scheduled.map(({ step, at }) => [step, at]),
    attempts: attempts.map(({ step, ...rest }) => [step, rest]),
    args: args.map(({ step, hashes }) => [step, hashes]),
    generation
  }
}

async function found(runs: SharedWorkflowRuns, runId: string): Promise<WorkflowRun> {
  const run = await runs.find(runId)
  if (run === null) throw unknownRun(runId, runs.location)
  return run
}

/** Returns a run as a row of `RUNS`. */
function rowOf(run: WorkflowRun): readonly SqlValue[] {
  const { runId, workflow, program, status, completedSteps, startedAt, completedAt, wakeAt, waitingFor } = run
  const { error, args, result } = run
  return [
    runId,
    workflow,
    program,
    status,
    completedSteps,
    startedAt,
    completedAt,
    wakeAt,
    waitingFor,
    error,
    args,
    result
  ]
}

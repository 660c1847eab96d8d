import { type AgentEvent, agentLabel, type TaskExplanation, type TaskView } from '@svc/contracts'
import { type Infer, t } from '@svc/plugin-sdk'

export const timelineBar = t.object({
  lane: t.string({ description: 'queue, approval, review, work, or a phase of the work.' }),
  label: t.string(),
  state: t.string(),
  start: t.integer({ description: 'Unix milliseconds.' }),
  end: t.optional(t.integer({ description: 'Unix milliseconds; absent if it has not ended.' })),
  depth: t.integer({ description: '1 for phases of the work, else 0.' })
})
export type TimelineBar = Infer<typeof timelineBar>

type Stage = TaskExplanation['trace'][number]

/**
 * Returns the bars of a task's history: where it waited, when it was worked on, and the phases of the work. Without
 * stages, as for old tasks, they are derived from the times of the task.
 */
export function timelineOf(task: TaskView, stages: readonly Stage[], events: readonly AgentEvent[]): TimelineBar[] {
  const bars = stages.length === 0 ? barsOfTimes(task) : barsOfStages(task, stages)
  return [...bars, ...phaseBars(task, bars, events)]
}

function barsOfTimes(task: TaskView): TimelineBar[] {
  const { created_at_ms, started_at_ms, ended_at_ms } = task
  const waited = bar('queue', 'waited', created_at_ms, started_at_ms ?? ended_at_ms)
  if (started_at_ms === undefined) return [waited]
  return [waited, bar('work', agentLabel(task.agent_id), started_at_ms, ended_at_ms)]
}

/** Lane in which a task is after a stage; stages that are not named here leave it where it is. */
const LANES: Readonly<Record<string, string>> = {
  approved: 'queue',
  started: 'work',
  requeued: 'queue',
  released: 'queue',
  retried: 'queue',
  rerouted: 'queue',
  rebalanced: 'queue',
  'handed over': 'queue',
  doubted: 'review'
}

function barsOfStages(task: TaskView, stages: readonly Stage[]): TimelineBar[] {
  const bars: TimelineBar[] = []
  const needsApproval = task.status.kind === 'BlockedOnApproval' || stages.some(({ stage }) => stage === 'approved')
  let open: TimelineBar | null = null
  const close = (at: number): void => {
    if (open !== null) bars.push({ ...open, end: Math.max(at, open.start) })
    open = null
  }
  for (const { stage, timestamp_ms: at, detail } of stages) {
    if (stage === 'ingress') {
      open = bar(needsApproval ? 'approval' : 'queue', needsApproval ? 'waited for approval' : 'waited', at)
    } else if (stage === 'outcome' || (stage === 'resolved' && detail === 'overruled')) {
      close(at)
    } else {
      const lane = stage === 'resolved' ? 'queue' : LANES[stage]
      if (lane === undefined) continue
      close(at)
      open = bar(lane, detail, at)
    }
  }
  if (open !== null) {
    if (task.ended_at_ms === undefined) bars.push(open)
    else close(task.ended_at_ms)
  }
  return bars
}

function phaseBars(task: TaskView, bars: readonly TimelineBar[], events: readonly AgentEvent[]): TimelineBar[] {
  const begun = events.flatMap(({ kind, timestamp_ms }) =>
    kind.type === 'task_phase_changed' && kind.task_id === task.id ? [{ phase: kind.phase, at: timestamp_ms }] : []
  )
  return begun.map(({ phase, at }, index) => {
    const work = bars.find(({ lane, start, end }) => lane === 'work' && start <= at && (end === undefined || at <= end))
    const ends = [begun[index + 1]?.at, work === undefined ? task.ended_at_ms : work.end]
    const known = ends.filter(end => end !== undefined)
    return { ...bar(phase, phase, at, known.length === 0 ? undefined : Math.min(...known)), depth: 1 }
  })
}

/** State shown for each lane; phases are work. */
const STATES: Readonly<Record<string, string>> = { queue: 'queued', approval: 'waiting', review: 'doubted' }

function bar(lane: string, label: string, start: number, end?: number): TimelineBar {
  const state = STATES[lane] ?? (end === undefined ? 'running' : 'done')
  return { lane, label, state, start, depth: 0, ...(end === undefined ? {} : { end }) }
}

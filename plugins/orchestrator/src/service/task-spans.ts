import { randomUUID } from 'node:crypto'
import {
  type AgentEvent,
  type AgentEventKind,
  type ObservabilitySpans,
  type Span,
  type SpanAttributes,
  type SpanParent,
  type TaskView,
  taskLabel
} from '@svc/contracts'
import { defined } from '@svc/plugin-sdk'

const PLUGIN = 'orchestrator'
/** Maximum tasks whose spans are open. The spans of further tasks begin when others have ended. */
const MAX_OPEN = 20_000
/** Maximum submitting calls whose task was not announced yet. */
const MAX_CALLS = 1_000

export type Spans = () => ObservabilitySpans | undefined

/** Open spans of one task. */
interface OpenTask {
  readonly task: Span
  /** The current part of the task's life: `queued`, or a phase of the work. */
  part: Span
}

/** Events after which a task waits, and the name of the wait. */
const WAITS: Readonly<Record<string, string>> = { task_requeued: 'queued again', task_doubted: 'doubted' }

/** Events that end a task, with the error of its span. */
const ENDS: Readonly<Record<string, string | null>> = {
  task_completed: null,
  task_failed: 'failed',
  task_cancelled: 'cancelled',
  task_expired: 'expired'
}

function placementOf(event: Extract<AgentEventKind, { type: 'task_placed' }>): SpanAttributes {
  const { placement_reason, lease_id, mesh_node_id, claimer_node_id } = event
  return {
    'svc.placement_reason': placement_reason,
    ...defined({ 'svc.lease_id': lease_id, 'svc.mesh_node_id': mesh_node_id, 'svc.claimer_node_id': claimer_node_id })
  }
}

/** Records the life of each task as a trace: a span for the task, and one for each wait and phase. */
export class TaskSpans {
  readonly #spans: Spans
  readonly #open = new Map<number, OpenTask>()
  /** Recorded calls that submitted a task, by trace id. */
  readonly #calls = new Map<string, SpanParent>()

  constructor(spans: Spans) {
    this.#spans = spans
  }

  /** Returns the trace id of a new task: that of the recorded call that submits it, or a new one. */
  newTraceId(): string {
    const call = this.#spans()?.current()
    if (call === undefined) return randomUUID({ disableEntropyCache: false })
    if (this.#calls.size >= MAX_CALLS) this.#calls.clear()
    this.#calls.set(call.traceId, call)
    return call.traceId.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  }

  /** Records an event. `view`: the task, null if it is no longer known. */
  note({ kind }: AgentEvent, view: (task: number) => TaskView | null): void {
    if (!('task_id' in kind) || !kind.type.startsWith('task_')) return
    const spans = this.#spans()
    if (spans === undefined) return
    const { task_id: id, type } = kind
    const outcome = ENDS[type]
    const known = this.#open.get(id) ?? (outcome === undefined ? this.#begin(spans, id, view(id)) : null)
    if (known === null) return
    if (kind.type === 'task_placed') known.task.set(placementOf(kind))
    if (outcome !== undefined) {
      this.#open.delete(id)
      known.part.end(outcome ?? undefined)
      known.task.end(outcome ?? undefined)
      return
    }
    const next = type === 'task_started' ? 'working' : kind.type === 'task_phase_changed' ? kind.phase : WAITS[type]
    if (next === undefined) return
    known.part.end(type === 'task_requeued' ? 'requeued' : undefined)
    known.part = this.#part(spans, known.task, next, kind)
  }

  #begin(spans: ObservabilitySpans, id: number, task: TaskView | null): OpenTask | null {
    const traceId = task?.trace_id.replaceAll('-', '').toLowerCase()
    if (task === null || traceId === undefined || !/^[0-9a-f]{32}$/.test(traceId) || this.#open.size >= MAX_OPEN)
      return null
    const call = this.#calls.get(traceId)
    this.#calls.delete(traceId)
    const attributes = { 'svc.task': taskLabel(id), 'svc.placement_reason': task.placement_reason }
    const span = spans.step(PLUGIN, `task ${taskLabel(id)}`, attributes, call ?? { traceId })
    if (span === null) return null
    const open = { task: span, part: this.#part(spans, span, 'queued', {}) }
    this.#open.set(id, open)
    return open
  }

  #part(spans: ObservabilitySpans, parent: Span, name: string, event: object): Span {
    const attributes = 'agent_id' in event ? { 'svc.agent': event.agent_id as number } : {}
    return spans.step(PLUGIN, name, attributes, parent) as Span
  }
}

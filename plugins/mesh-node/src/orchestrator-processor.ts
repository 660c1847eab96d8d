import type {
  AgentEvent,
  CapabilityHints,
  FileAffinity,
  Orchestrator,
  Priority,
  RemoteJob,
  RemoteOrigin,
  RemoteOutcome,
  RemoteProcessor,
  SubmitRequest,
  TaskView
} from '@svc/contracts'
import { defined, errorMessage, isSvcError, type Principal, raceAbort } from '@svc/plugin-sdk'
import { meshNodeErrors } from './errors.ts'
import { stopReasonOf, WorkRefused } from './work-stop.ts'

const PRIORITIES: ReadonlySet<unknown> = new Set<Priority>(['Background', 'Normal', 'Urgent'])
const OPEN = new Set(['Queued', 'InProgress', 'Blocked', 'BlockedOnApproval'])

type Tasks = Pick<Orchestrator, 'submit' | 'subscribe' | 'task' | 'tasks' | 'cancel'>

/**
 * Runs remote work as a task of this machine's orchestrator, where the agent fleet takes it. Work that is delivered again
 * continues with the task of its first delivery.
 */
export function orchestratorProcessor(orchestrator: Tasks): RemoteProcessor {
  return {
    name: 'orchestrator',
    async run(job, signal) {
      const id = findTask(orchestrator, job.key)?.id ?? (await submit(orchestrator, job))
      try {
        return await raceAbort(signal, ending(orchestrator, id))
      } catch (error) {
        // After a restart, the same job finds its task again.
        if (signal.aborted && stopReasonOf(signal) !== 'stopping') await cancelTask(orchestrator, id)
        throw error
      }
    }
  }
}

/** Cancels tasks of remote work that an earlier process began, except for the jobs with these keys. */
export async function cancelOrphans(orchestrator: Tasks, keys: ReadonlySet<string>): Promise<number> {
  const orphans = orchestrator.tasks().filter(task => {
    return isOpen(task) && task.remote_origin !== undefined && !keys.has(task.remote_origin.idempotency_key)
  })
  for (const { id } of orphans) await cancelTask(orchestrator, id)
  return orphans.length
}

function findTask(orchestrator: Tasks, key: string): TaskView | undefined {
  return orchestrator.tasks().find(task => {
    return task.remote_origin?.idempotency_key === key && task.status.kind !== 'Cancelled'
  })
}

async function submit(orchestrator: Tasks, job: RemoteJob): Promise<number> {
  const principal: Principal = { id: `mesh:${job.sender_agent_id}`, role: 'mesh', scopes: [] }
  try {
    const { task_id } = await orchestrator.submit(requestOf(job), { surface: 'mesh', principal })
    return task_id
  } catch (error) {
    // The gates of this machine refused the work, or its queue is closed: the work itself has not failed.
    if (isSvcError(error)) throw new WorkRefused(error.message)
    throw error
  }
}

/** Returns the request for a job. Fields that this version does not know, or of a wrong type, are left out. */
function requestOf({ key, payload, envelope }: RemoteJob): SubmitRequest {
  const more: Readonly<Record<string, unknown>> = payload
  const origin: RemoteOrigin = {
    idempotency_key: key,
    ...defined({
      task_id: envelope?.task_id,
      repository_id: envelope?.submitter_repository_id ?? envelope?.repository_id,
      submitter_node_id: envelope?.submitter_node_id
    })
  }
  const text = (name: string): string | undefined => {
    const value = more[name]
    return typeof value === 'string' && value !== '' ? value : undefined
  }
  return {
    description: payload.task_description,
    files: filesOf(more.files),
    remote_origin: origin,
    ...defined({
      priority: PRIORITIES.has(more.priority) ? (more.priority as Priority) : undefined,
      capabilities: capabilitiesOf(envelope?.capability_requirements_json)
    }),
    hints: defined({
      thread_id: payload.thread_id || undefined,
      harness_spec_json: payload.harness_spec_json || envelope?.harness_spec_json || undefined,
      campaign_id: envelope?.campaign_id || undefined,
      trace_id: envelope?.trace_id || undefined,
      complexity: typeof more.complexity === 'number' ? more.complexity : undefined,
      model_preference: text('model_preference'),
      model_override: text('model_override'),
      active_skill: text('active_skill')
    })
  }
}

function filesOf(value: unknown): readonly FileAffinity[] {
  if (!Array.isArray(value)) return []
  return value.slice(0, 1_000).flatMap((each: { readonly path?: unknown; readonly access?: unknown } | null) => {
    const isFile = typeof each?.path === 'string' && (each.access === 'read' || each.access === 'write')
    return isFile ? [each as FileAffinity] : []
  })
}

function capabilitiesOf(json: string | undefined): CapabilityHints | undefined {
  if (json === undefined) return undefined
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'object' && value !== null ? (value as CapabilityHints) : undefined
  } catch {
    return undefined
  }
}

/** Resolves with the result when the task completes. Rejects when it fails, is cancelled or doubted. */
async function ending(orchestrator: Tasks, id: number): Promise<RemoteOutcome> {
  let unsubscribe = (): void => {}
  const changed = new Promise<void>(resolve => {
    unsubscribe = orchestrator.subscribe(event => {
      if (endsTask(event, id)) resolve()
    })
  })
  try {
    const now = orchestrator.task(id)
    if (now !== null && isOpen(now)) await changed
    return outcomeOf(orchestrator.task(id))
  } finally {
    unsubscribe()
  }
}

function endsTask({ kind }: AgentEvent, id: number): boolean {
  switch (kind.type) {
    case 'task_completed':
    case 'task_failed':
    case 'task_cancelled':
    case 'task_doubted':
      return kind.task_id === id
    default:
      return false
  }
}

function outcomeOf(task: TaskView | null): RemoteOutcome {
  const status = task?.status
  if (status?.kind === 'Completed') {
    const summary = task?.completion_summary ?? task?.transcript?.at(-1)?.message ?? task?.audit_report
    return { result: summary ?? 'completed', ...defined({ attestation: task?.attestation }) }
  }
  const why = status?.kind === 'Failed' || status?.kind === 'Doubted' ? status.reason : null
  throw meshNodeErrors.create(
    'MND_PROCESSOR_FAILED',
    why ?? `the task of the worker ended as ${status?.kind ?? 'unknown'}`
  )
}

function isOpen(task: TaskView): boolean {
  return OPEN.has(task.status.kind)
}

async function cancelTask(orchestrator: Tasks, id: number): Promise<void> {
  try {
    await orchestrator.cancel(id)
  } catch (error) {
    // It ended on its own, or the orchestrator is closed.
    if (!isSvcError(error))
      throw new Error(`task ${id} could not be cancelled: ${errorMessage(error)}`, { cause: error })
  }
}

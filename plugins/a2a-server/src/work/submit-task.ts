import type { Orchestrator, TaskView } from '@svc/contracts'
import { isSvcError, type SvcError } from '@svc/plugin-sdk'
import type { TaskSnapshot } from '../tasks/snapshot.ts'
import { threadOf } from './orchestrator-task.ts'

export type Submission =
  | { readonly kind: 'accepted'; readonly task: number }
  /** The orchestrator does not run the task. */
  | { readonly kind: 'rejected'; readonly reason: string }
  /** The orchestrator cannot accept tasks now, or the outcome is unknown. */
  | { readonly kind: 'later'; readonly reason: string }

/** Errors that are no verdict on the task. */
const PASSING: ReadonlySet<string> = new Set(['ORC_QUEUE_FULL', 'ORC_MAX_AGENTS', 'ORC_BUDGET_EXCEEDED'])

/** Submits a task to the orchestrator, on behalf of its client. */
export async function submitTask(orchestrator: Orchestrator, task: TaskSnapshot): Promise<Submission> {
  const { principal, text, hints } = task.created
  const { campaign_id, priority } = hints
  try {
    const { task_id } = await orchestrator.submit(
      {
        description: text,
        files: [],
        keep_summary: true,
        ...(priority === undefined ? null : { priority }),
        hints: { thread_id: threadOf(task.id), ...(campaign_id === undefined ? null : { campaign_id }) }
      },
      { surface: 'a2a', principal }
    )
    return { kind: 'accepted', task: task_id }
  } catch (error) {
    if (!isSvcError(error)) throw error
    return { kind: isVerdict(error) ? 'rejected' : 'later', reason: error.message }
  }
}

/** Returns the orchestrator's task of a task; null if this orchestrator has none. */
export function taskInOrchestrator(orchestrator: Orchestrator, task: TaskSnapshot): TaskView | null {
  const thread = threadOf(task.id)
  if (task.delegated !== null) {
    const view = orchestrator.task(task.delegated.task)
    // Without a database, ids begin again at 1 with each process.
    return view?.thread_id === thread ? view : null
  }
  // The process may have ended after the submission, before it was noted.
  return orchestrator.tasks().find(({ thread_id }) => thread_id === thread) ?? null
}

function isVerdict({ code, status }: SvcError): boolean {
  return status >= 400 && status < 500 && !PASSING.has(code)
}

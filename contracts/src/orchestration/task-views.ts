import { type Principal, point, service } from '@svc/plugin-sdk'
import type { AgentView } from './agent.ts'
import type { TaskFilter } from './orchestrator.ts'
import type { TaskExplanation } from './submit.ts'
import type { TaskView } from './task-fields.ts'

/**
 * Sources of tasks that other processes or hosts hold. The plugin `orchestrator` reads them, and contributes `seats`:
 * the other processes on the same database.
 */
export const taskViewSources = point<TaskViewSource>('orchestrator.task-views', { keys: source => [source.id] })

export interface TaskViewSource {
  readonly id: string
  /**
   * Returns tasks that match a filter, by ascending id. Texts of a task may be shortened, except if the filter names it.
   * A source reads in pages, so that the event loop is not held.
   */
  list(filter: ForeignTaskFilter, signal: AbortSignal): Promise<readonly ForeignTask[]>
  /** Returns the agents of these processes, by ascending id. */
  agents?(signal: AbortSignal): Promise<readonly ForeignAgent[]>
  /** Returns the processes, also those without tasks. */
  processes?(signal: AbortSignal): Promise<readonly ProcessTasks[]>
  /** Returns what is known about the routing and the gates of a task; null if the task is unknown. */
  explain?(task: ForeignTask, signal: AbortSignal): Promise<TaskExplanation | null>
  /**
   * Returns a text that differs after each change of the tasks or their processes. Without it, all tasks are read again
   * to find changes.
   */
  version?(signal: AbortSignal): Promise<string>
  /**
   * Has the holder run the operation of a verb, and returns its output. The holder checks the input and the scopes of
   * the caller. Throws the holder's error, and `ORC_ELSEWHERE` if the holder does not respond.
   */
  act?(task: ForeignTask, verb: TaskVerb, args: TaskVerbArguments, caller: VerbCaller): Promise<unknown>
}

/** Filter of {@link TaskViewSource.list}. `limit`: at most that many tasks, those with the lowest ids. */
export interface ForeignTaskFilter extends TaskFilter {
  /** Only the task with this id, with its whole texts. */
  readonly task?: number
}

/** Process that holds tasks. */
export interface TaskProcess {
  readonly host: string
  /** Null if the source does not know it. */
  readonly pid: number | null
  /** Seat in the database; null for a process without one, such as a process on another database. */
  readonly seat: number | null
  /** False if the process has ended: another process takes over its tasks. */
  readonly alive: boolean
  /** True for the process that was asked. */
  readonly own: boolean
}

/** Task with the process that holds it. */
export interface RepositoryTask extends TaskView {
  readonly process: TaskProcess
}

/** Task that another process holds. */
export type ForeignTask = RepositoryTask

/** Agent with its process. `activity` is known only for agents of the process that was asked. */
export interface RepositoryAgent extends Omit<AgentView, 'activity'>, Partial<Pick<AgentView, 'activity'>> {
  readonly process: TaskProcess
}

export type ForeignAgent = RepositoryAgent

/** Process with its number of agents and tasks. */
export interface ProcessTasks extends TaskProcess {
  readonly agents: number
  /** Unfinished tasks by status. */
  readonly open: Readonly<Record<OpenStatus, number>>
  /** All tasks that have ended, also those that are no longer known. */
  readonly ended: EndedTasks
}

/** Statuses of a task that has not ended. */
export const OPEN_STATUSES = ['Queued', 'InProgress', 'Blocked', 'BlockedOnApproval', 'Doubted'] as const
export type OpenStatus = (typeof OPEN_STATUSES)[number]

export interface EndedTasks {
  readonly completed: number
  readonly failed: number
  readonly cancelled: number
}

/** Operation that the holder of a task runs for each verb. */
export const TASK_VERBS = {
  cancel: 'orchestrator.cancelTask',
  complete: 'orchestrator.completeTask',
  fail: 'orchestrator.failTask',
  doubt: 'orchestrator.doubtTask',
  reorder: 'orchestrator.reorderTask',
  retry: 'orchestrator.retryTask',
  approve: 'orchestrator.approveTask',
  resolve: 'orchestrator.resolveDoubt'
} as const

export type TaskVerb = keyof typeof TASK_VERBS

/** Input of the verb's operation, without the id of the task. Must be JSON. */
export type TaskVerbArguments = Readonly<Record<string, unknown>>

export interface VerbCaller {
  readonly principal: Principal
  /** Id of the caller's request, for the log of the holder. */
  readonly requestId: string
  readonly signal: AbortSignal
}

/** Surface of a call that runs a verb for a caller of another process. */
export const SEAT_SURFACE = 'seat'

/** All tasks of the repository, whichever process or host holds them. */
export const repositoryTasks = service<RepositoryTasks>('orchestrator.repository-tasks@1')

/**
 * One view of the tasks of this process and of all {@link taskViewSources}. A source that throws, or takes longer than
 * 5 s, is left out and named in `failed`.
 */
export interface RepositoryTasks {
  /** This process. */
  readonly process: TaskProcess
  /** Returns tasks by ascending id. */
  list(filter: RepositoryTaskFilter, signal: AbortSignal): Promise<Gathered<RepositoryTask>>
  agents(filter: { readonly own?: boolean }, signal: AbortSignal): Promise<Gathered<RepositoryAgent>>
  /** Returns this process first, and then the others. */
  processes(signal: AbortSignal): Promise<Gathered<ProcessTasks>>
  /**
   * Returns a task with its whole texts; null if no process has it. A task of this process takes precedence. Throws
   * `ORC_TASK_AMBIGUOUS` if tasks of several hosts match, and `ORC_ELSEWHERE` if it is not found and a source failed.
   */
  find(task: TaskReference, signal: AbortSignal): Promise<RepositoryTask | null>
  explain(task: RepositoryTask, signal: AbortSignal): Promise<TaskExplanation | null>
  /**
   * Returns the task if another process holds it. If that process has ended, waits up to 5 s until this or another one
   * has taken over the task. Null if this process has the task, or no process does. Throws like `find`.
   */
  heldElsewhere(task: TaskReference, signal: AbortSignal): Promise<ForeignTask | null>
  /** Has the holder run a verb; see {@link TaskViewSource.act}. */
  act(task: ForeignTask, verb: TaskVerb, args: TaskVerbArguments, caller: VerbCaller): Promise<unknown>
  /**
   * Returns all tasks of other processes if they may have changed since the last call with that version; null if they
   * have not, or if a source failed meanwhile.
   */
  foreign(
    since: string | undefined,
    signal: AbortSignal
  ): Promise<{ readonly version: string; readonly tasks: readonly ForeignTask[] } | null>
}

export interface RepositoryTaskFilter extends TaskFilter {
  /** Only tasks of this process. */
  readonly own?: boolean
}

/** Names a task. Only hosts with separate databases have tasks with the same id. */
export interface TaskReference {
  readonly id: number
  /** Host of the process that holds the task; default: any. */
  readonly host?: string
}

export interface Gathered<A> {
  readonly items: readonly A[]
  readonly failed: readonly { readonly source: string; readonly error: string }[]
}

/** Returns `4711 on box`, with ` (ended)` for an ended process. */
export function processLabel({ host, pid, alive }: Pick<TaskProcess, 'host' | 'pid' | 'alive'>): string {
  return `${pid === null ? host : `${pid} on ${host}`}${alive ? '' : ' (ended)'}`
}

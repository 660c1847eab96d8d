import { point } from '@svc/plugin-sdk'
import type { CostRecord } from './ledgers.ts'
import type { Attestation, TaskPhase } from './task.ts'
import type { TaskView } from './task-fields.ts'

/** A processor of tasks. Of those that accept a task, the one with the highest `rank` gets it. */
export const taskProcessors = point<TaskProcessor>('orchestrator.task-processors', { keys: item => [item.name] })

export interface TaskProcessor {
  readonly name: string
  readonly rank: number
  takes(task: TaskView): boolean
  /**
   * Works on a task. Returns null if the task stays in progress until another party completes it. Throws if the work
   * fails. `signal` is aborted when the task is cancelled, doubted, handed over or exceeds its time limit.
   */
  run(task: TaskView, work: TaskWork): Promise<Attestation | null>
}

export interface TaskWork {
  readonly signal: AbortSignal
  phase(phase: TaskPhase): void
  token(text: string): void
  /** Charges the agent's budget. Throws `ORC_BUDGET_EXCEEDED` if the budget is spent. */
  cost(cost: Omit<CostRecord, 'agent_id' | 'task_id'>): Promise<void>
  observe(note: string): void
  turn(message: string): void
}

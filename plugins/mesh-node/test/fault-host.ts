import type { Test } from 'tap'
import { type HostOptions, openHost, worker } from './bed.ts'

/** Options of a host that only delegates, or that works `workMs` milliseconds on each task. */
export interface FaultHostOptions extends Omit<HostOptions, 'processors' | 'fleet'> {
  readonly workMs?: number
}

export interface TaskState {
  readonly id: number
  readonly status: string
  readonly placement_reason: string
  readonly remote: any
}

/** Report of a host: work that began, by its key, with the node; or a task that ended. */
export type HostReport =
  | { readonly began: string; readonly node: string }
  | { readonly ended: { readonly task: number; readonly type: string } }

/** A host of the fault tests, in this process or in another one. */
export interface FaultHost {
  /** Work that began, in order. */
  readonly began: readonly { readonly key: string; readonly node: string }[]
  readonly ended: readonly { readonly task: number; readonly type: string }[]
  /** Submits a task and returns its id. */
  submit(): Promise<number>
  tasks(): Promise<readonly TaskState[]>
}

/** Collects the reports of a host. */
export class Reports {
  readonly began: { readonly key: string; readonly node: string }[] = []
  readonly ended: { readonly task: number; readonly type: string }[] = []

  add(report: HostReport): void {
    if ('began' in report) this.began.push({ key: report.began, node: report.node })
    else this.ended.push(report.ended)
  }
}

/** Opens a host in this process; `report` is called for what it does. */
export async function openFaultHost(
  t: Test,
  { workMs, ...options }: FaultHostOptions,
  report: (report: HostReport) => void
): Promise<Pick<FaultHost, 'submit' | 'tasks'> & { close(): Promise<void> }> {
  const processor = worker(async task => {
    report({ began: task.remote_origin?.idempotency_key ?? `local-${task.id}`, node: options.name })
    await new Promise(resolve => setTimeout(resolve, workMs))
    return `did: ${task.description}`
  })
  const host = await openHost(t, {
    ...options,
    ...(workMs === undefined ? null : { processors: [processor], fleet: true })
  })
  host.tasks.subscribe(({ kind }) => {
    if (kind.type === 'task_completed' || kind.type === 'task_failed' || kind.type === 'task_cancelled')
      report({ ended: { task: kind.task_id, type: kind.type } })
  })
  let submitted = 0
  return {
    async submit() {
      // Each task has an agent, since a busy one keeps its tasks here.
      submitted += 1
      return host.submit({ description: 'Write a greeting', agent_name: `writer-${submitted}` })
    },
    async tasks() {
      return host.tasks.tasks().map(({ id, status, placement_reason, remote }) => {
        return { id, status: status.kind, placement_reason, remote }
      })
    },
    close: host.close
  }
}

/** Opens a host in this process, which no test kills. */
export async function localHost(t: Test, options: FaultHostOptions): Promise<FaultHost & { close(): Promise<void> }> {
  const reports = new Reports()
  const host = await openFaultHost(t, options, report => reports.add(report))
  return { ...host, began: reports.began, ended: reports.ended }
}

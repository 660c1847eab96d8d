// Child process of the fault tests: a control plane or a host, whose parent kills it.
import type { Test } from 'tap'
import { type ControlOptions, type HostOptions, openControl, openHost, worker } from './bed.ts'

/** First message of the parent. */
export type ChildTask =
  | { readonly kind: 'control'; readonly options: ControlOptions }
  | {
      readonly kind: 'host'
      readonly options: Omit<HostOptions, 'processors'>
      /** Milliseconds of work on a task; null: the host only delegates. */
      readonly workMs: number | null
    }

/** Later message of the parent. */
export interface ChildCall {
  readonly call: 'submit' | 'tasks'
}

export type ChildReport =
  | { readonly ready: string }
  | { readonly answer: unknown }
  | { readonly began: string; readonly node: string }
  | { readonly ended: { readonly task: number; readonly type: string } }

const report = (message: ChildReport): void => void process.send?.(message)
const t = { teardown() {} } as unknown as Test

async function run(task: ChildTask): Promise<void> {
  if (task.kind === 'control') {
    const control = await openControl(t, task.options)
    report({ ready: control.url })
    return
  }
  const { options, workMs } = task
  const fleet = worker(async task => {
    report({ began: task.remote_origin?.idempotency_key ?? `local-${task.id}`, node: options.name })
    await new Promise(resolve => setTimeout(resolve, workMs ?? 0))
    return `did: ${task.description}`
  })
  const host = await openHost(t, { ...options, ...(workMs === null ? null : { processors: [fleet], fleet: true }) })
  let submitted = 0
  host.tasks.subscribe(({ kind }) => {
    if (kind.type === 'task_completed' || kind.type === 'task_failed' || kind.type === 'task_cancelled')
      report({ ended: { task: kind.task_id, type: kind.type } })
  })
  process.on('message', async ({ call }: ChildCall) => {
    if (call === 'submit') {
      // Each task has an agent, since a busy one keeps its tasks here.
      submitted += 1
      report({ answer: await host.submit({ description: 'Write a greeting', agent_name: `writer-${submitted}` }) })
    } else {
      const tasks = host.tasks.tasks().map(({ id, status, placement_reason, remote }) => {
        return { id, status: status.kind, placement_reason, remote }
      })
      report({ answer: tasks })
    }
  })
  report({ ready: options.name })
}

process.once('message', (task: ChildTask) => {
  run(task).catch(error => {
    process.stderr.write(`${String(error?.stack ?? error)}\n`)
    process.exit(1)
  })
})
process.once('disconnect', () => process.exit(0))

// Child process of the fault tests: a control plane or a host, whose parent kills it.
import type { Test } from 'tap'
import { type ControlOptions, openControl } from './bed.ts'
import { type FaultHostOptions, type HostReport, openFaultHost } from './fault-host.ts'

/** First message of the parent. */
export type ChildTask =
  | { readonly kind: 'control'; readonly options: ControlOptions }
  | { readonly kind: 'host'; readonly options: FaultHostOptions }

/** Later message of the parent. */
export interface ChildCall {
  readonly call: 'submit' | 'tasks'
}

export type ChildReport = { readonly ready: string } | { readonly answer: unknown } | HostReport

const report = (message: ChildReport): void => void process.send?.(message)
const t = { teardown() {} } as unknown as Test

async function run(task: ChildTask): Promise<void> {
  if (task.kind === 'control') {
    const control = await openControl(t, task.options)
    report({ ready: control.url })
    return
  }
  const host = await openFaultHost(t, task.options, report)
  process.on('message', async ({ call }: ChildCall) => report({ answer: await host[call]() }))
  report({ ready: task.options.name })
}

process.once('message', (task: ChildTask) => {
  run(task).catch(error => {
    process.stderr.write(`${String(error?.stack ?? error)}\n`)
    process.exit(1)
  })
})
process.once('disconnect', () => process.exit(0))

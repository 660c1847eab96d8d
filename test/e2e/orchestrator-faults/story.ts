import type { Orchestrator, TaskStatusKind } from '@svc/contracts'
import type { TestKernel } from '@svc/plugin-sdk/testing'

/** Known state: reported before a command (`asked`) and after its acknowledgement (`told`). */
export type Fact =
  | { readonly task: number; readonly status: TaskStatusKind; readonly agent?: number }
  | { readonly agent: number; readonly name: string }
  | { readonly file: string; readonly owner: number }
  | { readonly plan: string; readonly goal: string }
  | { readonly submits: number }

export interface Witness {
  asked(fact: Fact): void
  told(fact: Fact): void
}

export const DONE = {
  completion_summary: 'The part is written, and a human has reviewed it',
  checks_passed: ['human_review_approved'],
  declared_non_placeholder: true
}

/** Fields of the results of `ai.plan.new` and `ai.plan.execute`. */
interface Planned {
  readonly session_id: string
  readonly task_ids: readonly number[]
}

/** Runs all commands on tasks, first sequentially and then concurrently. */
export async function story(kernel: TestKernel, service: Orchestrator, witness: Witness): Promise<void> {
  const to = async <A>(task: number, status: TaskStatusKind, run: () => Promise<A>): Promise<A> => {
    witness.asked({ task, status })
    const result = await run()
    witness.told({ task, status })
    return result
  }
  const spawn = async (name: string): Promise<number> => {
    const { id } = await service.spawnAgent({ name })
    witness.told({ agent: id, name })
    return id
  }
  const submit = async (agent_name: string, path: string | null, more: object = {}): Promise<number> => {
    witness.asked({ submits: 1 })
    const files = path === null ? [] : [{ path, access: 'write' as const }]
    const request = { description: `Write ${path ?? 'nothing'}`, files, agent_name, ...more }
    const { task_id, status, agent_id } = await service.submit(request)
    witness.told({ task: task_id, status, agent: agent_id })
    witness.told({ submits: -1 })
    if (path !== null) witness.told({ file: path, owner: agent_id })
    return task_id
  }
  const complete = async (task: number): Promise<void> => {
    const { completed, requeued } = await to(task, 'Completed', () => service.complete(task, DONE))
    if (!completed) throw new Error(`task ${task} was sent back: ${requeued?.reason}`)
  }
  // The claim may become durable later, since a restart queues the task again anyway.
  const next = async (agent: number, task: number): Promise<void> => {
    witness.asked({ task, status: 'InProgress' })
    const claimed = await service.next(agent)
    if (claimed?.id !== task) throw new Error(`task ${claimed?.id} was claimed instead of ${task}`)
  }

  const builder = await spawn('builder')
  const tester = await spawn('tester')
  const first = await submit('builder', 'src/a.ts')
  const second = await submit('builder', null, { depends_on: [first] })
  const third = await submit('tester', 'src/b.ts', { priority: 'Urgent' })
  const fourth = await submit('tester', null, { hints: { requires_approval: true } })
  await next(builder, first)
  await to(first, 'Queued', () => service.complete(first))
  await next(builder, first)
  witness.asked({ task: second, status: 'Queued' })
  await complete(first)
  witness.told({ task: second, status: 'Queued' })
  await next(tester, third)
  await to(third, 'Failed', () => service.fail(third, 'it is broken'))
  await to(third, 'Queued', () => service.retry(third))
  await to(second, 'Doubted', () => service.doubt(second, 'no one has seen it'))
  await to(second, 'Queued', () => service.resolveDoubt(second, 'validated', 'no one had'))
  await to(fourth, 'Queued', () => service.approve(fourth, 'a person'))
  await service.claimFile(builder, 'docs/guide.md')
  witness.told({ file: 'docs/guide.md', owner: builder })
  await service.handoff({
    from_agent: tester,
    to_agent: builder,
    plan_summary: 'The rest is yours',
    pending_tasks: [third],
    owned_files: ['src/b.ts'],
    verification_criteria: ['it runs'],
    metadata: [['execution_role', 'builder']]
  })
  witness.told({ task: third, status: 'Queued', agent: builder })
  await to(fourth, 'Cancelled', () => service.cancel(fourth))

  const goal = 'Add the login page; write a test for the login page'
  const plan = (id: string, input: object) => kernel.callById(`ai.plan.${id}`, input) as Promise<Planned>
  const { session_id } = await plan('new', { goal })
  witness.told({ plan: session_id, goal })
  witness.asked({ submits: 1 })
  const [step = 0] = (await plan('execute', { session_id })).task_ids
  witness.told({ task: step, status: 'Queued' })
  // Its completion releases the second step.
  await complete(step)

  await Promise.all(
    ['c', 'd', 'e'].map(async name => {
      const agent = await spawn(name)
      const task = await submit(name, `src/${name}.ts`)
      await next(agent, task)
      if (name !== 'e') await complete(task)
    })
  )
  await to(second, 'Doubted', () => service.doubt(second, null))
  await to(second, 'Completed', () => service.resolveDoubt(second, 'overruled', 'it is as it should be'))
  await next(builder, third)
}

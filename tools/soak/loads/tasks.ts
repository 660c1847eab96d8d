import type { SvcNode } from '../svc-node.ts'
import type { Load, LoadContext } from './load.ts'
import { pause, repeat } from './load.ts'

const NAME = 'tasks'
/** A task that another machine holds returns to its owner after a minute without a result. */
const MAX_WAIT_MS = 300_000

interface Submitted {
  readonly node: SvcNode
  readonly id: number
  readonly time: number
}

/**
 * Submits tasks, which agents of both nodes complete. Those of the category Parsing may leave node one over the mesh. Each
 * acknowledged task must be completed in the end.
 */
export function tasks(context: LoadContext): Load {
  const { ledger, signal } = context
  const open = new Map<string, Submitted>()
  let next = 0
  const follow = async (): Promise<void> => {
    for (const [key, { node, id }] of [...open]) {
      const status = await ledger.attempt(
        'task status',
        node.name,
        async () => {
          const answer = await node.client.request(`${node.http}/api/orchestrator/tasks/${id}/status`, {
            expect: [404]
          })
          return answer.status === 404 ? 'lost' : JSON.parse(answer.text)
        },
        ['network']
      )
      if (status === undefined || ['Queued', 'InProgress', 'Blocked'].includes(status)) continue
      open.delete(key)
      if (status !== 'Completed')
        ledger.violate(NAME, node.name, `the acknowledged task ${id} is ${JSON.stringify(status)}`)
    }
  }
  return {
    name: NAME,
    async run() {
      const submit = repeat(context, 3_000, (node, count) =>
        ledger.attempt(NAME, node.name, async () => {
          const category = count % 2 === 0 ? 'Parsing' : 'General'
          const body = { description: `soak ${context.run} ${next++}`, task_category: category }
          const { task_id } = await node.client.json(`${node.http}/api/orchestrator/tasks`, { method: 'POST', body })
          open.set(`${node.name} ${task_id}`, { node, id: task_id, time: Date.now() })
        })
      )
      while (!signal.aborted) {
        await pause(4_000, signal)
        await follow()
      }
      await submit
    },
    async check() {
      const until = Date.now() + MAX_WAIT_MS
      while (open.size > 0 && Date.now() < until) {
        await follow()
        await pause(2_000)
      }
      for (const { node, id } of open.values()) {
        const task = await node.client.json(`${node.http}/api/orchestrator/tasks/${id}`).catch(String)
        ledger.violate(NAME, node.name, `the acknowledged task ${id} did not end: ${JSON.stringify(task)}`)
      }
    }
  }
}

import type { SvcNode } from '../svc-node.ts'
import type { Load, LoadContext } from './load.ts'
import { pause, repeat } from './load.ts'

const NAME = 'workflows'
const MAX_WAIT_MS = 180_000

/** Starts workflows of two steps and a wait. Each acknowledged run must complete, also after a kill. */
export function workflows(context: LoadContext): Load {
  const { ledger, run } = context
  const started: { readonly node: SvcNode; readonly key: string }[] = []
  let next = 0
  return {
    name: NAME,
    run: () =>
      repeat(context, 4_000, node =>
        ledger.attempt(NAME, node.name, async () => {
          const key = `${run}-run-${next++}`
          await node.client.request(`${node.app}/api/mutation/start`, { method: 'POST', body: { key } })
          started.push({ node, key })
        })
      ),
    async check() {
      const until = Date.now() + MAX_WAIT_MS
      for (const { node, key } of started) {
        let status = ''
        do {
          const answer = await node.client.request(`${node.http}/api/workflows/${key}`, { expect: [404] })
          status = answer.status === 404 ? 'lost' : JSON.parse(answer.text).run.status
          if (status === 'completed' || status === 'lost' || status === 'failed') break
          await pause(1_000)
        } while (Date.now() < until)
        if (status !== 'completed') ledger.violate(NAME, node.name, `the acknowledged run ${key} is ${status}`)
      }
    }
  }
}

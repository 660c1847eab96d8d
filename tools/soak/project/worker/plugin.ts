import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { taskProcessors } from '@svc/contracts'
import { defineOperation, definePlugin, t } from '@svc/plugin-sdk'

const memory = defineOperation({
  id: 'soak.memory',
  summary: 'Collect garbage and report the memory and resources of the process',
  input: t.object({}),
  output: t.object({ rss: t.integer(), heap: t.integer(), external: t.integer(), resources: t.record(t.integer()) }),
  effect: 'read',
  expose: { http: { method: 'GET', path: '/soak/memory' } }
})

export default definePlugin({
  name: 'soak-worker',
  operations: [memory],
  activate(ctx) {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    ctx.implement(memory, () => {
      collect()
      const resources: Record<string, number> = {}
      for (const name of process.getActiveResourcesInfo()) resources[name] = (resources[name] ?? 0) + 1
      const { rss, heapUsed, external } = process.memoryUsage()
      return { rss, heap: heapUsed, external, resources }
    })
    ctx.contribute(taskProcessors, {
      name: 'soak',
      rank: 10,
      takes: task => task.description.startsWith('soak '),
      async run(task, work) {
        await sleep(50, undefined, { signal: work.signal })
        return {
          completion_summary: `Did everything that ${task.description} asks for`,
          checks_passed: ['soak'],
          declared_non_placeholder: true
        }
      }
    })
  }
})

// An orchestrator that works until it kills itself. Arguments: FILE, ROOT, POINT, AT. Prints `? TASK STEP` before each step of a
// task, and `! TASK STEP` once the step is acknowledged: 1 submitted, 2 claimed, 3 completed.

import { openFile } from '@svc/plugin-database/testing'
import { openOrchestrator } from '#service'
import { defaultSettings } from '../default-settings.ts'
import { deadly, kill, say } from './deadly-store.ts'

const [file = '', root = '', point = 'never', at = '0'] = process.argv.slice(2)
const store = deadly(await openFile(file, { busyTimeoutMs: 10_000, synchronous: 'normal' }), point, Number(at))
const { service } = await openOrchestrator({
  settings: defaultSettings({ stubcheck_gate: false, tier_enforcement: false }),
  repositoryId: 'repo',
  root,
  store,
  log: { debug() {}, info() {}, warn: say, error: say },
  ended: async () => {},
  envelope: async () => null
})
say('seat')

const report = (task: number, step: number): void => {
  say(`! ${task} ${step}`)
  if (point === 'acknowledged' && store.batches >= Number(at)) kill()
}

const agents = await Promise.all(['a', 'b', 'c'].map(name => service.spawnAgent({ name })))
await Promise.all(
  agents.map(async ({ name }, each) => {
    for (let round = 0; round < 40; round += 1) {
      const files = [{ path: `src/${name}/${round}.ts`, access: 'write' }] as const
      const { task_id, agent_id } = await service.submit({
        description: `Part ${round} of ${name}`,
        files,
        agent_name: name
      })
      report(task_id, 1)
      const task = await service.next(agent_id)
      if (task === null) continue
      report(task.id, 2)
      // One agent leaves some tasks in progress.
      if (each === 2 && round % 8 === 0) continue
      say(`? ${task.id} 3`)
      await service.complete(task.id, { completion_summary: 'done', checks_passed: ['tests'] })
      report(task.id, 3)
    }
  })
)
say('done')
kill()

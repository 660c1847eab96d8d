// An orchestrator whose tasks another machine takes, until it kills itself. Arguments: FILE, ROOT, POINT. Prints `key TASK KEY`
// for each hold, and `! TASK STEP` once a step is acknowledged: `confirmed`, `completed` or `queued`.

import type { DatabaseStore } from '@svc/contracts'
import { openFile } from '@svc/plugin-database/testing'
import { openOrchestrator } from '#service'
import { defaultSettings } from '../default-settings.ts'
import { kill, say } from './deadly-store.ts'

const [file = '', root = '', point = ''] = process.argv.slice(2)
const store = await openFile(file, { busyTimeoutMs: 10_000, synchronous: 'normal' })
/** Kills the process before or after the next transaction. */
let deadly: 'before' | 'after' | null = null
const batch: DatabaseStore['batch'] = async statements => {
  if (deadly === 'before') kill()
  const results = await store.batch(statements)
  if (deadly === 'after') kill()
  return results
}
const watched = new Proxy(store, {
  get(target, name) {
    if (name === 'batch') return batch
    const value = Reflect.get(target, name)
    return typeof value === 'function' ? value.bind(target) : value
  }
})
const keys = new Map<number, string>()
const { service } = await openOrchestrator({
  settings: defaultSettings({ stubcheck_gate: false, tier_enforcement: false }),
  repositoryId: 'repo',
  root,
  store: watched,
  log: { debug() {}, info() {}, warn: say, error: say },
  ended: async () => {},
  envelope: async () => null,
  remotePlacers: () => [
    {
      name: 'other-machine',
      wants: () => true,
      async place({ id, remote: { idempotency_key } }) {
        keys.set(id, idempotency_key)
        say(`key ${id} ${idempotency_key}`)
        if (id === 2 && point === 'placing') kill()
        if (id === 2 && point === 'before the confirmation') deadly = 'before'
        if (id === 2 && point === 'after the confirmation') deadly = 'after'
        return { lease_id: String(id), mesh_node_id: 'gpu-1', message_id: id }
      }
    }
  ]
})
service.remote.withdrawn(task => say(`withdrawn ${task}`))

for (const agent_name of ['a', 'b']) {
  const { task_id } = await service.submit({ description: 'Train it', files: [], agent_name })
  say(`! ${task_id} confirmed`)
}
const key = keys.get(2) ?? ''
const isBefore = point.startsWith('before')
if (!point.endsWith('acknowledged')) deadly = isBefore ? 'before' : 'after'
if (point.includes('completion')) {
  await service.remote.complete(2, key, { checks_passed: ['peer_review_approved'] })
  say('! 2 completed')
} else if (point.includes('fallback')) {
  await service.remote.fallBack(2, key, 'lease-renew: 404')
  say('! 2 queued')
} else {
  await service.cancel(2)
  say('! 2 cancelled')
}
kill()

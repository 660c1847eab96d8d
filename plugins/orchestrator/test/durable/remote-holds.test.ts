import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import t from 'tap'
import { openOrchestrator } from '#service'
import { CHILD_ARGUMENTS } from '../../../../test/child-arguments.ts'
import { defaultSettings } from '../default-settings.ts'
import { freshFile, openStore } from './test-persistence.ts'

const DONE = { checks_passed: ['peer_review_approved'] }

async function killed(file: string, point: string): Promise<readonly string[]> {
  const script = join(import.meta.dirname, 'remote-child.ts')
  const child = spawn(process.execPath, [...CHILD_ARGUMENTS, script, file, dirname(file), point], {
    stdio: ['ignore', 'pipe', 'inherit']
  })
  const lines: string[] = []
  const reader = createInterface(child.stdout)
  reader.on('line', line => void lines.push(line))
  const [[, signal]] = await Promise.all([once(child, 'exit'), once(reader, 'close')])
  if (signal !== 'SIGKILL') throw new Error(`the process ended by itself:\n${lines.slice(-5).join('\n')}`)
  return lines
}

/** Points of the life of task 2, with its state after a restart. */
const POINTS = {
  placing: 'queued',
  'before the confirmation': 'queued',
  'after the confirmation': 'held',
  'before the completion': 'held',
  'after the completion': 'completed',
  'completion acknowledged': 'completed',
  'before the fallback': 'held',
  'after the fallback': 'queued',
  'before the cancellation': 'held',
  'after the cancellation': 'cancelled'
} as const

for (const [point, expected] of Object.entries(POINTS))
  t.test(
    `a process that was killed (${point}): task 2 is ${expected} after the restart, and task 1 still held`,
    async t => {
      const file = freshFile()
      await (await openStore(file)).close()
      const lines = await killed(file, point)
      const keys = new Map(lines.flatMap(line => (line.startsWith('key ') ? [line.split(' ').slice(1)] : [])) as never)
      const key = (task: number): string => String(keys.get(String(task)))
      const store = await openStore(file)
      const placed: number[] = []
      const opened = await openOrchestrator({
        settings: defaultSettings({ stubcheck_gate: false, tier_enforcement: false }),
        repositoryId: 'repo',
        root: dirname(file),
        store,
        log: { debug() {}, info() {}, warn: () => {}, error: message => t.fail(message) },
        ended: async () => {},
        envelope: async () => null,
        remotePlacers: () => [
          {
            name: 'other-machine',
            wants: () => true,
            async place({ id }) {
              placed.push(id)
              return {}
            }
          }
        ]
      })
      const { service } = opened
      const { remote } = service
      t.match(service.task(1), {
        status: { kind: 'InProgress' },
        remote: { idempotency_key: key(1), confirmed: true, lease_id: '1', mesh_node_id: 'gpu-1', message_id: 1 }
      })
      const kind = { queued: 'Queued', held: 'InProgress', completed: 'Completed', cancelled: 'Cancelled' }[expected]
      t.equal(service.task(2)?.status.kind, kind)
      t.same(
        remote.held().map(({ task_id }) => task_id),
        expected === 'held' ? [1, 2] : [1]
      )
      if (expected === 'queued') {
        t.equal(service.task(2)?.placement_reason, 'local_queue_fallback_after_remote_relay_error')
        t.match(await service.next(2), { id: 2 }, 'a local worker gets it')
      }
      t.equal(await remote.complete(2, key(2), DONE), expected === 'held' ? 'done' : 'stale')
      t.equal(await remote.complete(2, key(2), DONE), 'stale', 'a result has one effect')
      t.equal(await remote.complete(1, key(1), DONE), 'done')
      t.same(placed, [], 'no task is placed twice')
      t.equal(service.status().total_completed, expected === 'held' || expected === 'completed' ? 2 : 1)
      const acknowledged = lines.filter(line => line.startsWith('! 2')).map(line => line.split(' ')[2])
      if (acknowledged.includes('completed')) t.equal(kind, 'Completed')
      const withdrawn = lines.filter(line => line.startsWith('withdrawn'))
      t.same(withdrawn, [], 'no placer hears of a change that is not durable')
      await opened.close()
      await store.close()
    }
  )

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { openOrchestrator } from '#service'
import { CHILD_ARGUMENTS } from '../../../../test/child-arguments.ts'
import { defaultSettings } from '../default-settings.ts'
import { freshFile, openStore } from './test-persistence.ts'

async function killed(file: string, point: string, at: number): Promise<readonly string[]> {
  const script = join(import.meta.dirname, 'orchestrator-child.ts')
  const args = [...CHILD_ARGUMENTS, script, file, dirname(file), point, String(at)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const lines: string[] = []
  const reader = createInterface(child.stdout)
  reader.on('line', line => void lines.push(line))
  const [[, signal]] = await Promise.all([once(child, 'exit'), once(reader, 'close')])
  if (signal !== 'SIGKILL') throw new Error(`the process ended by itself:\n${lines.slice(-5).join('\n')}`)
  return lines
}

const steps = (lines: readonly string[], sign: string): Map<number, number> =>
  new Map(
    lines
      .map(line => line.split(' '))
      .filter(([kind]) => kind === sign)
      .map(([, task, step]) => [Number(task), Number(step)])
  )

async function check(t: Test, file: string, lines: readonly string[]): Promise<void> {
  const store = await openStore(file)
  const opened = await openOrchestrator({
    settings: defaultSettings({ stubcheck_gate: false, tier_enforcement: false }),
    repositoryId: 'repo',
    root: dirname(file),
    store,
    log: { debug() {}, info() {}, warn: () => {}, error: message => t.fail(message) },
    ended: async () => {},
    envelope: async () => null
  })
  const { service } = opened
  const asked = steps(lines, '?')
  const wrong: string[] = []
  for (const [id, step] of steps(lines, '!')) {
    const status = service.task(id)?.status.kind
    const may = step === 3 ? ['Completed'] : asked.has(id) ? ['Queued', 'Completed'] : ['Queued']
    if (status === undefined || !may.includes(status)) wrong.push(`task ${id} is ${status} after step ${step}`)
  }
  t.same(wrong, [])
  t.equal(service.status().total_in_progress, 0)
  t.same(
    service.tasks({ status: 'Queued' }).filter(({ recoveries = 0 }) => recoveries > 1),
    []
  )
  const queued = service.tasks({ status: 'Queued' })
  for (const { id } of queued) {
    const { completed } = await service.complete(id, { completion_summary: 'done', checks_passed: ['tests'] })
    if (!completed) wrong.push(`task ${id} cannot be completed`)
  }
  t.same(wrong, [], 'all queued tasks can be completed')
  t.same(service.locks(), [])
  const { task_id } = await service.submit({ description: 'one more', files: [] })
  t.ok(task_id > Math.max(0, ...steps(lines, '!').keys()), 'new ids are higher than all existing ones')
  await opened.close()
  await store.close()
}

for (const [point, at] of [
  ['before', 30],
  ['inside', 4],
  ['begun', 30],
  ['after', 4],
  ['acknowledged', 30]
] as const)
  t.test(`an orchestrator that was killed (${point}) continues without lost changes`, async t => {
    const file = freshFile()
    await (await openStore(file)).close()
    await check(t, file, await killed(file, point, at))
  })

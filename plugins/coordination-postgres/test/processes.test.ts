import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { noPostgres, PostgresServer } from '#root'
import { CHILD_ARGUMENTS } from '../../../test/child-arguments.ts'
import { openStore } from './stores.ts'
import type { Step } from './worker-child.ts'

const PROCESSES = 3
const FAULTS = 9
const LEASE_MS = 200

t.test('processes that are killed and stopped lose no item, and no fence repeats', { skip: noPostgres }, async t => {
  const server = await PostgresServer.start()
  t.teardown(() => server.remove())
  const observer = openStore(server.url())
  t.teardown(() => observer.close())
  await observer.now()
  const folder = t.testdir()
  const files: string[] = []
  const start = (slot: number): ChildProcess => {
    const name = `p${slot}.${files.length}`
    const file = join(folder, `${name}.jsonl`)
    files.push(file)
    writeFileSync(file, '')
    return fork(join(import.meta.dirname, 'worker-child.ts'), [server.url(), file, name, String(LEASE_MS)], {
      execArgv: [...CHILD_ARGUMENTS]
    })
  }
  const steps = (): Step[] => files.flatMap(file => linesOf(file))
  const progress = async (): Promise<void> => {
    const before = steps().filter(({ kind }) => kind === 'acked').length
    while (steps().filter(({ kind }) => kind === 'acked').length < before + 3) await sleep(20)
  }

  const children = Array.from({ length: PROCESSES }, (_, slot) => start(slot))
  for (let fault = 0; fault < FAULTS; fault += 1) {
    await progress()
    const slot = fault % PROCESSES
    const child = children[slot] as ChildProcess
    if (fault % 2 === 0) {
      child.kill('SIGSTOP')
      await sleep(LEASE_MS * 2)
      await progress()
      child.kill('SIGCONT')
    } else {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
      children[slot] = start(slot)
    }
  }
  await progress()
  await Promise.all(
    children.map(async child => {
      const ended = once(child, 'exit')
      child.disconnect()
      t.same((await ended)[0], 0, 'a process ends without an error')
    })
  )

  const history = steps()
  const acks = new Map<number, number>()
  for (const step of history) if (step.kind === 'acked') acks.set(step.id, (acks.get(step.id) ?? 0) + 1)
  t.ok(acks.size >= FAULTS, `${acks.size} items were acknowledged`)
  t.same(
    [...acks].filter(([, count]) => count > 1),
    [],
    'an item is acknowledged at most once'
  )

  const claims = new Map<number, Extract<Step, { kind: 'claim' }>[]>()
  for (const step of history) if (step.kind === 'claim') claims.set(step.id, [...(claims.get(step.id) ?? []), step])
  for (const [id, list] of claims) {
    list.sort((a, b) => a.fence - b.fence)
    for (const [at, claim] of list.entries()) {
      const before = list[at - 1]
      if (before === undefined) continue
      if (claim.fence === before.fence) t.fail(`item ${id} has the fence ${claim.fence} twice`)
      if (claim.from < before.until) t.fail(`the leases of item ${id} overlap`)
    }
    const accepted = history.find(step => step.kind === 'acked' && step.id === id)
    if (accepted?.kind === 'acked' && accepted.fence < (list.at(-1)?.fence as number))
      t.fail(`item ${id} was acknowledged with an old fence`)
  }
  const owners = new Map<string, string>()
  for (const file of files)
    for (const step of linesOf(file)) {
      if (step.kind !== 'lease') continue
      const lease = `${step.key} with fence ${step.fence}`
      if ((owners.get(lease) ?? file) !== file) t.fail(`two processes had the lease ${lease}`)
      owners.set(lease, file)
    }
  t.ok(owners.size > 0, `${owners.size} named leases were granted`)

  // Items that remain were claimed by a killed process, or not at all.
  const left = new Set<number>()
  while ((await observer.count('q')) > 0) {
    const items = await observer.claim('q', 'observer', { max: 100, leaseMs: 600_000 })
    for (const [at, done] of (await observer.ack(items)).entries()) if (done) left.add(items[at]?.id as number)
    await sleep(20)
  }
  const tried = new Set(history.flatMap(step => (step.kind === 'acking' ? [step.id] : [])))
  for (const step of history) {
    if (step.kind !== 'put') continue
    const { id, key } = step
    if (!acks.has(id) && !left.has(id) && !tried.has(id)) t.fail(`the item ${id} of ${key} was lost`)
    if (acks.has(id) && left.has(id)) t.fail(`the item ${id} of ${key} came back`)
  }
})

/** Complete lines of a file. The last one of a killed process may be cut. */
function linesOf(file: string): Step[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map(line => JSON.parse(line) as Step)
}

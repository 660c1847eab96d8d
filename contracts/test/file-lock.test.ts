import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type FileLockOptions, ownIdentity, withFileLock } from '@svc/contracts'
import t from 'tap'
import { CHILD_ARGUMENTS } from '../../test/child-arguments.ts'

const PROCESSES = 4
const KILLS = 8
const busy = (): Error => new Error('busy')
const DEAD = { ...ownIdentity(), pid: 2 ** 22 + 1 }

const locked = <A>(path: string, run: () => A | Promise<A>, options: Partial<FileLockOptions> = {}): Promise<A> =>
  withFileLock(path, run, { waitMs: 10_000, busy, ...options })

t.test('of several processes that are killed at any time, never two hold the lock, and it is never lost', async t => {
  const path = join(t.testdir(), 'state.lock')
  const children = new Set<ChildProcess>()
  const overlaps: string[] = []
  let taken = 0
  const start = (): void => {
    const args = [...CHILD_ARGUMENTS, join(import.meta.dirname, 'lock-child.ts'), path]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    children.add(child)
    createInterface({ input: child.stdout }).on('line', line => {
      if (line.startsWith('overlap')) overlaps.push(line)
      else taken++
    })
  }
  t.teardown(() => {
    for (const child of children) child.kill('SIGKILL')
  })
  const waitFor = async (count: number): Promise<void> => {
    while (taken < count) await new Promise(resolve => setTimeout(resolve, 5))
  }
  for (let at = 0; at < PROCESSES; at++) start()
  await waitFor(20)
  for (let kill = 1; kill <= KILLS; kill++) {
    // Of the process that holds the lock, if it can be read: its lock must be taken over.
    const held = existsSync(path) ? readFileSync(path, 'utf8') : ''
    const victim = [...children].find(child => held.includes(`"pid":${child.pid},`)) ?? [...children][0]
    if (victim === undefined) throw new Error('no process runs')
    victim.kill('SIGKILL')
    await once(victim, 'exit')
    children.delete(victim)
    if (kill % 2 === 0) start()
    // The processes that live go on.
    if (children.size > 0) await waitFor(taken + 5)
    else start()
  }
  t.same(overlaps, [])
})

t.test('calls of one process exclude each other, and an error releases the lock', async t => {
  const path = join(t.testdir(), 'state.lock')
  let [inside, most] = [0, 0]
  const work = async (): Promise<void> => {
    most = Math.max(most, ++inside)
    await new Promise(resolve => setTimeout(resolve, 2))
    inside--
  }
  await Promise.all(Array.from({ length: 10 }, () => locked(path, work)))
  t.equal(most, 1)
  await t.rejects(
    locked(path, () => {
      throw new Error('the work failed')
    }),
    { message: 'the work failed' }
  )
  t.notOk(existsSync(path))
})

t.test('a lock that is held is an error with its owner after the wait, and stays', async t => {
  const path = join(t.testdir(), 'state.lock')
  let owner: unknown
  await locked(path, async () => {
    const options = {
      waitMs: 0,
      busy(holder: unknown) {
        owner = holder
        return new Error('busy')
      }
    }
    await t.rejects(
      locked(path, () => t.fail('two hold the lock'), options),
      { message: 'busy' }
    )
    const signal = AbortSignal.abort(new Error('cancelled'))
    await t.rejects(
      locked(path, () => t.fail('two hold the lock'), { signal }),
      { message: 'cancelled' }
    )
    t.ok(existsSync(path))
  })
  t.match(owner, ownIdentity())
})

t.test('a lock of a process that ended, or a file with another text, is taken over', async t => {
  const path = join(t.testdir(), 'state.lock')
  const reused = { ...ownIdentity(), start: 'another start of the process id' }
  for (const text of [JSON.stringify({ ...DEAD, at_ms: Date.now() }), '', '4711', '{"host":1}', '[]']) {
    writeFileSync(path, text)
    t.equal(await locked(path, () => 'mine', { waitMs: 0 }), 'mine', text)
  }
  writeFileSync(path, JSON.stringify({ ...reused, at_ms: 0 }))
  t.equal(await locked(path, () => 'mine', { waitMs: 0 }), 'mine', 'of an earlier process with the same id')
})

t.test('a lock of another machine counts for ten minutes, or for as long as the caller says', async t => {
  const path = join(t.testdir(), 'state.lock')
  const lockOf = (ageMs: number): void =>
    writeFileSync(path, JSON.stringify({ host: `not-${hostname()}`, pid: 1, start: null, at_ms: Date.now() - ageMs }))
  lockOf(300_000)
  await t.rejects(
    locked(path, () => 'mine', { waitMs: 0 }),
    { message: 'busy' }
  )
  t.equal(await locked(path, () => 'mine', { waitMs: 0, unknownHeldMs: 60_000 }), 'mine')
  lockOf(700_000)
  await t.rejects(
    locked(path, () => 'mine', { waitMs: 0, unknownHeldMs: Number.POSITIVE_INFINITY }),
    { message: 'busy' }
  )
  t.equal(await locked(path, () => 'mine', { waitMs: 0 }), 'mine')
})

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { daemonStatePath, ownIdentity, probeDaemon, readDaemonState } from '@svc/contracts'
import { definePlugin } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import t from 'tap'
import daemon from '#plugin'
import { assertFree, claim, holdRepository, ownState, release, removeStateFile } from '#root'
import { CHILD_ARGUMENTS } from '../../../test/child-arguments.ts'
import { startDaemon } from './start-daemon.ts'

t.test('the state file exists as long as the daemon', async t => {
  const { kernel, state, reload } = await startDaemon(t)
  const path = daemonStatePath(kernel.root)
  t.match(state, { pid: process.pid, socket: /^127\.0\.0\.1:\d+$/, version: '0.0.0', repository_id: 'test' })
  t.ok(Math.abs(Date.parse(state.started_at) - performance.timeOrigin) < 1000)
  t.equal(statSync(path).mode & 0o777, 0o600)
  t.ok(await probeDaemon(state))
  await reload()
  t.same(await readDaemonState(kernel.root), state, 'a reload keeps the state file')
  const { root } = kernel
  await kernel.close()
  t.notOk(existsSync(path))
  t.equal(await readDaemonState(root), null)
  t.notOk(await probeDaemon(state))
})

const about = { socket: '127.0.0.1:1', token: 'secret', version: '0.0.0', repository_id: 'test' }
/** Returns the state that an older version of the daemon would have written. */
const older = (pid: number): object => ({ pid, started_at: '2026-01-01T00:00:00.000Z', ...about })

async function gone(): Promise<number> {
  const child = spawn(process.execPath, ['-e', ''])
  await once(child, 'exit')
  return child.pid as number
}

t.test('the state file of a dead daemon is ignored and replaced', async t => {
  const root = t.testdir()
  const dead = await gone()
  mkdirSync(dirname(daemonStatePath(root)))
  const own = ownState(about)
  for (const text of [
    '',
    '{',
    '[]',
    'null',
    JSON.stringify({ ...older(1), pid: '1' }),
    JSON.stringify({ ...own, process_start: 7 }),
    JSON.stringify(older(dead)),
    JSON.stringify({ ...own, pid: dead })
  ]) {
    writeFileSync(daemonStatePath(root), text)
    t.equal(await readDaemonState(root), null, text)
    await assertFree(root)
    await holdRepository(root, own)
    t.same(await readDaemonState(root), own)
  }
  t.same(readdirSync(join(root, '.vox')), ['daemon.json'], 'no other file is left')
})

t.test('a reused process id is not a daemon', { skip: ownIdentity().start === null }, async t => {
  // The start of another process is not used: one of the same clock tick would have the same start.
  const own = ownState(about)
  const earlier = { ...own, process_start: `${own.process_start}0` }
  const root = t.testdir({ '.vox': { 'daemon.json': JSON.stringify(earlier) } })
  t.equal(await readDaemonState(root), null)
  await holdRepository(root, ownState(about))
  t.equal((await readDaemonState(root))?.pid, process.pid)
})

t.test('if the start time of a daemon is unknown, its socket decides whether it runs', async t => {
  const first = await startDaemon(t)
  const { host, process_start, ...withoutStart } = first.state
  t.equal(host, ownIdentity().host)
  t.equal(process_start, ownIdentity().start)
  const root = t.testdir({ '.vox': { 'daemon.json': JSON.stringify({ ...withoutStart, pid: process.ppid }) } })
  const held = { code: 'DMN_REPOSITORY_HELD', message: new RegExp(`process ${process.ppid}`), hint: /svc daemon stop/ }
  await t.rejects(assertFree(root), held)
  await t.rejects(holdRepository(root, ownState(about)), held)
  await first.kernel.close()
  await holdRepository(root, ownState(about))
})

t.test('a process may change its address, and removes only the state file with the last one', async t => {
  const root = t.testdir()
  const [before, after] = [ownState(about), ownState({ ...about, socket: '127.0.0.1:2' })]
  await holdRepository(root, before)
  await holdRepository(root, before)
  await holdRepository(root, after)
  await removeStateFile(root, before)
  t.same(await readDaemonState(root), after)
  await removeStateFile(root, after)
  t.notOk(existsSync(daemonStatePath(root)))
  await removeStateFile(root, after)
})

t.test('a daemon runs without a state file if the folder is not writable', async t => {
  const blocker = definePlugin({
    name: 'blocker',
    activate: ctx => writeFileSync(join(ctx.projectRoot, '.vox'), 'in the way')
  })
  const kernel = await testKernel([blocker, daemon], { settings: { daemon: { socket: '127.0.0.1:0' } } })
  t.teardown(() => kernel.close())
  t.equal(kernel.state('daemon'), 'active')
  t.match(
    kernel.log.filter(({ level }) => level === 'error'),
    [{ plugin: 'daemon', message: /cannot write \.vox\/daemon\.json/ }]
  )
})

t.test('a reload keeps the file of another process', async t => {
  const { kernel, state, reload } = await startDaemon(t)
  const other = {
    ...JSON.parse(readFileSync(daemonStatePath(kernel.root), 'utf8')),
    pid: process.ppid,
    process_start: null
  }
  writeFileSync(daemonStatePath(kernel.root), JSON.stringify(other))
  await reload()
  t.same(await readDaemonState(kernel.root), other, 'the file of the other process stays')
  t.ok(await probeDaemon(state))
})

t.test('exactly one of many concurrent claims succeeds, for any content of the file', async t => {
  const child = fileURLToPath(new URL('claim-child.ts', import.meta.url))
  for (const left of [null, JSON.stringify({ ...ownIdentity(), pid: await gone() })]) {
    const path = join(t.testdir(), 'claimed')
    if (left !== null) writeFileSync(path, left)
    const children = Array.from({ length: 8 }, () =>
      spawn(process.execPath, [...CHILD_ARGUMENTS, child, path], {
        stdio: ['pipe', 'pipe', 'inherit']
      })
    )
    t.teardown(() => {
      for (const each of children) each.kill('SIGKILL')
    })
    const readers = children.map(each => createInterface({ input: each.stdout })[Symbol.asyncIterator]())
    const nextLines = (): Promise<string[]> =>
      Promise.all(readers.map(async each => (await each.next()).value as string))
    t.same(new Set(await nextLines()), new Set(['ready']))
    for (const each of children) each.stdin.write('go\n')
    const owners = await nextLines()
    const winners = children.filter((_child, index) => owners[index] === 'mine')
    t.equal(winners.length, 1, owners.join(' '))
    t.equal(JSON.parse(readFileSync(path, 'utf8')).pid, winners[0]?.pid)
    t.same(new Set(owners), new Set(['mine', String(winners[0]?.pid)]))
    t.same(readdirSync(dirname(path)), ['claimed'])
  }
})

t.test('a process that died during a takeover is also replaced', async t => {
  const path = join(t.testdir(), 'claimed')
  const lives = async (text: string): Promise<boolean> => !text.startsWith('dead')
  writeFileSync(path, 'dead 1')
  t.equal(await claim(path, 'dead 2', lives), null)
  // The process that was replacing `dead 2` is also dead.
  const { createHash } = await import('node:crypto')
  const turn = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16)
  writeFileSync(`${path}.${turn('dead 2')}`, 'dead 3')
  t.equal(await claim(path, 'alive', lives), null)
  t.equal(await claim(path, 'late', lives), 'alive')
  await release(path, 'late')
  t.equal(readFileSync(path, 'utf8'), 'alive')
  await release(path, 'alive')
  t.same(readdirSync(dirname(path)), [])
})

import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { CHILD_ARGUMENTS } from '../../../test/child-arguments.ts'
import { act, say, wait } from './fixtures/creature.ts'
import { KINDS, World } from './world.ts'

const disposedFile = (world: World): string => join(world.root, '.vox/plugins/creature/disposed')

for (const kind of KINDS) {
  t.test(`disposers run in the ${kind}, last first`, async t => {
    const world = await World.open(t, kind)
    await world.kernel.close()
    t.equal(readFileSync(disposedFile(world), 'utf8'), 'second,first')
  })

  t.test(`tasks of a ${kind} are awaited before its disposers run`, async t => {
    const world = await World.open(t, kind)
    await world.call(act, { what: 'task' })
    await world.kernel.close()
    const messages = world.lines.map(line => line.message)
    t.same(
      messages.filter(each => each === 'digested' || each === 'let go'),
      ['digested', 'let go']
    )
  })

  t.test(`a ${kind} receives onServe and onDrain`, async t => {
    const world = await World.open(t, kind)
    await world.untilLogged(/^serves$/)
    await world.change(['creature'])
    await world.untilLogged(/^drains/)
    await world.kernel.close()
    const messages = world.lines.map(({ message }) => message)
    t.same(
      messages.filter(each => each === 'prepares' || each.startsWith('drains')),
      ['prepares', 'prepares', 'drains: replaced', 'drains: closing']
    )
  })

  t.test(`a ${kind} whose disposer hangs is ended at its deadline`, async t => {
    const world = await World.open(t, kind, { settings: { dispose: 'hang' }, policy: { drainTimeoutMs: 1_000 } })
    await world.kernel.close()
    await world.untilLogged(/disposer "second" did not settle/)
    t.equal(readFileSync(disposedFile(world), 'utf8'), 'first', 'the other disposers ran')
    t.equal(world.kernel.current.units.get('creature')?.state, 'disposed')
  })

  t.test(`a ${kind} whose disposer never returns is killed`, async t => {
    const world = await World.open(t, kind, { settings: { dispose: 'loop' }, policy: { drainTimeoutMs: 1_000 } })
    await world.kernel.close()
    await world.untilLogged(/(worker|process) \d+ did not dispose in time and was killed/)
    t.equal(world.kernel.current.units.get('creature')?.state, 'disposed')
  })

  t.test(`reloads of a ${kind} lose no calls, and running calls end in their old instance`, async t => {
    const world = await World.open(t, kind)
    const first = await world.call(say, { word: 'first' })
    const waiting = world.call(wait, {})
    await world.call(say, { word: 'so that the wait has begun' })
    const old = world.kernel.current.units.get('creature')
    let done = false
    const instances = new Set<number>()
    const caller = async (): Promise<number> => {
      let calls = 0
      while (!done) {
        const { said, pid, thread } = await world.call(say, { word: 'x' })
        if (said !== 'x') throw new Error('a wrong answer')
        instances.add(kind === 'worker' ? thread : pid)
        calls += 1
      }
      return calls
    }
    const callers = [caller(), caller(), caller(), caller()]
    for (let n = 0; n < 5; n += 1) await world.change(['creature'])
    done = true
    const calls = (await Promise.all(callers)).reduce((sum, each) => sum + each, 0)
    t.ok(instances.size >= 5, `${calls} calls ran in ${instances.size} instances`)
    t.equal(old?.state, 'draining')
    t.equal(old?.inFlight, 1)
    // Operations of a retired unit are forwarded to its successor, but settings still reach the unit itself.
    await old?.reconfigure({ ...(old.config as object), mood: 'generous' })
    t.same(await waiting, { waited: true })
    const last = await world.call(say, { word: 'last' })
    t.notSame([last.pid, last.thread], [first.pid, first.thread])
  })
}

t.test('the process of a plugin ends if its host is killed', async t => {
  const script = `
    import { World } from ${JSON.stringify(join(import.meta.dirname, 'world.ts'))}
    import { say } from ${JSON.stringify(join(import.meta.dirname, 'fixtures/creature.ts'))}
    const t = { testdir: () => process.argv[1], teardown: () => {}, fail: console.error }
    const world = await World.open(t, 'process')
    console.log((await world.call(say, { word: 'x' })).pid)
  `
  const root = t.testdir({ shown: {}, hidden: {}, written: {} })
  const flags = [...CHILD_ARGUMENTS, '--input-type=module', '--eval', script]
  const host = spawn(process.execPath, [...flags, root], { stdio: ['ignore', 'pipe', 'inherit'] })
  let pid = 0
  for await (const line of createInterface({ input: host.stdout })) {
    pid = Number(line)
    break
  }
  t.ok(pid > 0)
  host.kill('SIGKILL')
  while (isRunning(pid)) await sleep(10)
  t.equal(readFileSync(join(root, '.vox/plugins/creature/disposed'), 'utf8'), 'second,first', 'the disposers ran')
})

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    // A killed process that is not yet reaped still has an id, but no command line.
    return process.platform !== 'linux' || readFileSync(`/proc/${pid}/cmdline`, 'utf8') !== ''
  } catch {
    return false
  }
}

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { inlineSource, Kernel, type LogLine, memoryLog, POLICY, type UnitPolicy } from '@svc/kernel/testing'
import { defineOperation, definePlugin, SvcError, t as s } from '@svc/plugin-sdk'
import t, { type Test } from 'tap'

/*
 * Tests how the kernel handles crashes of isolated units. The test replaces workers and processes by a fake host, so
 * that a unit can crash at any moment.
 */

type Hosts = NonNullable<ConstructorParameters<typeof Kernel>[0]['unitHosts']>
type WorkerHost = NonNullable<Hosts['worker']>
type Unit = Parameters<WorkerHost['activate']>[0]
type Host = Parameters<WorkerHost['activate']>[4]

const who = defineOperation({ id: 'demo.who', summary: 'x', input: s.object({}), output: s.object({}) })
const demo = definePlugin({ name: 'demo', activate() {} })
const crash = (message = 'demo ended with code 1'): SvcError =>
  new SvcError('KRN_ISOLATION_CRASHED', message, { status: 503, plugin: 'demo' })

/** Opens a kernel with a fake host for isolated units. */
async function open(t: Test, policy: Partial<UnitPolicy> = {}, during: (unit: Unit, host: Host) => unknown = () => {}) {
  const root = mkdtempSync(join(tmpdir(), 'svc-crashes-'))
  const lines: LogLine[] = []
  const states: string[] = []
  const units: {
    readonly unit: Unit
    readonly host: Host
    readonly policy: UnitPolicy
    readonly packageRoot: string
  }[] = []
  const fatal: unknown[] = []
  const worker: WorkerHost = {
    async activate(unit, _code, packageRoot, given, host) {
      unit.lifecycle.to('activating')
      units.push({ unit, host, policy: given, packageRoot })
      await during(unit, host)
    }
  }
  const kernel = new Kernel({
    unitHosts: { worker },
    log: memoryLog(lines),
    projectRoot: root,
    dataRoot: join(root, '.vox'),
    repositoryId: 'test',
    version: '0.0.0',
    onState: (plugin, state) => states.push(`${plugin} ${state}`),
    onFatal: error => fatal.push(error)
  })
  t.teardown(async () => {
    await kernel.close()
    rmSync(root, { recursive: true, force: true })
  })
  const configuration = (name: string) => ({
    enabled: true,
    error: null,
    policy: { ...POLICY, isolation: 'worker' as const, ...policy },
    settings: async () => ({}),
    secretBackends: [],
    fingerprint: name
  })
  const apply = () => kernel.change({ sources: [inlineSource(demo, '1.0.0', root)], configuration })
  const record = () => kernel.records.get('demo')!
  return { kernel, root, lines, states, units, fatal, apply, record }
}

t.test('a kernel without a host for a kind of isolation rejects the plugin with a hint', async t => {
  const { apply, record } = await open(t, { isolation: 'process' })
  await apply()
  t.equal(record().state, 'failed')
  t.match(record().why, 'demo cannot run in a process: this kernel does not support that isolation')
})

t.test('a host receives folder, policy and calls of its unit', async t => {
  const { apply, units, root, kernel } = await open(t, { memoryMb: 64 })
  await apply()
  const [{ unit, host, policy, packageRoot }] = units as [(typeof units)[number]]
  t.match({ policy, packageRoot }, { policy: { isolation: 'worker', memoryMb: 64 }, packageRoot: root })
  t.match(host, { projectRoot: root, dataRoot: join(root, '.vox') })
  t.equal(unit.state, 'active')
  t.equal(unit.generation, 1)
  t.type(unit.activateMs, 'number')
  t.equal(host.isTapped('demo.hook'), false)
  t.equal(host.trigger('demo.hook', []), undefined)
  await t.rejects(host.invoke(who.id, {}, { caller: 'demo' }), { code: 'OPR_UNKNOWN' })
  t.equal(kernel.current.units.get('demo'), unit)
})

t.test('a unit that crashes while it serves fails and is restarted later', async t => {
  const { apply, units, record, lines } = await open(t, { onBootFailure: 'retry' })
  await apply()
  const [{ unit, host }] = units as [(typeof units)[number]]
  host.onCrash(unit, crash())
  t.equal(unit.state, 'failed')
  t.equal(record().why, 'demo ended with code 1')
  t.ok(record().retrying)
  t.match(lines.at(-2), { plugin: 'demo', level: 'error', message: 'demo ended with code 1' })
  t.match(lines.at(-1), { plugin: 'demo', level: 'info', message: /^next retry in \d+ ms$/ })
})

t.test('continue: a crashed unit is not restarted until the next change', async t => {
  const { kernel, apply, units, record } = await open(t, { onBootFailure: 'continue' })
  await apply()
  const [{ unit, host }] = units as [(typeof units)[number]]
  host.onCrash(unit, crash())
  t.notOk(record().retrying)
  t.match(await kernel.change({ retry: ['demo'] }), { applied: true, add: ['demo'], generation: 2 })
  t.equal(units.length, 2)
  t.equal(record().state, 'active')
  t.equal(record().why, null)
})

t.test('a unit that crashes repeatedly is quarantined and no longer serves', async t => {
  const { kernel, apply, units, record, lines } = await open(t)
  await apply()
  for (let loss = 1; loss <= 5; loss++) {
    const { unit, host } = units.at(-1) as (typeof units)[number]
    host.onCrash(unit, crash(`loss ${loss}`))
    if (loss < 5) await kernel.change({ retry: ['demo'] })
  }
  while (kernel.current.units.has('demo')) await turn()
  t.equal(record().state, 'quarantined')
  t.match(record().why, /loss 5 \(5 failures in 10 minutes; run: svc plugins enable demo\)/)
  t.match(
    lines.filter(({ message }) => message.startsWith('quarantined')),
    [{ level: 'error', message: 'quarantined after 5 failures in 10 minutes', plugin: 'demo' }]
  )
})

t.test('a crash before the flip fails the change', async t => {
  let lose = false
  const { kernel, apply, units, record } = await open(t, {}, (unit, host) => {
    if (lose) host.onCrash(unit, crash())
  })
  await apply()
  lose = true
  await t.rejects(kernel.change({ forced: ['demo'] }), {
    code: 'KRN_ISOLATION_CRASHED',
    status: 503,
    plugin: 'demo',
    message: 'demo ended before it could serve; see its log'
  })
  t.equal(units[0]?.unit.state, 'active', 'the previous instance continues to serve')
  t.equal(units[1]?.unit.state, 'failed')
  t.ok(units[1]?.unit.scope.closed)
  t.equal(record().unit, units[0]?.unit)
  t.match(record().why, /last change refused/)
})

t.test('a crash while draining is only logged', async t => {
  const { kernel, apply, units, record } = await open(t)
  await apply()
  const [{ unit, host }] = units as [(typeof units)[number]]
  await kernel.change({ forced: ['demo'] })
  t.ok(unit.retired)
  host.onCrash(unit, crash())
  t.not(unit.state, 'failed')
  t.match(record(), { state: 'active', why: null, failed: false })
})

t.test('a crash while the kernel closes is not logged', async t => {
  const { kernel, apply, units, lines } = await open(t)
  await apply()
  const [{ unit, host }] = units as [(typeof units)[number]]
  const before = lines.length
  const closing = kernel.close()
  host.onCrash(unit, crash())
  await closing
  t.same(
    lines.slice(before).filter(({ level }) => level === 'error'),
    []
  )
})

t.test('uncaught, abort-process: ends the isolated unit but not the host process', async t => {
  const { kernel, apply, units, fatal } = await open(t, { uncaught: 'abort-process' })
  await apply()
  const [{ unit }] = units as [(typeof units)[number]]
  const killed: unknown[] = []
  unit.kill = cause => killed.push(cause)
  const error = new Error('beyond repair')
  kernel.uncaught(unit, error)
  t.same(killed, [error])
  t.same(fatal, [])
})

t.test('draining waits for work in the worker, up to the limit', async t => {
  const seen: number[] = []
  const { kernel, apply, units, lines } = await open(t, { drainTimeoutMs: 30 })
  await apply()
  const [{ unit }] = units as [(typeof units)[number]]
  unit.drainers.push(deadlineMs => {
    seen.push(deadlineMs)
    return new Promise(() => {})
  })
  await kernel.close()
  t.equal(seen.length, 1)
  t.ok((seen[0] as number) <= 30 && (seen[0] as number) >= 1)
  t.ok(lines.some(({ message }) => message === 'still busy after 30 ms: 0 calls, tasks none'))
})

t.test('reports each state of a plugin in order', async t => {
  const { kernel, apply, states } = await open(t)
  await apply()
  t.same(states, ['demo activating', 'demo active'])
  await kernel.close()
  t.same(states.slice(2), ['demo draining', 'demo disposed'])
})

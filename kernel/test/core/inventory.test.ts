import { type SecretBackend, secretBackend, secretsResolver } from '@svc/contracts'
import { gate, inlineSource, type PluginSource, POLICY, World } from '@svc/kernel/testing'
import { defined, defineOperation, definePlugin, type Plugin, SvcError, t as s, service } from '@svc/plugin-sdk'
import fc from 'fast-check'
import t from 'tap'

/* Tests which known plugins are activated, and the reported states of the others. */

const who = (name: string) =>
  defineOperation({ id: `${name}.who`, summary: 'x', input: s.object({}), output: s.object({ by: s.string() }) })

const lively = (name: string, by = name): Plugin =>
  definePlugin({
    name,
    operations: [who(name)],
    activate: ctx => ctx.implement(who(name), () => ({ by }))
  })

/** Creates a source that counts how often it is read and closed. */
function counted(plugin: Plugin, version = '1.0.0') {
  const source = inlineSource(plugin, version)
  const counts = { prepared: 0, closed: 0 }
  const counting: PluginSource = {
    ...source,
    prepare() {
      counts.prepared += 1
      return source.prepare()
    },
    async close() {
      counts.closed += 1
    }
  }
  return { source: counting, counts }
}

/** Creates the source of a broken package. */
function broken(name: string, message: string, lapsed: Plugin | null = null): PluginSource {
  const problem = new SvcError('LDR_PACKAGE_INVALID', message, { plugin: name })
  return {
    name,
    location: '/nowhere',
    version: '0.0.0',
    manifest: null,
    problem,
    lapsed: lapsed === null ? null : inlineSource(lapsed).manifest,
    prepare: () => Promise.reject(problem),
    close: async () => {}
  }
}

t.test('a plugin is enabled unless its manifest or its settings disable it', async t => {
  const shy = (name: string): Plugin => definePlugin({ name, enabledByDefault: false, activate() {} })
  const world = new World(t)
    .put(lively('plain'), shy('shy'), shy('wanted'), lively('unwanted'))
    .configure({ wanted: { enabled: true }, unwanted: { enabled: false } })
  await world.apply()
  t.same([...world.kernel.current.units.keys()], ['plain', 'wanted'])
  t.same(
    ['plain', 'shy', 'wanted', 'unwanted'].map(name => world.state(name)),
    ['active', 'disabled', 'active', 'disabled']
  )
})

t.test('a disabled plugin shows the reason, and its code is not read', async t => {
  const { source, counts } = counted(lively('demo'))
  const world = new World(t).putSource(source).configure({ demo: { enabled: false, error: 'left out by --only' } })
  await world.apply()
  t.equal(counts.prepared, 0)
  t.match([world.state('demo'), world.why('demo')], ['disabled', 'left out by --only'])
  await world.configure({ demo: { enabled: true } }).apply()
  t.equal(counts.prepared, 1)
  t.match([world.state('demo'), world.why('demo')], ['active', null])
})

t.test('a plugin with invalid settings does not run, and its code is not read', async t => {
  const { source, counts } = counted(lively('demo'))
  const world = new World(t).putSource(source).configure({ demo: { error: 'port must be a number' } })
  await world.apply()
  t.equal(counts.prepared, 0)
  t.match([world.state('demo'), world.why('demo')], ['invalid', 'port must be a number'])
  await world.configure({ demo: {} }).apply()
  t.equal(world.state('demo'), 'active')
  await world.configure({ demo: { error: 'port must be a number' } }).apply()
  t.match([world.state('demo'), world.why('demo')], ['invalid', 'port must be a number'], 'the running plugin stops')
  t.notOk(world.kernel.current.units.has('demo'))
})

t.test('a broken package is listed with its problem, even if disabled, until it is fixed', async t => {
  const world = new World(t).putSource(broken('demo', 'package.json is no JSON')).put(lively('other'))
  await world.apply()
  t.match([world.state('demo'), world.why('demo')], ['invalid', 'package.json is no JSON'])
  t.equal(world.state('other'), 'active')
  await world.configure({ demo: { enabled: false } }).apply()
  t.match([world.state('demo'), world.why('demo')], ['invalid', 'package.json is no JSON'])
  await world.configure({ demo: {} }).put(lively('demo')).apply()
  t.match([world.state('demo'), world.why('demo')], ['active', null])
})

t.test('a broken required plugin fails the start with its problem, unless it is disabled', async t => {
  const required = { policy: { onBootFailure: 'abort' as const } }
  const start = (configuration: object) =>
    new World(t)
      .putSource(broken('demo', 'package.json is no JSON'))
      .configure({ demo: { ...required, ...configuration } })
      .apply()
  await t.rejects(start({}), { code: 'LDR_PACKAGE_INVALID', message: 'package.json is no JSON' })
  t.match(await start({ enabled: false }), { applied: true })
})

t.test('a plugin is required only for the start', async t => {
  const world = new World(t).put(lively('demo')).configure({ demo: { policy: { onBootFailure: 'abort' } } })
  await world.apply()
  t.match(await world.remove('demo').put(lively('other')).apply(), { remove: ['demo'], add: ['other'] })
  t.match(await world.putSource(broken('demo', 'gone')).apply(), { applied: true })
  t.equal(world.state('demo'), 'invalid')
})

t.test('code is read once, and again if it is stale', async t => {
  const { source, counts } = counted(lively('demo'))
  const world = new World(t).putSource(source)
  await world.apply()
  await world.apply()
  t.equal(counts.prepared, 1)
  await world.apply({ forced: ['demo'] })
  t.equal(counts.prepared, 1, 'the new instance uses the same code')
  await world.apply({ stale: ['demo'] })
  t.equal(counts.prepared, 2)
  t.equal(counts.closed, 0)
})

t.test('a new plugin with unreadable code is invalid until an edit fixes it', async t => {
  const source = inlineSource(lively('demo'))
  let problem: Error | null = new Error('missing brace')
  const world = new World(t).put(lively('other')).putSource({
    ...source,
    prepare: () => (problem === null ? source.prepare() : Promise.reject(problem))
  })
  t.match(await world.apply(), { applied: true, add: ['other'] })
  t.match([world.state('demo'), world.why('demo')], ['invalid', 'missing brace'])
  t.match(
    world.lines.find(({ plugin }) => plugin === 'demo'),
    { level: 'error', message: 'cannot load: missing brace' }
  )
  problem = null
  await world.apply({ stale: ['demo'] })
  t.match([world.state('demo'), world.why('demo')], ['active', null])
})

t.test('a dry run neither logs nor lists unreadable code', async t => {
  const world = new World(t).put(lively('other'))
  await world.apply()
  const before = world.lines.length
  world.putSource({ ...inlineSource(lively('demo')), prepare: () => Promise.reject(new Error('missing brace')) })
  t.match(await world.apply({ dryRun: true }), { applied: false, add: [] })
  t.equal(world.lines.length, before)
  t.notOk(world.kernel.records.has('demo'))
})

t.test('a failed dry run leaves no trace', async t => {
  const world = new World(t).put(lively('demo'))
  await world.apply()
  world.putSource({
    ...inlineSource(lively('demo'), '2.0.0'),
    prepare: () => Promise.reject(new Error('missing brace'))
  })
  await t.rejects(world.apply({ dryRun: true }), { message: 'missing brace' })
  t.equal(world.why('demo'), null)
  await t.rejects(world.apply(), { message: 'missing brace' })
  t.match(world.why('demo'), /last change refused: .*missing brace/)
})

t.test('sources are closed when they are no longer needed, or at the end', async t => {
  const first = counted(lively('demo'))
  const second = counted(lively('demo', 'second'), '2.0.0')
  const other = counted(lively('other'))
  const world = new World(t).putSource(first.source).putSource(other.source)
  await world.apply()
  await world.putSource(second.source).apply()
  t.match([first.counts.closed, second.counts.closed], [1, 0])
  await world.remove('other').apply()
  t.equal(other.counts.closed, 1)
  await world.kernel.close()
  t.match([first.counts.closed, second.counts.closed, other.counts.closed], [1, 1, 1])
})

t.test('neither a failed change nor a dry run closes sources', async t => {
  const good = counted(lively('demo'))
  const world = new World(t).putSource(good.source)
  await world.apply()
  const bad = counted(
    definePlugin({
      name: 'demo',
      activate() {
        throw new Error('no hands')
      }
    }),
    '2.0.0'
  )
  await t.rejects(world.putSource(bad.source).apply(), { message: /no hands/ })
  await world.remove('demo').apply({ dryRun: true })
  t.match([good.counts.closed, bad.counts.closed], [0, 0])
  t.equal(world.kernel.records.get('demo')?.source, good.source)
})

t.test('a source that fails to close does not fail the change', async t => {
  const source = { ...inlineSource(lively('demo')), close: () => Promise.reject(new Error('busy')) }
  const world = new World(t).putSource(source)
  await world.apply()
  t.match(await world.put(lively('demo', 'second')).apply(), { applied: true })
  t.same(await world.call('demo.who'), { by: 'second' })
})

t.test('a removed plugin is not retried', async t => {
  const world = new World(t)
    .put(
      definePlugin({
        name: 'demo',
        activate() {
          throw new Error('no hands')
        }
      })
    )
    .configure({ demo: { policy: { onBootFailure: 'retry' } } })
  await world.apply()
  const record = world.kernel.records.get('demo')!
  t.ok(record.retrying)
  await world.remove('demo').apply()
  t.notOk(record.retrying)
})

t.test('only selected plugins are read and activated; the others stay in the graph', async t => {
  const clock = service<number>('clock@1')
  const provider = counted(definePlugin({ name: 'clock', provides: [clock], activate: ctx => ctx.provide(clock, 1) }))
  const other = counted(lively('other'))
  const world = new World(t)
    .putSource(provider.source)
    .putSource(other.source)
    .put(definePlugin({ name: 'user', requires: { clock }, activate() {} }))
  await world.apply({ chosen: name => name !== 'other' })
  t.same([...world.kernel.current.units.keys()], ['clock', 'user'])
  t.match([provider.counts.prepared, other.counts.prepared], [1, 0])
  t.equal(world.state('other'), 'resolved', 'the other plugin could run')
  t.ok(world.kernel.graph.order.includes('other'))
  await world.kernel.change({})
  t.equal(other.counts.prepared, 0, 'the selection stays in force')
  await world.kernel.change({ chosen: () => true })
  t.equal(other.counts.prepared, 1)
  t.same(await world.call('other.who'), { by: 'other' })
})

t.test('a required plugin that is not selected does not fail the start', async t => {
  const world = new World(t).put(lively('demo')).configure({ demo: { policy: { onBootFailure: 'abort' } } })
  t.match(await world.apply({ chosen: () => false }), { applied: true, add: [] })
})

t.test('a failed change restores the selection of plugins', async t => {
  const world = new World(t).put(lively('a'), lively('b'))
  await world.apply({ chosen: name => name === 'a' })
  world.putSource({ ...inlineSource(lively('a'), '2.0.0'), prepare: () => Promise.reject(new Error('missing brace')) })
  await t.rejects(world.apply({ chosen: () => true }), { message: 'missing brace' })
  await world.kernel.change({})
  t.same([...world.kernel.current.units.keys()], ['a'])
})

const needy = definePlugin({
  name: 'needy',
  config: s.object({ key: s.secret() }),
  operations: [who('needy')],
  activate: ctx => ctx.implement(who('needy'), () => ({ by: ctx.config.key }))
})

/** Opens a world whose plugin `needy` has a secret reference in its settings. */
async function secretive(t: { teardown(run: () => unknown): void }, ...plugins: readonly Plugin[]) {
  const world = new World(t).put(needy, ...plugins)
  const configuration = (name: string) => ({
    enabled: true,
    error: null,
    policy: POLICY,
    settings: async (resolve: (reference: { backend: string; name: string }) => Promise<string>) =>
      name === 'needy' ? { key: await resolve({ backend: 'vault', name: 'of-needy' }) } : {},
    secretBackends: name === 'needy' ? ['vault'] : [],
    fingerprint: name
  })
  await world.apply({ configuration: configuration as never })
  return world
}
const backend: SecretBackend = { resolve: async name => `secret ${name}` }
const vault = definePlugin({
  name: 'vault',
  provides: [secretBackend('vault')],
  activate: ctx => ctx.provide(secretBackend('vault'), backend)
})

t.test('a plugin with a secret waits for the backend that resolves it', async t => {
  const world = await secretive(t)
  t.equal(world.state('needy'), 'waiting')
  t.match(world.why('needy'), /^needs secrets\.backend\.vault@1: no known plugin provides it/)
  const there = await secretive(t, vault)
  t.same(there.kernel.graph.order, ['vault', 'needy'])
  t.same(await there.call('needy.who'), { by: 'secret of-needy' })
})

t.test('a resolver of the older kind is used if the backend is absent', async t => {
  const resolver = definePlugin({
    name: 'resolver',
    provides: [secretsResolver],
    activate: ctx =>
      ctx.provide(secretsResolver, { backends: ['vault'], resolve: async ({ backend, name }) => `${backend} ${name}` })
  })
  const world = await secretive(t, resolver)
  t.same(await world.call('needy.who'), { by: 'vault of-needy' })
})

t.test('a resolved secret appears in no log line', async t => {
  const world = await secretive(t, vault)
  world.kernel.log.info('it is secret of-needy')
  t.equal(world.lines.at(-1)?.message, 'it is ***')
})

t.test('a plugin fails if the backend lacks its secret, with an error that names the plugin', async t => {
  const empty = definePlugin({
    name: 'vault',
    provides: [secretBackend('vault')],
    activate: ctx =>
      ctx.provide(secretBackend('vault'), {
        resolve: async name => {
          throw new SvcError('SEC_NOT_FOUND', `${name} is not in the vault`)
        }
      })
  })
  const world = await secretive(t, empty)
  t.equal(world.state('needy'), 'failed')
  t.equal(world.why('needy'), 'needy: of-needy is not in the vault')
})

t.test('replacing a backend also replaces the plugins that use its secrets', async t => {
  const world = await secretive(t, vault)
  const report = await world
    .put({
      ...vault,
      activate: ctx =>
        ctx.provide(secretBackend('vault'), {
          resolve: async name => `newer ${name}`
        })
    } as Plugin)
    .kernel.change({ forced: ['vault'] })
  t.match(report, { replace: ['vault', 'needy'] })
})

t.test('the kernel reports plugins correctly for any configuration', async t => {
  const name = fc.constantFrom('a', 'b', 'c')
  const configuration = fc.record({
    enabled: fc.constantFrom(true, false, undefined),
    error: fc.constantFrom<(string | undefined)[]>('wrong', undefined, undefined)
  })
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(name, configuration), { maxLength: 8 }), async choices => {
      const world = new World(t).put(
        lively('a'),
        definePlugin({ name: 'b', enabledByDefault: false, activate() {} }),
        definePlugin({
          name: 'c',
          activate() {
            throw new Error('no hands')
          }
        })
      )
      await world.apply()
      const current = new Map<string, { enabled: boolean | undefined; error: string | undefined }>()
      for (const [which, what] of choices) {
        current.set(which, what)
        const { enabled, error } = what
        await world.configure({ [which]: defined({ enabled, error }) }).apply()
        for (const each of ['a', 'b', 'c']) {
          const { enabled, error } = current.get(each) ?? {}
          const on = enabled ?? each !== 'b'
          const works = each === 'c' ? 'failed' : 'active'
          const expected = !on
            ? 'disabled'
            : error === undefined
              ? works
              : each === 'c'
                ? 'failed or invalid'
                : 'invalid'
          const state = world.state(each) ?? ''
          if (!expected.split(' or ').includes(state)) throw new Error(`${each} is ${state}, not ${expected}`)
          if (world.kernel.current.units.has(each) !== (state === 'active')) return false
          if (state === 'invalid' && world.why(each) !== error) return false
        }
      }
      await world.kernel.close()
      return true
    }),
    { numRuns: 40 }
  )
  t.pass()
})

t.test('a change that is requested during another starts from its result', async t => {
  const slow = gate()
  const source = inlineSource(lively('demo'))
  const world = new World(t).putSource({
    ...source,
    prepare: async () => {
      await slow.passed
      return source.prepare()
    }
  })
  const first = world.apply()
  const second = world.kernel.change({ forced: ['demo'] })
  slow.open()
  t.match(await Promise.all([first, second]), [
    { generation: 1, add: ['demo'] },
    { generation: 2, replace: ['demo'] }
  ])
})

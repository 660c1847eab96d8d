import { operationStarting, type Surface, surfaces } from '@svc/contracts'
import { inlineSource, Kernel, memoryLog, World } from '@svc/kernel/testing'
import {
  defined,
  defineOperation,
  definePlugin,
  type Plugin,
  type PluginContext,
  ref,
  type SvcError,
  t as s,
  service
} from '@svc/plugin-sdk'
import t, { type Test } from 'tap'
import { kernelErrors } from '#core'

/* Tests code, status, message and hint of each error of the core. */

const clock = service<number>('clock@1')
const work = defineOperation({
  id: 'demo.work',
  summary: 'x',
  input: s.object({ n: s.integer() }),
  output: s.object({ n: s.integer() }),
  scopes: ['work']
})

const failing = (name: string, error: unknown): Plugin =>
  definePlugin({
    name,
    activate() {
      throw error
    }
  })

/** Returns the error of a start with a required plugin that cannot run. */
function refused(t: Test, ...plugins: readonly Plugin[]): Promise<unknown> {
  const world = new World(t).put(...plugins)
  return world.apply({ mustSucceed: plugins.map(({ name }) => name) })
}

/** Calls the operation `demo.work` and returns its error. */
async function called(
  t: Test,
  handler: (n: number) => unknown,
  {
    input = { n: 1 },
    times = 1,
    ...call
  }: { input?: unknown; times?: number; timeoutMs?: number; signal?: AbortSignal; scopes?: string[] } = {}
): Promise<unknown> {
  const world = new World(t).put(
    definePlugin({
      name: 'demo',
      operations: [work],
      activate: ctx => ctx.implement(work, ({ n }) => handler(n) as never)
    })
  )
  await world.apply()
  const principal = { id: 'ada', role: 'user', scopes: call.scopes ?? ['work'] }
  for (let before = 1; before < times; before++) await world.call('demo.work', input, { principal }).catch(() => {})
  return world.call('demo.work', input, { ...call, principal })
}

interface Expected {
  readonly status?: number
  readonly message: string | RegExp
  readonly hint?: string | RegExp
  readonly plugin?: string
  readonly data?: unknown
  provoke(t: Test): unknown
}

const broken = (): never => {
  throw new Error('no hands')
}

const errors: Readonly<Record<keyof typeof kernelErrors.specs, Expected>> = {
  KRN_ACTIVATE_FAILED: {
    message: /^demo failed to activate: no hands \(.*errors\.test\.ts:\d+:\d+\)$/,
    plugin: 'demo',
    provoke: t => refused(t, failing('demo', new Error('no hands')))
  },
  KRN_ARGUMENT_INVALID: {
    plugin: 'only',
    message: 'only: ctx.effect needs a label and a function',
    hint: "write: ctx.effect('label', () => { … })",
    provoke: async t => {
      const world = new World(t).put(
        definePlugin({ name: 'only', activate: ctx => void (ctx as any).effect(() => {}) })
      )
      await world.apply({ mustSucceed: ['only'] })
    }
  },
  KRN_CLOSED: {
    status: 503,
    message: 'the kernel is closing; no change is accepted',
    async provoke(t) {
      const world = new World(t)
      await world.kernel.close()
      return world.apply()
    }
  },
  KRN_CONFLICT: {
    message: 'conflict on operation demo.work: one and two both contribute it',
    hint: 'rename one, or run: svc plugins disable two',
    data: { key: 'operation demo.work', owners: ['one', 'two'] },
    provoke: t =>
      refused(
        t,
        ...['one', 'two'].map(name =>
          definePlugin({ name, operations: [work], activate: ctx => ctx.implement(work, input => input) })
        )
      )
  },
  KRN_CYCLE: {
    message: 'a is required but cannot run: dependency cycle: a -[b@1]-> b -[a@1]-> a',
    async provoke(t) {
      const tokens = { a: service('a@1'), b: service('b@1') }
      const world = new World(t)
        .put(
          definePlugin({ name: 'a', requires: { b: tokens.b }, provides: [tokens.a], activate() {} }),
          definePlugin({ name: 'b', requires: { a: tokens.a }, provides: [tokens.b], activate() {} })
        )
        .configure({ a: { policy: { onBootFailure: 'abort' } } })
      return world.apply()
    }
  },
  KRN_IMPLEMENTATION_MISSING: {
    message: 'demo declares but does not supply: operation demo.work, service clock@1, command brew',
    plugin: 'demo',
    hint: 'call ctx.implement, ctx.provide or ctx.command for each inside activate',
    provoke: t =>
      refused(
        t,
        definePlugin({
          name: 'demo',
          operations: [work],
          provides: [clock],
          commands: [{ command: 'brew', summary: 'x', input: s.object({}) }],
          activate() {}
        })
      )
  },
  KRN_ISOLATION_CRASHED: {
    status: 503,
    message: 'demo ended before it could serve; see its log',
    plugin: 'demo',
    provoke: t =>
      isolated(t, (unit, host) => {
        host.onCrash(unit, kernelErrors.create('KRN_ISOLATION_CRASHED', 'demo ended', { plugin: 'demo' }))
      })
  },
  KRN_NOT_REMOTABLE: {
    message: 'demo cannot run in a worker: this kernel does not support that isolation',
    hint: 'remove plugins.demo.isolation',
    plugin: 'demo',
    provoke: t => isolated(t)
  },
  KRN_SCOPE_CLOSED: {
    message: 'demo is disposed and can no longer call demo.work',
    plugin: 'demo',
    hint: 'stop timers and background work when ctx.signal is aborted',
    async provoke(t) {
      let context: PluginContext | undefined
      const world = new World(t).put(definePlugin({ name: 'demo', activate: ctx => void (context = ctx) }))
      await world.apply()
      await world.kernel.close()
      return context?.callById('demo.work', {})
    }
  },
  KRN_SERVICE_GONE: {
    status: 503,
    message: 'no active plugin provides clock@1',
    hint: 'svc plugins why clock@1',
    async provoke(t) {
      let read: (() => number) | undefined
      const world = new World(t).put(
        definePlugin({
          name: 'demo',
          optional: { clock: ref(clock) },
          activate: (_ctx, deps) => void (read = () => deps.clock?.current as number)
        })
      )
      await world.apply()
      return read?.()
    }
  },
  KRN_SETTINGS_REFUSED: {
    message: 'demo rejected its new settings: too many',
    hint: 'the plugin keeps its previous settings',
    plugin: 'demo',
    async provoke(t) {
      const refuse = (): never => {
        throw new Error('too many')
      }
      const world = new World(t).put(definePlugin({ name: 'demo', activate: ctx => ctx.onConfig(refuse) }))
      await world.apply()
      return world.apply({ live: ['demo'] })
    }
  },
  KRN_SURFACE_REFUSED: {
    message: 'demo refused the change: no room',
    plugin: 'demo',
    provoke(t) {
      const surface: Surface = { prepare: () => Promise.reject(new Error('no room')) }
      return refused(t, definePlugin({ name: 'demo', activate: ctx => ctx.contribute(surfaces, surface) }))
    }
  },
  KRN_TAP_TIMEOUT: {
    status: 503,
    message: `the tap of plugin tapper on the hook ${operationStarting.id} did not finish within 5 ms`,
    hint: 'svc plugins disable tapper removes the tap',
    plugin: 'tapper',
    async provoke(t) {
      const world = new World(t, { tapTimeoutMs: 5 }).put(
        definePlugin({ name: 'demo', operations: [work], activate: ctx => ctx.implement(work, input => input) }),
        definePlugin({ name: 'tapper', activate: ctx => ctx.on(operationStarting, () => new Promise(() => {})) })
      )
      await world.apply()
      return world.call('demo.work', { n: 1 }, { principal: { id: 'ada', role: 'user', scopes: ['work'] } })
    }
  },
  KRN_UNDECLARED: {
    message: 'demo supplies the service clock@1, which it does not declare',
    hint: 'add it to provides in definePlugin',
    plugin: 'demo',
    provoke: t => refused(t, definePlugin({ name: 'demo', activate: ctx => ctx.provide(clock, 1) }))
  },
  OPR_CANCELLED: {
    status: 499,
    message: 'demo.work was cancelled',
    provoke: t => called(t, () => new Promise(() => {}), { signal: AbortSignal.abort() })
  },
  OPR_FAILED: {
    status: 500,
    message: /^demo\.work failed in plugin demo; see its log, trace [0-9a-f]{32}$/,
    plugin: 'demo',
    data: { traceId: /^[0-9a-f]{32}$/ },
    provoke: t => called(t, broken)
  },
  OPR_FORBIDDEN: {
    status: 403,
    message: 'demo.work requires the scope work, which ada does not have',
    provoke: t => called(t, n => ({ n }), { scopes: ['read'] })
  },
  OPR_INPUT_INVALID: {
    status: 400,
    message: /^demo\.work: n must be integer/,
    hint: 'svc call demo.work --help shows the input',
    data: Array,
    provoke: t => called(t, n => ({ n }), { input: { n: 'x' } })
  },
  OPR_OUTPUT_INVALID: {
    status: 500,
    message: /^demo\.work returned an invalid result: n must be integer/,
    plugin: 'demo',
    data: Array,
    provoke: t => called(t, () => ({ n: 'x' }))
  },
  OPR_TIMEOUT: {
    status: 504,
    message: 'demo.work did not finish within 5 ms',
    plugin: 'demo',
    data: { timeoutMs: 5 },
    provoke: t => called(t, () => new Promise(() => {}), { timeoutMs: 5 })
  },
  OPR_UNAVAILABLE: {
    status: 503,
    message: /^demo\.work is disabled for \d+ s after repeated faults of plugin demo$/,
    hint: 'svc plugins why demo',
    plugin: 'demo',
    data: { retryAfterMs: Number },
    provoke: t => called(t, broken, { times: 6 })
  },
  OPR_UNKNOWN: {
    status: 404,
    message: 'no plugin offers the operation demo.walk',
    hint: 'did you mean demo.work?',
    async provoke(t) {
      const world = new World(t).put(
        definePlugin({ name: 'demo', operations: [work], activate: ctx => ctx.implement(work, input => input) })
      )
      await world.apply()
      return world.call('demo.walk')
    }
  }
}

type Hosts = NonNullable<ConstructorParameters<typeof Kernel>[0]['unitHosts']>
type Activate = NonNullable<Hosts['worker']>['activate']

/** Starts a fake isolated plugin, in a kernel that may have no host for it. */
async function isolated(
  t: Test,
  during?: (unit: Parameters<Activate>[0], host: Parameters<Activate>[4]) => void
): Promise<unknown> {
  const worker: Hosts['worker'] & object = {
    async activate(unit, _code, _root, _policy, host) {
      unit.lifecycle.to('activating')
      during?.(unit, host)
    }
  }
  const kernel = new Kernel({
    ...defined({ unitHosts: during === undefined ? undefined : { worker } }),
    log: memoryLog([]),
    projectRoot: '/nowhere',
    dataRoot: '/nowhere/.vox',
    repositoryId: 'test',
    version: '0.0.0'
  })
  t.teardown(() => kernel.close())
  const world = new World(t)
  await world.apply()
  const { policy } = world.kernel.configurationOf('demo')
  const configuration = (name: string) => ({
    ...world.kernel.configurationOf(name),
    policy: { ...policy, isolation: 'worker' as const }
  })
  const sources = [inlineSource(definePlugin({ name: 'demo', activate() {} }))]
  return kernel.change({ sources, configuration, mustSucceed: ['demo'] })
}

for (const [code, { provoke, ...expected }] of Object.entries(errors)) {
  t.test(`${code}: ${kernelErrors.specs[code as keyof typeof kernelErrors.specs].message}`, async t => {
    const error = (await Promise.resolve()
      .then(() => provoke(t))
      .then(
        () => 'nothing was thrown',
        (thrown: unknown) => thrown
      )) as SvcError
    // A cycle only blocks its plugins. The error is that a required plugin cannot run.
    t.equal(error.code, code === 'KRN_CYCLE' ? 'KRN_ACTIVATE_FAILED' : code)
    t.match(error, expected)
    if (typeof expected.message === 'string') t.equal(error.message, expected.message)
    t.equal(error.status, expected.status ?? 500)
    if (expected.hint === undefined) t.equal(error.hint, undefined)
    if (expected.plugin === undefined) t.equal(error.plugin, code === 'KRN_CYCLE' ? 'a' : undefined)
  })
}

t.test('an error without a plugin gets the name of the failed plugin and keeps its other fields', async t => {
  const thrown = kernelErrors.create('OPR_TIMEOUT', 'the model did not answer', {
    hint: 'start it',
    data: { ms: 5 },
    at: { file: 'model.toml' }
  })
  await t.rejects(refused(t, failing('demo', thrown)), {
    code: 'OPR_TIMEOUT',
    status: 504,
    message: 'demo: the model did not answer',
    plugin: 'demo',
    hint: 'start it',
    data: { ms: 5 },
    at: { file: 'model.toml' },
    cause: thrown
  })
})

t.test('an error that names its plugin is rethrown unchanged', async t => {
  const thrown = kernelErrors.create('OPR_TIMEOUT', 'the model did not answer', { plugin: 'demo' })
  const error = await refused(t, failing('demo', thrown)).catch((caught: unknown) => caught)
  t.equal(error, thrown)
})

t.test('an error of another plugin is attributed to the plugin that did not handle it', async t => {
  const thrown = kernelErrors.create('OPR_UNKNOWN', 'no such operation', { plugin: 'other' })
  await t.rejects(refused(t, failing('demo', thrown)), {
    code: 'OPR_UNKNOWN',
    plugin: 'demo',
    message: 'demo: no such operation'
  })
})

t.test('a thrown value that is no Error is converted to a message', async t => {
  await t.rejects(refused(t, failing('demo', 'only text')), {
    code: 'KRN_ACTIVATE_FAILED',
    message: /^demo failed to activate: only text/,
    plugin: 'demo'
  })
  await t.rejects(refused(t, failing('demo', undefined)), { message: /^demo failed to activate: undefined/ })
})

t.test('the conflict of a plugin with itself names it once', async t => {
  const twice = definePlugin({
    name: 'demo',
    activate(ctx) {
      const keyed = { id: 'demo.seats', keys: () => ['row 1'] }
      ctx.contribute(keyed as never, {} as never)
      ctx.contribute(keyed as never, {} as never)
    }
  })
  await t.rejects(refused(t, twice), {
    code: 'KRN_CONFLICT',
    message: 'conflict on demo.seats row 1: demo contributes it twice',
    hint: 'remove one of the two'
  })
})

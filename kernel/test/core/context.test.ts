import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { gate, World } from '@svc/kernel/testing'
import {
  type Call,
  defineOperation,
  definePlugin,
  hook,
  type PluginContext,
  point,
  SvcError,
  t as s,
  service
} from '@svc/plugin-sdk'
import t, { type Test } from 'tap'

const clock = service<number>('clock@1')
const seats = point<number>('demo.seats')
const greet = hook<[string], string>('demo.greet', 'waterfall')
const tell = defineOperation({ id: 'demo.tell', summary: 'x', input: s.object({}), output: s.object({}) })

/** Starts a plugin and returns its context. */
async function open(t: Test, activate: (ctx: PluginContext<any>) => void = () => {}) {
  let context: PluginContext<any> | undefined
  const plugin = definePlugin({
    name: 'demo',
    operations: [tell],
    provides: [clock],
    hooks: [greet],
    commands: [{ command: 'tell', summary: 'x', input: s.object({}) }],
    activate(ctx) {
      context = ctx
      ctx.implement(tell, () => ({}))
      ctx.provide(clock, 1)
      ctx.command('tell', () => {})
      activate(ctx)
    }
  })
  const world = new World(t).put(plugin).configure({ demo: { settings: { size: 3 } } })
  await world.apply()
  return { world, ctx: context as PluginContext<any> }
}

t.test('has plugin name, settings and folders', async t => {
  const { world, ctx } = await open(t)
  t.match(ctx, { name: 'demo', version: '0.0.1', config: { size: 3 }, projectRoot: world.kernel.projectRoot })
  t.type(ctx.packageRoot, 'string')
  t.notOk(ctx.signal.aborted)
  const directory = await ctx.dataDirectory()
  t.equal(directory, join(world.kernel.projectRoot, '.vox/plugins/demo'))
  t.ok(existsSync(directory))
  t.equal(await ctx.dataDirectory(), directory, 'a second call returns the same folder')
})

t.test('rejects registrations without a label or a function', async t => {
  const { ctx } = await open(t)
  const call = ctx as unknown as Record<string, (...args: unknown[]) => void>
  for (const method of ['effect', 'task', 'background', 'command', 'health', 'onServe', 'onDrain']) {
    for (const args of [[() => {}], ['', () => {}], ['label'], [1, () => {}]]) {
      t.throws(() => call[method]?.(...args), {
        code: 'KRN_ARGUMENT_INVALID',
        plugin: 'demo',
        message: `demo: ctx.${method} needs a label and a function`
      })
    }
  }
  t.throws(() => call.onConfig?.('x'), { code: 'KRN_ARGUMENT_INVALID', message: /onConfig needs a function/ })
})

t.test('rejects contributions that the plugin does not declare', async t => {
  const other = defineOperation({ id: 'demo.other', summary: 'x', input: s.object({}), output: s.object({}) })
  const attempts: [RegExp, (ctx: PluginContext<any>) => void][] = [
    [/the operation demo\.other/, ctx => ctx.implement(other, () => ({}))],
    [/the service tea@1/, ctx => ctx.provide(service('tea@1'), 1)],
    [/the command brew/, ctx => ctx.command('brew', () => {})]
  ]
  for (const [message, attempt] of attempts) {
    const { world } = await open(t, attempt)
    t.match(world.why('demo'), message)
    t.equal(world.state('demo'), 'failed')
  }
})

t.test('rejects registrations after activation, but other methods work', async t => {
  const { world, ctx } = await open(t)
  for (const attempt of [
    () => ctx.implement(tell, () => ({})),
    () => ctx.provide(clock, 2),
    () => ctx.contribute(seats, 1),
    () => ctx.on(greet, () => 'x'),
    () => ctx.command('tell', () => {}),
    () => ctx.health('pulse', () => ({ status: 'ok' })),
    () => ctx.onConfig(() => {})
  ])
    t.throws(attempt, { code: 'KRN_UNDECLARED', message: /after activation/ })
  t.equal(await ctx.trigger(greet, 'hello'), undefined, 'the hook has no tap')
  t.same(await ctx.call(tell, {}), {})
  ctx.log.info('still here')
  t.match(world.lines.at(-1), { plugin: 'demo', message: 'still here' })
})

t.test('all methods throw KRN_SCOPE_CLOSED after disposal', async t => {
  const { world, ctx } = await open(t)
  await world.kernel.close()
  t.ok(ctx.signal.aborted)
  for (const attempt of [
    () => ctx.callById('demo.tell', {}),
    () => ctx.task('x', async () => {}),
    () => ctx.background('x', async () => {}),
    () => ctx.effect('x', () => {}),
    () => ctx.contribute(seats, 1)
  ])
    t.throws(attempt, { code: 'KRN_SCOPE_CLOSED', plugin: 'demo' })
  await t.rejects(ctx.trigger(greet, 'x'), { code: 'KRN_SCOPE_CLOSED' })
  await t.rejects(
    ctx.keep(
      'x',
      () => 1,
      () => {}
    ),
    { code: 'KRN_SCOPE_CLOSED' }
  )
})

t.test('a resource that opens while its plugin is disposed is released immediately', async t => {
  const opening = gate()
  const closed = gate()
  const { world, ctx } = await open(t)
  const keeping = ctx.keep(
    'port',
    () => opening.passed,
    () => closed.open()
  )
  await turn()
  await world.kernel.close()
  opening.open()
  await t.rejects(keeping, { code: 'KRN_SCOPE_CLOSED' })
  await closed.passed
})

t.test('failed work is logged with its label; cancelled work is not', async t => {
  const { world, ctx } = await open(t)
  ctx.task('write', async () => {
    throw new Error('disk full')
  })
  ctx.background(
    'poll',
    signal => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  )
  await world.kernel.close()
  const failures = world.lines.filter(line => line.level === 'error')
  t.match(failures, [{ plugin: 'demo', message: 'write failed', fields: { error: { message: 'disk full' } } }])
  t.equal(failures.length, 1)
})

t.test('an effect that is disposed early is disposed once', async t => {
  let undone = 0
  const { world, ctx } = await open(t)
  const undo = ctx.effect('socket', () => void undone++)
  await undo()
  await undo()
  await world.kernel.close()
  t.equal(undone, 1)
})

t.test('thousands of short-lived effects are fast', async t => {
  const { world, ctx } = await open(t)
  const undo = Array.from({ length: 20_000 }, (_, n) => ctx.effect(`e${n}`, () => {}))
  for (const each of undo) await each()
  t.same(world.kernel.current.units.get('demo')?.scope.tree().children, [])
})

t.test('a nested call can shorten the deadline of its parent but not extend it', async t => {
  const seen: number[] = []
  const ask = defineOperation({ id: 'ask.left', summary: 'x', input: s.object({}), output: s.object({}), timeoutMs: 0 })
  const world = new World(t).put(
    definePlugin({
      name: 'ask',
      operations: [ask],
      activate: ctx =>
        ctx.implement(ask, (_, call) => {
          seen.push(call.deadline - Date.now())
          return {}
        })
    })
  )
  await world.apply()
  const controller = new AbortController()
  const parent = { signal: controller.signal, traceId: 'a'.repeat(32), requestId: 'r' }
  let context: PluginContext | undefined
  await world.put(definePlugin({ name: 'user', activate: ctx => void (context = ctx) })).apply()
  await context?.call(ask, {}, { parent: { ...parent, deadline: Date.now() + 1_000 }, timeoutMs: 60_000 })
  await context?.call(ask, {}, { parent: { ...parent, deadline: Date.now() + 1_000 }, timeoutMs: 100 })
  await context?.call(ask, {}, { parent: { ...parent, deadline: Infinity } })
  t.ok((seen[0] as number) <= 1_000 && (seen[1] as number) <= 100, seen.join())
  t.equal(seen[2], Infinity)
  controller.abort()
  await t.rejects(context?.call(ask, {}, { parent: { ...parent, deadline: Infinity } }) as Promise<unknown>, {
    code: 'OPR_CANCELLED'
  })
})

t.test('commands, items, taps and health checks of a plugin are part of the generation', async t => {
  const { world, ctx } = await open(t, inner => {
    inner.contribute(seats, 7)
    inner.contribute(seats, 8, 'window')
    inner.health('pulse', () => ({ status: 'ok' }))
  })
  const { current } = world.kernel
  t.match(current.commands.get('tell'), { unit: { name: 'demo' }, run: Function })
  t.same(
    current.items(seats).map(({ item, label, unit }) => [item, label, unit.name]),
    [
      [7, 'demo.seats', 'demo'],
      [8, 'window', 'demo']
    ]
  )
  t.same(current.items(point('demo.nothing')), [])
  const unit = current.units.get('demo')!
  t.same(
    unit.healthChecks.map(({ label }) => label),
    ['pulse']
  )
  t.same(await unit.healthChecks[0]?.check(), { status: 'ok' })
  t.equal(ctx.isTapped(greet), false)
})

t.test('isTapped reflects the serving generation', async t => {
  const { world, ctx } = await open(t)
  await world.put(definePlugin({ name: 'guest', activate: inner => inner.on(greet, text => `${text}!`) })).apply()
  t.equal(ctx.isTapped(greet), true)
  t.equal(await ctx.trigger(greet, 'hello'), 'hello!')
  await world.remove('guest').apply()
  t.equal(ctx.isTapped(greet), false)
})

t.test('errors of a context name the plugin, the action and the next step', async t => {
  const { world, ctx } = await open(t)
  t.throws(() => ctx.health('pulse', () => ({ status: 'ok' })), {
    code: 'KRN_UNDECLARED',
    plugin: 'demo',
    message: 'demo tried to register the health check pulse after activation',
    hint: 'register everything inside activate; only a reload changes the contributions of a plugin'
  })
  await world.kernel.close()
  t.throws(() => ctx.task('write', async () => {}), {
    code: 'KRN_SCOPE_CLOSED',
    plugin: 'demo',
    message: 'demo is disposed and can no longer start task write'
  })
})

t.test('work that ends with an abort error is not logged as failed; other errors are', async t => {
  const { world, ctx } = await open(t)
  const ending = (label: string, error: (signal: AbortSignal) => unknown): void =>
    ctx.background(
      label,
      signal => new Promise((_, reject) => signal.addEventListener('abort', () => reject(error(signal))))
    )
  ending('reason', signal => signal.reason)
  ending('abort error', () => new DOMException('stopped', 'AbortError'))
  ending('cancelled call', () => new SvcError('OPR_CANCELLED', 'the call was cancelled'))
  ending('broken', () => new Error('it broke while it stopped'))
  ending('other code', () => new SvcError('OPR_TIMEOUT', 'too late'))
  await world.kernel.close()
  t.same(
    world.lines.filter(({ level }) => level === 'error').map(({ message }) => message),
    ['broken failed', 'other code failed']
  )
})

t.test('an abort error without an abort is logged as a failure', async t => {
  const { world, ctx } = await open(t)
  ctx.task('download', async () => {
    throw new DOMException('the server closed', 'AbortError')
  })
  await turn()
  t.match(world.lines.at(-1), { level: 'error', message: 'download failed' })
})

t.test('draining aborts the signal of background work, but not that of a task', async t => {
  const { world, ctx } = await open(t)
  const signals: AbortSignal[] = []
  const release = gate()
  ctx.task('task', async signal => {
    signals.push(signal)
    await release.passed
  })
  ctx.background('background', async signal => {
    signals.push(signal)
    await release.passed
  })
  const closing = world.kernel.close()
  await world.until(() => signals[1]?.aborted === true)
  t.notOk(signals[0]?.aborted)
  release.open()
  await closing
  t.ok(signals[0]?.aborted)
})

t.test('a nested call inherits the ids of its parent and ends with either signal', async t => {
  const calls: Call<any, any>[] = []
  const ask = defineOperation({ id: 'ask.wait', summary: 'x', input: s.object({}), output: s.object({}), timeoutMs: 0 })
  let context: PluginContext | undefined
  const world = new World(t).put(
    definePlugin({
      name: 'ask',
      operations: [ask],
      activate: ctx =>
        ctx.implement(ask, (_, call) => {
          calls.push(call as Call<any, any>)
          return new Promise(() => {})
        })
    }),
    definePlugin({ name: 'user', activate: ctx => void (context = ctx) })
  )
  await world.apply()
  const traceId = 'a'.repeat(32)
  for (const which of ['parent', 'own'] as const) {
    const controllers = { parent: new AbortController(), own: new AbortController() }
    const parent = { signal: controllers.parent.signal, deadline: Infinity, traceId, requestId: 'r-1' }
    const call = context?.call(ask, {}, { parent, signal: controllers.own.signal })
    await turn()
    t.match(calls.at(-1), { traceId, requestId: 'r-1', deadline: Infinity })
    controllers[which].abort()
    await t.rejects(call as Promise<unknown>, { code: 'OPR_CANCELLED' }, which)
  }
})

t.test('a parent whose deadline has passed leaves a timeout of one millisecond', async t => {
  let user: PluginContext | undefined
  const { signal } = new AbortController()
  const parent = { signal, deadline: Date.now() - 1_000, traceId: 'a'.repeat(32), requestId: 'r' }
  const never = defineOperation({
    id: 'never.ends',
    summary: 'x',
    input: s.object({}),
    output: s.object({}),
    timeoutMs: 0
  })
  const world = new World(t).put(
    definePlugin({
      name: 'never',
      operations: [never],
      activate: inner => inner.implement(never, () => new Promise(() => {}))
    }),
    definePlugin({ name: 'user', activate: inner => void (user = inner) })
  )
  await world.apply()
  await t.rejects(user?.call(never, {}, { parent }) as Promise<unknown>, { code: 'OPR_TIMEOUT' })
  await t.rejects(
    user?.call(never, {}, { parent: { ...parent, deadline: Infinity }, timeoutMs: 1 }) as Promise<unknown>,
    {
      code: 'OPR_TIMEOUT',
      data: { timeoutMs: 1 }
    }
  )
})

t.test('a kept resource is released with its plugin, and shared between instances', async t => {
  const events: string[] = []
  const make = (version: number) =>
    definePlugin({
      name: 'demo',
      async activate(ctx) {
        const value = await ctx.keep(
          'port',
          () => {
            events.push(`open by ${version}`)
            return { openedBy: version }
          },
          () => void events.push(`closed by ${version}`)
        )
        events.push(`${version} has that of ${value.openedBy}`)
        if (version === 2) throw new Error('no hands')
      }
    })
  const world = new World(t).put(make(1))
  await world.apply()
  t.same(world.kernel.current.units.get('demo')?.scope.tree().children, [{ label: 'keep port', children: [] }])
  await t.rejects(world.put(make(2)).apply(), { message: /no hands/ })
  await world.put(make(3)).apply()
  await world.kernel.close()
  t.same(events, ['open by 1', '1 has that of 1', '2 has that of 1', '3 has that of 1', 'closed by 3'])
})

t.test('each declared command has its own handler', async t => {
  const commands = ['brew', 'pour'].map(command => ({ command, summary: 'x', input: s.object({}) }))
  const ran: string[] = []
  const world = new World(t).put(
    definePlugin({
      name: 'tea',
      commands,
      activate(ctx) {
        for (const { command } of commands) ctx.command(command, () => void ran.push(command))
      }
    })
  )
  await world.apply()
  t.same([...world.kernel.current.commands.keys()], ['brew', 'pour'])
  await world.kernel.current.commands.get('pour')?.run({} as never, {} as never)
  t.same(ran, ['pour'])
})

import {
  type OperationEnd,
  type OperationStart,
  operationEnded,
  operationStarting,
  type PluginStateChange,
  pluginStateChanged
} from '@svc/contracts'
import {
  defineOperation,
  definePlugin,
  hookKind,
  type Plugin,
  type PluginContext,
  SvcError,
  t as s
} from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import t, { type Test } from 'tap'

const operation = (id: string, effect: 'read' | 'write') =>
  defineOperation({
    id,
    summary: 'x',
    input: s.object({ text: s.string(), list: s.array(s.integer(), { default: [] }) }),
    output: s.object({ text: s.string(), list: s.array(s.integer()) }),
    effect
  })

const read = operation('demo.read', 'read')
const write = operation('demo.write', 'write')

const demo = definePlugin({
  name: 'demo',
  operations: [read, write],
  activate(ctx) {
    ctx.implement(read, input => {
      if (input.text === 'break') throw new Error('it broke')
      return input
    })
    ctx.implement(write, input => ctx.call(read, input))
  }
})

const tapping = (activate: (ctx: PluginContext) => void): Plugin => definePlugin({ name: 'guard', activate })

async function open(t: Test, activate: (ctx: PluginContext) => void) {
  const kernel = await testKernel([demo, tapping(activate)])
  t.teardown(() => kernel.close())
  return kernel
}

t.test('a tap sees a call before it runs, and cannot change its input', async t => {
  const starts: OperationStart[] = []
  const kernel = await open(t, ctx =>
    ctx.on(operationStarting, start => {
      starts.push(structuredClone(start))
      ;(start.input as { list: number[] }).list.push(9)
    })
  )
  t.same(await kernel.call(write, { text: 'a' }), { text: 'a', list: [] })
  t.match(starts, [
    { operation: 'demo.write', plugin: 'demo', effect: 'write', surface: 'internal', caller: null },
    { operation: 'demo.read', effect: 'read', caller: 'demo', principal: { id: 'plugin:demo' } }
  ])
  t.same(starts[0]?.input, { text: 'a', list: [] }, 'validated, defaults filled in')
  t.match(starts[0], { requestId: /./, traceId: /^[0-9a-f]{32}$/ })
})

t.test('a tap refuses by a throw, for the operations or effects of its filter', async t => {
  const refuse = (): never => {
    throw new SvcError('DEMO_FROZEN', 'nothing is written today', { status: 423 })
  }
  const kernel = await open(t, ctx =>
    ctx.on(operationStarting, refuse, { filter: { effect: ['write', 'destructive'] } })
  )
  await t.rejects(kernel.call(write, { text: 'a' }), { code: 'DEMO_FROZEN', status: 423 })
  t.same(await kernel.call(read, { text: 'a' }), { text: 'a', list: [] })
})

t.test('a tap that breaks fails the call, is logged by name and shows nothing to the caller', async t => {
  const kernel = await open(t, ctx =>
    ctx.on(operationStarting, () => {
      throw new Error('secret detail')
    })
  )
  const error = await kernel.call(read, { text: 'a' }).catch((caught: Error) => caught)
  t.match(error, { code: 'OPR_FAILED' })
  t.notMatch((error as Error).message, 'secret detail')
  t.match(
    kernel.log.find(line => line.plugin === 'guard' && line.level === 'error'),
    { message: /kernel\.operation-starting/ }
  )
})

t.test('the deadline of a call counts the time of taps', async t => {
  const kernel = await open(t, ctx => ctx.on(operationStarting, () => new Promise(() => {})))
  await t.rejects(kernel.call(read, { text: 'a' }, { timeoutMs: 20 }), { code: 'OPR_TIMEOUT' })
})

t.test('a tap hears how each call ended, refused ones included', async t => {
  const ends: OperationEnd[] = []
  const kernel = await open(t, ctx => ctx.on(operationEnded, end => void ends.push(structuredClone(end))))
  await kernel.call(read, { text: 'a' })
  await t.rejects(kernel.call(read, { text: 'break' }))
  await t.rejects(kernel.callById('demo.read', { text: 3 }))
  await new Promise(setImmediate)
  t.match(ends, [
    { operation: 'demo.read', error: null, output: { text: 'a', list: [] }, durationMs: Number },
    { error: { code: 'OPR_FAILED', status: 500 }, output: undefined },
    { error: { code: 'OPR_INPUT_INVALID', status: 400 } }
  ])
})

t.test('a tap that calls an operation does not see its own call', async t => {
  const seen: string[] = []
  const kernel = await open(t, ctx =>
    ctx.on(operationStarting, async ({ operation }) => {
      seen.push(operation)
      await ctx.call(read, { text: 'from the tap' })
    })
  )
  await kernel.call(read, { text: 'a' })
  t.same(seen, ['demo.read'])
})

t.test('a tap hears the states of plugins after the change', async t => {
  const changes: PluginStateChange[] = []
  const kernel = await open(t, ctx => ctx.on(pluginStateChanged, change => void changes.push(change)))
  await kernel.replace(definePlugin({ name: 'late', activate() {} }))
  await new Promise(setImmediate)
  t.match(changes.filter(({ plugin }) => plugin === 'late').at(-1), { state: 'active', why: null })
})

t.test('what a tap may do follows from the mode and the failure rule', t => {
  t.equal(hookKind(operationStarting), 'refuse')
  t.equal(hookKind(operationEnded), 'observe')
  t.equal(hookKind({ mode: 'waterfall', onError: 'fail' }), 'change')
  t.equal(hookKind({ mode: 'bail', onError: 'skip' }), 'answer')
  t.end()
})

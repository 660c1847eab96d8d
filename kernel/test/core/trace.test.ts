import { type OperationEnd, operationEnded } from '@svc/contracts'
import { World } from '@svc/kernel/testing'
import { defined, defineOperation, definePlugin, t as s } from '@svc/plugin-sdk'
import t, { type Test } from 'tap'

const ID = 'a'.repeat(32)
const PARENT = 'b'.repeat(16)

const inner = defineOperation({
  id: 'inner.ids',
  summary: 'x',
  input: s.object({}),
  output: s.object({ trace: s.string(), request: s.string(), left: s.number(), principal: s.string() })
})
const outer = defineOperation({
  id: 'outer.ids',
  summary: 'x',
  input: s.object({ inherit: s.boolean() }),
  output: s.unknown(),
  timeoutMs: 5_000
})
const wait = defineOperation({
  id: 'inner.wait',
  summary: 'x',
  input: s.object({}),
  output: s.object({}),
  timeoutMs: 0
})
const outerWait = defineOperation({
  id: 'outer.wait',
  summary: 'x',
  input: s.object({}),
  output: s.object({}),
  timeoutMs: 0
})

const plugins = [
  definePlugin({
    name: 'inner',
    operations: [inner, wait],
    activate(ctx) {
      ctx.implement(inner, (_, call) => {
        call.log.info('inside', { own: 1 })
        const left = call.deadline - Date.now()
        return { trace: call.traceId, request: call.requestId, left, principal: call.principal.id }
      })
      ctx.implement(wait, (_, call) => {
        call.log.info('waiting')
        return new Promise(() => {})
      })
    }
  }),
  definePlugin({
    name: 'outer',
    operations: [outer, outerWait],
    activate(ctx) {
      ctx.implement(outer, ({ inherit }, call) => ctx.call(inner, {}, inherit ? { parent: call } : {}))
      ctx.implement(outerWait, (_, call) => ctx.call(wait, {}, { parent: call }))
    }
  })
]

/** Returns a function that calls an operation with a `traceparent` and returns the trace id of the call. */
async function tracer(t: Test): Promise<(traceparent?: string) => Promise<string>> {
  const world = new World(t).put(...plugins)
  await world.apply()
  return async traceparent => {
    const call = defined({ traceparent })
    return ((await world.call('inner.ids', {}, call)) as { trace: string }).trace
  }
}

t.test('a call continues the trace of its caller, for any version of the header', async t => {
  const traceOf = await tracer(t)
  for (const header of [`00-${ID}-${PARENT}-01`, `00-${ID}-${PARENT}-00`, `cc-${ID}-${PARENT}-01-what-comes-later`])
    t.equal(await traceOf(header), ID, header)
})

t.test('an invalid header starts a new trace', async t => {
  const traceOf = await tracer(t)
  const invalid = [
    undefined,
    '',
    'nonsense',
    `ff-${ID}-${PARENT}-01`,
    `00-${'0'.repeat(32)}-${PARENT}-01`,
    `00-${ID}-${'0'.repeat(16)}-01`,
    `00-${ID.toUpperCase()}-${PARENT}-01`,
    `00-${ID}-${PARENT}-01x`,
    `00-${ID}-${PARENT}`
  ]
  for (const header of invalid) {
    const id = await traceOf(header)
    t.match(id, /^[0-9a-f]{32}$/, `${header}`)
    t.not(id, ID)
  }
})

t.test('trace ids have 32 hexadecimal digits and never repeat', async t => {
  const traceOf = await tracer(t)
  const ids = await Promise.all(Array.from({ length: 2_000 }, () => traceOf()))
  t.equal(new Set(ids).size, ids.length)
  t.ok(ids.every(id => /^[0-9a-f]{32}$/.test(id)))
})

t.test('a nested call inherits trace, request id and deadline', async t => {
  const world = new World(t).put(...plugins)
  await world.apply()
  const from = { traceparent: `00-${ID}-${PARENT}-01`, requestId: 'r-1' }
  const answer = (await world.call('outer.ids', { inherit: true }, from)) as Record<string, unknown>
  t.match(answer, { trace: ID, request: 'r-1', principal: 'plugin:outer' })
  t.ok((answer.left as number) <= 5_000, 'the deadline is that of the parent, not the default of a minute')
  t.match(world.lines.at(-1), {
    plugin: 'inner',
    message: 'inside',
    fields: { own: 1, operation: 'inner.ids', trace_id: ID, request_id: 'r-1', surface: 'internal' }
  })
})

t.test('each call has its own span, whose parent is the span of its caller', async t => {
  const ends: OperationEnd[] = []
  const watcher = definePlugin({ name: 'watcher', activate: ctx => ctx.on(operationEnded, end => void ends.push(end)) })
  const world = new World(t).put(...plugins, watcher)
  await world.apply()
  await world.call('outer.ids', { inherit: true }, { traceparent: `00-${ID}-${PARENT}-01` })
  const [inside, outside] = ends
  t.match(outside, { operation: 'outer.ids', traceId: ID, parentSpanId: PARENT, spanId: /^[0-9a-f]{16}$/ })
  t.match(inside, { operation: 'inner.ids', traceId: ID, parentSpanId: outside?.spanId, spanId: /^[0-9a-f]{16}$/ })
  t.not(inside?.spanId, outside?.spanId)
  await world.call('inner.ids', {})
  t.equal(ends[2]?.parentSpanId, null, 'a call from outside starts a trace')
})

t.test('a call without a parent starts a new trace', async t => {
  const world = new World(t).put(...plugins)
  await world.apply()
  const from = { traceparent: `00-${ID}-${PARENT}-01`, requestId: 'r-1' }
  const answer = (await world.call('outer.ids', { inherit: false }, from)) as Record<string, unknown>
  t.not(answer.trace, ID)
  t.not(answer.request, 'r-1')
})

t.test('cancelling a call cancels the calls nested in it', async t => {
  const world = new World(t).put(...plugins)
  await world.apply()
  const controller = new AbortController()
  const call = world.call('outer.wait', {}, { signal: controller.signal })
  await world.until(() => world.lines.some(line => line.message === 'waiting'))
  const unit = world.kernel.current.units.get('inner')!
  t.equal(unit.inFlight, 1)
  controller.abort()
  await t.rejects(call, { code: 'OPR_CANCELLED' })
  await world.until(() => unit.inFlight === 0)
})

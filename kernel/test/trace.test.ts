import { defineOperation, definePlugin, t as s } from '@svc/plugin-sdk'
import fc from 'fast-check'
import t from 'tap'
import { randomHex, traceIdOf, traceparentOf } from '../src/core/trace.ts'
import { World } from './world.ts'

const ID = 'a'.repeat(32)
const PARENT = 'b'.repeat(16)

t.test('a trace goes on where its caller left off, in any version of the header', t => {
  for (const header of [`00-${ID}-${PARENT}-01`, `00-${ID}-${PARENT}-00`, `cc-${ID}-${PARENT}-01-what-comes-later`])
    t.equal(traceIdOf(header), ID, header)
  t.end()
})

t.test('a header that says nothing begins a new trace', t => {
  const bad = [
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
  for (const header of bad) {
    const id = traceIdOf(header)
    t.match(id, /^[0-9a-f]{32}$/, `${header}`)
    t.not(id, ID)
  }
  t.end()
})

t.test('ids are of their length and never the same', t => {
  const seen = new Set<string>()
  fc.assert(
    fc.property(fc.integer({ min: 8, max: 32 }), bytes => {
      const id = randomHex(bytes)
      const fresh = !seen.has(id)
      seen.add(id)
      return fresh && id.length === bytes * 2
    }),
    { numRuns: 2_000 }
  )
  t.equal(traceIdOf(traceparentOf(ID)), ID)
  t.end()
})

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

t.test('a call that is made for another belongs to its trace, request and time', async t => {
  const world = new World(t).put(...plugins)
  await world.apply()
  const from = { traceparent: `00-${ID}-${PARENT}-01`, requestId: 'r-1' }
  const answer = (await world.call('outer.ids', { inherit: true }, from)) as Record<string, unknown>
  t.match(answer, { trace: ID, request: 'r-1', principal: 'plugin:outer' })
  t.ok((answer.left as number) <= 5_000, 'of its own it would have a minute')
  t.match(world.lines.at(-1), {
    plugin: 'inner',
    message: 'inside',
    fields: { own: 1, operation: 'inner.ids', trace_id: ID, request_id: 'r-1', surface: 'internal' }
  })
})

t.test('a call that is made for nobody begins a trace of its own', async t => {
  const world = new World(t).put(...plugins)
  await world.apply()
  const from = { traceparent: `00-${ID}-${PARENT}-01`, requestId: 'r-1' }
  const answer = (await world.call('outer.ids', { inherit: false }, from)) as Record<string, unknown>
  t.not(answer.trace, ID)
  t.not(answer.request, 'r-1')
})

t.test('a caller that leaves ends what was called for it as well', async t => {
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

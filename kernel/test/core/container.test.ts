import { World } from '@svc/kernel/testing'
import { definePlugin, service } from '@svc/plugin-sdk'
import t from 'tap'
import { liveRef, ServiceContainer } from '#core'

t.test('resolves values by token, and unregistered tokens to undefined', t => {
  const container = new ServiceContainer()
  const values = { 'null@1': null, 'zero@1': 0, 'fn@1': () => 1, 'class@1': class {}, 'promise@1': Promise.resolve(1) }
  for (const [token, value] of Object.entries(values)) container.register(token as `x@1`, value)
  for (const [token, value] of Object.entries(values)) {
    t.ok(container.has(token as 'x@1'))
    t.equal(container.resolve(token as 'x@1'), value, token)
  }
  for (const token of ['other@1', 'toString@1', 'constructor@1', '__proto__@1', 'then@1'] as const) {
    t.notOk(container.has(token))
    t.equal(container.resolve(token), undefined)
  }
  t.end()
})

t.test('a reference looks up the service on each use and throws if nothing provides it', t => {
  let value: unknown = 1
  const reference = liveRef('clock@1', () => value)
  t.equal(reference.current, 1)
  value = null
  t.equal(reference.current, null)
  t.equal(reference.available, null)
  value = undefined
  t.equal(reference.available, undefined)
  t.throws(() => reference.current, { code: 'KRN_SERVICE_GONE', status: 503, hint: 'svc plugins why clock@1' })
  t.end()
})

t.test('an undefined value does not count as a provided service', async t => {
  const clock = service<unknown>('clock@1')
  const world = new World(t).put(
    definePlugin({ name: 'empty', provides: [clock], activate: ctx => ctx.provide(clock, undefined) }),
    definePlugin({ name: 'user', requires: { clock }, activate() {} })
  )
  await world.apply()
  t.match(world.why('empty'), /service clock@1 \(its value is undefined\)/)
  t.equal(world.state('user'), 'waiting')
})

import { setTimeout as pause } from 'node:timers/promises'
import { Script } from 'node:vm'
import t from 'tap'
import { collectWhenIdle } from '#host'

t.test('an idle process frees the garbage of its start', async t => {
  const garbage = new WeakRef({ of: 'the start' })
  const stop = collectWhenIdle({ intervalMs: 5 })
  t.teardown(stop)
  // Until the collection; the timeout of the test ends a wait without one.
  while (garbage.deref() !== undefined) await pause(20)
  t.equal(garbage.deref(), undefined)
})

t.test('V8 accepts code caches after the collection that were written before', async t => {
  const source = '(function () { return 7 })'
  const cachedData = new Script(source).createCachedData()
  const garbage = new WeakRef({ of: 'the start' })
  t.teardown(collectWhenIdle({ intervalMs: 5 }))
  while (garbage.deref() !== undefined) await pause(20)
  t.equal(new Script(source, { cachedData, filename: 'again.js' }).cachedDataRejected, false)
})

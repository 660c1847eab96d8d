import t from 'tap'
import { Scope } from '#core'

t.test('effects are undone last in, first out, one at a time', async t => {
  const scope = new Scope('demo')
  const seen: string[] = []
  for (const label of ['a', 'b', 'c']) {
    scope.effect(label, async () => {
      seen.push(`${label} begins`)
      await new Promise(resolve => setImmediate(resolve))
      seen.push(`${label} ends`)
    })
  }
  await scope.dispose()
  t.same(seen, ['c begins', 'c ends', 'b begins', 'b ends', 'a begins', 'a ends'])
})

t.test('a disposer that throws does not stop the others and is reported', async t => {
  const scope = new Scope('demo')
  let reached = false
  scope.effect('first', () => {
    reached = true
  })
  scope.effect('second', () => {
    throw new Error('no')
  })
  const report = await scope.dispose()
  t.ok(reached)
  t.same(
    report.errors.map(error => error.message),
    ['no']
  )
})

t.test('a disposer that hangs is named and left behind', async t => {
  const scope = new Scope('demo')
  let reached = false
  scope.effect('after', () => {
    reached = true
  })
  scope.effect('hangs', () => new Promise(() => {}))
  const report = await scope.dispose(60)
  t.same(report.stuck, ['hangs'])
  t.ok(reached, 'the rest was still disposed')
})

t.test('an early disposal happens once', async t => {
  const scope = new Scope('demo')
  let count = 0
  const dispose = scope.effect('once', () => {
    count += 1
  })
  await dispose()
  await dispose()
  await scope.dispose()
  t.equal(count, 1)
})

t.test('a disposed scope refuses further effects and has aborted its signal', async t => {
  const scope = new Scope('demo')
  await scope.dispose()
  t.ok(scope.signal.aborted)
  t.throws(() => scope.effect('late', () => {}), { code: 'KRN_SCOPE_CLOSED', plugin: 'demo' })
})

t.test('the tree shows labels and children', t => {
  const scope = new Scope('demo')
  scope.effect('timer', () => {})
  scope.child('inner').effect('socket', () => {})
  t.same(scope.tree(), {
    label: 'demo',
    children: [
      { label: 'timer', children: [] },
      { label: 'inner', children: [{ label: 'socket', children: [] }] }
    ]
  })
  t.end()
})

t.test('errors of a child reach the parent with the label of the child', async t => {
  const scope = new Scope('demo')
  scope.child('inner').effect('bad', () => {
    throw new Error('broken')
  })
  const { errors } = await scope.dispose()
  t.match(errors[0], { message: 'disposing inner' })
})

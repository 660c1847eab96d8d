import fc from 'fast-check'
import t from 'tap'
import { Scope } from '#core'

t.test('disposes effects last in, first out, one at a time', async t => {
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

t.test('a disposer that hangs is reported and abandoned', async t => {
  const scope = new Scope('demo')
  let reached = false
  scope.effect('after', () => {
    reached = true
  })
  scope.effect('hangs', () => new Promise(() => {}))
  const report = await scope.dispose(60)
  t.same(report.stuck, ['hangs'])
  t.ok(reached, 'the other effects are disposed')
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

t.test('a disposed scope rejects further effects, and its signal is aborted', async t => {
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

t.test('a thrown value that is no Error is reported as one, and disposal continues', async t => {
  const scope = new Scope('demo')
  const seen: string[] = []
  scope.effect('first', () => void seen.push('first'))
  scope.effect('text', () => Promise.reject('only text'))
  scope.effect('last', () => {
    throw new TypeError('wrong')
  })
  const { errors, stuck } = await scope.dispose()
  t.same(
    errors.map(error => `${error.name}: ${error.message}`),
    ['TypeError: wrong', 'Error: only text']
  )
  t.same(stuck, [])
  t.same(seen, ['first'])
})

t.test('the signal is aborted before the first disposer runs, and nothing can be added then', async t => {
  const scope = new Scope('demo')
  const seen: unknown[] = []
  scope.effect('outer', () => {
    seen.push(scope.signal.aborted, scope.closed)
    t.throws(() => scope.effect('inner', () => {}), {
      code: 'KRN_SCOPE_CLOSED',
      message: 'demo is disposed and can no longer register "inner"',
      hint: 'stop timers and background work when ctx.signal is aborted'
    })
  })
  t.notOk(scope.closed)
  const disposal = scope.dispose()
  t.ok(scope.closed)
  t.ok(scope.signal.aborted, 'the signal is aborted synchronously')
  t.same(seen, [], 'disposers run only after dispose() has returned')
  t.same((await disposal).errors, [])
  t.same(seen, [true, true])
})

t.test('a disposer may call dispose() of the scope that runs it', async t => {
  const scope = new Scope('demo')
  let inner: Promise<unknown> | undefined
  scope.effect('recursive', () => {
    inner = scope.dispose()
  })
  const outer = scope.dispose()
  await outer
  t.equal(inner, outer)
  t.equal(scope.dispose(), outer, 'later calls return the same promise')
})

t.test('a disposer may run another one early', async t => {
  const scope = new Scope('demo')
  const seen: string[] = []
  const undo = scope.effect('socket', () => void seen.push('socket'))
  scope.effect('server', async () => {
    await undo()
    seen.push('server')
  })
  await scope.dispose()
  t.same(seen, ['socket', 'server'])
})

t.test('after the deadline each disposer still has a minimum time', async t => {
  const scope = new Scope('demo')
  const seen: string[] = []
  scope.effect('slow', async () => {
    await new Promise(resolve => setTimeout(resolve, 5))
    seen.push('slow')
  })
  scope.effect('hangs', () => new Promise(() => {}))
  const { stuck } = await scope.dispose(0)
  t.same(stuck, ['hangs'])
  t.same(seen, ['slow'])
})

t.test('a child that hangs is an error of the parent with its label', async t => {
  const scope = new Scope('demo')
  const child = scope.child('inner')
  child.effect('socket', () => new Promise(() => {}))
  const disposal = child.dispose(10)
  const { errors } = await scope.dispose()
  t.match(errors, [{ message: 'disposing inner', errors: [{ message: 'disposer "socket" did not settle' }] }])
  t.same((await disposal).stuck, ['socket'])
})

t.test('an early disposal returns the result of the disposer; a second one returns undefined', async t => {
  const scope = new Scope('demo')
  const done = Promise.resolve()
  const undo = scope.effect('socket', () => done)
  t.same(scope.tree().children, [{ label: 'socket', children: [] }])
  t.equal(undo(), done)
  t.equal(undo(), undefined)
  t.same(scope.tree().children, [])
})

interface Step {
  readonly kind: 'add' | 'undo' | 'child'
  readonly at: number
  readonly fails: boolean
}

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom('add', 'add', 'undo', 'child'),
  at: fc.nat({ max: 20 }),
  fails: fc.boolean()
})

t.test('for any tree of scopes: each effect is disposed once, in reverse order within its scope', async t => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async steps => {
      const scopes = [new Scope('root')]
      const path = new Map([[scopes[0]!, 'root']])
      const undone: string[] = []
      const effects: { readonly id: string; readonly scope: string; readonly undo: () => unknown }[] = []
      const expectedErrors: string[] = []
      for (const [index, { kind, at, fails }] of steps.entries()) {
        const scope = scopes[at % scopes.length]!
        if (kind === 'add') {
          const id = `e${index}`
          const undo = scope.effect(id, async () => {
            await null
            undone.push(id)
            if (fails) throw new Error(id)
          })
          effects.push({ id, scope: path.get(scope)!, undo })
          if (fails) expectedErrors.push(id)
        } else if (kind === 'child') {
          const child = scope.child(`c${index}`)
          scopes.push(child)
          path.set(child, `${path.get(scope)}/c${index}`)
        } else if (effects.length > 0) {
          const { id, undo } = effects[at % effects.length]!
          // An error of an early disposal is thrown to its caller.
          await Promise.resolve(undo()).catch(() => {})
          const known = expectedErrors.indexOf(id)
          if (known >= 0) expectedErrors.splice(known, 1)
        }
      }
      const early = undone.length
      const { errors } = await scopes[0]!.dispose()
      if (undone.length !== new Set(undone).size || undone.length !== effects.length) return false
      const flat = (error: Error): string[] =>
        error instanceof AggregateError ? error.errors.flatMap(flat) : [error.message]
      if (errors.flatMap(flat).sort().join() !== expectedErrors.sort().join()) return false
      // Within one scope, later effects are disposed first.
      for (const where of new Set(effects.map(({ scope }) => scope))) {
        const own = effects.filter(({ scope }) => scope === where).map(({ id }) => id)
        const seen = undone.slice(early).filter(id => own.includes(id))
        const rest = own.filter(id => seen.includes(id)).reverse()
        if (seen.join() !== rest.join()) return false
      }
      return true
    }),
    { numRuns: 60 }
  )
  t.pass()
})

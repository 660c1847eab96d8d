import { setImmediate as turn } from 'node:timers/promises'
import { generationFlipped, operationEnded, operationStarting } from '@svc/contracts'
import { World } from '@svc/kernel/testing'
import { definePlugin, type Hook, hook, SvcError, type TapOptions } from '@svc/plugin-sdk'
import fc from 'fast-check'
import t from 'tap'
import { type DeclaredHooks, HookSet, type OwnedTap } from '#core'

const unit = { inFlight: 0, enter: () => void unit.inFlight++, exit: () => void unit.inFlight-- }

function tap(
  plugin: string,
  run: (...args: any[]) => unknown,
  options: TapOptions = {},
  hook: Partial<Pick<Hook, 'id' | 'mode' | 'onError'>> = {}
): OwnedTap {
  return { hook: { id: 'x', mode: 'series', onError: 'fail', ...hook }, plugin, tap: run as never, options, unit }
}

function set(mode: Hook['mode'], taps: readonly OwnedTap[], onError: Hook['onError'] = 'fail') {
  const reports: unknown[] = []
  const declared: DeclaredHooks = new Map([['x', { mode, onError }]])
  const hooks = new HookSet(taps, declared, (...report) => void reports.push(report))
  return { run: (...args: unknown[]) => hooks.trigger('x', args), reports }
}

t.test('triggering a hook without taps returns undefined', t => {
  t.equal(new HookSet([], new Map(), () => {}).trigger('x', []), undefined)
  t.end()
})

t.test('series: runs taps in order, one after the other, and ignores results', async t => {
  const seen: string[] = []
  const note = (name: string, delay: boolean) => async (): Promise<string> => {
    if (delay) await turn()
    seen.push(name)
    return name
  }
  const { run } = set('series', [
    tap('a', note('a', true), { order: 1 }),
    tap('b', note('b', true)),
    tap('c', note('c', false)),
    tap('d', note('d', true), { order: -1 })
  ])
  await run()
  t.same(seen, ['d', 'b', 'c', 'a'], 'taps are sorted by order, then by unit')
})

t.test('parallel: starts all taps before any ends', async t => {
  const seen: string[] = []
  const slow = (name: string) => async (): Promise<void> => {
    seen.push(`${name} begins`)
    await turn()
    seen.push(`${name} ends`)
  }
  await set('parallel', [tap('a', slow('a')), tap('b', slow('b'))]).run()
  t.same(seen, ['a begins', 'b begins', 'a ends', 'b ends'])
})

t.test('waterfall: passes the first argument from tap to tap and keeps the others', async t => {
  const { run } = set('waterfall', [
    tap('a', (value: number, by: number) => value + by),
    tap('b', () => undefined),
    tap('c', async (value: number, by: number) => value * by)
  ])
  t.equal(await run(1, 2), 6)
})

t.test('bail: stops at the first tap that returns a value', async t => {
  const asked: string[] = []
  const say = (name: string, word: unknown) => () => {
    asked.push(name)
    return word
  }
  const { run } = set('bail', [tap('a', say('a', undefined)), tap('b', say('b', null)), tap('c', say('c', 1))])
  t.equal(await run(), null)
  t.same(asked, ['a', 'b'])
})

t.test('an error of a tap fails the hook, or is reported and skipped', async t => {
  const bad = tap('bad', () => {
    throw new Error('no')
  })
  const fine = tap('fine', (value: number) => value + 1)
  const strict = set('waterfall', [bad, fine])
  await t.rejects(strict.run(1) as Promise<unknown>, { message: 'no' })
  const lenient = set('waterfall', [bad, fine], 'skip')
  t.equal(await lenient.run(1), 2)
  for (const { reports } of [strict, lenient]) t.match(reports, [['bad', 'x', { message: 'no' }]])
})

t.test('a tap that throws undefined, or rejects with it, also fails the hook', async t => {
  for (const mode of ['series', 'parallel', 'waterfall', 'bail'] as const) {
    const sync = set(mode, [
      tap('a', () => {
        throw undefined
      })
    ])
    t.same(await sync.run(1)?.then(null, error => [error]), [undefined], `${mode}, thrown`)
    const late = set(mode, [tap('a', () => Promise.reject(undefined))])
    t.same(await late.run(1)?.then(null, error => [error]), [undefined], `${mode}, rejected`)
  }
})

t.test('the declaration of the hook’s owner applies, not that of the tap', async t => {
  const old = { mode: 'series', onError: 'skip' } as const
  const taps = [
    tap('a', (value: number) => value + 1, {}, old),
    tap('b', () => Promise.reject(new Error('no')), {}, old)
  ]
  await t.rejects(set('waterfall', taps).run(1) as Promise<unknown>, { message: 'no' })
  t.equal(await set('waterfall', taps.slice(0, 1)).run(1), 2)
})

t.test('taps whose filter does not match are not called', async t => {
  const seen: string[] = []
  const only = (name: string, filter: TapOptions['filter'] & object) =>
    tap(name, () => void seen.push(name), { filter })
  const { run } = set('series', [
    only('equal', { 'call.kind': 'a' }),
    only('one of', { 'call.kind': ['a', 'b'] }),
    only('two', { 'call.kind': 'b', deep: true }),
    only('missing', { 'no.such.path': 'x' })
  ])
  await run({ call: { kind: 'a' }, deep: true })
  t.same(seen.splice(0), ['equal', 'one of'])
  await run({ call: { kind: 'b' }, deep: true })
  t.same(seen.splice(0), ['one of', 'two'])
  await run(null)
  await run()
  t.same(seen, [])
})

t.test('a running tap counts as work of its unit, even if it throws', async t => {
  const during: number[] = []
  const { run } = set(
    'parallel',
    [
      tap('a', () => void during.push(unit.inFlight)),
      tap('b', () => {
        throw new Error('no')
      }),
      tap('filtered', () => t.fail('a filtered tap is not called'), { filter: { never: 1 } })
    ],
    'skip'
  )
  await run({})
  t.same(during, [1])
  t.equal(unit.inFlight, 0)
})

t.test('a tap on a hook that no plugin declares is logged, except hooks of the kernel', async t => {
  const declared = hook<[]>('declarer.done')
  const world = new World(t).put(
    definePlugin({ name: 'declarer', hooks: [declared], activate() {} }),
    definePlugin({
      name: 'tapper',
      activate(ctx) {
        ctx.on(declared, () => {})
        ctx.on(generationFlipped, () => {})
        ctx.on(hook<[]>('gone.done'), () => {})
      }
    })
  )
  await world.apply()
  const warnings = world.lines.filter(({ level }) => level === 'warn').map(({ message }) => message)
  t.same(warnings, ['this plugin taps the hook gone.done, which no known plugin declares'])
})

t.test('a refusal is thrown to the trigger and reported only if the hook skips errors', async t => {
  const refuse = (status: number) => () => Promise.reject(new SvcError('NO', 'not this one', { status }))
  const strict = set('series', [tap('gate', refuse(403))])
  await t.rejects(strict.run() as Promise<unknown>, { code: 'NO' })
  t.same(strict.reports, [])
  const broken = set('series', [tap('gate', refuse(500))])
  await t.rejects(broken.run() as Promise<unknown>, { code: 'NO' })
  const lenient = set('series', [tap('gate', refuse(403))], 'skip')
  await lenient.run()
  for (const { reports } of [broken, lenient]) t.match(reports, [['gate', 'x', { code: 'NO' }]])
})

t.test('for any taps: they run by order, then by unit', async t => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: -2, max: 2 }), { minLength: 1, maxLength: 12 }), async orders => {
      const seen: number[] = []
      const taps = orders.map((order, index) =>
        tap(`p${index}`, () => void seen.push(index), order === 0 ? {} : { order })
      )
      await set('series', taps).run()
      const expected = orders
        .map((order, index) => ({ order, index }))
        .sort((a, b) => a.order - b.order || a.index - b.index)
      return seen.join() === expected.map(({ index }) => index).join()
    }),
    { numRuns: 50 }
  )
  t.pass()
})

t.test('for any taps: a waterfall equals a loop over them', async t => {
  const change = fc.oneof(
    fc.integer({ min: -3, max: 3 }),
    fc.constant('nothing' as const),
    fc.constant('throws' as const)
  )
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 8 }), async changes => {
      const taps = changes.map((by, index) =>
        tap(`p${index}`, (value: number, factor: number) => {
          if (by === 'throws') throw new Error(`p${index}`)
          return by === 'nothing' ? undefined : value + by * factor
        })
      )
      const { run, reports } = set('waterfall', taps, 'skip')
      const expected = changes.reduce<number>((value, by) => (typeof by === 'number' ? value + by * 2 : value), 10)
      const failed = changes.flatMap((by, index) => (by === 'throws' ? [`p${index}`] : []))
      return (await run(10, 2)) === expected && reports.map(report => (report as [string])[0]).join() === failed.join()
    }),
    { numRuns: 50 }
  )
  t.pass()
})

t.test('series and bail stop at the tap that fails', async t => {
  for (const mode of ['series', 'bail'] as const) {
    const seen: string[] = []
    const { run, reports } = set(mode, [
      tap('a', () => void seen.push('a')),
      tap('b', () => Promise.reject(new Error('no'))),
      tap('c', () => void seen.push('c'))
    ])
    await t.rejects(run() as Promise<unknown>, { message: 'no' }, mode)
    t.same(seen, ['a'], mode)
    t.equal(reports.length, 1, mode)
  }
})

t.test('parallel: all taps run to their end even if one fails', async t => {
  const seen: string[] = []
  const { run } = set('parallel', [
    tap('a', () => Promise.reject(new Error('no'))),
    tap('b', async () => {
      await turn()
      seen.push('b')
    })
  ])
  await t.rejects(run() as Promise<unknown>, { message: 'no' })
  await turn()
  t.same(seen, ['b'])
  t.equal(unit.inFlight, 0)
})

t.test('series and parallel hooks return undefined', async t => {
  for (const mode of ['series', 'parallel'] as const) {
    t.equal(await set(mode, [tap('a', () => 'ignored'), tap('b', () => 2)]).run(), undefined, mode)
  }
})

t.test('a hook without owner runs as its first tap declares it', async t => {
  const declared: DeclaredHooks = new Map()
  const first = tap('a', (value: number) => value + 1, {}, { mode: 'waterfall', onError: 'skip' })
  const second = tap('b', () => Promise.reject(new Error('no')), {}, { mode: 'series' })
  const reports: string[] = []
  const hooks = new HookSet([first, second], declared, plugin => void reports.push(plugin))
  t.equal(await hooks.trigger('x', [1]), 2)
  t.same(reports, ['b'])
  t.ok(hooks.has('x'))
  t.notOk(hooks.has('y'))
})

t.test('hooks of calls are available as fields if they have taps', t => {
  const none = new HookSet([tap('a', () => {})], new Map(), () => {})
  t.equal(none.operationStarting, undefined)
  t.equal(none.operationEnded, undefined)
  const taps = [operationStarting, operationEnded].map(({ id }) => tap('a', () => {}, {}, { id }))
  const both = new HookSet(taps, new Map(), () => {})
  t.type(both.operationStarting, 'function')
  t.type(both.operationEnded, 'function')
  t.not(both.operationStarting, both.operationEnded)
  t.end()
})

t.test('a tap on calls does not receive calls of the plugin that registered it', async t => {
  for (const { id } of [operationStarting, operationEnded]) {
    const seen: unknown[] = []
    const hooks = new HookSet(
      [tap('guard', (start: { caller: string | null }) => void seen.push(start.caller), {}, { id })],
      new Map(),
      () => {}
    )
    for (const caller of ['guard', 'other', null]) await hooks.trigger(id, [{ caller }])
    t.same(seen, ['other', null], id)
  }
  const seen: string[] = []
  await set('series', [tap('guard', () => void seen.push('asked'))]).run({ caller: 'guard' })
  t.same(seen, ['asked'], 'other hooks have no such rule')
})

t.test('a refusal is an error with a code and a status below 500', async t => {
  const refused = (error: unknown) => {
    const strict = set('series', [tap('gate', () => Promise.reject(error))])
    return (strict.run() as Promise<unknown>).then(
      () => 'passed',
      () => strict.reports.length
    )
  }
  t.equal(await refused(new SvcError('NO', 'no', { status: 499 })), 0)
  t.equal(await refused(new SvcError('NO', 'no', { status: 500 })), 1)
  t.equal(await refused(new Error('no')), 1)
  t.equal(await refused('no'), 1)
})

t.test('a filter path through a missing value is undefined', async t => {
  const seen: string[] = []
  const { run } = set('series', [
    tap('undefined', () => void seen.push('undefined'), { filter: { 'a.b': undefined as never } }),
    tap('null', () => void seen.push('null'), { filter: { a: null as never } }),
    tap('length', () => void seen.push('length'), { filter: { 'list.length': 2 } }),
    tap('empty list', () => void seen.push('empty list'), { filter: { kind: [] } })
  ])
  await run({ a: null, list: [1, 2], kind: 'x' })
  t.same(seen, ['undefined', 'null', 'length'])
})

import { setImmediate as turn } from 'node:timers/promises'
import { generationFlipped, operationEnded, operationStarting } from '@svc/contracts'
import { World } from '@svc/kernel/testing'
import { definePlugin, type Hook, hook, type JsonSchema, SvcError, t as s, type TapOptions } from '@svc/plugin-sdk'
import fc from 'fast-check'
import t from 'tap'
import { type DeclaredHooks, HookSet, type OwnedTap } from '#core'

const QUIET = { report: () => {}, timeoutMs: 0 }
const unit = { inFlight: 0, enter: () => void unit.inFlight++, exit: () => void unit.inFlight-- }

function tap(
  plugin: string,
  run: (...args: any[]) => unknown,
  options: TapOptions = {},
  hook: Partial<Pick<Hook, 'id' | 'mode' | 'onError'>> = {}
): OwnedTap {
  return { hook: { id: 'x', mode: 'series', onError: 'fail', ...hook }, plugin, tap: run as never, options, unit }
}

function set(
  mode: Hook['mode'],
  taps: readonly OwnedTap[],
  onError: Hook['onError'] = 'fail',
  { timeoutMs = 0, ...more }: { readonly timeoutMs?: number; readonly schema?: JsonSchema } = {}
) {
  const reports: unknown[] = []
  const declared: DeclaredHooks = new Map([['x', { mode, onError, ...more }]])
  const hooks = new HookSet(taps, declared, { report: (...report) => void reports.push(report), timeoutMs })
  return { run: (...args: unknown[]) => hooks.trigger('x', args), reports }
}

t.test('triggering a hook without taps returns undefined', t => {
  t.equal(new HookSet([], new Map(), QUIET).trigger('x', []), undefined)
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
  await t.rejects(strict.run(1) as Promise<unknown>, {
    code: 'OPR_FAILED',
    message: 'the tap of plugin bad on the hook x failed; see its log',
    plugin: 'bad',
    cause: { message: 'no' }
  })
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
    t.match(await sync.run(1)?.then(null, error => error), { code: 'OPR_FAILED', plugin: 'a' }, `${mode}, thrown`)
    const late = set(mode, [tap('a', () => Promise.reject(undefined))])
    t.match(await late.run(1)?.then(null, error => error), { code: 'OPR_FAILED', plugin: 'a' }, `${mode}, rejected`)
  }
})

t.test('the declaration of the hook’s owner applies, not that of the tap', async t => {
  const old = { mode: 'series', onError: 'skip' } as const
  const taps = [
    tap('a', (value: number) => value + 1, {}, old),
    tap('b', () => Promise.reject(new Error('no')), {}, old)
  ]
  await t.rejects(set('waterfall', taps).run(1) as Promise<unknown>, { cause: { message: 'no' } })
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
    await t.rejects(run() as Promise<unknown>, { cause: { message: 'no' } }, mode)
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
  await t.rejects(run() as Promise<unknown>, { cause: { message: 'no' } })
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
  const report = (plugin: string): void => void reports.push(plugin)
  const hooks = new HookSet([first, second], declared, { report, timeoutMs: 0 })
  t.equal(await hooks.trigger('x', [1]), 2)
  t.same(reports, ['b'])
  t.ok(hooks.has('x'))
  t.notOk(hooks.has('y'))
})

t.test('hooks of calls are available as fields if they have taps', t => {
  const none = new HookSet([tap('a', () => {})], new Map(), QUIET)
  t.equal(none.operationStarting, undefined)
  t.equal(none.operationEnded, undefined)
  const taps = [operationStarting, operationEnded].map(({ id }) => tap('a', () => {}, {}, { id }))
  const both = new HookSet(taps, new Map(), QUIET)
  t.type(both.operationStarting, 'function')
  t.type(both.operationEnded, 'function')
  t.not(both.operationStarting, both.operationEnded)
  t.end()
})

t.test('a trigger can skip the taps of plugins', async t => {
  const seen: string[] = []
  const note = (name: string) => tap(name, () => void seen.push(name), {}, { id: operationStarting.id })
  const hooks = new HookSet([note('guard'), note('other')], new Map(), QUIET)
  await hooks.operationStarting?.([{}], { skips: plugin => plugin === 'guard' })
  t.same(seen, ['other'])
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

t.test('only taps of a change hook receive the arguments as they are; others receive copies', async t => {
  const given = () => ({ task: { files: ['a'], owner: { id: 'ada' } }, bytes: Buffer.from('x') })
  const spoil = (value: ReturnType<typeof given>): void => {
    value.task.files.push('evil')
    value.task.owner.id = 'eve'
    Object.assign(value, { more: true })
  }
  for (const mode of ['series', 'parallel', 'bail'] as const) {
    const value = given()
    const seen: unknown[] = []
    const note = (received: ReturnType<typeof given>): void => void seen.push(received)
    await set(mode, [tap('a', spoil), tap('b', note)]).run(value)
    t.strictSame(value, given(), mode)
    t.strictSame(seen, [given()], `${mode}: each tap has its own copy`)
    t.equal((seen[0] as typeof value).bytes, value.bytes, `${mode}: other values than plain objects are shared`)
  }
  const seen: unknown[] = []
  const value = given()
  await set('waterfall', [tap('a', received => void seen.push(received))]).run(value)
  t.equal(seen[0], value)
})

const never = (): Promise<never> => new Promise(() => {})

t.test('a tap that does not settle fails a `fail` hook with an error that names it', async t => {
  for (const mode of ['series', 'parallel', 'waterfall', 'bail'] as const) {
    const { run, reports } = set(mode, [tap('slow', never, { label: 'gate' })], 'fail', { timeoutMs: 5 })
    await t.rejects(
      run({}) as Promise<unknown>,
      {
        code: 'KRN_TAP_TIMEOUT',
        status: 503,
        plugin: 'slow',
        message: 'the tap "gate" of plugin slow on the hook x did not finish within 5 ms'
      },
      mode
    )
    t.match(reports, [['slow', 'x', { code: 'KRN_TAP_TIMEOUT' }]])
    t.equal(unit.inFlight, 0, 'the abandoned tap does not delay the disposal of its unit')
  }
})

t.test('a tap that does not settle is skipped and reported by a `skip` hook', async t => {
  const seen: string[] = []
  const taps = [tap('slow', never), tap('next', () => void seen.push('next'))]
  const { run, reports } = set('series', taps, 'skip', { timeoutMs: 5 })
  const running = setInterval(() => {}, 1_000)
  await run({})
  clearInterval(running)
  t.same(seen, ['next'])
  t.match(reports, [['slow', 'x', { code: 'KRN_TAP_TIMEOUT' }]])
})

t.test('a hook can declare another time limit, or none', async t => {
  const declared: DeclaredHooks = new Map([
    ['none', { mode: 'bail', onError: 'fail', timeoutMs: 0 }],
    ['short', { mode: 'bail', onError: 'fail', timeoutMs: 5 }]
  ])
  let release: (value: string) => void = () => {}
  const wait = (): Promise<string> =>
    new Promise(resolve => {
      release = resolve
    })
  const taps = [...declared.keys()].map(id => tap('a', id === 'none' ? wait : never, {}, { id, mode: 'bail' }))
  const hooks = new HookSet(taps, declared, { report: () => {}, timeoutMs: 1 })
  const answered = hooks.trigger('none', [{}])
  await t.rejects(hooks.trigger('short', [{}]) as Promise<unknown>, { message: /within 5 ms/ })
  release('done')
  t.equal(await answered, 'done')
})

t.test('a tap that settles after its time limit has no further effect', async t => {
  const releases: (() => void)[] = []
  const late = (): Promise<void> => new Promise(resolve => void releases.push(resolve))
  const { run } = set('series', [tap('late', late)], 'skip', { timeoutMs: 5 })
  const running = setInterval(() => {}, 1_000)
  await run({})
  clearInterval(running)
  for (const release of releases) release()
  await turn()
  t.equal(unit.inFlight, 0)
})

t.test('a value of the wrong type that a tap returns is an error of the tap', async t => {
  for (const [given, returned, message] of [
    [{ a: 1 }, 'nonsense', 'the tap returned string instead of object'],
    [{ a: 1 }, [1], 'the tap returned an array instead of object'],
    [{ a: 1 }, null, 'the tap returned null instead of object'],
    [1, '1', 'the tap returned string instead of number']
  ] as const) {
    const strict = set('waterfall', [tap('w', () => returned)])
    await t.rejects(strict.run(given) as Promise<unknown>, {
      message: 'the tap of plugin w on the hook x failed; see its log',
      plugin: 'w',
      cause: { message }
    })
    const lenient = set('waterfall', [tap('w', async () => returned)], 'skip')
    t.same(await lenient.run(given), given, 'the value stays')
    t.match(lenient.reports, [['w', 'x', { message }]])
  }
})

t.test('a value that does not match the schema of its hook is an error of the tap', async t => {
  const schema = s.object({ text: s.string() }, { additionalProperties: true })
  const { run, reports } = set('waterfall', [tap('w', () => ({ text: 7 }))], 'fail', { schema })
  await t.rejects(run({ text: 'a' }) as Promise<unknown>, { plugin: 'w', cause: { message: /wrong value: .*text/ } })
  t.equal(reports.length, 1)
  const right = set('waterfall', [tap('w', () => ({ text: 'b', more: 1 }))], 'fail', { schema })
  t.same(await right.run({ text: 'a' }), { text: 'b', more: 1 })
})

import type { Invocation } from '@svc/contracts'
import { openTestKernel, type UnitPolicy, World } from '@svc/kernel/testing'
import { type Call, CircuitBreaker, defineOperation, definePlugin, SvcError, t as s } from '@svc/plugin-sdk'
import fc from 'fast-check'
import t, { type Test } from 'tap'

const policy = { failures: 3, windowMs: 1000, halfOpenMs: 500 }

t.test('opens after enough faults within the window, admits one probe, closes if it succeeds', t => {
  let now = 0
  const breaker = new CircuitBreaker(policy, () => now)
  t.equal(breaker.fault(), false)
  t.equal(breaker.fault(), false)
  t.equal(breaker.fault(), true)
  t.equal(breaker.admit(), 500)
  now = 500
  t.equal(breaker.admit(), 0, 'the probe is admitted')
  t.ok(breaker.admit() > 0, 'only one probe is admitted at a time')
  t.equal(breaker.succeed(), true)
  t.equal(breaker.admit(), 0)
  t.end()
})

t.test('faults outside the window do not count', t => {
  let now = 0
  const breaker = new CircuitBreaker(policy, () => now)
  for (let fault = 0; fault < 10; fault++) {
    t.equal(breaker.fault(), false)
    now += 600
  }
  t.end()
})

t.test('a failed probe keeps it open for another period', t => {
  let now = 0
  const breaker = new CircuitBreaker(policy, () => now)
  for (let fault = 0; fault < 3; fault++) breaker.fault()
  now = 500
  breaker.admit()
  breaker.fault()
  t.equal(breaker.admit(), 500)
  t.end()
})

t.test('zero failures disables the breaker', t => {
  const breaker = new CircuitBreaker({ ...policy, failures: 0 })
  for (let fault = 0; fault < 100; fault++) t.equal(breaker.fault(), false)
  t.equal(breaker.admit(), 0)
  t.end()
})

t.test('a fault as old as the window does not count', t => {
  let now = 0
  const breaker = new CircuitBreaker(policy, () => now)
  breaker.fault()
  now = 1
  breaker.fault()
  now = 1000
  t.equal(breaker.fault(), false, 'the first fault is 1,000 ms old')
  t.equal(breaker.fault(), true)
  t.ok(breaker.open)
  t.end()
})

t.test('an open breaker returns the remaining milliseconds, and only the opening fault returns true', t => {
  let now = 0
  const breaker = new CircuitBreaker({ failures: 1, windowMs: 1000, halfOpenMs: 500 }, () => now)
  t.notOk(breaker.open)
  t.equal(breaker.fault(), true)
  now = 200
  t.equal(breaker.admit(), 300)
  t.equal(breaker.fault(), false, 'a call that was admitted earlier fails')
  t.equal(breaker.admit(), 500, 'the wait counts from the last fault')
  now = 700
  t.equal(breaker.admit(), 0)
  t.equal(breaker.admit(), 500, 'the next probe is admitted one period after this one')
  t.end()
})

t.test('after a released probe the next call is admitted; releasing a call of a closed breaker has no effect', t => {
  let now = 0
  const breaker = new CircuitBreaker({ ...policy, failures: 1 }, () => now)
  breaker.release()
  t.equal(breaker.admit(), 0)
  breaker.fault()
  now = 500
  t.equal(breaker.admit(), 0)
  breaker.release()
  t.ok(breaker.open)
  t.equal(breaker.admit(), 0)
  t.end()
})

t.test('a success clears earlier faults only if the breaker is open', t => {
  const breaker = new CircuitBreaker(policy, () => 0)
  breaker.fault()
  breaker.fault()
  t.equal(breaker.succeed(), false)
  t.equal(breaker.fault(), true, 'a success between faults does not reset them')
  t.equal(breaker.succeed(), true)
  t.notOk(breaker.open)
  t.equal(breaker.fault(), false)
  t.equal(breaker.fault(), false)
  t.equal(breaker.fault(), true)
  t.end()
})

type Event =
  | { readonly kind: 'fault' | 'succeed' | 'call' | 'release' }
  | { readonly kind: 'wait'; readonly ms: number }

const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom<Event>({ kind: 'fault' }, { kind: 'call' }) },
  { weight: 1, arbitrary: fc.constantFrom<Event>({ kind: 'succeed' }, { kind: 'release' }) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 700 }).map((ms): Event => ({ kind: 'wait', ms })) }
)

t.test('for any history: opens at the limit and admits one call per period', t => {
  fc.assert(
    fc.property(fc.array(event, { maxLength: 60 }), fc.integer({ min: 1, max: 4 }), (events, failures) => {
      let now = 0
      const breaker = new CircuitBreaker({ failures, windowMs: 1000, halfOpenMs: 500 }, () => now)
      /** Times of all faults since the breaker was last closed. */
      let faults: number[] = []
      let open = false
      /** Last time from which the breaker must reject calls: a fault or an admitted probe. */
      let shutAt = 0
      for (const each of events) {
        if (each.kind === 'wait') now += each.ms
        else if (each.kind === 'fault') {
          faults.push(now)
          const recent = faults.filter(at => now - at < 1000).length
          const opens: boolean = !open && recent >= failures
          if (breaker.fault() !== opens) return false
          if (open || opens) shutAt = now
          open ||= opens
        } else if (each.kind === 'succeed') {
          if (breaker.succeed() !== open) return false
          if (open) faults = []
          open = false
        } else if (each.kind === 'call') {
          const wait = breaker.admit()
          if (!open && wait !== 0) return false
          if (open && wait !== Math.max(0, shutAt + 500 - now)) return false
          if (open && wait === 0) shutAt = now
        } else {
          breaker.release()
          // Only one period after the last fault may the next call be admitted immediately.
          const last = faults.at(-1)
          if (open && last !== undefined) shutAt = last
        }
        if (breaker.open !== open) return false
      }
      return true
    })
  )
  t.end()
})

const caller: Invocation = { surface: 'http', principal: { id: 'someone', role: 'user', scopes: [] } }

const echo = defineOperation({
  id: 'demo.echo',
  summary: 'Echoes',
  input: s.object({ text: s.string({ minLength: 1 }), times: s.integer({ default: 1, minimum: 1 }) }),
  output: s.object({ text: s.string() }),
  errors: { DEMO_SHOUT: { status: 418, message: 'It is too loud.' } },
  effect: 'read'
})

/** Starts a plugin with an operation whose outcome depends on its input. */
async function probe(t: Test, policy: Partial<UnitPolicy> = {}) {
  const inner = defineOperation({
    id: 'inner.work',
    summary: 'x',
    input: s.object({ n: s.integer() }),
    output: s.object({}),
    timeoutMs: 0
  })
  const world = new World(t)
    .put(
      definePlugin({
        name: 'inner',
        operations: [inner],
        activate: ctx => ctx.implement(inner, () => new Promise(() => {}))
      }),
      definePlugin({
        name: 'demo',
        operations: [echo],
        activate(ctx) {
          ctx.implement(echo, async ({ text }, call) => {
            const fail: Record<string, () => unknown> = {
              bug: () => Promise.reject(new Error('bug')),
              wrong: () => ({ text: 42 }),
              own: () => call.fail('DEMO_SHOUT'),
              undeclared: () => (call as Call<any, any>).fail('DEMO_OTHER'),
              nested: () => ctx.callById('inner.work', { n: 'x' }),
              slow: () => ctx.callById('inner.work', { n: 1 }, { timeoutMs: 1 }),
              unknown: () => ctx.callById('no.such', {}),
              foreign: () => Promise.reject(new SvcError('OTHER_CODE', 'of another plugin', { plugin: 'other' }))
            }
            return ((await fail[text]?.()) as never) ?? { text }
          })
        }
      })
    )
    .configure({ demo: { policy: { breaker: { failures: 2, windowMs: 30_000, halfOpenMs: 10_000 }, ...policy } } })
  await world.apply()
  const unit = world.kernel.current.units.get('demo')!
  const ask = (text: string): Promise<string> =>
    world.call('demo.echo', { text }).then(
      () => 'done',
      (error: SvcError) => error.code
    )
  return { world, unit, ask, breaker: unit.operations.get('demo.echo')!.breaker }
}

t.test('errors without a code, timeouts and invalid output count as faults', async t => {
  for (const [text, code, isFault] of [
    ['fine', 'done', false],
    ['own', 'DEMO_SHOUT', false],
    ['foreign', 'OTHER_CODE', false],
    ['unknown', 'OPR_UNKNOWN', false],
    ['nested', 'OPR_INPUT_INVALID', false],
    ['', 'OPR_INPUT_INVALID', false],
    ['bug', 'OPR_FAILED', true],
    ['undeclared', 'OPR_FAILED', true],
    ['wrong', 'OPR_OUTPUT_INVALID', true],
    ['slow', 'OPR_TIMEOUT', true]
  ] as const) {
    const { ask, breaker } = await probe(t)
    t.same([await ask(text), await ask(text)], [code, code], text)
    t.equal(breaker.open, isFault, `${text} ${isFault ? 'opens' : 'does not open'} the breaker`)
  }
})

t.test('the error of a disabled operation has the wait time, and a plugin that recovers is active again', async t => {
  let now = 1_000_000
  t.intercept(Date, 'now', { value: () => now })
  const { world, unit, ask } = await probe(t)
  await ask('bug')
  t.equal(unit.state, 'active')
  await ask('bug')
  t.equal(unit.state, 'degraded')
  t.same(unit.openBreakers(), ['demo.echo'])
  now += 1_500
  await t.rejects(world.call('demo.echo', { text: 'fine' }), {
    code: 'OPR_UNAVAILABLE',
    status: 503,
    plugin: 'demo',
    message: 'demo.echo is disabled for 9 s after repeated faults of plugin demo',
    hint: 'svc plugins why demo',
    data: { retryAfterMs: 8_500 }
  })
  now += 8_500
  t.equal(await ask('fine'), 'done')
  t.equal(unit.state, 'active')
  t.same(unit.openBreakers(), [])
})

t.test('a declared error of a probe closes the breaker; a neutral outcome leaves that to the next call', async t => {
  let now = 1_000_000
  t.intercept(Date, 'now', { value: () => now })
  const { unit, ask, breaker } = await probe(t)
  await ask('bug')
  await ask('bug')
  now += 10_000
  t.equal(await ask('nested'), 'OPR_INPUT_INVALID')
  t.ok(breaker.open)
  t.equal(await ask('own'), 'DEMO_SHOUT', 'the next call is admitted immediately')
  t.notOk(breaker.open)
  t.equal(unit.state, 'active')
})

t.test('a breaker of zero failures never opens', async t => {
  const { ask, unit } = await probe(t, { breaker: { failures: 0, windowMs: 1, halfOpenMs: 1 } })
  for (let fault = 0; fault < 8; fault++) t.equal(await ask('bug'), 'OPR_FAILED')
  t.equal(unit.state, 'active')
})

t.test('counts calls per plugin over all its instances', async t => {
  const { world, unit, ask } = await probe(t)
  for (const text of ['fine', 'own', 'fine', '']) await ask(text)
  t.match(unit.stats, { calls: 4, failures: 2, totalMs: Number })
  await world.kernel.change({ forced: ['demo'] })
  await ask('fine')
  t.match(world.kernel.records.get('demo')?.stats, { calls: 5, failures: 2 })
  t.match(world.kernel.records.get('inner')?.stats, { calls: 0, failures: 0, totalMs: 0 })
})

t.test('logs faults with ids of the call, but not errors of the caller', async t => {
  const { world, ask } = await probe(t, { breaker: { failures: 0, windowMs: 1, halfOpenMs: 1 } })
  const logged: [string, boolean][] = []
  for (const text of ['own', 'foreign', 'nested', 'unknown', 'bug', 'wrong', 'slow']) {
    const before = world.lines.length
    await ask(text)
    const lines = world.lines.slice(before).filter(({ plugin, level }) => plugin === 'demo' && level === 'error')
    logged.push([text, lines.length > 0])
    for (const line of lines)
      t.match(line.fields, {
        operation: 'demo.echo',
        surface: 'http',
        request_id: /^[0-9a-f]{12}$/,
        trace_id: /^[0-9a-f]{32}$/,
        error: { code: /^OPR_/ }
      })
  }
  t.same(logged, [
    ['own', false],
    ['foreign', false],
    ['nested', false],
    ['unknown', false],
    ['bug', true],
    ['wrong', true],
    ['slow', true]
  ])
})

const breaking = definePlugin({
  name: 'demo',
  operations: [echo],
  activate: ctx =>
    ctx.implement(echo, ({ text }) => {
      if (text === 'bug') throw new Error('bug')
      return { text }
    })
})

t.test('after a cancelled probe another is admitted immediately, even if its handler then fails', async t => {
  let now = 1_000_000
  t.intercept(Date, 'now', { value: () => now })
  const handle = await openTestKernel({ plugins: [breaking] })
  t.teardown(() => handle.close())
  const ask = (call: Partial<Invocation> = {}): Promise<string> =>
    handle.kernel.invoke('demo.echo', { text: 'bug' }, { ...caller, ...call }).then(
      () => 'done',
      (error: SvcError) => error.code
    )
  for (let fault = 0; fault < 5; fault++) t.equal(await ask(), 'OPR_FAILED')
  t.equal(await ask(), 'OPR_UNAVAILABLE')
  now += 10_000
  // The handler throws first; only then does the kernel check whether the caller cancelled.
  let looked = 0
  const call: Invocation = {
    ...caller,
    get cancelled() {
      looked += 1
      return looked > 1
    }
  }
  await t.rejects(handle.kernel.invoke('demo.echo', { text: 'bug' }, call), { code: 'OPR_CANCELLED' })
  t.same(
    await handle.kernel.invoke('demo.echo', { text: 'fine' }, caller),
    { text: 'fine' },
    'the breaker admits the call'
  )
})

import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import type { Invocation } from '@svc/contracts'
import { openTestKernel } from '@svc/kernel/testing'
import { type Call, defineOperation, definePlugin, type Handler, type SvcError, t as s } from '@svc/plugin-sdk'
import t, { type Test } from 'tap'

const caller: Invocation = { surface: 'http', principal: { id: 'someone', role: 'user', scopes: [] } }

const definition = { id: 'demo.work', summary: 'x', input: s.object({}), output: s.object({}) } as const

/** Starts a plugin with one operation and returns a function that calls it like a surface. */
async function serve(
  t: Test,
  handler: Handler<typeof plain>,
  limits: { concurrency?: number; timeoutMs?: number } = {}
) {
  const operation = defineOperation({ ...definition, ...limits })
  const handle = await openTestKernel({
    plugins: [
      definePlugin({ name: 'demo', operations: [operation], activate: ctx => ctx.implement(operation, handler) })
    ]
  })
  t.teardown(() => handle.close())
  const invoke = (call: Partial<Invocation> = {}): Promise<unknown> =>
    handle.kernel.invoke('demo.work', {}, { ...caller, ...call })
  const unit = handle.kernel.current.units.get('demo')!
  return { ...handle, invoke, unit, breaker: unit.operations.get('demo.work')!.breaker }
}
const plain = defineOperation(definition)

/** Creates a promise with the functions that settle it. */
function gate() {
  let open: () => void = () => {}
  const passed = new Promise<void>(resolve => (open = resolve))
  return { open, passed }
}

t.test('a call cancelled before its handler starts does not run the handler', async t => {
  let ran = false
  const { invoke } = await serve(t, () => {
    ran = true
    return {}
  })
  await t.rejects(invoke({ signal: AbortSignal.abort() }), { code: 'OPR_CANCELLED' })
  t.notOk(ran)
})

t.test('no slot is lost when callers cancel while they wait', async t => {
  const gates: ReturnType<typeof gate>[] = []
  const { invoke } = await serve(
    t,
    async () => {
      const next = gate()
      gates.push(next)
      await next.passed
      return {}
    },
    { concurrency: 1 }
  )
  const first = invoke()
  const leaving = Array.from({ length: 10_000 }, () => {
    const controller = new AbortController()
    return { controller, settled: invoke({ signal: controller.signal }).catch((error: SvcError) => error.code) }
  })
  const last = invoke()
  await turn()
  for (const { controller } of leaving) controller.abort()
  t.same(new Set(await Promise.all(leaving.map(each => each.settled))), new Set(['OPR_CANCELLED']))
  gates[0]!.open()
  await first
  await turn()
  gates[1]!.open()
  t.same(await last, {})
  const after = invoke()
  await turn()
  gates[2]!.open()
  t.same(await after, {})
})

t.test('a call that is cancelled while it receives a slot releases the slot', async t => {
  // Tries each number of microtasks between the end of one call and the abort of the next.
  for (let late = 0; late < 12; late++) {
    const first = gate()
    let calls = 0
    const { invoke } = await serve(
      t,
      async () => {
        calls += 1
        if (calls === 1) await first.passed
        return {}
      },
      { concurrency: 1 }
    )
    const running = invoke()
    const controller = new AbortController()
    const second = invoke({ signal: controller.signal }).catch(() => {})
    await turn()
    first.open()
    for (let task = 0; task < late; task++) await null
    controller.abort()
    await Promise.all([running, second])
    t.same(await Promise.race([invoke(), turn('stuck')]), {}, `after ${late} microtasks`)
  }
})

t.test('a timeout while waiting for a slot is not a fault', async t => {
  const first = gate()
  const { invoke, breaker } = await serve(
    t,
    async () => {
      await first.passed
      return {}
    },
    { concurrency: 1 }
  )
  const running = invoke()
  for (let call = 0; call < 6; call++) await t.rejects(invoke({ timeoutMs: 1 }), { code: 'OPR_TIMEOUT', status: 504 })
  t.notOk(breaker.open)
  first.open()
  t.same(await running, {})
})

t.test('the shorter of two timeouts applies, and the error names it', async t => {
  const { invoke } = await serve(t, () => new Promise(() => {}), { timeoutMs: 60_000 })
  await t.rejects(invoke({ timeoutMs: 5 }), { code: 'OPR_TIMEOUT', message: /5 ms/, data: { timeoutMs: 5 } })
})

t.test('a timeout above the maximum of a timer works', async t => {
  const { invoke } = await serve(t, () => sleep(10, {}), { timeoutMs: 2 ** 40 })
  t.same(await invoke(), {})
})

t.test('each call keeps its own deadline', async t => {
  const { invoke } = await serve(t, () => new Promise(() => {}), { timeoutMs: 0 })
  const limits = [40, 5, 20, 1, 10]
  const timeouts = await Promise.all(
    limits.map(timeoutMs =>
      invoke({ timeoutMs }).catch((error: SvcError) => (error.data as { timeoutMs: number }).timeoutMs)
    )
  )
  t.same(timeouts, limits)
})

t.test('calls leave no listeners on the signals of unit and caller', async t => {
  const signals: AbortSignal[] = []
  const { invoke, unit } = await serve(t, async (_, call) => {
    signals.push(call.signal)
    await turn()
    return {}
  })
  const controller = new AbortController()
  const listeners = new Map<EventTarget, number>()
  for (const target of [unit.signal, controller.signal]) {
    const { addEventListener, removeEventListener } = target
    const count = (by: number): void => void listeners.set(target, (listeners.get(target) ?? 0) + by)
    target.addEventListener = ((...given: Parameters<typeof addEventListener>) => {
      count(1)
      addEventListener.apply(target, given)
    }) as typeof addEventListener
    target.removeEventListener = ((...given: Parameters<typeof removeEventListener>) => {
      count(-1)
      removeEventListener.apply(target, given)
    }) as typeof removeEventListener
  }
  for (let call = 0; call < 50; call++) await invoke({ signal: controller.signal })
  t.ok((listeners.get(unit.signal) ?? 0) <= 1, 'at most one for all calls')
  t.equal(listeners.get(controller.signal) ?? 0, 0)
  t.notOk(signals.some(signal => signal.aborted))
})

t.test('disposal cancels all running calls, even those that never read their signal', async t => {
  const { invoke, unit } = await serve(t, () => new Promise(() => {}), { timeoutMs: 0 })
  const calls = [1, 2, 3].map(() => invoke())
  await turn()
  void unit.scope.dispose(10)
  for (const call of calls) await t.rejects(call, { code: 'OPR_CANCELLED' })
})

t.test('a handler that continues after the end can neither emit nor crash the process', async t => {
  const events: unknown[] = []
  const end = gate()
  const done = gate()
  let late: AbortSignal | undefined
  const { invoke } = await serve(
    t,
    async (_, call) => {
      await end.passed
      ;(call as Call<any, any>).emit('late')
      call.progress(1)
      late = call.signal
      done.open()
      throw new Error('no caller hears this')
    },
    { timeoutMs: 5 }
  )
  const unheard: unknown[] = []
  const listener = (error: unknown): void => void unheard.push(error)
  process.on('unhandledRejection', listener)
  t.teardown(() => process.off('unhandledRejection', listener))
  await t.rejects(invoke({ onEvent: event => events.push(event), onProgress: (...steps) => events.push(steps) }), {
    code: 'OPR_TIMEOUT'
  })
  end.open()
  await done.passed
  await turn()
  t.same(events, [])
  t.same(unheard, [])
  t.ok(late?.aborted, 'the signal is aborted after the end')
})

t.test('an error of the caller’s listener ends the call but is no fault of the plugin', async t => {
  const { invoke, breaker } = await serve(t, async (_, call) => {
    while (!call.signal.aborted) {
      call.progress(1)
      await turn()
    }
    return {}
  })
  const onProgress = (): void => {
    throw new Error('the socket is gone')
  }
  for (let call = 0; call < 6; call++)
    await t.rejects(invoke({ onProgress }), { code: 'OPR_CANCELLED', cause: { message: 'the socket is gone' } })
  t.notOk(breaker.open)
})

t.test('input that cannot be copied is an error of the caller, and buffers are not copied', async t => {
  const store = defineOperation({
    id: 'demo.store',
    summary: 'x',
    input: s.object({ value: s.unknown(), list: s.array(s.object({ n: s.integer({ default: 1 }) }), { default: [] }) }),
    output: s.unknown()
  })
  const handle = await openTestKernel({
    plugins: [
      definePlugin({
        name: 'demo',
        operations: [store],
        activate: ctx => ctx.implement(store, ({ value, list }) => ({ value, list }))
      })
    ]
  })
  t.teardown(() => handle.close())
  const invoke = (input: unknown): Promise<unknown> =>
    handle.kernel.invoke('demo.store', input, { ...caller, surface: 'internal' })
  const bytes = new Uint8Array(8)
  const list = [{}]
  const output = (await invoke({ value: bytes, list })) as { value: Uint8Array; list: unknown }
  t.equal(output.value, bytes)
  t.same(output.list, [{ n: 1 }])
  t.same(list, [{}], 'the caller’s object is unchanged')
  const loop: { self?: unknown } = {}
  loop.self = loop
  await t.rejects(invoke({ value: loop }), { code: 'OPR_INPUT_INVALID', message: /nested/ })
})

t.test('a huge invalid input is rejected with a short message', async t => {
  const list = defineOperation({
    id: 'demo.list',
    summary: 'x',
    input: s.object({ items: s.array(s.object({ n: s.integer() })) }),
    output: s.object({})
  })
  const handle = await openTestKernel({
    plugins: [definePlugin({ name: 'demo', operations: [list], activate: ctx => ctx.implement(list, () => ({})) })]
  })
  t.teardown(() => handle.close())
  const items = Array.from({ length: 3_000_000 }, () => ({}))
  const error = (await handle.kernel.invoke('demo.list', { items }, caller).catch(caught => caught)) as SvcError
  t.equal(error.code, 'OPR_INPUT_INVALID')
  t.ok(error.message.length < 2_000, error.message.slice(0, 200))
  t.ok((error.data as unknown[]).length <= 20)
})

t.test('a probe that hangs does not keep an operation disabled forever', async t => {
  let now = 1_000
  t.intercept(Date, 'now', { value: () => now })
  let hang = false
  const end = gate()
  const { invoke, breaker } = await serve(
    t,
    async () => {
      if (hang) await end.passed
      throw new Error('broken')
    },
    { timeoutMs: 0 }
  )
  for (let fault = 0; fault < 5; fault++) await t.rejects(invoke(), { code: 'OPR_FAILED' })
  t.ok(breaker.open)
  hang = true
  now += 10_001
  const probe = invoke().catch(() => {})
  await t.rejects(invoke(), { code: 'OPR_UNAVAILABLE' })
  hang = false
  now += 10_001
  await t.rejects(invoke(), { code: 'OPR_FAILED' }, 'the next probe is admitted')
  end.open()
  await probe
})

t.test('a call with invalid input does not count as a probe', async t => {
  let now = 1_000
  t.intercept(Date, 'now', { value: () => now })
  const done = gate()
  let fail = true
  const { kernel, invoke, breaker } = await serve(t, async () => {
    if (fail) throw new Error('broken')
    await done.passed
    return {}
  })
  for (let fault = 0; fault < 5; fault++) await t.rejects(invoke(), { code: 'OPR_FAILED' })
  fail = false
  now += 10_001
  const probe = invoke()
  await t.rejects(kernel.invoke('demo.work', { nonsense: 1 }, caller), { code: 'OPR_INPUT_INVALID' })
  await t.rejects(invoke(), { code: 'OPR_UNAVAILABLE' }, 'the admitted probe is still running')
  done.open()
  await probe
  t.notOk(breaker.open)
})

t.test('a handler may return a thenable; an error in its `then` is a fault', async t => {
  const thenable = (then: PropertyDescriptor): object => Object.defineProperty({}, 'then', then)
  const broken = (why: string) => (): never => {
    throw new Error(why)
  }
  const answers: unknown[] = [
    thenable({ value: (resolve: (value: unknown) => void) => resolve({}) }),
    thenable({ get: broken('no then') }),
    thenable({ value: broken('broken then') })
  ]
  const { invoke } = await serve(t, () => answers.shift() as never)
  t.same(await invoke(), {})
  await t.rejects(invoke(), { code: 'OPR_FAILED', cause: { message: 'no then' } })
  await t.rejects(invoke(), { code: 'OPR_FAILED', cause: { message: 'broken then' } })
})

t.test('a slot is released after each kind of end', async t => {
  const ends: (() => unknown)[] = [
    () => {
      throw new Error('at once')
    },
    () => Promise.reject(new Error('later')),
    () => 'invalid' as never,
    () => Promise.resolve('invalid' as never),
    () => new Promise(() => {}),
    () => ({})
  ]
  const codes: string[] = []
  const { invoke } = await serve(t, () => ends.shift()?.() as never, { concurrency: 1 })
  for (let call = 0; call < 6; call++)
    await invoke({ timeoutMs: call === 4 ? 5 : 60_000 }).then(
      () => codes.push('done'),
      (error: SvcError) => codes.push(error.code)
    )
  // The fifth fault opens the breaker, which rejects the last call.
  t.same(codes, [
    'OPR_FAILED',
    'OPR_FAILED',
    'OPR_OUTPUT_INVALID',
    'OPR_OUTPUT_INVALID',
    'OPR_TIMEOUT',
    'OPR_UNAVAILABLE'
  ])
})

t.test('ids, deadline and signal of a call are the same on each read', async t => {
  const { invoke } = await serve(t, (_, call) => {
    t.match(call.traceId, /^[0-9a-f]{32}$/)
    t.match(call.requestId, /^[0-9a-f]{12}$/)
    for (const key of ['traceId', 'requestId', 'deadline', 'signal', 'log'] as const) t.equal(call[key], call[key], key)
    t.equal(call.surface, 'http')
    t.equal(call.principal.id, 'someone')
    t.notOk(call.signal.aborted)
    return {}
  })
  await invoke()
})

t.test('the deadline is wall-clock time and counts from the arrival of the request', async t => {
  const deadlines: number[] = []
  const { invoke } = await serve(
    t,
    (_, call) => {
      deadlines.push(call.deadline)
      return {}
    },
    { timeoutMs: 60_000 }
  )
  const before = Date.now()
  await invoke()
  await invoke({ since: performance.now() - 20_000 })
  await invoke({ timeoutMs: 10_000 })
  await invoke({ timeoutMs: 600_000 })
  const late = Date.now() - before + 5
  for (const [index, ms] of [60_000, 40_000, 10_000, 60_000].entries()) {
    const left = (deadlines[index] as number) - before
    t.ok(left >= ms - 5 && left <= ms + late, `${left} ms for ${ms}`)
  }
})

t.test('a timeout of 0, NaN or a negative number means no deadline', async t => {
  const deadlines: number[] = []
  const { invoke } = await serve(
    t,
    (_, call) => {
      deadlines.push(call.deadline)
      return {}
    },
    { timeoutMs: 0 }
  )
  for (const timeoutMs of [0, -1, Number.NaN, Infinity]) await invoke({ timeoutMs })
  t.same(deadlines, [Infinity, Infinity, Infinity, Infinity])
})

t.test('a surface may report a disconnected caller by `cancelled` instead of a signal', async t => {
  let ran = 0
  const { kernel, breaker } = await serve(t, async () => {
    ran += 1
    throw new Error('it was in the way')
  })
  let cancelled = true
  const call: Invocation = {
    ...caller,
    get cancelled() {
      return cancelled
    }
  }
  await t.rejects(kernel.invoke('demo.work', {}, call), { code: 'OPR_CANCELLED', status: 499 })
  t.equal(ran, 0)
  for (let fault = 0; fault < 6; fault++) {
    cancelled = false
    const pending = kernel.invoke('demo.work', {}, call)
    cancelled = true
    await t.rejects(pending, { code: 'OPR_CANCELLED', message: 'demo.work was cancelled by its caller' })
  }
  t.equal(ran, 6)
  t.notOk(breaker.open, 'an error after a cancellation is no fault of the plugin')
})

t.test('a signal that is first read after the end is aborted', async t => {
  let kept: Call<any, any> | undefined
  const { invoke } = await serve(t, (_, call) => {
    kept = call as Call<any, any>
    return {}
  })
  await invoke()
  t.ok(kept?.signal.aborted)
  t.match(kept?.signal.reason, { code: 'OPR_CANCELLED', message: 'demo.work has already ended' })
})

t.test('events and progress reach the caller in order, and only while the call runs', async t => {
  const seen: unknown[] = []
  let kept: Call<any, any> | undefined
  const { invoke } = await serve(t, async (_, given) => {
    kept = given as Call<any, any>
    kept.emit('one')
    await turn()
    kept.progress(1, 3, 'third')
    kept.progress(2)
    return {}
  })
  await invoke({ onEvent: event => seen.push(event), onProgress: (...steps) => seen.push(steps) })
  kept?.emit('late')
  kept?.progress(3)
  t.same(seen, ['one', [1, 3, 'third'], [2, undefined, undefined]])
  await invoke()
})

import { setImmediate as turn } from 'node:timers/promises'
import { type Hook, isSvcError, SvcError } from '@svc/plugin-sdk'
import fc from 'fast-check'
import t from 'tap'
import { HookSet, type OwnedTap } from '#core'

/** Behaviour of a tap. */
interface Behaviour {
  readonly order: number
  /** `late`: after a turn of the event loop; `promised`: as a settled promise. */
  readonly when: 'now' | 'promised' | 'late'
  readonly does: 'nothing' | 'returns' | 'breaks' | 'refuses' | 'throws undefined'
  /** Topic in the filter of the tap; null: no filter. */
  readonly topic: 'a' | 'b' | null
}

/** First argument of the hook of a case. */
interface Payload {
  readonly topic: 'a' | 'b'
  /** Taps that returned this payload, in order. */
  readonly by: readonly number[]
}

interface Case {
  readonly mode: Hook['mode']
  readonly onError: Hook['onError']
  readonly topic: 'a' | 'b'
  readonly taps: readonly Behaviour[]
}

/** Result of a trigger, with the taps that were called. */
interface Outcome {
  /** Numbers of the taps that were called, in order. */
  readonly called: readonly number[]
  /** Result of the trigger, or null if it failed. */
  readonly result: { readonly value: unknown } | null
  /** Number of the tap whose error the trigger threw. */
  readonly failedBy: number | null
  /** Numbers of the taps whose error was reported. */
  readonly reported: readonly number[]
}

const behaviours: fc.Arbitrary<Behaviour> = fc.record({
  order: fc.integer({ min: -1, max: 1 }),
  when: fc.constantFrom('now', 'promised', 'late'),
  does: fc.constantFrom('nothing', 'nothing', 'returns', 'returns', 'breaks', 'refuses', 'throws undefined'),
  topic: fc.constantFrom(null, null, 'a', 'b')
})

const casesOf = (...modes: Hook['mode'][]): fc.Arbitrary<Case> =>
  fc.record({
    mode: fc.constantFrom(...modes),
    onError: fc.constantFrom('fail', 'skip'),
    topic: fc.constantFrom('a', 'b'),
    taps: fc.array(behaviours, { minLength: 1, maxLength: 6 })
  })

/** Returns the error of tap `index`, which identifies the tap. */
function failureOf({ does }: Behaviour, index: number): unknown {
  if (does === 'throws undefined') return undefined
  const message = `tap ${index}`
  return does === 'refuses' ? new SvcError('X_REFUSED', message, { status: 403 }) : new Error(message)
}

const fails = ({ does }: Behaviour): boolean => does !== 'nothing' && does !== 'returns'

/** Returns a changed payload with another topic, which affects later filters. */
function answerOf(payload: Payload, index: number): Payload {
  return { topic: index % 2 === 0 ? 'b' : 'a', by: [...payload.by, index] }
}

/** Runs a case with real hooks. `unit` counts the running taps. */
async function runCase({ mode, onError, topic, taps }: Case): Promise<Outcome & { readonly inFlight: number }> {
  const called: number[] = []
  const reported: number[] = []
  const unit = { inFlight: 0, enter: () => void unit.inFlight++, exit: () => void unit.inFlight-- }
  const errors = taps.map(failureOf)
  const act = (index: number, payload: Payload): Payload | undefined => {
    const behaviour = taps[index] as Behaviour
    if (fails(behaviour)) throw errors[index]
    return behaviour.does === 'returns' ? answerOf(payload, index) : undefined
  }
  const owned = taps.map((behaviour, index): OwnedTap => {
    const run = (payload: Payload): unknown => {
      called.push(index)
      if (behaviour.when === 'now') return act(index, payload)
      return (async () => {
        if (behaviour.when === 'late') await turn()
        return act(index, payload)
      })()
    }
    const filter = behaviour.topic === null ? {} : { filter: { topic: behaviour.topic } }
    return {
      hook: { id: 'x', mode, onError },
      plugin: `${index}`,
      tap: run as never,
      options: { order: behaviour.order, ...filter },
      unit
    }
  })
  const report = (plugin: string): void => void reported.push(Number(plugin))
  const hooks = new HookSet(owned, new Map(), { report, timeoutMs: 0 })
  let outcome: Pick<Outcome, 'result' | 'failedBy'>
  try {
    outcome = { result: { value: await hooks.trigger('x', [{ topic, by: [] }]) }, failedBy: null }
  } catch (caught) {
    // Other errors than refusals are the cause of an error that names the tap.
    const error = isSvcError(caught, 'OPR_FAILED') ? caught.cause : caught
    // A tap that threw undefined is identified by the order of the calls.
    const at = error === undefined ? called.findLast(index => taps[index]?.does === 'throws undefined') : undefined
    outcome = { result: null, failedBy: at ?? errors.indexOf(error) }
  }
  // Waits for parallel taps that still run after the failure.
  await turn()
  await turn()
  return { called, reported, ...outcome, inFlight: unit.inFlight }
}

/** Returns the documented outcome for sequential taps. */
function expectedOf({ mode, onError, topic, taps }: Case): Outcome {
  const called: number[] = []
  const reported: number[] = []
  let payload: Payload = { topic, by: [] }
  const ordered = taps.map((_, index) => index).toSorted((a, b) => (taps[a]?.order ?? 0) - (taps[b]?.order ?? 0))
  for (const index of ordered) {
    const behaviour = taps[index] as Behaviour
    if (behaviour.topic !== null && behaviour.topic !== payload.topic) continue
    called.push(index)
    if (fails(behaviour)) {
      const isRefusal = behaviour.does === 'refuses'
      if (onError === 'skip' || !isRefusal) reported.push(index)
      if (onError === 'fail') return { called, reported, result: null, failedBy: index }
    } else if (behaviour.does === 'returns' && mode === 'bail')
      return { called, reported, result: { value: answerOf(payload, index) }, failedBy: null }
    else if (behaviour.does === 'returns' && mode === 'waterfall') payload = answerOf(payload, index)
  }
  return { called, reported, result: { value: mode === 'waterfall' ? payload : undefined }, failedBy: null }
}

t.test('sequential taps behave as documented for any outcome of each tap', async t => {
  await fc.assert(
    fc.asyncProperty(casesOf('series', 'bail', 'waterfall'), async given => {
      const { inFlight, ...outcome } = await runCase(given)
      t.strictSame(outcome, expectedOf(given))
      t.equal(inFlight, 0)
    }),
    { numRuns: 300 }
  )
})

t.test('all parallel taps are called even if one fails synchronously', async t => {
  await fc.assert(
    fc.asyncProperty(casesOf('parallel'), async given => {
      const { inFlight, called, reported, result, failedBy } = await runCase(given)
      const wanted = given.taps.flatMap(({ topic }, index) => (topic === null || topic === given.topic ? [index] : []))
      t.same(new Set(called), new Set(wanted))
      const failing = wanted.filter(index => fails(given.taps[index] as Behaviour))
      if (given.onError === 'fail' && failing.length > 0) {
        t.equal(result, null)
        t.ok(failing.includes(failedBy as number))
      } else t.same(result, { value: undefined })
      const isReported = (index: number): boolean => given.onError === 'skip' || given.taps[index]?.does !== 'refuses'
      t.same(new Set(reported), new Set(failing.filter(isReported)))
      t.equal(inFlight, 0)
    }),
    { numRuns: 300 }
  )
})

t.test('a synchronous error rejects the promise of the trigger', async t => {
  const run = (): never => {
    throw new Error('at once')
  }
  const unit = { enter: () => {}, exit: () => {} }
  for (const mode of ['series', 'parallel', 'waterfall', 'bail'] as const) {
    const owned: OwnedTap = { hook: { id: 'x', mode, onError: 'fail' }, plugin: 'p', tap: run, options: {}, unit }
    const hooks = new HookSet([owned], new Map(), { report: () => {}, timeoutMs: 0 })
    await t.rejects(hooks.trigger('x', [{}]) as Promise<unknown>, { cause: { message: 'at once' } }, mode)
  }
})

t.test('a thenable of another library is awaited, and its rejection fails the trigger', async t => {
  const unit = { enter: () => {}, exit: () => {} }
  const tapOf = (then: (resolve: (value: unknown) => void, reject: (error: unknown) => void) => void): HookSet => {
    const tap = (() => ({ then })) as never
    const owned: OwnedTap = { hook: { id: 'x', mode: 'bail', onError: 'fail' }, plugin: 'p', tap, options: {}, unit }
    return new HookSet([owned], new Map(), { report: () => {}, timeoutMs: 0 })
  }
  t.equal(await tapOf(resolve => resolve('now')).trigger('x', [{}]), 'now')
  t.equal(await tapOf(resolve => setImmediate(resolve, 'late')).trigger('x', [{}]), 'late')
  const refused = tapOf((_, reject) => setImmediate(reject, new Error('late'))).trigger('x', [{}])
  await t.rejects(refused as Promise<unknown>, { cause: { message: 'late' } })
})

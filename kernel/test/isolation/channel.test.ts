import { MessageChannel } from 'node:worker_threads'
import { isSvcError, SvcError } from '@svc/plugin-sdk'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { Channel, decodeError, type Exchange, encodeError, type Handlers, Watchdog } from '#isolation'

type Any = Readonly<Record<string, readonly [any, any]>>

/** Creates two connected channels; the second has handlers. */
function pair(t: Test, handlers: Handlers<Any>) {
  const { port1, port2 } = new MessageChannel()
  t.teardown(() => port1.close())
  const end = (port: typeof port1, given: Handlers<Any>) =>
    new Channel<Any, Any>('demo', { post: m => port.postMessage(m), onMessage: l => void port.on('message', l) }, given)
  return { near: end(port1, {}), far: end(port2, handlers) }
}

t.test('close rejects pending and later requests, and aborts running handlers', async t => {
  let exchange: Exchange | undefined
  const { near, far } = pair(t, {
    hang: (_, given) => {
      exchange = given
      return new Promise(() => {})
    },
    echo: value => value
  })
  const hanging = near.request('hang', 1)
  t.equal(await near.request('echo', 'later'), 'later')
  const gone = new Error('gone')
  near.close(gone)
  await t.rejects(hanging, gone)
  await t.rejects(near.request('echo', 2), gone)
  near.notify('echo', 3)
  far.close(gone)
  t.equal(exchange?.signal.aborted, true)
  t.equal(exchange?.signal.reason, gone)
})

t.test('a request without handler is rejected', async t => {
  const { near } = pair(t, {})
  await t.rejects(near.request('nothing', null), { message: /no handler for the request nothing/ })
})

t.test('a request that cannot be cloned throws in the sender', async t => {
  const { near } = pair(t, { echo: value => value })
  await t.rejects(
    near.request('echo', () => {}),
    { code: 'KRN_NOT_REMOTABLE', plugin: 'demo', message: /demo: the data of echo cannot be sent/ }
  )
  t.throws(() => near.notify('echo', Symbol('x')), { code: 'KRN_NOT_REMOTABLE' })
  t.equal(await near.request('echo', 1), 1)
})

t.test('for any error: it arrives with all its fields', async t => {
  const text = fc.string()
  const errors = fc.record({
    code: fc.option(fc.stringMatching(/^[A-Z]{3}_[A-Z]+$/), { nil: undefined }),
    message: text,
    status: fc.integer({ min: 400, max: 599 }),
    hint: fc.option(text, { nil: undefined }),
    data: fc.jsonValue(),
    cause: fc.option(text, { nil: undefined })
  })
  fc.assert(
    fc.property(errors, ({ code, message, status, hint, data, cause }) => {
      const inner = cause === undefined ? {} : { cause: new TypeError(cause) }
      const error =
        code === undefined
          ? new RangeError(message, inner)
          : new SvcError(code, message, { status, data, ...inner, ...(hint === undefined ? {} : { hint }) })
      const back = decodeError(structuredClone(encodeError(error)))
      const facts = (of: Error) => [of.name, of.message, of.stack, (of.cause as Error | undefined)?.message]
      t.same(facts(back), facts(error))
      if (isSvcError(error)) {
        const known = (of: SvcError) => [of.code, of.status, of.hint, of.data]
        t.ok(isSvcError(back))
        t.same(known(back as SvcError), known(error))
      }
    }),
    { numRuns: 50 }
  )
})

t.test('error data that cannot be cloned is described, and cyclic causes are cut', async t => {
  const error = new SvcError('DEMO_ODD', 'odd', { data: { run: () => {} } })
  error.cause = error
  const encoded = structuredClone(encodeError(error))
  t.match(encoded.data, /run.*Function/)
  t.ok(decodeError(encoded))
})

t.test('the watchdog reports only a missing reply', async t => {
  const silences: number[] = []
  const quiet = new Watchdog(
    () => new Promise(() => {}),
    milliseconds => void silences.push(milliseconds)
  )
  quiet.expect(60_000)
  await new Promise<void>(resolve => {
    const live = new Watchdog(
      () => Promise.resolve(),
      () => t.fail('the watchdog reported although there was a reply')
    )
    live.expect(1)
    t.teardown(() => live.stop())
    quiet.expect(5)
    const look = setInterval(() => {
      if (silences.length === 0) return
      clearInterval(look)
      resolve()
    }, 1)
  })
  t.same(silences, [5], 'the shorter of two limits applies')
})

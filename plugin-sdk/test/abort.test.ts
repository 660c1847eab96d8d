import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { LinkedSignal, limitedSignal, raceAbort, settlesWithin, waitForAbort, withTimeout } from '@svc/plugin-sdk'
import t from 'tap'

const never = (): Promise<never> => new Promise(() => {})

/** Creates an abort controller and counts the listeners of its signal. */
function countedSignal(): { controller: AbortController; listeners: () => number } {
  const controller = new AbortController()
  const { signal } = controller
  const held = new Set<unknown>()
  const add = signal.addEventListener.bind(signal)
  const remove = signal.removeEventListener.bind(signal)
  signal.addEventListener = (...args: Parameters<typeof add>) => {
    held.add(args[1])
    add(...args)
  }
  signal.removeEventListener = (...args: Parameters<typeof remove>) => {
    held.delete(args[1])
    remove(...args)
  }
  return { controller, listeners: () => held.size }
}

t.test('raceAbort returns the result and removes its listener', async t => {
  const { controller, listeners } = countedSignal()
  t.equal(await raceAbort(controller.signal, Promise.resolve(7)), 7)
  await t.rejects(raceAbort(controller.signal, Promise.reject(new Error('work'))), { message: 'work' })
  t.equal(await raceAbort(undefined, Promise.resolve(8)), 8, 'without a signal it waits for the work')
  t.equal(listeners(), 0)
})

t.test('raceAbort rejects with the reason and ignores a late rejection', async t => {
  const { controller, listeners } = countedSignal()
  let fail: (error: Error) => void = () => {}
  const work = new Promise<never>((_, reject) => {
    fail = reject
  })
  const raced = raceAbort(controller.signal, work)
  controller.abort(new Error('enough'))
  await t.rejects(raced, { message: 'enough' })
  t.equal(listeners(), 0)
  fail(new Error('late'))
  await new Promise(setImmediate)
  await t.rejects(raceAbort(controller.signal, Promise.reject(new Error('late'))), { message: 'enough' })
})

t.test('waitForAbort resolves on abort, and immediately for an aborted signal', async t => {
  const controller = new AbortController()
  const waiting = waitForAbort(controller.signal)
  controller.abort()
  t.equal(await waiting, undefined)
  t.equal(await waitForAbort(controller.signal), undefined)
})

t.test('withTimeout aborts the work at the limit and rejects even if the work ignores it', async t => {
  let aborted: AbortSignal | undefined
  const late = withTimeout(1, signal => {
    aborted = signal
    return never()
  })
  await t.rejects(late, { name: 'TimeoutError', message: 'no result within 1 ms' })
  t.equal(aborted?.aborted, true)
  await t.rejects(withTimeout(1, never, { error: () => new Error('the page took longer than 1 ms') }), {
    message: 'the page took longer than 1 ms'
  })
})

t.test('withTimeout forwards the result, the error and the abort of the caller', async t => {
  const { controller, listeners } = countedSignal()
  const { signal } = controller
  t.equal(await withTimeout(60_000, async () => 3, { signal }), 3)
  await t.rejects(
    withTimeout(60_000, () => Promise.reject(new Error('work')), { signal }),
    { message: 'work' }
  )
  const waiting = withTimeout(2 ** 40, never, { signal })
  controller.abort(new Error('caller'))
  await t.rejects(waiting, { message: 'caller' })
  await t.rejects(
    withTimeout(60_000, async () => t.fail('the work began'), { signal }),
    { message: 'caller' }
  )
  t.equal(listeners(), 0)
})

t.test('settlesWithin returns whether a promise settled before the limit and the abort', async t => {
  const { controller, listeners } = countedSignal()
  const { signal } = controller
  t.equal(await settlesWithin(60_000, Promise.resolve(), signal), true)
  t.equal(await settlesWithin(1, never(), signal), false)
  await t.rejects(settlesWithin(60_000, Promise.reject(new Error('work')), signal), { message: 'work' })
  const waiting = settlesWithin(60_000, never(), signal)
  controller.abort()
  t.equal(await waiting, false)
  t.equal(await settlesWithin(60_000, never(), signal), false)
  t.equal(listeners(), 0)
})

t.test('a linked signal is aborted by the first of its sources and time limits, with its reason', async t => {
  const [first, second] = [countedSignal(), countedSignal()]
  const linked = new LinkedSignal().with(first.controller.signal).with(second.controller.signal)
  t.notOk(linked.signal.aborted)
  second.controller.abort('second')
  first.controller.abort('first')
  t.equal(linked.signal.reason, 'second')
  t.equal(new LinkedSignal().with(first.controller.signal).signal.reason, 'first', 'a source that is already aborted')
  const late = new LinkedSignal().after(1, () => 'late')
  await waitForAbort(late.signal)
  t.equal(late.signal.reason, 'late')
})

t.test('a closed linked signal leaves nothing in its sources, and is no longer aborted by them', t => {
  const { controller, listeners } = countedSignal()
  const linked = new LinkedSignal().with(controller.signal).after(2 ** 40, () => 'late')
  t.equal(listeners(), 1)
  linked.close()
  t.equal(listeners(), 0)
  controller.abort()
  t.notOk(linked.signal.aborted)
  t.end()
})

t.test('limitedSignal aborts with its signal, and at its limit although nothing else refers to it', async t => {
  const controller = new AbortController()
  const stopped = limitedSignal(controller.signal, 60_000)
  controller.abort(new Error('stop'))
  t.match(stopped.reason, { message: 'stop' })
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const begin = (): Promise<void> => waitForAbort(limitedSignal(new AbortController().signal, 50))
  const late = begin()
  // The timer of the limit does not keep the process alive.
  const alive = setInterval(() => {}, 10)
  t.teardown(() => clearInterval(alive))
  // A turn, since references of the current one are not freed.
  await new Promise(setImmediate)
  collect()
  await late
})

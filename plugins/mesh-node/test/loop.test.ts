import { getEventListeners } from 'node:events'
import { signalEntries } from '@svc/plugin-sdk/testing'
import fc from 'fast-check'
import t from 'tap'
import { Loop, MAX_BACKOFF_MS, pauseMs } from '#root'

const lines: { readonly level: string; readonly message: string }[] = []
const log = Object.fromEntries(
  (['debug', 'info', 'warn', 'error'] as const).map(level => [
    level,
    (message: string) => void lines.push({ level, message })
  ])
) as Record<'debug' | 'info' | 'warn' | 'error', (message: string) => void>

t.test(
  'a pause is within ten percent of the interval, and grows with failures up to 30 s or the interval',
  async () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 300_000 }),
        fc.nat(40),
        fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
        (intervalMs, failures, random) => {
          const pause = pauseMs(intervalMs, failures, random)
          const base = Math.max(intervalMs, Math.min(MAX_BACKOFF_MS, intervalMs * 2 ** Math.min(failures, 16)))
          return pause >= base * 0.9 - 1e-6 && pause <= base * 1.1 + 1e-6
        }
      )
    )
  }
)

t.test('a loop repeats a failing step, logs the first failure and the recovery, and ends with its signal', async t => {
  lines.length = 0
  const controller = new AbortController()
  let runs = 0
  const loop = new Loop({ label: 'test', intervalMs: 1, log }, async () => {
    runs += 1
    if (runs <= 3) throw new Error('no')
    if (runs === 5) controller.abort()
    return 'pause'
  })
  await loop.run(controller.signal)
  t.equal(runs, 5)
  t.same(
    lines.map(({ level, message }) => `${level} ${message}`),
    [
      'warn test: failed; it is repeated',
      'debug test: failed again',
      'debug test: failed again',
      'info test: works again'
    ]
  )
})

t.test('a loop skips its pause if the step expects more work, or if it is woken', async t => {
  const controller = new AbortController()
  let runs = 0
  const loop = new Loop({ label: 'test', intervalMs: 3_600_000, log }, async () => {
    runs += 1
    if (runs === 1) return 'again'
    if (runs === 2) {
      setImmediate(() => loop.wake())
      return 'pause'
    }
    controller.abort()
    return 'pause'
  })
  await loop.run(controller.signal)
  t.equal(runs, 3)
})

t.test('the pauses of a loop leave nothing in its signal', async t => {
  const node = new AbortController()
  const membership = new AbortController()
  const signal = AbortSignal.any([node.signal, membership.signal])
  const before = signalEntries(node.signal)
  let runs = 0
  const loop = new Loop({ label: 'test', intervalMs: 1, log }, async () => {
    runs += 1
    if (runs === 50) {
      t.equal(signalEntries(node.signal), before)
      t.equal(signalEntries(membership.signal), before)
      t.equal(getEventListeners(signal, 'abort').length, 0)
      node.abort()
    }
    return 'pause'
  })
  await loop.run(signal)
  t.equal(runs, 50)
})

import fc from 'fast-check'
import t from 'tap'
import { Batches, chooseBatch } from '#embedding'

const MAX_TOKENS = 2_048
const MAX_PADDING = 0.2
const textOf = (length: number, first = 0) => ({
  tokens: Array.from({ length }, (_, at) => first + at),
  types: []
})

t.test('a batch contains the oldest text, and exceeds no limit unless it is one text', async _t => {
  const length = fc.integer({ min: 1, max: 3_000 })
  fc.assert(
    fc.property(fc.array(length, { minLength: 1, maxLength: 60 }), fc.infiniteStream(fc.nat()), (lengths, order) => {
      const sorted = [...lengths].sort((a, b) => b - a)
      const texts = sorted.map(each => ({ length: each, number: order.next().value as number }))
      const { start, count } = chooseBatch(texts)
      const batch = texts.slice(start, start + count)
      const oldest = Math.min(...texts.map(({ number }) => number))
      const size = Math.max(...batch.map(each => each.length)) * batch.length
      const padding = size - batch.reduce((sum, each) => sum + each.length, 0)
      return (
        batch.some(({ number }) => number === oldest) &&
        (batch.length === 1 || (size <= MAX_TOKENS && padding <= size * MAX_PADDING))
      )
    })
  )
})

t.test('every text gets its row, whatever the callers, lengths and runs', async _t => {
  const calls = fc.array(fc.array(fc.integer({ min: 1, max: 400 }), { maxLength: 20 }), { maxLength: 8 })
  await fc.assert(
    fc.asyncProperty(calls, async lengths => {
      let running = 0
      const batches = new Batches(async texts => {
        running++
        if (running > 1) throw new Error('two runs at a time')
        await Promise.resolve()
        running--
        return texts.map(({ tokens }) => Float32Array.of(tokens.length, tokens[0] as number))
      })
      const rows = await Promise.all(
        lengths.map((call, caller) => batches.compute(call.map(length => textOf(length, caller * 1000))))
      )
      await batches.close()
      return lengths.every((call, caller) =>
        call.every((length, at) => rows[caller]?.[at]?.[0] === length && rows[caller]?.[at]?.[1] === caller * 1000)
      )
    }),
    { numRuns: 50 }
  )
})

t.test('an aborted call drops its waiting texts, and other calls go on', async t => {
  const controller = new AbortController()
  const reason = new Error('the caller left')
  const computed: number[] = []
  let finish: () => void = () => undefined
  const batches = new Batches(async texts => {
    computed.push(...texts.map(({ tokens }) => tokens.length))
    await new Promise<void>(resolve => {
      finish = resolve
    })
    return texts.map(() => Float32Array.of(1))
  })
  const first = batches.compute([textOf(100)])
  while (computed.length < 1) await new Promise(setImmediate)
  const aborted = batches.compute([textOf(2_000), textOf(1_900)], controller.signal)
  const other = batches.compute([textOf(10)])
  controller.abort(reason)
  await t.rejects(aborted, reason)
  finish()
  await first
  while (computed.length < 2) await new Promise(setImmediate)
  finish()
  await other
  t.same(computed, [100, 10])
  await t.rejects(batches.compute([textOf(1)], controller.signal), reason)
})

t.test('a failed run fails only its texts, and close rejects waiting ones after the current run', async t => {
  let calls = 0
  let finish: () => void = () => undefined
  const batches = new Batches(async texts => {
    calls++
    if (calls === 1) throw new Error('the run failed')
    await new Promise<void>(resolve => {
      finish = resolve
    })
    return texts.map(() => Float32Array.of(1))
  })
  await t.rejects(batches.compute([textOf(3)]), /the run failed/)
  const running = batches.compute([textOf(3)])
  while (calls < 2) await new Promise(setImmediate)
  const waiting = batches.compute([textOf(3)])
  const closed = batches.close()
  await t.rejects(waiting, { code: 'INF_MODEL_CLOSED' })
  finish()
  t.equal((await running).length, 1)
  await closed
  await t.rejects(batches.compute([textOf(3)]), { code: 'INF_MODEL_CLOSED' })
})

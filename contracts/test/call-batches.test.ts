import { CallBatches } from '@svc/contracts'
import fc from 'fast-check'
import t from 'tap'

/** Resolves in a later turn of the event loop. */
const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

t.test('joins the calls of one turn, and returns each its own results in order', async t => {
  const batches: (readonly number[])[] = []
  const calls = new CallBatches<number, number>({
    maxWeight: 100,
    run: async items => {
      batches.push(items)
      return items.map(item => item * 10)
    }
  })
  t.same(await Promise.all([calls.call([1, 2]), calls.call([]), calls.call([3])]), [[10, 20], [], [30]])
  t.same(batches, [[1, 2, 3]])
})

t.test('runs two batches at a time, and the calls that arrive meanwhile as the next one', async t => {
  const batches: (readonly number[])[] = []
  const ends: (() => void)[] = []
  const calls = new CallBatches<number, number>({
    maxWeight: 100,
    run: async items => {
      batches.push(items)
      await new Promise<void>(resolve => ends.push(resolve))
      return items
    }
  })
  const results: Promise<readonly number[]>[] = []
  for (const item of [1, 2, 3, 4]) {
    results.push(calls.call([item]))
    await turn()
    await turn()
  }
  t.same(batches, [[1], [2]])
  ends[0]?.()
  await results[0]
  await turn()
  await turn()
  t.same(batches, [[1], [2], [3, 4]])
  for (const end of ends) end()
  t.same(await Promise.all(results), [[1], [2], [3], [4]])
})

t.test('one call does not fail the others of its batch, if the batch had no effect', async t => {
  const runs: (readonly number[])[] = []
  const open = (hadNoEffect: boolean): CallBatches<number, number> =>
    new CallBatches({
      maxWeight: 100,
      hadNoEffect: () => hadNoEffect,
      run: async items => {
        runs.push(items)
        if (items.includes(2)) throw new Error('refused')
        return items
      }
    })
  const outcomes = async (calls: CallBatches<number, number>): Promise<string[]> =>
    (await Promise.allSettled([calls.call([1]), calls.call([2, 4]), calls.call([3])])).map(({ status }) => status)
  t.same(await outcomes(open(true)), ['fulfilled', 'rejected', 'fulfilled'])
  t.same(runs, [[1, 2, 4, 3], [1], [2, 4], [3]])
  t.same(
    await outcomes(open(false)),
    ['rejected', 'rejected', 'rejected'],
    'nothing is repeated whose effect is unknown'
  )
  t.equal(runs.length, 5)
})

t.test('never divides a call, keeps the weight of a batch, and answers every call', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(fc.integer({ min: 1, max: 8 }), { minLength: 1, maxLength: 5 }), { maxLength: 40 }),
      async given => {
        const calls = new CallBatches<number, number>({
          maxWeight: 10,
          weigh: item => item,
          run: async items => {
            const weight = items.reduce((sum, item) => sum + item, 0)
            const isOneCall = given.some(
              call => call.length === items.length && call.every((each, at) => each === items[at])
            )
            if (weight > 10 && !isOneCall) throw new Error(`a batch weighs ${weight}`)
            return items.map(item => -item)
          }
        })
        const results = await Promise.all(given.map(items => calls.call(items)))
        return results.every((result, at) => result.every((each, index) => each === -(given[at]?.[index] as number)))
      }
    )
  )
})

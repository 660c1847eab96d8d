import fc from 'fast-check'
import t from 'tap'
import { RowLog, rowLogState } from '#apps'

t.test('a reader that applies all answers has exactly the newest rows, however much it reads at once', t => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('record' as const), count: fc.integer({ min: 1, max: 12 }) }),
    fc.record({ kind: fc.constant('read' as const), limit: fc.integer({ min: 1, max: 9 }) })
  )
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 8 }), fc.array(step, { maxLength: 40 }), (capacity, steps) => {
      const log = new RowLog(rowLogState<{ readonly value: number }>(capacity))
      const all: number[] = []
      const seen = new Map<string, number>()
      let cursor: string | undefined
      const read = (limit: number): boolean => {
        const { upsert, remove, reset, more, cursor: next } = log.read(cursor, limit)
        if (reset) seen.clear()
        for (const id of remove) seen.delete(id)
        for (const { id, value } of upsert) seen.set(id, value)
        cursor = next
        return more
      }
      for (const each of steps) {
        if (each.kind === 'read') read(each.limit)
        else
          for (let left = each.count; left > 0; left--) {
            log.record({ value: all.length })
            all.push(all.length)
          }
      }
      while (read(3));
      read(3)
      t.same([...seen.values()], all.slice(-capacity))
    }),
    { numRuns: 300 }
  )
  t.end()
})

t.test('a cursor of another log begins again', t => {
  const log = new RowLog(rowLogState<{ readonly value: number }>(3))
  log.record({ value: 1 })
  for (const cursor of ['other.1', 'x', `${log.read().cursor.split('.')[0]}.99`, ''])
    t.match(log.read(cursor), { reset: true, upsert: [{ id: '0', value: 1 }] })
  t.end()
})

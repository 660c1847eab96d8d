import { assert, integer, property, record } from 'fast-check'
import t from 'tap'
import { blockCopies } from '#ort'

t.test('blocks cover each position to copy exactly once', async t => {
  const cases = record({
    heads: integer({ min: 1, max: 3 }),
    sourcePositions: integer({ min: 1, max: 1200 }),
    targetPositions: integer({ min: 1, max: 1200 }),
    from: integer({ min: 0, max: 2 }),
    to: integer({ min: 0, max: 2 }),
    start: integer({ min: 0, max: 1200 }),
    length: integer({ min: 0, max: 1200 }),
    aligned: integer({ min: 0, max: 3 })
  })
  const holds = property(cases, ({ aligned, from, to, start: first, length, ...geometry }) => {
    const unit = [1, 8, 64, 512][aligned] as number
    const sourcePositions = Math.ceil(geometry.sourcePositions / unit) * unit
    const targetPositions = Math.ceil(geometry.targetPositions / unit) * unit
    const limit = Math.min(sourcePositions, targetPositions)
    const start = Math.min(first, limit)
    const end = Math.min(start + length, limit)
    const { heads } = geometry
    const moved = new Map<number, number>()
    for (const { positions, sourceRows, targetRows } of blockCopies(
      { heads, sourcePositions, targetPositions },
      from,
      to,
      start,
      end
    )) {
      for (const [index, row] of targetRows.entries()) {
        for (let offset = 0; offset < positions; offset++) {
          const target = row * positions + offset
          if (moved.has(target)) return false
          moved.set(target, (sourceRows[index] as number) * positions + offset)
        }
      }
    }
    if (moved.size !== heads * (end - start)) return false
    for (let head = 0; head < heads; head++) {
      for (let position = start; position < end; position++) {
        const target = (to * heads + head) * targetPositions + position
        if (moved.get(target) !== (from * heads + head) * sourcePositions + position) return false
      }
    }
    return true
  })
  t.doesNotThrow(() => assert(holds))
})

t.test('long ranges are split into few blocks', async t => {
  const copies = blockCopies({ heads: 2, sourcePositions: 4096, targetPositions: 8192 }, 0, 0, 0, 4000)
  t.same(
    copies.map(({ positions, sourceRows }) => [positions, sourceRows.length]),
    [
      [512, 14],
      [64, 12],
      [8, 8]
    ]
  )
})

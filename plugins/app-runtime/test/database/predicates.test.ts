import fc from 'fast-check'
import t from 'tap'
import type { Value } from '#interpreter'
import { withTables } from './with-tables.ts'

const ROWS = [
  { a: 1, b: null, s: '' },
  { a: 1, b: 2, s: 'ab' },
  { a: 2, b: 1, s: 'B%' },
  { a: 3, b: 3, s: 'a_b' },
  { a: -1, b: null, s: "it's" }
] as const
type Row = (typeof ROWS)[number]

/** SQL's three truth values; null is unknown. */
type Truth = boolean | null

interface Condition {
  /** An object of `where`. */
  readonly text: string
  readonly holds: (row: Row) => Truth
}

const COMPARISONS: Record<string, (x: number, y: number) => boolean> = {
  eq: (x, y) => x === y,
  neq: (x, y) => x !== y,
  lt: (x, y) => x < y,
  lte: (x, y) => x <= y,
  gt: (x, y) => x > y,
  gte: (x, y) => x >= y
}

const not = (truth: Truth): Truth => (truth === null ? null : !truth)
const every = (all: readonly Truth[]): Truth => (all.includes(false) ? false : all.includes(null) ? null : true)
const some = (all: readonly Truth[]): Truth => (all.includes(true) ? true : all.includes(null) ? null : false)

const number = fc.integer({ min: -1, max: 4 })
const column = fc.constantFrom('a', 'b')

const comparison = fc
  .tuple(column, fc.constantFrom(...Object.keys(COMPARISONS)), number)
  .map(([of, operator, value]): Condition => {
    const compare = COMPARISONS[operator] as (x: number, y: number) => boolean
    return {
      text: `{ ${of}: { ${operator}: ${value} } }`,
      holds: row => {
        const found = row[of as 'a' | 'b']
        // NULL equals no value.
        return found === null ? (operator === 'eq' ? false : null) : compare(found, value)
      }
    }
  })
const among = fc.tuple(column, fc.array(number, { minLength: 1, maxLength: 3 }), fc.boolean()).map(
  ([of, values, isWritten]): Condition => ({
    text: `{ ${of}: { in: ${isWritten ? `[${values.join(', ')}]` : `list([${values.join(', ')}])`} } }`,
    holds: row => (row[of as 'a' | 'b'] === null ? null : values.includes(row[of as 'a' | 'b'] as number))
  })
)
const nullness = fc
  .boolean()
  .map((wanted): Condition => ({ text: `{ b: { is_null: ${wanted} } }`, holds: row => (row.b === null) === wanted }))
const contained = fc.constantFrom('a', 'b', '%', '_', "'", '', 'x').map(
  (part): Condition => ({
    text: `{ s: { contains: "${part}" } }`,
    holds: row => row.s.toLowerCase().includes(part)
  })
)

const { condition } = fc.letrec<{ condition: Condition }>(tie => ({
  condition: fc.oneof(
    { maxDepth: 3 },
    comparison,
    among,
    nullness,
    contained,
    tie('condition').map(({ text, holds }): Condition => ({ text: `{ not: ${text} }`, holds: row => not(holds(row)) })),
    fc.array(tie('condition'), { minLength: 1, maxLength: 3 }).map(
      (all): Condition => ({
        text: `{ and: [${all.map(each => each.text).join(', ')}] }`,
        holds: row => every(all.map(each => each.holds(row)))
      })
    ),
    fc.array(tie('condition'), { minLength: 1, maxLength: 3 }).map(
      (all): Condition => ({
        text: `{ or: [${all.map(each => each.text).join(', ')}] }`,
        holds: row => some(all.map(each => each.holds(row)))
      })
    ),
    // Two keys in one object are joined by And.
    fc.tuple(tie('condition'), comparison).map(
      ([one, two]): Condition => ({
        text: `{ not: ${one.text}, ${two.text.slice(1, -1).trim()} }`,
        holds: row => every([not(one.holds(row)), two.holds(row)])
      })
    )
  )
}))

const combined = fc.property(fc.array(condition, { minLength: 5, maxLength: 10 }), conditions => {
  const functions = conditions.map(({ text }, index) => {
    return `fn find${index}() to any { db.Row.where(${text}).order_by("_id").map(fn(row) row._id) }`
  })
  const { call, connection } = withTables(`
@table
type Row { a: int  b: Option[int]  s: str }
fn list(values: List[int]) to List[int] { values }
fn add(a: int, b: any, s: str) { db.Row.insert({ a: a, b: b, s: s }) }
${functions.join('\n')}`)
  for (const { a, b, s } of ROWS) call('add', a, b, s)
  for (const [index, { text, holds }] of conditions.entries()) {
    const expected = ROWS.flatMap((row, place) => (holds(row) === true ? [place + 1] : [])).join()
    const found = (call(`find${index}`) as readonly Value[]).join()
    if (found !== expected) throw new Error(`${text} found ${found}, expected ${expected}`)
  }
  connection.close()
})

t.test('any combination of conditions finds the matching rows', async t => {
  t.doesNotThrow(() => fc.assert(combined, { numRuns: 40 }))
})

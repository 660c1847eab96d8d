import fc from 'fast-check'
import t from 'tap'
import { Float, isRecord, type Value } from '#interpreter'
import { withTables } from './with-tables.ts'

const PROGRAM = `
@table
type Victim { name: str  note: Option[str]  tags: List[str]  letter: char  rate: float  whole: int }
@search_index Victim.words on (name, note)

fn add(name: str, note: str, tags: List[str]) to int {
    db.Victim.insert({ name: name, note: Some(note), tags: tags, letter: "x", rate: 0.5, whole: 1 })
}
fn one(id: int) to any { db.Victim.get(id) }
fn change(id: int, name: str) { db.Victim.update(id, { name: name, note: name, tags: [name] }) }
fn remove(id: int) { db.Victim.delete(id) }
fn everything() to any { db.Victim.all().order_by("_id") }

fn q_filter(v: str) to any { db.Victim.filter({ name: v }) }
fn q_eq(v: str) to any { db.Victim.where({ name: { eq: v } }) }
fn q_neq(v: str) to any { db.Victim.where({ name: { neq: v } }) }
fn q_lt(v: str) to any { db.Victim.where({ name: { lt: v } }) }
fn q_lte(v: str) to any { db.Victim.where({ name: { lte: v } }) }
fn q_gt(v: str) to any { db.Victim.where({ name: { gt: v } }) }
fn q_gte(v: str) to any { db.Victim.where({ name: { gte: v } }) }
fn q_in(v: str) to any { db.Victim.where({ name: { in: [v, "other"] } }) }
fn q_in_list(v: str) to any {
    let list = [v, "other"]
    db.Victim.where({ name: { in: list } })
}
fn q_contains(v: str) to any { db.Victim.where({ name: { contains: v } }) }
fn q_and(v: str) to any { db.Victim.where({ and: [{ name: v }, { note: v }] }) }
fn q_or(v: str) to any { db.Victim.where({ or: [{ name: v }, { note: v }] }) }
fn q_not(v: str) to any { db.Victim.where({ not: { name: v } }) }
fn q_option(v: str) to any { db.Victim.filter({ note: v }) }
fn q_tags(v: str) to any { db.Victim.filter({ tags: [v] }) }
fn q_fts(v: str) to any { db.Victim.where({ name: { contains: v } }).using("fts") }
`

const OPERATORS = 'filter eq neq lt lte gt gte in in_list contains and or not option tags fts'.split(' ')

const fragments = [
  "'",
  '"',
  '`',
  ';',
  '--',
  '/*',
  '*/',
  '%',
  '_',
  '\\',
  '?',
  ':a',
  '$1',
  '@x',
  ') OR (1=1',
  "' OR '1'='1",
  "'; DROP TABLE victim; --",
  ' UNION SELECT * FROM sqlite_master ',
  'NULL',
  '*',
  '^',
  'NEAR',
  '\u{1F600}',
  '\u202E',
  '{"_tag":"Err"}',
  '$int',
  '__proto__',
  '\n'
]

const hostile = fc.oneof(
  fc.array(fc.constantFrom(...fragments), { minLength: 1, maxLength: 4 }).map(parts => parts.join('')),
  fc.string({ unit: 'grapheme', maxLength: 12 }),
  fc.string({ unit: 'binary', maxLength: 12 })
)

/** Values that must match no row. */
const isStorable = (text: string): boolean => !text.includes('\0') && text === Buffer.from(text).toString()

t.test('values are never interpreted as SQL', async t => {
  const { call, connection } = withTables(PROGRAM)
  call('add', 'bystander', 'untouched', ['neither touched'])
  const schema = JSON.stringify(connection.rows('SELECT sql FROM sqlite_master ORDER BY name'))
  const bystander = JSON.stringify([...(call('one', 1) as never as { fields: [Map<string, Value>] }).fields[0]])
  const names = (rows: Value): string[] => (rows as Map<string, Value>[]).map(row => row.get('name') as string)

  fc.assert(
    fc.property(hostile, text => {
      if (!isStorable(text)) {
        t.throws(() => call('add', text, text, [text]), { code: 'RUN_TYPE' })
        return
      }
      const id = call('add', text, text, [text])
      for (const operator of OPERATORS) {
        const found = names(call(`q_${operator}`, text))
        const among = new Set(found)
        const own = { name: text, other: 'bystander' }
        const expected = { own: true, other: false }
        if (['neq', 'lt', 'gt', 'not'].includes(operator)) expected.own = false
        if (operator === 'neq' || operator === 'not') expected.other = own.name !== own.other
        if (operator === 'lt' || operator === 'lte') expected.other = Buffer.compare(bytes(own.other), bytes(text)) < 0
        if (operator === 'gt' || operator === 'gte') expected.other = Buffer.compare(bytes(own.other), bytes(text)) > 0
        if (operator === 'contains') expected.other = lower(own.other).includes(lower(text))
        // The tokenizer defines the words of a text. Words of other texts must not match.
        if (operator === 'fts') continue
        if (among.has(own.name) !== expected.own || among.has(own.other) !== (expected.other || text === own.other)) {
          throw new Error(`${operator} of ${JSON.stringify(text)} found ${JSON.stringify(found)}`)
        }
      }
      call('change', id, `${text}x`)
      const [changed] = (call('one', id) as never as { fields: [Map<string, Value>] }).fields
      if (!isRecord(changed) || changed.get('name') !== `${text}x`)
        throw new Error('the row differs from the written one')
      if ((changed.get('tags') as string[])[0] !== `${text}x`) throw new Error('the tags differ from the written ones')
      call('remove', id)
      const left = call('everything') as Map<string, Value>[]
      if (left.length !== 1) throw new Error(`${left.length} rows are left`)
    }),
    { numRuns: 300 }
  )

  t.equal(JSON.stringify([...(call('one', 1) as never as { fields: [Map<string, Value>] }).fields[0]]), bystander)
  t.equal(JSON.stringify(connection.rows('SELECT sql FROM sqlite_master ORDER BY name')), schema)
})

t.test('numbers outside the range of a column are rejected, and change nothing', async t => {
  const { call, connection } = withTables(`
@table
type Number { whole: int  rate: float }
fn add(whole: any, rate: any) to int { db.Number.insert({ whole: whole, rate: rate }) }
fn least() to any { db.Number.all().map(fn(each) to List[any] { [each.whole, each.rate] }) }`)
  for (const rate of [Number.NaN, Number.POSITIVE_INFINITY]) {
    t.throws(() => call('add', 1, new Float(rate)), { code: 'RUN_TYPE' })
  }
  t.throws(() => call('add', new Float(1), new Float(1)), { code: 'RUN_TYPE' })
  t.throws(() => call('add', null, new Float(1)), { code: 'RUN_TYPE' })
  t.equal(connection.row('SELECT count(*) FROM number')?.[0], 0)
  fc.assert(
    fc.property(
      fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      (whole, rate) => {
        const exact = Number.isSafeInteger(Number(whole)) ? Number(whole) : whole
        call('add', exact, new Float(rate))
        const [[gotWhole, gotRate]] = call('least') as never as [[Value, Float]]
        connection.execute('DELETE FROM number')
        // -0 is stored as 0.
        if (gotWhole !== exact || gotRate.value !== rate + 0)
          throw new Error(`${gotWhole} and ${gotRate.value} were read`)
      }
    )
  )
})

function bytes(text: string): Buffer {
  return Buffer.from(text)
}

/** Lowers ASCII letters only, as LIKE does. */
function lower(text: string): string {
  return text.replace(/[A-Z]/g, letter => letter.toLowerCase())
}

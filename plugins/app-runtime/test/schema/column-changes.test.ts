import { join } from 'node:path'
import type { DatabaseStore, Program, SqlValue } from '@svc/contracts'
import { FileConnection } from '@svc/plugin-database/testing'
import { isSvcError } from '@svc/plugin-sdk'
import t from 'tap'
import { migrateSchema, type SchemaOptions } from '#schema'
import { tablesOf } from '../database/with-tables.ts'
import { programFrom } from '../run-program.ts'
import { freshName, openStore, project, rowsOf } from './schema-fixture.ts'
import { intact } from './sqlite-tool.ts'

// Each change of the type of a column, on a table with rows. A change without --force keeps the meaning of each value,
// and one that is refused changes nothing.

/** Stored values of each type, and a literal. */
const TYPES: Readonly<Record<string, { readonly values: readonly SqlValue[]; readonly literal: string }>> = {
  int: { values: [0, 1, -3, 9_007_199_254_740_993n], literal: '5' },
  float: { values: [0.25, 7, -8.5, 0.1 + 0.2, 1e300], literal: '0.5' },
  bool: { values: [0, 1], literal: 'true' },
  str: { values: ['x', '12', 'true', '1.50', '', "it's", '007'], literal: '"d"' },
  char: { values: ['a', '7'], literal: "'c'" },
  dec: { values: ['1.25', '-3', '0.10', '12345678901234567890.5'], literal: '1.5dec' },
  'Id[Owner]': { values: [1, 2], literal: '' },
  'List[int]': { values: ['[1,2]', '[]'], literal: '' },
  Point: { values: ['{"x":1}'], literal: '' },
  Shape: { values: ['{"_tag":"Dot"}', '{"_tag":"Line","length":2}'], literal: '' }
}

const SHARED = `@table type Owner { name: str }
type Point { x: int }
type Shape = | Dot | Line(length: int)
fn main() { }
`

interface Column {
  readonly type: string
  readonly nullable: boolean
  readonly hasDefault: boolean
}

const declared = ({ type, nullable }: Pick<Column, 'type' | 'nullable'>): string =>
  nullable ? `Option[${type}]` : type

/** Programs by the column that they declare. */
const programs = new Map<Column, Program>()

function programOf(column: Column): Program {
  const known = programs.get(column)
  if (known !== undefined) return known
  const literal = TYPES[column.type]?.literal as string
  const given = column.hasDefault ? ` = ${column.nullable ? `Some(${literal})` : literal}` : ''
  const source = `${SHARED}@table type Item { label: str  v: ${declared(column)}${given} }
fn all() to List[Item] { db.Item.all() }
`
  const program = programFrom(source, false, join(project, 'app.vox'))
  programs.set(column, program)
  return program
}

function columns(): Column[] {
  return Object.entries(TYPES).flatMap(([type, { literal }]) =>
    [false, true].flatMap(nullable =>
      (literal === '' ? [false] : [false, true]).map(hasDefault => ({ type, nullable, hasDefault }))
    )
  )
}

/** Returns the number that a decimal text means, without zeros that mean nothing; null for other texts. */
function numeral(text: string): string | null {
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(text)
  if (match === null) return null
  const [, sign, whole, fraction = '', exponent = '0'] = match as unknown as [string, string, string, string?, string?]
  const digits = BigInt(whole + fraction)
  if (digits === 0n) return '0'
  const plain = String(digits)
  const trimmed = plain.replace(/0+$/, '')
  return `${sign}${trimmed}e${Number(exponent) - fraction.length + plain.length - trimmed.length}`
}

/** Returns what a stored value of a type means, for comparison with values of other types. */
function meaning(value: SqlValue, type: string): string {
  if (type === 'bool') return value === 1 || value === 1n ? 'true' : 'false'
  return numeral(String(value)) ?? String(value)
}

/** True if a value kept its meaning. A bool may become a number, and the reverse. */
function isKept(before: SqlValue, from: string, after: SqlValue, to: string): boolean {
  if (before === null || after === null) return before === after
  const [old, now] = [meaning(before, from), meaning(after, to)]
  if ((from === 'bool') === (to === 'bool')) return old === now
  const truth: Readonly<Record<string, string>> = { true: '1e0', false: '0' }
  return old === now || (truth[old] ?? old) === (truth[now] ?? now)
}

interface Change {
  readonly from: Column
  readonly to: Column
}

const nameOf = ({ from, to }: Change): string =>
  `${declared(from)} to ${declared(to)}${to.hasDefault ? ' with a default' : ''}`

function migrate(store: DatabaseStore, column: Column, options: Partial<SchemaOptions> = {}) {
  return migrateSchema(store, programOf(column), { projectRoot: project, ...options })
}

async function valuesOf(store: DatabaseStore): Promise<readonly (readonly SqlValue[])[]> {
  return rowsOf(store, 'SELECT _id, label, v FROM item ORDER BY _id')
}

/** Creates the table of a column again, with a row for each value. Returns the rows. */
async function fill(store: DatabaseStore, column: Column): Promise<readonly (readonly SqlValue[])[]> {
  await store.execute('DROP TABLE IF EXISTS item')
  await store.execute("DELETE FROM program_schema WHERE table_name = 'item'")
  await migrate(store, column)
  const values = [...(TYPES[column.type]?.values ?? []), ...(column.nullable ? [null] : [])]
  const rows = values.map((_, index) => `('row ${index}', ?)`)
  await store.execute(`INSERT INTO item (label, v) VALUES ${rows.join(', ')}`, values)
  return valuesOf(store)
}

async function filledStore(file: string): Promise<DatabaseStore> {
  const store = await openStore(file)
  await migrate(store, { type: 'int', nullable: false, hasDefault: false })
  await store.execute("INSERT INTO owner (name) VALUES ('a'), ('b')")
  return store
}

async function codeOf(promise: Promise<unknown>): Promise<string | null> {
  try {
    await promise
    return null
  } catch (error) {
    if (isSvcError(error)) return error.code
    throw error
  }
}

/** Returns the values that a change loses although it was not forced. */
function lost(before: readonly (readonly SqlValue[])[], after: readonly (readonly SqlValue[])[], change: Change) {
  const { from, to } = change
  return before.flatMap(([id, label, value], index) => {
    const [newId, newLabel, newValue] = after[index] ?? []
    if (newId !== id || newLabel !== label) return [`row ${id} is gone`]
    // An empty column that becomes required gets the default.
    if (value === null && to.hasDefault && !to.nullable) return newValue === null ? ['no default'] : []
    if (isKept(value as SqlValue, from.type, newValue as SqlValue, to.type)) return []
    return [`${value} became ${newValue}`]
  })
}

t.setTimeout(600_000)

t.test('changes of the type of a column keep all values, or need --force, or are refused', async t => {
  const file = freshName()
  const store = await filledStore(file)
  const connection = new FileConnection({ file, busyTimeoutMs: 5_000, synchronous: 'normal' })
  t.teardown(() => connection.close())
  const outcomes = { safe: 0, RUN_SCHEMA_LOSSY: 0, RUN_SCHEMA_REFUSED: 0 }
  const all = columns()
  for (const from of all.filter(({ hasDefault }) => !hasDefault)) {
    // An optional column with empty rows cannot become required, whatever its type, unless it has a default.
    const targets = all.filter(({ nullable, hasDefault }) => nullable === from.nullable || (hasDefault && !nullable))
    for (const to of targets) {
      if (from.type === to.type && from.nullable === to.nullable) continue
      const change = { from, to }
      const before = await fill(store, from)
      const code = await codeOf(migrate(store, to))
      const after = await valuesOf(store)
      if (code !== null) {
        outcomes[code as keyof typeof outcomes]++
        t.same(after, before, `${nameOf(change)} was refused and changed rows`)
        continue
      }
      outcomes.safe++
      t.same(lost(before, after, change), [], nameOf(change))
      const rows = tablesOf(programOf(to), connection, file).call('all') as readonly unknown[]
      t.equal(rows.length, before.length, `${nameOf(change)}: the program reads its rows`)
    }
    intact(t, file)
  }
  t.ok(
    Object.values(outcomes).every(count => count > 30),
    JSON.stringify(outcomes)
  )
})

t.test('a forced change copies the database first, and keeps all rows', async t => {
  const plain = columns().filter(({ nullable, hasDefault }) => nullable && !hasDefault)
  let copies = 0
  const file = freshName()
  const store = await filledStore(file)
  for (const from of plain) {
    for (const to of plain) {
      if (from.type === to.type) continue
      const before = await fill(store, from)
      if ((await codeOf(migrate(store, to))) === null) continue
      const copy = freshName()
      const { copy: made } = await migrate(store, to, { force: true, copyTo: async () => copy })
      t.equal(made, copy)
      const labels = (rows: typeof before) => rows.map(([id, label]) => [id, label])
      t.same(labels(await valuesOf(store)), labels(before), nameOf({ from, to }))
      const copied = await openStore(copy)
      t.same(await valuesOf(copied), before, 'the copy has the old values')
      await copied.close()
      if (copies++ % 8 === 0) intact(t, copy)
    }
    intact(t, file)
  }
  t.ok(copies > 20, `${copies} copies`)
})

import { join } from 'node:path'
import type { ThreadConnection } from '@svc/contracts'
import { FileConnection } from '@svc/plugin-database/testing'
import t from 'tap'
import { makeTables, tablesOf } from '../../plugins/app-runtime/test/database/with-tables.ts'
import { programFrom } from '../../plugins/app-runtime/test/run-program.ts'
import { difference, runBoth } from './run-both.ts'
import { SqlJsConnection } from './sqljs-connection.ts'

// Ints have 64 bits in programs and databases. JSON and the generated client have their own test, which sends ints
// through a served program (plugins/app-runtime/test/serving/large-ints.test.ts).

const MAX = 2n ** 63n - 1n
const MIN = -(2n ** 63n)
const SAFE = 2n ** 53n - 1n

/** Ints at the borders of 32 bits, of the exact integers of a float, and of 64 bits. */
const BORDERS = [0n, 1n, 2n ** 31n, 2n ** 32n + 1n, SAFE, SAFE + 1n, SAFE + 2n, 2n ** 62n, MAX].flatMap(n => [n, -n])
const INTS = [...new Set([...BORDERS, MIN])]

const isInt = (value: bigint): boolean => value >= MIN && value <= MAX
const isSafe = (value: bigint): boolean => value >= -SAFE && value <= SAFE

/** The int as a value of the interpreter. */
const runtimeInt = (value: bigint): number | bigint => (isSafe(value) ? Number(value) : value)

type Operation = (a: bigint, b: bigint) => bigint | null

/** Exact results; null for a division by zero. */
const OPERATIONS: Readonly<Record<string, Operation>> = {
  'a + b': (a, b) => a + b,
  'a - b': (a, b) => a - b,
  'a * b': (a, b) => a * b,
  'a / b': (a, b) => (b === 0n ? null : a / b),
  'a % b': (a, b) => (b === 0n ? null : a % b),
  '-a': a => -a,
  'a.abs()': a => (a < 0n ? -a : a),
  'a.max(b)': (a, b) => (a > b ? a : b),
  'a.min(b)': (a, b) => (a < b ? a : b),
  'if a < b { 1 } else { 0 }': (a, b) => (a < b ? 1n : 0n),
  'if a >= b { 1 } else { 0 }': (a, b) => (a >= b ? 1n : 0n),
  'if a is b { 1 } else { 0 }': (a, b) => (a === b ? 1n : 0n)
}

t.test('arithmetic of ints is exact up to 64 bits, and fails beyond', async t => {
  const names = Object.keys(OPERATIONS)
  const functions = names.map((text, index) => `fn op${index}(a: int, b: int) to int { ${text} }\n`)
  const source = `${functions.join('')}fn compound(a: int, b: int) to int { let mut n = a\n n += b\n n }\n`
  const program = programFrom(source)
  const { call, connection } = openTables(program, await SqlJsConnection.open())
  t.teardown(() => connection.close())
  const result = (name: string, a: bigint, b: bigint): string => {
    try {
      return String(call(name, runtimeInt(a), runtimeInt(b)))
    } catch (error) {
      return String((error as { readonly code?: string }).code)
    }
  }
  const expected = (exact: bigint | null): string => {
    if (exact === null) return 'RUN_DIVISION_BY_ZERO'
    return isInt(exact) ? String(exact) : 'RUN_OVERFLOW'
  }
  for (const a of INTS) {
    for (const b of INTS) {
      const wrong = names.flatMap((text, index) => {
        const [found, exact] = [result(`op${index}`, a, b), expected((OPERATIONS[text] as Operation)(a, b))]
        return found === exact ? [] : [`${text}: ${found}, exactly ${exact}`]
      })
      if (result('compound', a, b) !== expected(a + b)) wrong.push('a += b')
      t.same(wrong, [], `a = ${a}, b = ${b}`)
    }
  }
})

t.test('pages compute with ints of up to 2^53 as the server does', async t => {
  const statements = Object.entries(OPERATIONS).flatMap(([text, exact]) =>
    INTS.flatMap(a =>
      INTS.flatMap(b => {
        const result = isSafe(a) && isSafe(b) ? exact(a, b) : null
        if (result === null || !isSafe(result)) return []
        return [`print(${text.replaceAll(/\b[ab]\b/g, name => `id(${name === 'a' ? a : b})`)})`]
      })
    )
  )
  const both = runBoth(`fn id(n: int) to int { n }\nfn main() {\n${statements.join('\n')}\n}\n`)
  t.equal(difference(both), null)
  t.equal(both.interpreted.lines.length, statements.length)
  t.ok(statements.length > 500)
})

const TABLE = `
@table type Entry { n: int  label: str }
type Found { n: int }
fn add(n: int) to int { db.Entry.insert({ n: n, label: str(n) }) }
fn equal(n: int) to List[str] { db.Entry.where({ n: n }).map(fn(e) e.label) }
fn among(n: int) to List[str] { db.Entry.where({ n: { in: [n, 5] } }).map(fn(e) e.label) }
fn above(n: int) to int { db.Entry.where({ n: { gt: n } }).count() }
fn sorted() to List[int] { db.Entry.all().order_by("n").map(fn(e) e.n) }
fn found(n: Option[int]) to int { n.unwrap() }
fn least() to int { found(db.Entry.all().min("n")) }
fn most() to int { found(db.Entry.all().max("n")) }
fn groups() to List[str] { db.Entry.all().group_by("n").count().map(fn(g) str(g.n) + " " + str(g.count)) }
fn page(cursor: Option[str]) to Page[Entry] { db.Entry.all().order_by("n", "desc").page(4, cursor) }
fn paged(cursor: Option[str], left: int) to List[int] {
    let found = page(cursor)
    let ns = found.items.map(fn(e) e.n)
    match found.next {
        Some(next) if left > 0 => ns + paged(Some(next), left - 1)
        _ => ns
    }
}
fn pages() to List[int] { paged(None, 99) }
fn change(id: int, n: int) to int {
    db.Entry.update(id, { n: n })
    db.Entry.get(id).unwrap().unwrap().n
}
fn total(least: int) to int { db.Entry.where({ n: { gte: least } }).sum("n") }
`

function openTables(program: ReturnType<typeof programFrom>, connection: ThreadConnection) {
  makeTables(connection, program)
  return tablesOf(program, connection, 'a database')
}

t.test('databases keep, compare, order and page ints of 64 bits', async t => {
  const file = join(t.testdir(), 'ints.db')
  const program = programFrom(TABLE)
  const connections: Readonly<Record<string, ThreadConnection>> = {
    libSQL: new FileConnection({ file, busyTimeoutMs: 2_000, synchronous: 'normal' }),
    'sql.js': await SqlJsConnection.open()
  }
  const ascending = INTS.toSorted((a, b) => (a < b ? -1 : 1))
  for (const [engine, connection] of Object.entries(connections)) {
    t.teardown(() => connection.close())
    const { call } = openTables(program, connection)
    for (const n of INTS) call('add', runtimeInt(n))
    for (const n of INTS) {
      t.same(call('equal', runtimeInt(n)), [String(n)], `${engine}: n is ${n}`)
      t.same(call('among', runtimeInt(n)), [String(n)], `${engine}: n is among others, ${n}`)
      t.equal(call('above', runtimeInt(n)), INTS.filter(other => other > n).length, `${engine}: n > ${n}`)
      t.equal(call('change', 1, runtimeInt(n)), runtimeInt(n), `${engine}: n becomes ${n}`)
    }
    call('change', 1, runtimeInt(INTS[0] as bigint))
    t.same(call('sorted'), ascending.map(runtimeInt), engine)
    t.same(call('pages'), ascending.toReversed().map(runtimeInt), engine)
    t.same(
      call('groups'),
      ascending.map(n => `${n} 1`),
      engine
    )
    t.equal(call('least'), MIN, engine)
    t.equal(call('most'), MAX, engine)
    t.equal(call('total', runtimeInt(MAX)), MAX, engine)
    t.throws(() => call('total', runtimeInt(2n ** 62n)), `${engine}: a sum beyond 64 bits`)
  }
})

import type { DatabaseStore, SqlValue } from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
import fc from 'fast-check'
import t from 'tap'
import { apply, freshName, openStore, rowsOf } from './schema-fixture.ts'
import { intact } from './sqlite-tool.ts'

interface Column {
  readonly name: string
  readonly type: string
  readonly nullable: boolean
  readonly default: boolean
}

interface Table {
  readonly name: string
  readonly columns: readonly Column[]
  readonly index: readonly string[]
  readonly search: readonly string[]
}

const DEFAULTS: Readonly<Record<string, string>> = { int: '5', float: '0.5', bool: 'true', str: '"d"', dec: '1.5dec' }
const NAMES = ['a', 'b', 'order', 'd']

const column = fc.record({
  type: fc.constantFrom(...Object.keys(DEFAULTS)),
  nullable: fc.boolean(),
  default: fc.boolean()
})
const table = fc
  .tuple(
    fc.subarray(NAMES, { minLength: 1 }),
    fc.array(column, { minLength: 4, maxLength: 4 }),
    fc.boolean(),
    fc.boolean()
  )
  .map(([names, types, isIndexed, isSearched]): Omit<Table, 'name'> => {
    const columns = names.map((name, at) => ({ name, ...(types[at] as (typeof types)[number]) }))
    const texts = columns.filter(({ type }) => type === 'str').map(({ name }) => name)
    return { columns, index: isIndexed ? names.slice(0, 2) : [], search: isSearched ? texts : [] }
  })
const schema = fc
  .tuple(fc.option(table), fc.option(table))
  .map(tables => tables.flatMap((each, at) => (each === null ? [] : [{ name: ['One', 'Two'][at] as string, ...each }])))

function sourceOf(tables: readonly Table[]): string {
  return `fn main() { }\n${tables
    .map(({ name, columns, index, search }) => {
      const fields = columns.map(({ name: field, type, nullable, default: has }) => {
        const given = has ? ` = ${nullable ? `Some(${DEFAULTS[type]})` : DEFAULTS[type]}` : ''
        return `${field}: ${nullable ? `Option[${type}]` : type}${given}`
      })
      return [
        `@table type ${name} {\n${fields.join('\n')}\n}`,
        ...(index.length > 0 ? [`@index ${name}.i on (${index.join(', ')})`] : []),
        ...(search.length > 0 ? [`@search_index ${name}.s on (${search.join(', ')})`] : [])
      ].join('\n')
    })
    .join('\n')}\n`
}

/** Returns the schema of a database, independent of the order in which it was created. */
async function shapeOf(store: DatabaseStore): Promise<unknown> {
  const columns = await rowsOf(
    store,
    `SELECT m.name, x.name, x.type, x."notnull", x.dflt_value, x.pk FROM sqlite_master AS m JOIN pragma_table_xinfo(m.name) AS x
WHERE m.type = 'table' AND m.name IN ('one', 'two', 'one_fts', 'two_fts') ORDER BY 1, 2`
  )
  const objects = await rowsOf(
    store,
    "SELECT name, sql FROM sqlite_master WHERE type <> 'table' AND tbl_name IN ('one', 'two') ORDER BY name"
  )
  return { columns, objects }
}

const values: Readonly<Record<string, readonly SqlValue[]>> = {
  int: [0, 7, -3],
  float: [0.25, -8.5, 3.125],
  bool: [0, 1, 1],
  str: ['x', '12', "it's"],
  dec: ['1.25', '-3', '0.10']
}

async function addRows(store: DatabaseStore, tables: readonly Table[]): Promise<void> {
  for (const { name, columns } of tables) {
    for (let row = 0; row < 3; row += 1) {
      const given = columns.map(({ type, nullable }, at) =>
        nullable && (row + at) % 3 === 0 ? null : (values[type]?.[row] ?? null)
      )
      await store.execute(
        `INSERT INTO ${name.toLowerCase()} (${columns.map(each => `"${each.name}"`).join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
        given
      )
    }
  }
}

async function rowsBy(store: DatabaseStore, { name, columns }: Table): Promise<Map<string, readonly SqlValue[]>> {
  const list = columns.map(each => `"${each.name}"`)
  const rows = await rowsOf(store, `SELECT _id, ${list.join(', ')} FROM ${name.toLowerCase()} ORDER BY _id`)
  return new Map([
    ['_id', rows.map(([id]) => id as SqlValue)],
    ...columns.map((each, at) => [each.name, rows.map(row => row[at + 1] as SqlValue)] as const)
  ])
}

t.test('any sequence of declarations ends with the tables of the last one, and keeps unchanged columns', async t => {
  const file = freshName()
  const store = await openStore(file)
  const fresh = await openStore()
  const copyTo = async () => freshName()
  let refused = 0
  let done = 0
  await fc.assert(
    fc.asyncProperty(fc.array(schema, { minLength: 2, maxLength: 4 }), async sequence => {
      await apply(store, sourceOf([]), { force: true, copyTo })
      let current: readonly Table[] = []
      for (const tables of sequence) {
        const before = new Map<string, Map<string, readonly SqlValue[]>>()
        for (const each of current) before.set(each.name, await rowsBy(store, each))
        try {
          await apply(store, sourceOf(tables), { force: true, copyTo })
        } catch (error) {
          if (!isSvcError(error, 'RUN_SCHEMA_REFUSED')) throw error
          refused += 1
          for (const each of current) t.strictSame(await rowsBy(store, each), before.get(each.name))
          continue
        }
        done += 1
        t.same((await apply(store, sourceOf(tables))).plan.statements, [])
        await apply(fresh, sourceOf([]), { force: true, copyTo })
        await apply(fresh, sourceOf(tables))
        t.strictSame(await shapeOf(store), await shapeOf(fresh))
        for (const each of tables) {
          const old = current.find(({ name }) => name === each.name)
          if (old === undefined) continue
          const now = await rowsBy(store, each)
          t.strictSame(now.get('_id'), before.get(each.name)?.get('_id'))
          for (const { name, type, nullable } of each.columns) {
            const same = old.columns.find(other => other.name === name && other.type === type)
            if (same === undefined || (same.nullable && !nullable)) continue
            t.strictSame(now.get(name), before.get(each.name)?.get(name))
          }
          if (each.search.length > 0)
            await store.execute(
              `INSERT INTO ${each.name.toLowerCase()}_fts (${each.name.toLowerCase()}_fts) VALUES ('integrity-check')`
            )
        }
        current = tables
        await addRows(store, tables)
      }
    }),
    { numRuns: 20, seed: 11 }
  )
  intact(t, file)
  t.ok(done > 15 && refused > 3, `${done} migrations done, ${refused} refused`)
})

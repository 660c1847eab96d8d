import type { DatabaseCapabilities, HirTable, Program, ProgramIndex } from '@svc/contracts'
import { userTriggers } from '../auth/users/user-tables.ts'
import { canonicalDecimalSql } from '../database/predicate-sql.ts'
import { usesFiles } from '../storage/uses-files.ts'
import { type ColumnType, columnType } from './column-type.ts'
import { defaultLiteral } from './default-literal.ts'
import { liveTables } from './live-tables.ts'
import { indexName, quoted, searchTableName, tableName, textLiteral, vectorIndexName } from './names.ts'
import { fileTriggers, liveTriggers, searchTriggers } from './triggers.ts'

export interface DesiredColumn extends ColumnType {
  readonly name: string
  /** SQL of the default; null if there is none. */
  readonly default: string | null
}

/** An index or trigger of a table, which can be created again at any time. */
export interface DesiredObject {
  readonly type: 'index' | 'trigger'
  readonly name: string
  readonly sql: string
  /** Columns whose values no two rows may share. */
  readonly unique?: readonly string[]
}

export interface DesiredTable {
  /** Name in the database. */
  readonly name: string
  /** Declared name. */
  readonly declared: string
  /** Without `_id`. */
  readonly columns: readonly DesiredColumn[]
  readonly objects: readonly DesiredObject[]
  /** The full-text table of this table. */
  readonly search: { readonly name: string; readonly columns: readonly string[]; readonly sql: string } | null
}

export interface DesiredSchema {
  readonly tables: readonly DesiredTable[]
  /** True if the changes of any table are recorded. */
  readonly isLive: boolean
  /** True if the program stores files. */
  readonly hasFiles: boolean
  /** True if the program has users, whose sessions and proofs are stored. */
  readonly hasUsers: boolean
  /** Unsupported declarations, one sentence each. */
  readonly problems: readonly string[]
  /** Features that this database lacks, without which the program still runs. */
  readonly notes: readonly string[]
}

/** Name prefixes reserved by the database engine or by this runtime. */
const RESERVED = ['sqlite_', 'libsql_', 'program_']

/** Returns the declared tables of a program, for a database with these capabilities. */
export function desiredSchema(
  program: Program,
  { fts, vector }: Pick<DatabaseCapabilities, 'fts' | 'vector'>
): DesiredSchema {
  const { tables } = program.module
  const live = liveTables(program).tables
  const searched = new Set(program.facts.searched)
  const notes: string[] = []
  const desired = tables.map((table): DesiredTable => {
    const name = tableName(table.name)
    const columns = table.fields.map((field): DesiredColumn => {
      const type = columnType(field.type_ann, program.module)
      return { name: field.name, ...type, default: defaultLiteral(field.code, type, program.module) }
    })
    const indexes = program.indexes.filter(index => index.table === table.name)
    const objects: DesiredObject[] = []
    for (const index of indexes) {
      if (index.kind === 'btree') objects.push(btreeIndex(name, index, columns))
      else if (index.kind === 'vector') {
        if (vector) objects.push(vectorIndex(name, index))
        else notes.push(`${table.name}.${index.name}: this database has no vector indexes`)
      }
    }
    const search = searchTable(name, table, columns, indexes, searched)
    if (search !== null && fts) objects.push(...searchTriggers(name, search.columns))
    if (search !== null && !fts) notes.push(`${table.name}: this database has no full-text search`)
    if (live.has(name)) objects.push(...liveTriggers(name))
    const fileNames = columns.filter(({ kind }) => kind === 'file').map(column => column.name)
    objects.push(...fileTriggers(name, fileNames))
    if (program.users?.table === table.name) objects.push(...userTriggers(name))
    return { name, declared: table.name, columns, objects, search: fts ? search : null }
  })
  return {
    tables: desired,
    isLive: live.size > 0,
    hasFiles: usesFiles(program),
    hasUsers: program.users !== null,
    problems: problemsOf(desired),
    notes
  }
}

/** Returns the SQL of a table. AUTOINCREMENT never reuses an id. */
export function createTable(name: string, columns: readonly DesiredColumn[]): string {
  const lines = ['"_id" INTEGER PRIMARY KEY AUTOINCREMENT', ...columns.map(columnDefinition)]
  return `CREATE TABLE ${quoted(name)} (\n  ${lines.join(',\n  ')}\n)`
}

export function columnDefinition({ name, sql, nullable, default: standard }: DesiredColumn): string {
  return `${quoted(name)} ${sql}${nullable ? '' : ' NOT NULL'}${standard === null ? '' : ` DEFAULT ${standard}`}`
}

/** Returns SQL that fills a full-text table from its table. */
export function fillSearchTable(name: string): string {
  return `INSERT INTO ${quoted(name)} (${quoted(name)}) VALUES ('rebuild')`
}

function btreeIndex(
  table: string,
  { name, columns, unique }: ProgramIndex,
  all: readonly DesiredColumn[]
): DesiredObject {
  const index = indexName(table, name)
  const list = columns.map(column => (unique ? comparedValue(column, all, quoted(column)) : quoted(column))).join(', ')
  const sql = `CREATE ${unique ? 'UNIQUE ' : ''}INDEX ${quoted(index)} ON ${quoted(table)} (${list})`
  return { type: 'index', name: index, sql, ...(unique ? { unique: columns } : {}) }
}

/** Returns SQL of a value as uniqueness compares it. A decimal keeps its digits: 1.0 and 1.00 are different texts. */
export function comparedValue(column: string, columns: readonly DesiredColumn[], value: string): string {
  return columns.find(({ name }) => name === column)?.kind === 'dec' ? canonicalDecimalSql(value) : value
}

function vectorIndex(table: string, { name, columns, option }: ProgramIndex): DesiredObject {
  const index = vectorIndexName(table, name)
  const over = `libsql_vector_idx(${quoted(columns[0] ?? '')}, ${textLiteral(`metric=${option ?? 'cosine'}`)})`
  return { type: 'index', name: index, sql: `CREATE INDEX ${quoted(index)} ON ${quoted(table)} (${over})` }
}

/** Returns the full-text table: the columns of search indexes, or all str columns if the program searches without one. */
function searchTable(
  name: string,
  table: HirTable,
  columns: readonly DesiredColumn[],
  indexes: readonly ProgramIndex[],
  searched: ReadonlySet<string>
): DesiredTable['search'] {
  const search = indexes.filter(({ kind }) => kind === 'search')
  const named = new Set(search.flatMap(index => index.columns))
  const isSearched = (column: DesiredColumn): boolean => {
    return search.length > 0 ? named.has(column.name) : searched.has(table.name) && column.kind === 'str'
  }
  const searchColumns = columns.filter(isSearched).map(column => column.name)
  if (searchColumns.length === 0) return null
  const tokenizer = search.find(({ option }) => option !== null)?.option
  const fts = searchTableName(name)
  const parts = [
    ...searchColumns.map(quoted),
    `content = ${textLiteral(name)}`,
    "content_rowid = '_id'",
    ...(tokenizer === undefined || tokenizer === null ? [] : [`tokenize = ${textLiteral(tokenizer)}`])
  ]
  return {
    name: fts,
    columns: searchColumns,
    sql: `CREATE VIRTUAL TABLE ${quoted(fts)} USING fts5 (${parts.join(', ')})`
  }
}

function problemsOf(tables: readonly DesiredTable[]): string[] {
  const problems: string[] = []
  const names = new Map<string, string>()
  for (const { name, declared, columns, objects, search } of tables) {
    const begin = RESERVED.find(each => name.startsWith(each))
    if (begin !== undefined) problems.push(`${declared}: table names that begin with ${begin} are reserved`)
    for (const each of [name, ...(search === null ? [] : [search.name]), ...objects.map(object => object.name)]) {
      const other = names.get(each.toLowerCase())
      if (other !== undefined)
        problems.push(`${declared} and ${other}: both need the name ${each}, since names are case-insensitive`)
      names.set(each.toLowerCase(), declared)
    }
    const columnNames = new Set(['_id'])
    for (const { name: column } of columns) {
      if (column.toLowerCase() === '_id') problems.push(`${declared}._id: every table has that column implicitly`)
      else if (columnNames.has(column.toLowerCase()))
        problems.push(`${declared}.${column}: another column has that name, since names are case-insensitive`)
      columnNames.add(column.toLowerCase())
    }
  }
  return problems
}

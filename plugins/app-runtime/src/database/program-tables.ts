import type { HirType, Program } from '@svc/contracts'
import type { CallerOf } from '../auth/rules/rule-sql.ts'
import { tableRules } from '../auth/rules/table-rules.ts'
import { fail } from '../interpreter/failure.ts'
import type { DesiredColumn } from '../schema/desired-schema.ts'
import { desiredSchema } from '../schema/desired-schema.ts'
import { quoted, vectorIndexName } from '../schema/names.ts'
import { fileColumnSql } from '../storage/file-tables.ts'
import { type WireOptions, WireTypes } from '../wire/wire-types.ts'
import { columnCodec } from './column-codec.ts'
import { type TableColumn, TableShape, type VectorSearch } from './table-shape.ts'

/** The tables of a program. */
export class ProgramTables {
  readonly #shapes: ReadonlyMap<string, TableShape>
  /** Tables with row rules, for calls with a caller. */
  readonly #ruled: ReadonlyMap<string, TableShape>

  /** `callerOf`: caller of the running call. */
  constructor(program: Program, evaluate: NonNullable<WireOptions['evaluate']>, callerOf: CallerOf = () => null) {
    this.#shapes = shapesOf(program, evaluate)
    this.#ruled = new Map(
      program.rules.flatMap(rules => {
        const shape = this.#shapes.get(rules.table)
        return shape === undefined ? [] : [[rules.table, shape.underRules(tableRules(rules, shape, callerOf))] as const]
      })
    )
  }

  /** Returns the shape of a table by its declared name. */
  shape(table: string): TableShape | undefined {
    return this.#shapes.get(table)
  }

  /** Like {@link shape}, but with the row rules of the table, if it has some. */
  shapeForCallers(table: string): TableShape | undefined {
    return this.#ruled.get(table) ?? this.shape(table)
  }

  forCallers(shape: TableShape): TableShape {
    return this.#ruled.get(shape.name) ?? shape
  }

  get hasRules(): boolean {
    return this.#ruled.size > 0
  }

  /** Throws `RUN_FORBIDDEN` for SQL that names a table with row rules, which it would ignore. */
  assertUnruled(sql: string): void {
    const words = this.#ruled.size === 0 ? [] : sql.toLowerCase().match(/[\p{L}\p{N}_]+/gu)
    for (const [name, { sql: table }] of this.#ruled) {
      const bare = table.slice(1, -1)
      if (!words?.some(word => word === bare || word.startsWith(`${bare}_fts`))) continue
      fail('RUN_FORBIDDEN', `${name}: raw SQL ignores the row rules of the table; use filter, where, all or get`)
    }
  }
}

function shapesOf(program: Program, evaluate: NonNullable<WireOptions['evaluate']>): Map<string, TableShape> {
  const { module, defaults, indexes } = program
  const shapes = new Map<string, TableShape>()
  if (module.tables.length === 0) return shapes
  const types = new WireTypes(module, { defaults, evaluate })
  // Assumes full support; each operation checks the features of its database.
  const desired = desiredSchema(program, { fts: true, vector: true })
  for (const [place, table] of desired.tables.entries()) {
    const declared = module.tables[place]
    if (declared === undefined) continue
    const columns = declared.fields.map((declaration, index): TableColumn => {
      const column = table.columns[index] as DesiredColumn
      const document = types.codec(declaration.type_ann as HirType)
      const codec = columnCodec(column, document)
      const { name, kind, sql, nullable, declared: type } = column
      return {
        name,
        kind,
        sql,
        nullable,
        declared: type,
        quoted: quoted(name),
        read: kind === 'file' ? fileColumnSql(quoted(table.name), quoted(name)) : quoted(name),
        codec,
        document,
        fallback: declaration.code ?? null
      }
    })
    const vectors = columns
      .filter(({ kind }) => kind === 'vector')
      .map((column): VectorSearch => {
        const index = indexes.find(each => {
          return each.kind === 'vector' && each.table === declared.name && each.columns[0] === column.name
        })
        return {
          column,
          index: index === undefined ? null : vectorIndexName(table.name, index.name),
          distance: index?.option === 'l2' ? 'vector_distance_l2' : 'vector_distance_cos'
        }
      })
    const { search } = table
    const text = search === null ? null : { table: quoted(search.name), columns: new Set(search.columns) }
    shapes.set(declared.name, new TableShape(declared.name, quoted(table.name), columns, text, vectors))
  }
  return shapes
}

import type { HirType, Program } from '@svc/contracts'
import type { DesiredColumn } from '../schema/desired-schema.ts'
import { desiredSchema } from '../schema/desired-schema.ts'
import { quoted, vectorIndexName } from '../schema/names.ts'
import { type WireOptions, WireTypes } from '../wire/wire-types.ts'
import { columnCodec } from './column-codec.ts'
import { type ResultOperations, resultOperations } from './result-operations.ts'
import { type TableColumn, TableShape, type VectorSearch } from './table-shape.ts'

/** The tables of a program, and the operations whose outcome it uses as a Result. */
export class ProgramTables {
  readonly #shapes: ReadonlyMap<string, TableShape>
  /** Operations that return Ok or Error instead of a value or a failure. */
  readonly results: ResultOperations

  constructor(program: Program, evaluate: NonNullable<WireOptions['evaluate']>) {
    this.#shapes = shapesOf(program, evaluate)
    this.results = resultOperations(program)
  }

  /** Returns the shape of a table by its declared name. */
  shape(table: string): TableShape | undefined {
    return this.#shapes.get(table)
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
        codec,
        document,
        fallback: declaration.default ?? null
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

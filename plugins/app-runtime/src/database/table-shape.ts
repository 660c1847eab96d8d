import type { Hir, SqlParameter, SqlValue } from '@svc/contracts'
import type { TableRules } from '../auth/rules/table-rules.ts'
import { NONE, type RecordValue, type Value } from '../interpreter/value.ts'
import type { ColumnType } from '../schema/column-type.ts'
import { quoted } from '../schema/names.ts'
import type { Codec } from '../wire/codec.ts'
import { inPart } from '../wire/mismatch.ts'
import { INT } from '../wire/plain-codecs.ts'
import { type ColumnCodec, columnCodec } from './column-codec.ts'

export interface TableColumn extends ColumnType {
  readonly name: string
  /** The quoted name. */
  readonly quoted: string
  /** SQL that reads the column: its name, or for a file what is known of it. */
  readonly read: string
  readonly codec: ColumnCodec
  /** JSON codec of the declared type. */
  readonly document: Codec
  /** Default value; null if there is none: an optional column is then None, another one is required. */
  readonly fallback: Hir.Body | null
}

/** The full-text table of a table, and the columns in it. */
export interface TextSearch {
  /** The quoted name. */
  readonly table: string
  readonly columns: ReadonlySet<string>
}

/** A vector column for nearest-neighbour search. */
export interface VectorSearch {
  readonly column: TableColumn
  /** Name of the index; null if there is none. */
  readonly index: string | null
  readonly distance: 'vector_distance_cos' | 'vector_distance_l2'
}

/** The selected columns and their decoders. */
export interface Selection {
  /** The columns as SQL, `_id` first. */
  readonly sql: string
  /** Decodes a row. Throws a `Mismatch`. */
  read(row: readonly SqlValue[]): RecordValue
}

const ID_TYPE = { kind: 'id', sql: 'INTEGER', nullable: false, declared: 'int' } as const
/** The row id, which every table has. */
const ID: TableColumn = {
  ...ID_TYPE,
  name: '_id',
  quoted: quoted('_id'),
  read: quoted('_id'),
  codec: columnCodec(ID_TYPE, INT),
  document: INT,
  fallback: null
}

/** Columns, codecs and indexes of a table, for its operations. */
export class TableShape {
  /** The declared name. */
  readonly name: string
  /** The quoted name. */
  readonly sql: string
  readonly id = ID
  /** Without `_id`. */
  readonly columns: readonly TableColumn[]
  readonly text: TextSearch | null
  readonly vectors: readonly VectorSearch[]
  readonly whole: Selection
  /** Row rules that every operation applies; null for the program itself, and for tables without rules. */
  readonly rules: TableRules | null
  readonly #byName: ReadonlyMap<string, TableColumn>

  constructor(
    name: string,
    sql: string,
    columns: readonly TableColumn[],
    text: TextSearch | null,
    vectors: readonly VectorSearch[],
    rules: TableRules | null = null
  ) {
    this.name = name
    this.sql = sql
    this.columns = columns
    this.text = text
    this.vectors = vectors
    this.rules = rules
    this.#byName = new Map(columns.map(column => [column.name, column]))
    this.whole = this.selection(null)
  }

  /** Returns the same table with row rules. */
  underRules(rules: TableRules): TableShape {
    return new TableShape(this.name, this.sql, this.columns, this.text, this.vectors, rules)
  }

  column(name: string): TableColumn | undefined {
    return name === ID.name ? ID : this.#byName.get(name)
  }

  /** Returns the selection of all or some columns. An omitted column is None if optional, else missing. */
  selection(projection: readonly string[] | null): Selection {
    const isSelected = ({ name }: TableColumn): boolean => projection === null || projection.includes(name)
    const selected = this.columns.filter(isSelected)
    const parts = this.columns.filter(column => isSelected(column) || column.nullable)
    const readers = parts.map(column => ({
      name: column.name,
      codec: column.codec,
      place: isSelected(column) ? selected.indexOf(column) + 1 : -1
    }))
    return {
      sql: [ID.quoted, ...selected.map(column => column.read)].join(', '),
      read(row) {
        const record = new Map<string, Value>()
        record.set('_id', row[0] as number | bigint)
        for (let index = 0; index < readers.length; index++) {
          const { name, codec, place } = readers[index] as (typeof readers)[number]
          try {
            record.set(name, place < 0 ? NONE : codec.decode(row[place] as SqlValue))
          } catch (thrown) {
            throw inPart(thrown, name)
          }
        }
        return record
      }
    }
  }

  /** Decodes external JSON by the column types. An unknown member becomes null. Throws a `Mismatch`. */
  fromJson(json: Readonly<Record<string, unknown>>): RecordValue {
    const record = new Map<string, Value>()
    for (const [name, member] of Object.entries(json)) {
      try {
        record.set(name, this.column(name)?.document.decode(member) ?? null)
      } catch (thrown) {
        throw inPart(thrown, name)
      }
    }
    return record
  }

  /** Encodes a value of a column. Throws a `Mismatch` that names the column. */
  encode(column: TableColumn, value: Value): SqlParameter {
    try {
      return column.codec.encode(value)
    } catch (thrown) {
      throw inPart(thrown, column.name)
    }
  }
}

import { type Diagnostic, diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Table } from '../../syntax/ast.ts'
import { nearName } from '../../syntax/near-name.ts'
import type { Span } from '../../syntax/node.ts'

/** Maximum number of columns listed in a message. */
const SHOWN_COLUMNS = 20

/** The columns of one table, in declaration order. */
export class Columns {
  readonly table: string
  readonly names: readonly string[]
  readonly #indexes: ReadonlyMap<string, number>

  constructor({ name, fields }: Table) {
    this.table = name.text
    this.names = fields.map(field => field.name.text)
    this.#indexes = new Map(this.names.map((column, index) => [column, index]))
  }

  /** Returns the index of a declared column; -1 for `_id`; undefined if the table has no such column. */
  indexOf(column: string): number | undefined {
    return column === '_id' ? -1 : this.#indexes.get(column)
  }

  #columnList(): string {
    const names = ['_id', ...this.names]
    const shown = names.slice(0, SHOWN_COLUMNS).map(name => `\`${name}\``)
    return [...shown, ...(names.length > shown.length ? ['…'] : [])].join(', ')
  }

  /** Returns a diagnostic for an unknown column; undefined if the column exists. */
  unknown(column: string, span: Span): Diagnostic | undefined {
    if (this.indexOf(column) !== undefined) return undefined
    const near = nearName(column, [...this.names, '_id'])
    const isText = span.end - span.start > column.length
    return diagnostic('typecheck.db.unknown_field', `the table \`${this.table}\` has no column \`${column}\``, span, {
      suggestions: [`its columns are ${this.#columnList()}`],
      ...(near === undefined
        ? {}
        : { fixes: [{ label: `write ${near}`, span, replacement: isText ? JSON.stringify(near) : near }] })
    })
  }
}

import { type Diagnostic, diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Module, Table, Type } from '../../syntax/ast.ts'
import { nearName } from '../../syntax/near-name.ts'
import type { Span } from '../../syntax/node.ts'

/** Maximum number of columns listed in a message. */
const SHOWN_COLUMNS = 20

/** Type of a column that holds one plain value. */
export type ScalarName = 'int' | 'float' | 'dec' | 'str' | 'char' | 'bool' | 'Id'

const SCALARS: readonly string[] = ['int', 'float', 'dec', 'str', 'char', 'bool', 'Id']

/** Facts about the type of a column, for queries. */
export interface ColumnFacts {
  /** null for columns of other types, such as lists. */
  readonly scalar: ScalarName | null
  readonly isOptional: boolean
  /** Table of the row whose id the column holds; null for other columns. */
  readonly references: string | null
}

/** Aliases of a module by name. */
export type TypeAliases = ReadonlyMap<string, Type>

export function aliasesOf({ items }: Module): TypeAliases {
  const aliases = new Map<string, Type>()
  for (const item of items) {
    if (item.kind === 'Type' && item.definition.form === 'alias') aliases.set(item.name.text, item.definition.type)
  }
  return aliases
}

/** The columns of one table, in declaration order. */
export class Columns {
  readonly table: string
  readonly names: readonly string[]
  readonly #indexes: ReadonlyMap<string, number>
  readonly #types: readonly (Type | null)[]
  readonly #aliases: TypeAliases

  constructor({ name, fields }: Table, aliases: TypeAliases = new Map()) {
    this.table = name.text
    this.names = fields.map(field => field.name.text)
    this.#indexes = new Map(this.names.map((column, index) => [column, index]))
    this.#types = fields.map(({ type }) => type)
    this.#aliases = aliases
  }

  /** Returns the index of a declared column; -1 for `_id`; undefined if the table has no such column. */
  indexOf(column: string): number | undefined {
    return column === '_id' ? -1 : this.#indexes.get(column)
  }

  /** Returns undefined if the table has no such column. */
  facts(column: string): ColumnFacts | undefined {
    const index = this.indexOf(column)
    if (index === undefined) return undefined
    if (index < 0) return { scalar: 'Id', isOptional: false, references: null }
    const type = this.#resolved(this.#types[index] ?? null)
    const optional = optionOf(type)
    return { ...plainFacts(optional === null ? type : this.#resolved(optional)), isOptional: optional !== null }
  }

  #resolved(type: Type | null): Type | null {
    let resolved = type
    // The bound ends a cycle of aliases, which has no meaning.
    for (let depth = 0; depth <= this.#aliases.size; depth++) {
      const alias = nameOf(resolved) === null ? undefined : this.#aliases.get(nameOf(resolved) as string)
      if (alias === undefined) return resolved
      resolved = alias
    }
    return resolved
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

function nameOf(type: Type | null): string | null {
  return type?.kind === 'NamedType' && type.path.length === 1 ? (type.path[0]?.text ?? null) : null
}

/** Returns the type in an Option; null for other types. */
function optionOf(type: Type | null): Type | null {
  if (type?.kind === 'OptionalType') return type.inner
  return type?.kind === 'NamedType' && nameOf(type) === 'Option' ? (type.args[0] ?? null) : null
}

function plainFacts(type: Type | null): Omit<ColumnFacts, 'isOptional'> {
  if (type?.kind === 'DecimalType') return { scalar: 'dec', references: null }
  const name = nameOf(type)
  const scalar = name !== null && SCALARS.includes(name) ? (name as ScalarName) : null
  const [target = null] = type?.kind === 'NamedType' && name === 'Id' ? type.args : []
  return { scalar, references: nameOf(target) }
}

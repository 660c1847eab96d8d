import { type Diagnostic, diagnostic } from '../diagnostics/diagnostic.ts'
import type { Index, Module, Table, Type } from '../syntax/ast.ts'
import { nearName } from '../syntax/near-name.ts'

export function checkTables(module: Module): Diagnostic[] {
  return tablesOf(module).flatMap(({ name: table, fields }) =>
    fields
      .filter(({ name }) => name.text === 'id')
      .map(({ name }) =>
        diagnostic('lint.table_id_column', `\`${table.text}\` has a column \`id\` beside its \`_id\``, name, {
          suggestions: ['call the column something else; `_id` is the key of each row']
        })
      )
  )
}

export function checkIndexes(module: Module): Diagnostic[] {
  const tables = new Map(tablesOf(module).map(table => [table.name.text, table]))
  const types = new Set(module.items.flatMap(item => (item.kind === 'Type' ? [item.name.text] : [])))
  const indexes = module.items.filter(item => item.kind === 'Index')
  return indexes.flatMap(index => {
    const table = tables.get(index.table.text)
    return table === undefined ? [unknownTable(index, tables, types)] : checkColumns(index, table)
  })
}

function tablesOf(module: Module): Table[] {
  return module.items.filter(item => item.kind === 'Table')
}

function unknownTable(
  { variant, table }: Index,
  tables: ReadonlyMap<string, Table>,
  types: ReadonlySet<string>
): Diagnostic {
  const near = nearName(table.text, [...tables.keys()])
  const isType = types.has(table.text)
  const code =
    variant === 'btree'
      ? 'lint.index_unknown_table'
      : isType
        ? 'lint.search_index_not_table'
        : 'lint.search_index_unknown_table'
  const what = isType ? `\`${table.text}\` is a type and no table` : `there is no table \`${table.text}\``
  return diagnostic(code, what, table, {
    ...(isType ? { suggestions: [`write \`@table\` before \`type ${table.text}\``] } : {}),
    ...(near === undefined ? {} : { fixes: [{ label: `write ${near}`, span: table, replacement: near }] })
  })
}

function checkColumns({ variant, columns }: Index, { name: table, fields }: Table): Diagnostic[] {
  return columns.flatMap(column => {
    const field = fields.find(({ name }) => name.text === column.text)
    if (field !== undefined) {
      if (variant !== 'search' || isText(field.type)) return []
      return diagnostic(
        'lint.search_index_field_type',
        `\`${table.text}.${column.text}\` holds no text to search`,
        column
      )
    }
    if (column.text === '_id') return []
    const names = fields.map(({ name }) => name.text)
    const near = nearName(column.text, names)
    const code = variant === 'btree' ? 'lint.index_unknown_column' : 'lint.search_index_unknown_field'
    return diagnostic(code, `the table \`${table.text}\` has no column \`${column.text}\``, column, {
      suggestions: [`its columns are ${names.map(name => `\`${name}\``).join(', ')}`],
      ...(near === undefined ? {} : { fixes: [{ label: `write ${near}`, span: column, replacement: near }] })
    })
  })
}

function isText(type: Type): boolean {
  if (type.kind === 'OptionalType') return isText(type.inner)
  if (type.kind !== 'NamedType') return false
  const name = type.path.at(-1)?.text
  const [arg] = type.args
  return name === 'str' || (name === 'Option' && arg !== undefined && isText(arg))
}

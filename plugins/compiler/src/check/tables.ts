import { type Diagnostic, diagnostic, spellingFix } from '../diagnostics/diagnostic.ts'
import type { Declaration, Decorator, Index, Module, Table, Type } from '../syntax/ast.ts'
import { nearName } from '../syntax/near-name.ts'
import type { Name } from '../syntax/node.ts'
import { INDEX_OPTIONS, indexOptions, optionText } from '../types/db/index-options.ts'

export function checkTables(module: Module): Diagnostic[] {
  return tablesOf(module).flatMap(({ name: table, fields }) =>
    fields
      .filter(({ name }) => name.text === 'id')
      .map(({ name }) =>
        diagnostic('lint.table_id_column', `\`${table.text}\` has a column \`id\` next to its \`_id\``, name, {
          suggestions: ['rename the column; `_id` is the key of each row']
        })
      )
  )
}

/** Reports `@unique` that has no effect: it is not before a column, or has arguments. */
export function checkUnique(module: Module): Diagnostic[] {
  return module.items.flatMap(item => {
    const misplaced = [...('decorators' in item ? item.decorators : []), ...otherFieldDecorators(item)]
    const onColumns = item.kind === 'Table' ? item.fields.flatMap(({ decorators }) => decorators) : []
    return [
      ...misplaced.filter(isUnique).map(mark =>
        diagnostic('unique.use', '`@unique` belongs before a column of a table', mark, {
          suggestions: ['for several columns write `@index T.name on (a, b) with { unique: true }`']
        })
      ),
      ...onColumns
        .filter(mark => isUnique(mark) && (mark.args !== null || mark.strings.length > 0))
        .map(mark => diagnostic('unique.use', '`@unique` takes no arguments', mark))
    ]
  })
}

function isUnique({ name }: Decorator): boolean {
  return name.text === 'unique'
}

/** Returns the decorators of fields that are not columns. */
function otherFieldDecorators(item: Declaration): readonly Decorator[] {
  if (item.kind !== 'Type' || item.definition.form === 'alias') return []
  const { definition } = item
  const fields = definition.form === 'struct' ? definition.fields : definition.variants.flatMap(each => each.fields)
  return fields.flatMap(({ decorators }) => decorators)
}

export function checkIndexes(module: Module): Diagnostic[] {
  const tables = new Map(tablesOf(module).map(table => [table.name.text, table]))
  const types = new Set(module.items.flatMap(item => (item.kind === 'Type' ? [item.name.text] : [])))
  const indexes = module.items.filter(item => item.kind === 'Index')
  return indexes.flatMap(index => {
    const table = tables.get(index.table.text)
    const columns = table === undefined ? [unknownTable(index, tables, types)] : checkColumns(index, table)
    return [...columns, ...checkOptions(index)]
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
  const message = isType ? `\`${table.text}\` is a type, not a table` : `there is no table \`${table.text}\``
  return diagnostic(code, message, table, {
    ...(isType ? { suggestions: [`write \`@table\` before \`type ${table.text}\``] } : {}),
    ...spellingFix(near, table)
  })
}

function checkColumns(index: Index, { name: table, fields }: Table): Diagnostic[] {
  const { variant, columns } = index
  const [, second] = columns
  const surplus =
    variant === 'vector' && second !== undefined
      ? [diagnostic('lint.search_index_field_type', 'a vector index has one column', second)]
      : []
  const unfit = columns.flatMap(column => {
    const field = fields.find(({ name }) => name.text === column.text)
    if (field !== undefined) return unfitColumn(variant, field.type, `${table.text}.${column.text}`, column)
    if (column.text === '_id') return variant === 'btree' ? [] : unfitColumn(variant, null, `${table.text}._id`, column)
    const names = fields.map(({ name }) => name.text)
    const near = nearName(column.text, names)
    const code = variant === 'btree' ? 'lint.index_unknown_column' : 'lint.search_index_unknown_field'
    return diagnostic(code, `the table \`${table.text}\` has no column \`${column.text}\``, column, {
      suggestions: [`its columns are ${names.map(name => `\`${name}\``).join(', ')}`],
      ...spellingFix(near, column)
    })
  })
  return [...unfit, ...surplus]
}

/** Reports a column that an index cannot search. `type` is null for the row id, which no search accepts. */
function unfitColumn(variant: Index['variant'], type: Type | null, message: string, column: Name): Diagnostic[] {
  if (variant === 'btree' || (type !== null && (variant === 'search' ? isText(type) : isVector(type)))) return []
  const [lack, suggestions] =
    variant === 'search'
      ? ['contains no text to search', ['search indexes take columns that are `str` or `Option[str]`']]
      : ['contains no vector', ['vector indexes take a column that is a `Tensor` of fixed length: `Tensor[384]`']]
  return [diagnostic('lint.search_index_field_type', `\`${message}\` ${lack}`, column, { suggestions })]
}

function checkOptions(index: Index): Diagnostic[] {
  const known = INDEX_OPTIONS[index.variant]
  const shown = known.values.map(value => optionText(index.variant, value))
  const example = `write \`with { ${known.name}: ${shown[0]} }\``
  return indexOptions(index).flatMap(({ at, key, problem }): Diagnostic[] => {
    if (problem === 'unknown') {
      const message = `${index.variant === 'btree' ? 'an' : `a ${index.variant}`} index has no option \`${key}\``
      return [diagnostic('typecheck.with.unknown_option', message, at, { suggestions: [example] })]
    }
    if (problem === 'value') {
      const message = `\`${key}\` must be one of ${shown.join(', ')}`
      return [diagnostic('typecheck.with.option_type', message, at)]
    }
    if (problem === null) return []
    const message = 'options must be a record literal'
    return [diagnostic('typecheck.with.not_record', message, at, { suggestions: [example] })]
  })
}

function isText(type: Type): boolean {
  if (type.kind === 'OptionalType') return isText(type.inner)
  if (type.kind !== 'NamedType') return false
  const name = type.path.at(-1)?.text
  const [arg] = type.args
  return name === 'str' || (name === 'Option' && arg !== undefined && isText(arg))
}

/** True for a tensor of known length: `Tensor[3]`. */
function isVector(type: Type): boolean {
  if (type.kind === 'OptionalType') return isVector(type.inner)
  if (type.kind !== 'NamedType') return false
  const name = type.path.at(-1)?.text
  const [arg] = type.args
  if (name === 'Option') return arg !== undefined && isVector(arg)
  return name === 'Tensor' && type.args.length === 1 && arg?.kind === 'SizeType' && arg.size > 0
}

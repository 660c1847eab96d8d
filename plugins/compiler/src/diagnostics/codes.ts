export type Severity = 'error' | 'warning'

export type Category = 'parse' | 'lowering' | 'typecheck' | 'hir_invariant' | 'runtime_contract' | 'lint'

interface CodeEntry {
  readonly severity: Severity
  readonly category: Category
  /** What the code means, in one sentence. */
  readonly meaning: string
}

const error = (category: Category, meaning: string): CodeEntry => ({ severity: 'error', category, meaning })
const warning = (category: Category, meaning: string): CodeEntry => ({ severity: 'warning', category, meaning })

/** Every code that a diagnostic can have. Codes are stable and never used again for something else. */
export const diagnosticCodes = {
  E0001: error('parse', 'The text does not follow the grammar.'),
  E091: error('lint', 'The language has no macros.'),
  W093: warning('lint', "An attribute of a view is spelled as React spells it instead of in the language's own way."),
  'lint.component_react_hook': warning('lint', 'A component or an island that is a function calls a hook of React.'),
  'lint.index_unknown_column': error('lint', 'An index names a column that its table does not have.'),
  'lint.index_unknown_table': error('lint', 'An index belongs to a table that is not declared.'),
  'lint.legacy_component_fn': warning('lint', 'A component is written as a function.'),
  'lint.pure_shallow_violation': warning('lint', 'A function that is marked as pure prints, sleeps or spawns.'),
  'lint.retired_context': error('lint', '`@context` is no longer part of the language.'),
  'lint.retired_hook_fn': error('lint', '`@hook` is no longer part of the language.'),
  'lint.retired_page_decl': error('lint', '`@page` is no longer part of the language.'),
  'lint.retired_provider_fn': error('lint', '`@provider` is no longer part of the language.'),
  'lint.search_index_field_type': error('lint', 'A search index names a column that holds no text.'),
  'lint.search_index_not_table': error('lint', 'A search or vector index belongs to a type that is no table.'),
  'lint.search_index_unknown_field': error(
    'lint',
    'A search or vector index names a column that its table does not have.'
  ),
  'lint.search_index_unknown_table': error('lint', 'A search or vector index belongs to a table that is not declared.'),
  'lint.symbol_operator': warning('lint', '`&&` or `||` stands where the language writes `and` or `or`.'),
  'lint.table_id_column': warning('lint', 'A column is called `id`, although each row has its `_id`.'),
  'parse.deprecated_get': error('parse', '`@get` stands where a route is declared.'),
  'parse.unknown_decorator': error('parse', 'No decorator has that name.'),
  'typecheck.activity.no_return_type': warning('typecheck', 'An activity does not say what it returns.'),
  'typecheck.activity.result_type': error('typecheck', 'An activity returns something that is no `Result`.'),
  'typecheck.arity': error('typecheck', 'A call has too many arguments, or too few.'),
  'typecheck.db.deprecated_query': error('typecheck', '`db.query` is given a table.'),
  'typecheck.db.duplicate_select': error('typecheck', 'A column is selected twice.'),
  'typecheck.db.empty_select': error('typecheck', 'No columns are selected.'),
  'typecheck.db.find_semantics': error('typecheck', '`find` is used to search for rows.'),
  'typecheck.db.modifier': error('typecheck', 'A part of a chain on a table does not fit the rest of it.'),
  'typecheck.db.type': error('typecheck', 'A value does not have the type of its column.'),
  'typecheck.db.unknown_field': error('typecheck', 'A table does not have a column of that name.'),
  'typecheck.db.unknown_operator': error('typecheck', '`where` does not have an operator of that name.'),
  'typecheck.db.unknown_table': error('typecheck', 'There is no table of that name.'),
  'typecheck.hir.empty_path': error('hir_invariant', 'The path of a route is empty.'),
  'typecheck.mcp.duplicate_resource_uri': error('hir_invariant', 'Two MCP resources have one URI.'),
  'typecheck.mcp.empty_uri': error('hir_invariant', 'The URI of an MCP resource is empty.'),
  'typecheck.mcp.resource_params': error('hir_invariant', 'A function that is an MCP resource has parameters.'),
  'typecheck.route.duplicate': error('typecheck', 'Two declarations answer the same requests.')
} as const satisfies Readonly<Record<string, CodeEntry>>

export type DiagnosticCode = keyof typeof diagnosticCodes

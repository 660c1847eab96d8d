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
  W093: warning('lint', "An attribute of a view is spelled as in React instead of the language's own way."),
  'lint.legacy_component_fn': warning('lint', 'A component is written as a function.'),
  'lint.retired_context': error('lint', '`@context` no longer exists.'),
  'lint.retired_hook_fn': error('lint', '`@hook` no longer exists.'),
  'lint.retired_page_decl': error('lint', '`@page` no longer exists.'),
  'lint.retired_provider_fn': error('lint', '`@provider` no longer exists.'),
  'lint.symbol_operator': warning('lint', '`&&` or `||` where the language writes `and` or `or`.'),
  'lint.table_id_column': warning('lint', 'A column is called `id`; rows have `_id` already.'),
  'parse.deprecated_get': error('parse', '`@get` is written where a route is declared.'),
  'parse.unknown_decorator': error('parse', 'No decorator has that name.')
} as const satisfies Readonly<Record<string, CodeEntry>>

export type DiagnosticCode = keyof typeof diagnosticCodes

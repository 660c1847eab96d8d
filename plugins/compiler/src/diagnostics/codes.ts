export type Severity = 'error' | 'warning'

export type Category = 'parse' | 'lowering' | 'typecheck' | 'hir_invariant' | 'runtime_contract' | 'lint'

interface CodeEntry {
  readonly severity: Severity
  readonly category: Category
  /** The meaning, in one sentence. */
  readonly meaning: string
}

const error = (category: Category, meaning: string): CodeEntry => ({ severity: 'error', category, meaning })
const warning = (category: Category, meaning: string): CodeEntry => ({ severity: 'warning', category, meaning })

/** Every code that a diagnostic can have. Codes are stable and never reused. */
export const diagnosticCodes = {
  E0001: error('parse', 'The program has a syntax error.'),
  E0301: error('typecheck', 'A `match` is not exhaustive.'),
  E091: error('lint', 'The language has no macros.'),
  E_EFFECT_DUPLICATE: error('typecheck', 'A function declares an effect twice.'),
  E_EFFECT_PURE_CONFLICT: error('typecheck', 'A function is marked as pure and declares effects.'),
  E_SM_UNKNOWN_STATE: error('typecheck', 'A transition names a state that its machine does not have.'),
  W092: warning('lint', 'A declaration is marked as deprecated.'),
  W093: warning('lint', "An attribute of a view has React's spelling instead of the language's."),
  'auth.argument': error('typecheck', 'An argument of a guard decorator is unknown, missing or invalid.'),
  'auth.not_enforced': error('runtime_contract', 'The requested output does not enforce a guard decorator.'),
  'auth.target': error('typecheck', 'A guard decorator is on a declaration that it cannot guard.'),
  'auth.unguarded': error('typecheck', '`request.user` is used in a function without `@auth`.'),
  'auth.rule': error(
    'typecheck',
    'A row rule names an unknown action or column, or has a condition that a rule cannot have.'
  ),
  'auth.rule_bypass': error(
    'typecheck',
    'An endpoint reaches a table with row rules through raw SQL, which ignores them.'
  ),
  'auth.users': error('typecheck', 'The declaration of the table of users, or of `on_sign_up`, is not valid.'),
  'lint.component_react_hook': warning('lint', 'A component or an island that is a function calls a React hook.'),
  'lint.db_unsafe_query': error('lint', 'The program contains raw SQL.'),
  'lint.decimal_literal': warning('lint', 'A number without `dec` is used as a decimal.'),
  'lint.decorator_without_effect': warning('lint', 'A decorator has no effect on what it marks.'),
  'lint.index_unknown_column': error('lint', 'An index names a column that its table does not have.'),
  'lint.index_unknown_table': error('lint', 'An index belongs to a table that is not declared.'),
  'lint.legacy_component_fn': warning('lint', 'A component is written as a function.'),
  'lint.pure_shallow_violation': warning('lint', 'A function that is marked as pure prints, sleeps or spawns.'),
  'lint.quadratic_push': warning('lint', 'A loop copies a list in every round to add an element.'),
  'lint.query_not_readonly': error('lint', 'A query changes the database, directly or through a callee.'),
  'lint.retired_context': error('lint', '`@context` is no longer part of the language.'),
  'lint.retired_hook_fn': error('lint', '`@hook` is no longer part of the language.'),
  'lint.retired_page_decl': error('lint', '`@page` is no longer part of the language.'),
  'lint.retired_provider_fn': error('lint', '`@provider` is no longer part of the language.'),
  'lint.row_id_alias': warning('lint', 'The `_id` of a row is called `id`.'),
  'lint.search_index_field_type': error(
    'lint',
    'A search index has a column that is not text, or a vector index a column that is not a `Tensor` of fixed length.'
  ),
  'lint.search_index_not_table': error('lint', 'A search or vector index belongs to a type that is not a table.'),
  'lint.search_index_unknown_field': error(
    'lint',
    'A search or vector index names a column that its table does not have.'
  ),
  'lint.search_index_unknown_table': error('lint', 'A search or vector index belongs to a table that is not declared.'),
  'lint.symbol_operator': warning('lint', '`&&` or `||` is used instead of `and` or `or`.'),
  'lint.table_id_column': warning('lint', 'A column is called `id`, although each row has its `_id`.'),
  'lint.theme_contrast': warning('lint', 'A text colour has too little contrast to its background.'),
  'lint.uninhabited_type': warning('lint', 'No value of a type can be made.'),
  'lint.unreachable': warning('lint', 'No run reaches some code.'),
  'lint.unreplaced_text': warning('lint', 'A text of a view has an expression in braces, which is not replaced.'),
  'lint.unused_result': warning('lint', 'A failure is ignored, or a value is computed that nothing takes.'),
  'parse.deprecated_get': error('parse', '`@get` is used to declare a route.'),
  'parse.unknown_decorator': error('parse', 'A decorator of that name does not exist.'),
  'rate_limit.needs_auth': error('typecheck', 'A limit counts calls by user, but the function has no `@auth`.'),
  'response.target': error('typecheck', 'A function other than a route answers with a `Response`.'),
  'typecheck.activity.no_return_type': warning('typecheck', 'An activity does not declare its result type.'),
  'typecheck.activity.result_type': error('typecheck', 'An activity does not return a `Result`.'),
  'typecheck.actor.spawn_target': error('typecheck', 'A spawned name is not an actor.'),
  'typecheck.actor.unknown_handler': error('typecheck', 'An actor does not have a handler of that name.'),
  'typecheck.annotation_needed': warning('typecheck', 'The type of a value is unknown, and nothing determines it.'),
  'typecheck.arg_mismatch': error('typecheck', 'The type of an argument does not match its parameter.'),
  'typecheck.arity': error('typecheck', 'A call has too many arguments, or too few.'),
  'typecheck.assign_mismatch': error('typecheck', 'The type of an assigned value does not match its variable.'),
  'typecheck.branch_mismatch': error('typecheck', 'The branches of an `if` or `match` have different types.'),
  'typecheck.condition': error('typecheck', 'A condition is not a `bool`.'),
  'typecheck.db.deprecated_query': error('typecheck', '`db.query` is called on a table.'),
  'typecheck.db.duplicate_select': error('typecheck', 'A column is selected twice.'),
  'typecheck.db.empty_select': error('typecheck', 'No columns are selected.'),
  'typecheck.db.find_semantics': error('typecheck', '`find` is used to search for rows.'),
  'typecheck.db.modifier': error('typecheck', 'A call is not allowed at its position in a chain on a table.'),
  'typecheck.db.type': error('typecheck', 'A value does not have the type of its column.'),
  'typecheck.db.unknown_field': error('typecheck', 'A table does not have a column of that name.'),
  'typecheck.db.unknown_operator': error('typecheck', '`where` does not have an operator of that name.'),
  'typecheck.db.unknown_table': error('typecheck', 'A table is not declared.'),
  'typecheck.deprecated_ident': warning('typecheck', 'A deprecated declaration is used.'),
  'typecheck.duplicate_name': error('typecheck', 'A name is declared twice.'),
  'typecheck.duration': error('typecheck', 'A duration is not a number with a unit of time.'),
  'typecheck.element_mismatch': error('typecheck', 'The elements of a list or a map have different types.'),
  'typecheck.hir.empty_name': error('hir_invariant', 'A name is empty.'),
  'typecheck.hir.empty_path': error('hir_invariant', 'The path of a route is empty.'),
  'typecheck.hook.duplicate': error('typecheck', 'A program declares an app hook twice.'),
  'typecheck.hook.handler': error(
    'typecheck',
    'The function of an app hook cannot be called by a page, or has the wrong result type.'
  ),
  'typecheck.hook.missing_entry': error('typecheck', 'An app hook lacks a required entry.'),
  'typecheck.hook.parameter': error(
    'typecheck',
    'A function of an app hook has a parameter that the hook does not pass.'
  ),
  'typecheck.hook.unknown_entry': error('typecheck', 'An app hook does not have an entry of that name.'),
  'typecheck.hook.value': error('typecheck', 'An entry of an app hook has an invalid value.'),
  'typecheck.immutable_assign': error('typecheck', 'An immutable variable is assigned.'),
  'typecheck.import.alias_conflict': error('typecheck', 'Two imports have the same name.'),
  'typecheck.iterable': error('typecheck', '`for` iterates over a value that has no elements.'),
  'typecheck.jump_outside_loop': error('typecheck', '`break` or `continue` is outside a loop.'),
  'typecheck.let_mismatch': error('typecheck', 'The type of a value does not match its variable.'),
  'typecheck.match.divergent_wildcard': warning(
    'typecheck',
    'An arm is unreachable: the arms before it match every value.'
  ),
  'typecheck.mcp.duplicate_resource_uri': error('hir_invariant', 'Two MCP resources have the same URI.'),
  'typecheck.mcp.empty_uri': error('hir_invariant', 'The URI of an MCP resource is empty.'),
  'typecheck.mcp.resource_params': error('hir_invariant', 'An MCP resource has parameters.'),
  'typecheck.missing_field': error('typecheck', 'A record lacks a required field.'),
  'typecheck.not_a_function': error('typecheck', 'A called value is not a function.'),
  'typecheck.not_json': warning(
    'typecheck',
    'A parameter or a result is sent or stored as JSON, but has a function or an actor in it.'
  ),
  'typecheck.operands': error('typecheck', 'An operator does not accept operands of these types.'),
  'typecheck.pattern_mismatch': error('typecheck', 'A pattern matches values of another type.'),
  'typecheck.prop': error(
    'typecheck',
    'An element has a property that its component lacks, lacks one, or gives it another type.'
  ),
  'typecheck.reactive.derived': error('typecheck', 'A derived value does not have its declared type.'),
  'typecheck.reactive.state': error('typecheck', 'A state does not have its declared type.'),
  'typecheck.reserved_name': error('typecheck', 'A declaration has the reserved name `db`.'),
  'typecheck.return_mismatch': error('typecheck', 'A function does not return its declared type.'),
  'typecheck.route.duplicate': error('typecheck', 'Two declarations match the same requests.'),
  'typecheck.route.parameter': error('typecheck', 'A route does not declare a parameter of its path.'),
  'typecheck.route.path': error('typecheck', 'The path of a route is invalid.'),
  'typecheck.rust_import.deferred': warning('typecheck', 'An imported crate is not built in yet.'),
  'typecheck.rust_import.escape_hatch': warning('typecheck', 'An imported crate bypasses guarantees of the language.'),
  'typecheck.rust_import.internal': warning(
    'typecheck',
    'An imported crate duplicates a builtin feature of the language.'
  ),
  'typecheck.rust_import.unknown_item': error('typecheck', 'A crate does not have an item of that name.'),
  'typecheck.rust_import.unpinned': warning(
    'typecheck',
    'A crate is imported without a version, a path or a repository.'
  ),
  'typecheck.try_misuse': error(
    'typecheck',
    '`?` follows a value that cannot fail, or its failure cannot be returned.'
  ),
  'typecheck.undefined': error('typecheck', 'A name is not declared.'),
  'typecheck.undefined_type': warning('typecheck', 'A type is not declared.'),
  'typecheck.unknown_field': error('typecheck', 'A value has no field of that name.'),
  'typecheck.unknown_method': error('typecheck', 'A value has no method of that name.'),
  'typecheck.unknown_std': warning('typecheck', 'The standard library has no function of that name.'),
  'typecheck.url.parameter': error('typecheck', 'A parameter of an address is no text, number or bool.'),
  'typecheck.variant_default': error('typecheck', 'A member of a variant has a default.'),
  'typecheck.with.misplaced_option': error('typecheck', 'An option after `with` has no effect on the callee.'),
  'typecheck.with.not_record': error('typecheck', 'The options after `with` are not a record literal.'),
  'typecheck.with.operand': error('typecheck', 'Options follow a call that does not return a `Result`.'),
  'typecheck.with.option_type': warning('typecheck', 'An option after `with` has the wrong type.'),
  'typecheck.with.option_value': error('typecheck', 'An option after `with` has an unknown value.'),
  'typecheck.with.unknown_option': warning('typecheck', 'An option of that name does not exist.'),
  'unique.use': error('typecheck', '`@unique` is not before a column of a table, or has arguments.'),
  'vox/auth/endpoint-missing-decorator': warning(
    'typecheck',
    'An endpoint has neither `@auth` nor `@public`, in a program that uses `@auth`.'
  ),
  'vox/effect/missing-declaration': warning('typecheck', 'A function has an effect that it does not declare.'),
  'vox/effect/missing-fs-decl': warning('typecheck', 'A function uses files, but does not declare the effect.'),
  'vox/effect/missing-llm-decl': warning('typecheck', 'A function calls a model, but does not declare the effect.'),
  'vox/effect/missing-net-decl': warning('typecheck', 'A function uses the network, but does not declare the effect.'),
  'vox/effect/missing-random-decl': warning(
    'typecheck',
    'A function uses random values, but does not declare the effect.'
  ),
  'vox/effect/missing-secret-decl': warning('typecheck', 'A function uses secrets, but does not declare the effect.'),
  'vox/effect/missing-time-decl': warning('typecheck', 'A function reads the time, but does not declare the effect.'),
  'vox/effect/pure-violation': warning(
    'typecheck',
    'A function that is marked as pure has an effect, directly or through a callee.'
  ),
  'vox/fixture/unfilled-hole': warning('lint', 'A function has no body yet.'),
  'vox/form/missing-label': warning('lint', 'A field of a form has no label.'),
  'vox/prompt/invalid-stage': error('typecheck', 'A prompt names an unknown stage.'),
  'vox/prompt/secret-leakage': warning('typecheck', 'A secret or an environment variable is sent to a model.'),
  'vox/subagent/budget-exhausted-inline': error('typecheck', 'A subagent has no budget.'),
  'vox/subagent/chain-depth-exceeded': error('typecheck', 'A subagent exceeds the maximum call depth.'),
  'vox/subagent/distributed-not-wired': warning(
    'runtime_contract',
    'A subagent requires other machines, but no mesh is enabled.'
  ),
  'vox/workflow/mesh-disabled': warning(
    'runtime_contract',
    'A workflow calls a function of the mesh, but no mesh is enabled.'
  ),
  'vox/workflow/non-deterministic-call': warning('runtime_contract', 'A workflow calls a non-deterministic function.'),
  'web.hook.not_started': warning(
    'runtime_contract',
    'The main module of an application does not start its app hooks.'
  ),
  'web.machine.missing_value': error('runtime_contract', 'A transition does not set the values of its new state.'),
  'web.missing_module': warning('runtime_contract', 'An imported React module does not exist.'),
  'web.no_value_yet': error(
    'runtime_contract',
    'A component shows a server response whose type has no placeholder value.'
  ),
  'web.not_in_browser': error('runtime_contract', 'Browser code needs a feature that only the server has.'),
  'web.route.missing_parameter': error('runtime_contract', 'A loader has a parameter that the path of its page lacks.'),
  'web.route.missing_property': error(
    'runtime_contract',
    'A page has a property that neither its path nor its loader provides.'
  ),
  'web.route.unknown_component': error('runtime_contract', 'A page names a component that is not declared.'),
  'web.route.unknown_loader': error('runtime_contract', 'The loader of a page is not a query.'),
  'web.route.unknown_option': error('runtime_contract', 'A page has no option of that name.'),
  'web.token_value': error('runtime_contract', 'A design token is not a literal CSS value.'),
  'web.v0_export': warning('runtime_contract', 'The module of a v0 component is missing, or does not export its name.'),
  'web_ir_validate.behavior.required_state_without_initial': error('runtime_contract', 'A state has no initial value.'),
  'web_ir_validate.dom.arena_too_large': error('runtime_contract', 'The views of a module have too many nodes.'),
  'web_ir_validate.dom.id_oob': error('runtime_contract', 'A node of a view refers to a missing node.'),
  'web_ir_validate.interop.empty_component': error('runtime_contract', 'A React component has no name.'),
  'web_ir_validate.interop.empty_escape_expr': error('runtime_contract', 'A TypeScript snippet is empty.'),
  'web_ir_validate.interop.empty_escape_reason': error('runtime_contract', 'A TypeScript snippet has no reason.'),
  'web_ir_validate.interop.empty_external_specifier': error(
    'runtime_contract',
    'A TypeScript function does not name its module.'
  ),
  'web_ir_validate.interop.empty_import_source': error(
    'runtime_contract',
    'A React component does not name its module.'
  ),
  'web_ir_validate.island.empty_prop_key': error('runtime_contract', 'A property of an island has no name.'),
  'web_ir_validate.route.duplicate_contract_id': error(
    'runtime_contract',
    'Two pages have the same id, because there are two `routes` blocks.'
  ),
  'web_ir_validate.route.duplicate_loader_id': error('runtime_contract', 'Two routes have the same id.'),
  'web_ir_validate.route.empty_loader_contract': error('runtime_contract', 'A route has no contract.'),
  'web_ir_validate.route.empty_loader_id': error('runtime_contract', 'A route has no id.'),
  'web_ir_validate.route.empty_mutation_name': error('runtime_contract', 'A mutation has no name.'),
  'web_ir_validate.route.empty_mutation_payload_type': error(
    'runtime_contract',
    'A mutation does not declare its parameters.'
  ),
  'web_ir_validate.route.empty_server_export_path': error('runtime_contract', 'A server function has no path.'),
  'web_ir_validate.route.empty_server_fn_name': error('runtime_contract', 'A server function has no name.'),
  'web_ir_validate.route.empty_server_signature': error('runtime_contract', 'A server function has no signature.'),
  'web_ir_validate.scheduled.empty_interval': error('runtime_contract', 'A scheduled function has no interval.'),
  'web_ir_validate.scheduled.empty_name': error('runtime_contract', 'A scheduled function has no name.'),
  'web_ir_validate.style.duplicate_property_in_rule': error(
    'runtime_contract',
    'A rule of a style declares a property twice.'
  ),
  'web_ir_validate.style.empty_declarations': error('runtime_contract', 'A rule of a style declares nothing.'),
  'web_ir_validate.style.empty_property': error('runtime_contract', 'A declaration of a style has no property.'),
  'web_ir_validate.style.specificity_conflict': error(
    'runtime_contract',
    'Two rules for one class differ in their specificity.'
  ),
  'web_ir_validate.style.unknown_property': error('runtime_contract', 'CSS has no property of that name.')
} as const satisfies Readonly<Record<string, CodeEntry>>

export type DiagnosticCode = keyof typeof diagnosticCodes

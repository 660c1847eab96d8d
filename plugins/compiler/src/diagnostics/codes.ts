export type Severity = 'error' | 'warning'

export type Category = 'parse' | 'lowering' | 'typecheck' | 'hir_invariant' | 'runtime_contract' | 'lint'

interface CodeEntry {
  readonly severity: Severity
  readonly category: Category
  /** Meaning of the code, in one sentence. */
  readonly meaning: string
}

const error = (category: Category, meaning: string): CodeEntry => ({ severity: 'error', category, meaning })
const warning = (category: Category, meaning: string): CodeEntry => ({ severity: 'warning', category, meaning })

/** Every code that a diagnostic can have. Codes are stable and never reused. */
export const diagnosticCodes = {
  E0001: error('parse', 'The text does not follow the grammar.'),
  E0301: error('typecheck', 'A `match` does not take every value.'),
  E091: error('lint', 'The language has no macros.'),
  E_EFFECT_DUPLICATE: error('typecheck', 'An effect is named twice.'),
  E_EFFECT_PURE_CONFLICT: error('typecheck', 'A function is marked as pure and says that it has effects.'),
  E_SM_UNKNOWN_STATE: error('typecheck', 'A transition names a state that its machine does not have.'),
  W092: warning('lint', 'A declaration is marked as deprecated.'),
  W093: warning('lint', "An attribute of a view is spelled as React spells it instead of in the language's own way."),
  'auth.not_enforced': error('runtime_contract', 'A guard decorator is not enforced yet, so the program is refused.'),
  'lint.component_react_hook': warning('lint', 'A component or an island that is a function calls a hook of React.'),
  'lint.db_unsafe_query': error('lint', 'SQL is written by hand.'),
  'lint.index_unknown_column': error('lint', 'An index names a column that its table does not have.'),
  'lint.index_unknown_table': error('lint', 'An index belongs to a table that is not declared.'),
  'lint.legacy_component_fn': warning('lint', 'A component is written as a function.'),
  'lint.pure_shallow_violation': warning('lint', 'A function that is marked as pure prints, sleeps or spawns.'),
  'lint.query_not_readonly': error('lint', 'A query changes the database, itself or through what it calls.'),
  'lint.retired_context': error('lint', '`@context` is no longer part of the language.'),
  'lint.retired_hook_fn': error('lint', '`@hook` is no longer part of the language.'),
  'lint.retired_page_decl': error('lint', '`@page` is no longer part of the language.'),
  'lint.retired_provider_fn': error('lint', '`@provider` is no longer part of the language.'),
  'lint.search_index_field_type': error(
    'lint',
    'A search index names a column that holds no text, or a vector index one that holds no `Tensor` of a certain length.'
  ),
  'lint.search_index_not_table': error('lint', 'A search or vector index belongs to a type that is no table.'),
  'lint.search_index_unknown_field': error(
    'lint',
    'A search or vector index names a column that its table does not have.'
  ),
  'lint.search_index_unknown_table': error('lint', 'A search or vector index belongs to a table that is not declared.'),
  'lint.symbol_operator': warning('lint', '`&&` or `||` stands where the language writes `and` or `or`.'),
  'lint.table_id_column': warning('lint', 'A column is called `id`, although each row has its `_id`.'),
  'lint.theme_contrast': warning('lint', 'A colour of a text has too little contrast to the one behind it.'),
  'parse.deprecated_get': error('parse', '`@get` stands where a route is declared.'),
  'parse.unknown_decorator': error('parse', 'No decorator has that name.'),
  'typecheck.activity.no_return_type': warning('typecheck', 'An activity does not say what it returns.'),
  'typecheck.activity.result_type': error('typecheck', 'An activity returns something that is no `Result`.'),
  'typecheck.actor.spawn_target': error('typecheck', 'Something is spawned that is no actor.'),
  'typecheck.actor.unknown_handler': error('typecheck', 'An actor does not have a handler of that name.'),
  'typecheck.arg_mismatch': error('typecheck', 'An argument has another type than its parameter.'),
  'typecheck.arity': error('typecheck', 'A call has too many arguments, or too few.'),
  'typecheck.assign_mismatch': error('typecheck', 'A value is assigned to a variable of another type.'),
  'typecheck.condition': error('typecheck', 'A condition is neither true nor false.'),
  'typecheck.db.deprecated_query': error('typecheck', '`db.query` is given a table.'),
  'typecheck.db.duplicate_select': error('typecheck', 'A column is selected twice.'),
  'typecheck.db.empty_select': error('typecheck', 'No columns are selected.'),
  'typecheck.db.find_semantics': error('typecheck', '`find` is used to search for rows.'),
  'typecheck.db.modifier': error('typecheck', 'A part of a chain on a table does not fit the rest of it.'),
  'typecheck.db.type': error('typecheck', 'A value does not have the type of its column.'),
  'typecheck.db.unknown_field': error('typecheck', 'A table does not have a column of that name.'),
  'typecheck.db.unknown_operator': error('typecheck', '`where` does not have an operator of that name.'),
  'typecheck.db.unknown_table': error('typecheck', 'There is no table of that name.'),
  'typecheck.deprecated_ident': warning('typecheck', 'A deprecated declaration is used.'),
  'typecheck.duplicate_name': error('typecheck', 'A name is given twice where it means one thing.'),
  'typecheck.duration': error('typecheck', 'A duration is not a number with one of the units of time.'),
  'typecheck.hir.empty_name': error('hir_invariant', 'A name is empty.'),
  'typecheck.hir.empty_path': error('hir_invariant', 'The path of a route is empty.'),
  'typecheck.hook.duplicate': error('typecheck', 'A program has a hook of an app twice.'),
  'typecheck.hook.handler': error(
    'typecheck',
    'A hook of an app names no function that a page can call, or one that gives something else.'
  ),
  'typecheck.hook.missing_entry': error('typecheck', 'A hook of an app lacks what makes it do something.'),
  'typecheck.hook.parameter': error('typecheck', 'A function of a hook of an app needs what the hook does not give.'),
  'typecheck.hook.unknown_entry': error('typecheck', 'A hook of an app does not have an entry of that name.'),
  'typecheck.hook.value': error('typecheck', 'An entry of a hook of an app holds something that cannot stand there.'),
  'typecheck.immutable_assign': error('typecheck', 'Something is assigned to that does not change.'),
  'typecheck.import.alias_conflict': error('typecheck', 'Two imports give one name.'),
  'typecheck.jump_outside_loop': error('typecheck', '`break` or `continue` stands where no loop is around it.'),
  'typecheck.let_mismatch': error('typecheck', 'A value has another type than its variable.'),
  'typecheck.match.divergent_wildcard': warning(
    'typecheck',
    'An arm takes nothing, because the arms before it take every value.'
  ),
  'typecheck.mcp.duplicate_resource_uri': error('hir_invariant', 'Two MCP resources have one URI.'),
  'typecheck.mcp.empty_uri': error('hir_invariant', 'The URI of an MCP resource is empty.'),
  'typecheck.mcp.resource_params': error('hir_invariant', 'A function that is an MCP resource has parameters.'),
  'typecheck.missing_field': warning('typecheck', 'A record lacks a field that must have a value.'),
  'typecheck.not_a_function': error('typecheck', 'Something is called that is no function.'),
  'typecheck.operands': error('typecheck', 'An operator does not take operands of these types.'),
  'typecheck.reactive.derived': error('typecheck', 'A derived value has another type than it says.'),
  'typecheck.reactive.state': error('typecheck', 'A state has another type than it says.'),
  'typecheck.reserved_name': error('typecheck', 'Something is called `db`, which is the database.'),
  'typecheck.return_mismatch': error('typecheck', 'A function returns another type than it says.'),
  'typecheck.route.duplicate': error('typecheck', 'Two declarations answer the same requests.'),
  'typecheck.route.parameter': error('typecheck', 'A route does not take a part of its path that has a name.'),
  'typecheck.route.path': error('typecheck', 'A path cannot identify requests.'),
  'typecheck.rust_import.deferred': warning('typecheck', 'A crate is imported that is not built in yet.'),
  'typecheck.rust_import.escape_hatch': warning(
    'typecheck',
    'A crate is imported that goes around what the language gives.'
  ),
  'typecheck.rust_import.internal': warning(
    'typecheck',
    'A crate is imported that does what the language does itself.'
  ),
  'typecheck.rust_import.unknown_item': error('typecheck', 'A crate does not have an item of that name.'),
  'typecheck.rust_import.unpinned': warning(
    'typecheck',
    'A crate is imported without a version, a path or a repository.'
  ),
  'typecheck.try_misuse': error(
    'typecheck',
    '`?` stands where nothing can fail, or where the failure cannot be returned.'
  ),
  'typecheck.undefined': error('typecheck', 'Nothing has that name.'),
  'typecheck.undefined_type': warning('typecheck', 'No type has that name.'),
  'typecheck.unknown_field': error('typecheck', 'A value has no field of that name.'),
  'typecheck.unknown_method': error('typecheck', 'A value has no method of that name.'),
  'typecheck.unknown_std': warning('typecheck', 'The standard library has no function of that name.'),
  'typecheck.with.misplaced_option': error('typecheck', 'An option behind `with` does nothing for what is called.'),
  'typecheck.with.not_record': error('typecheck', 'The options behind `with` are no record that is written out.'),
  'typecheck.with.operand': error('typecheck', 'Options stand behind something that does not return a `Result`.'),
  'typecheck.with.option_type': warning('typecheck', 'An option behind `with` has another type.'),
  'typecheck.with.option_value': error('typecheck', 'An option behind `with` has a value that there is not.'),
  'typecheck.with.unknown_option': warning('typecheck', 'There is no option of that name.'),
  'vox/effect/missing-declaration': warning('typecheck', 'A function has an effect that it does not declare.'),
  'vox/effect/missing-fs-decl': warning('typecheck', 'A function uses files, and does not declare the effect.'),
  'vox/effect/missing-llm-decl': warning('typecheck', 'A function asks a model, and does not declare the effect.'),
  'vox/effect/missing-net-decl': warning('typecheck', 'A function uses the network, and does not declare the effect.'),
  'vox/effect/missing-random-decl': warning('typecheck', 'A function uses chance, and does not declare the effect.'),
  'vox/effect/missing-secret-decl': warning('typecheck', 'A function uses secrets, and does not declare the effect.'),
  'vox/effect/missing-time-decl': warning(
    'typecheck',
    'A function asks for the time, and does not declare the effect.'
  ),
  'vox/effect/pure-violation': warning(
    'typecheck',
    'A function that is marked as pure has an effect, itself or through what it calls.'
  ),
  'vox/fixture/unfilled-hole': warning('lint', 'A function is still to be written.'),
  'vox/form/missing-label': warning('lint', 'A field of a form has no label.'),
  'vox/prompt/invalid-stage': error('typecheck', 'A prompt belongs to a stage that there is not.'),
  'vox/prompt/secret-leakage': warning('typecheck', 'A secret, or a variable of the environment, reaches a model.'),
  'vox/subagent/budget-exhausted-inline': error('typecheck', 'A subagent has no budget to begin with.'),
  'vox/subagent/chain-depth-exceeded': error('typecheck', 'A subagent may call others more often than is allowed.'),
  'vox/subagent/distributed-not-wired': warning(
    'runtime_contract',
    'A subagent is to run on other machines, and no mesh is enabled.'
  ),
  'vox/workflow/mesh-disabled': warning(
    'runtime_contract',
    'A workflow calls a function of the mesh, and no mesh is enabled.'
  ),
  'vox/workflow/non-deterministic-call': warning(
    'runtime_contract',
    'A workflow calls something that gives something else each time.'
  ),
  'web.hook.not_started': warning('runtime_contract', 'The first module of an application does not start its hooks.'),
  'web.machine.missing_value': error('runtime_contract', 'A transition does not say what its new state holds.'),
  'web.missing_module': warning('runtime_contract', 'A module of React that is imported is not there.'),
  'web.no_value_yet': error(
    'runtime_contract',
    'A component shows an answer of the server that has nothing to stand for it until it is there.'
  ),
  'web.not_in_browser': error('runtime_contract', 'What runs in a browser needs something that only the server has.'),
  'web.route.missing_parameter': error('runtime_contract', 'A loader needs what the path of its page does not have.'),
  'web.route.missing_property': error('runtime_contract', 'A page needs what neither its path nor its loader gives.'),
  'web.route.unknown_component': error('runtime_contract', 'A page names a component that is not declared.'),
  'web.route.unknown_loader': error('runtime_contract', 'The loader of a page is no query.'),
  'web.route.unknown_option': error('runtime_contract', 'There is no option of that name for a page.'),
  'web.token_value': error('runtime_contract', 'A design token is no value of CSS that is written out.'),
  'web.v0_export': warning('runtime_contract', 'A component from v0 has no module with an export of its name.'),
  'web_ir_validate.behavior.required_state_without_initial': error('runtime_contract', 'A state has no first value.'),
  'web_ir_validate.dom.arena_too_large': error('runtime_contract', 'The views of a module have too many nodes.'),
  'web_ir_validate.dom.id_oob': error('runtime_contract', 'A node of a view names one that is not there.'),
  'web_ir_validate.interop.empty_component': error('runtime_contract', 'A component of React has no name.'),
  'web_ir_validate.interop.empty_escape_expr': error('runtime_contract', 'A piece of TypeScript is empty.'),
  'web_ir_validate.interop.empty_escape_reason': error(
    'runtime_contract',
    'A piece of TypeScript does not say why it is there.'
  ),
  'web_ir_validate.interop.empty_external_specifier': error(
    'runtime_contract',
    'A function of TypeScript does not say which module has it.'
  ),
  'web_ir_validate.interop.empty_import_source': error(
    'runtime_contract',
    'A component of React does not say where it comes from.'
  ),
  'web_ir_validate.island.empty_prop_key': error('runtime_contract', 'A property of an island has no name.'),
  'web_ir_validate.route.duplicate_contract_id': error(
    'runtime_contract',
    'Two pages have one id, because there are two `routes` blocks.'
  ),
  'web_ir_validate.route.duplicate_loader_id': error('runtime_contract', 'Two routes have one id.'),
  'web_ir_validate.route.empty_loader_contract': error('runtime_contract', 'A route has no contract.'),
  'web_ir_validate.route.empty_loader_id': error('runtime_contract', 'A route has no id.'),
  'web_ir_validate.route.empty_mutation_name': error('runtime_contract', 'A mutation has no name.'),
  'web_ir_validate.route.empty_mutation_payload_type': error(
    'runtime_contract',
    'A mutation does not say what it takes.'
  ),
  'web_ir_validate.route.empty_server_export_path': error('runtime_contract', 'A function of the server has no path.'),
  'web_ir_validate.route.empty_server_fn_name': error('runtime_contract', 'A function of the server has no name.'),
  'web_ir_validate.route.empty_server_signature': error(
    'runtime_contract',
    'A function of the server has no signature.'
  ),
  'web_ir_validate.scheduled.empty_interval': error(
    'runtime_contract',
    'A scheduled function does not say how often it runs.'
  ),
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

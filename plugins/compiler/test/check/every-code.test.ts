import t from 'tap'
import type { DiagnosticCode } from '#diagnostics'
import { checkFile, SourceFile } from '#root'

/** Codes that only a build for browsers reports. */
type WebCode = Extract<DiagnosticCode, `web${string}` | 'auth.not_enforced'>

type Raised = readonly [source: string, at: string]

const TASK = '@table type Task { title: str done: bool }\n'
const BACK = 'fn back() to bool { true }\n'
const BLOG = 'activity a() to Result[int] { Ok(1) }\n'

/** For each code, a program with that diagnostic, and the source at its span. */
const RAISES: Readonly<Record<Exclude<DiagnosticCode, WebCode>, Raised>> = {
  E0001: ['fn f( { }', '{'],
  E0301: ['type S = | A | B\nfn f(s: S) { match s { A => 1 } }', 'match'],
  E091: ['fn f() { macro }', 'macro'],
  E_EFFECT_DUPLICATE: ['fn f() uses net, net { }', 'net'],
  E_EFFECT_PURE_CONFLICT: ['@pure fn f() uses net { }', '@pure'],
  E_SM_UNKNOWN_STATE: ['state_machine M { state A on go from A -> C }', 'C'],
  W092: ['@deprecated fn f() { }', '@deprecated'],
  W093: ['component C() { view: <p className="a"/> }', 'className'],
  'auth.argument': ['@auth(provider: basic) @query fn f() to int { 1 }', 'basic'],
  'auth.target': ['@auth fn f() to int { 1 }', '@auth'],
  'auth.unguarded': ['@query fn f() to str { request.user.id }', 'request.user'],
  'auth.rule': ['@table @rule(read: owner is user.id) type Note { body: str }', 'owner'],
  'auth.rule_bypass': [
    '@table @rule(read: true) type Note { body: str }\n@mutation fn f() to int { db.query("SELECT * FROM note").len() }',
    'db.query("SELECT * FROM note")'
  ],
  'auth.users': ['@table @auth(identity: mail) type User { email: str }', 'mail'],
  'lint.component_react_hook': ['@component fn C() to Element { use_state(1)\n <p/> }', 'use_state(1)'],
  'lint.db_unsafe_query': [`${TASK}fn f() { db.Task.query("WHERE 1") }`, 'db.Task.query("WHERE 1")'],
  'lint.decimal_literal': ['fn f() to dec { 1.5 }', '1.5'],
  'lint.decorator_without_effect': ['@reactive fn f() { }', '@reactive'],
  'lint.index_unknown_column': [`${TASK}@index Task.i on (owner)`, 'owner'],
  'lint.index_unknown_table': ['@index Task.i on (owner)', 'Task'],
  'lint.legacy_component_fn': ['@component fn C() to Element { <p/> }', '@component fn'],
  'lint.pure_shallow_violation': ['@pure fn f() { print(1) }', 'print(1)'],
  'lint.quadratic_push': ['fn f() { let mut xs = [0]\n for x in [1] { xs = xs + [x] }\n print(xs) }', 'xs = xs + [x]'],
  'lint.query_not_readonly': [`${TASK}@query fn q() { db.Task.delete(1) }`, 'q'],
  'lint.retired_context': ['@context fn f() { }', '@context'],
  'lint.retired_hook_fn': ['@hook fn f() { }', '@hook'],
  'lint.retired_page_decl': ['@page fn f() { }', '@page'],
  'lint.retired_provider_fn': ['@provider fn f() { }', '@provider'],
  'lint.row_id_alias': [`${TASK}fn f(t: Task) to int { t.id }`, 'id'],
  'lint.search_index_field_type': [`${TASK}@search_index Task.i on (done)`, 'done'],
  'lint.search_index_not_table': ['type T { a: str }\n@search_index T.i on (a)', 'T'],
  'lint.search_index_unknown_field': [`${TASK}@search_index Task.i on (owner)`, 'owner'],
  'lint.search_index_unknown_table': ['@search_index Task.i on (owner)', 'Task'],
  'lint.symbol_operator': ['fn f(a: bool) { a && a }', '&&'],
  'lint.table_id_column': ['@table type T { id: int }', 'id'],
  'lint.theme_contrast': ['@theme { background: "#ffffff" text: "#aaaaaa" }', '"#aaaaaa"'],
  'lint.uninhabited_type': ['type Endless { next: Endless }', 'Endless'],
  'lint.unreachable': ['fn f() to int { return 1\n print(2) }', 'print(2)'],
  'lint.unreplaced_text': ['component C(n: int) { view: <p>"{n + 1}"</p> }', '{n + 1}'],
  'lint.unused_result': ['fn f(xs: List[int]) { xs.push(1)\n print(xs) }', 'xs.push(1)'],
  'parse.deprecated_get': ['@get("/a") fn f() { }', '@get'],
  'parse.unknown_decorator': ['@qeury fn f() { }', '@qeury'],
  'rate_limit.needs_auth': ['@rate_limit(by: user, per: "1m", max: 1) @query fn f() to int { 1 }', '@rate_limit'],
  'typecheck.activity.no_return_type': ['activity a() { }', 'a'],
  'typecheck.activity.result_type': ['activity a() to int { 1 }', 'int'],
  'typecheck.actor.spawn_target': ['fn g() { }\nfn f() { spawn(g) }', 'g'],
  'typecheck.actor.unknown_handler': ['actor A { on go() { } }\nfn f() { let a = spawn(A)\n a.run() }', 'run'],
  'typecheck.annotation_needed': ['fn f(x) { x.size }', 'x'],
  'typecheck.arg_mismatch': ['fn g(a: int) { }\nfn f() { g("x") }', '"x"'],
  'typecheck.arity': ['fn g(a: int) { }\nfn f() { g() }', 'g()'],
  'typecheck.assign_mismatch': ['fn f() { let mut a = "x"\n a = 1 }', '1'],
  'typecheck.branch_mismatch': ['fn f(b: bool) { let x = if b { 1 } else { "a" } }', '{ "a" }'],
  'typecheck.condition': ['fn f() { if "yes" { } }', '"yes"'],
  'typecheck.db.deprecated_query': [`${TASK}fn f() { db.query(Task) }`, 'db.query(Task)'],
  'typecheck.db.duplicate_select': [`${TASK}fn f() { db.Task.all().select("done", "done") }`, '"done"'],
  'typecheck.db.empty_select': [`${TASK}fn f() { db.Task.all().select() }`, 'select'],
  'typecheck.db.find_semantics': [`${TASK}fn f() { db.Task.find({ done: true }) }`, '{ done: true }'],
  'typecheck.db.modifier': [`${TASK}fn f() { db.Task.get(1).limit(2) }`, 'limit'],
  'typecheck.db.type': [`${TASK}fn f() { db.Task.filter({ done: "yes" }) }`, '"yes"'],
  'typecheck.db.unknown_field': [`${TASK}fn f() { db.Task.filter({ owner: 1 }) }`, 'owner'],
  'typecheck.db.unknown_operator': [`${TASK}fn f() { db.Task.where({ done: { near: true } }) }`, 'near'],
  'typecheck.db.unknown_table': ['fn f() { db.Task.all() }', 'Task'],
  'typecheck.deprecated_ident': ['@deprecated fn g() { }\nfn f() { g() }', 'g'],
  'typecheck.duplicate_name': ['fn f() { }\nfn f() { }', 'f'],
  'typecheck.duration': ['@scheduled("nope") fn f() { }', '"nope"'],
  'typecheck.element_mismatch': ['fn f() { let xs = [1, "a"] }', '"a"'],
  'typecheck.hir.empty_name': [`${TASK}fn f() { db.Task.all().live("") }`, '""'],
  'typecheck.hir.empty_path': ['http get "" to str { "a" }', '""'],
  'typecheck.hook.duplicate': [
    `${BACK}@back_button { on_press: back }\n@back_button { on_press: back }`,
    '@back_button'
  ],
  'typecheck.hook.handler': ['@back_button { on_press: back }', 'back'],
  'typecheck.hook.missing_entry': ['@push { }', '@push'],
  'typecheck.hook.parameter': ['fn opened(a: str, b: str) { }\n@deep_link { on_link: opened }', 'opened'],
  'typecheck.hook.unknown_entry': [`${BACK}@back_button { on_pres: back }`, 'on_pres'],
  'typecheck.hook.value': ['@deep_link { scheme: "https" routes: { "/": "/a" } }', '"https"'],
  'typecheck.immutable_assign': ['fn f() { let a = 1\n a = 2 }', 'a'],
  'typecheck.import.alias_conflict': ['import a.x\nimport b.x', 'x'],
  'typecheck.iterable': ['fn f(n: int) { for x in n { print(x) } }', 'n'],
  'typecheck.jump_outside_loop': ['fn f() { for x in [1] { let g = fn() { break } } }', 'break'],
  'typecheck.let_mismatch': ['fn f() { let a: int = "b" }', '"b"'],
  'typecheck.match.divergent_wildcard': ['fn f(a: bool) { match a { true => 1, false => 2, _ => 3 } }', '_'],
  'typecheck.mcp.duplicate_resource_uri': [
    '@mcp.resource "a" "b" fn f() to str { "" }\n@mcp.resource "a" "c" fn g() to str { "" }',
    '"a"'
  ],
  'typecheck.mcp.empty_uri': ['@mcp.resource "" "b" fn f() to str { "" }', '""'],
  'typecheck.mcp.resource_params': ['@mcp.resource "a" "b" fn f(x: int) to str { "" }', 'x: int'],
  'typecheck.missing_field': [`${TASK}fn f() { db.Task.insert({ title: "a" }) }`, '{ title: "a" }'],
  'typecheck.not_a_function': ['fn f() { let a = 1\n a() }', 'a'],
  'typecheck.not_json': ['@query fn f(g: fn(int) to int) to int { g(1) }', 'g'],
  'typecheck.operands': ['fn f() { true - 1 }', 'true - 1'],
  'typecheck.pattern_mismatch': ['fn f(n: int) { match n { "a" => 1, _ => 2 } }', '"a"'],
  'typecheck.prop': ['component A(n: int) { view: <p>{n}</p> }\ncomponent B() { view: <A n="x"/> }', '"x"'],
  'typecheck.reactive.derived': ['component C() { derived a: int = "b"\n view: <p/> }', '"b"'],
  'typecheck.reactive.state': ['component C() { state a: int = "b"\n view: <p/> }', '"b"'],
  'typecheck.reserved_name': ['fn f(db: int) { }', 'db'],
  'typecheck.return_mismatch': ['fn f() to int { "a" }', '"a"'],
  'typecheck.route.duplicate': ['http get "/a" to str { "" }\nhttp get "/a" to str { "" }', '"/a"'],
  'typecheck.route.parameter': ['http get "/x/:id"(idd: int) to int { idd }', '"/x/:id"'],
  'typecheck.route.path': ['http get "/files/*/x" to str { "" }', '"/files/*/x"'],
  'typecheck.rust_import.deferred': ['import rust:diesel(version: "2")', 'diesel'],
  'typecheck.rust_import.escape_hatch': ['import rust:rusqlite(version: "0.3")', 'rusqlite'],
  'typecheck.rust_import.internal': ['import rust:tokio(version: "1")', 'tokio'],
  'typecheck.rust_import.unknown_item': ['import rust:uuid(version: "1") as ids\nfn f() { ids.Uuidd }', 'Uuidd'],
  'typecheck.rust_import.unpinned': ['import rust:serde', 'serde'],
  'typecheck.try_misuse': ['fn f() { 1? }', '1?'],
  'typecheck.undefined': ['fn f() { missing }', 'missing'],
  'typecheck.undefined_type': ['fn f(a: Strin) { }', 'Strin'],
  'typecheck.unknown_field': ['type P { x: int }\nfn f(p: P) { p.y }', 'y'],
  'typecheck.unknown_method': ['fn f() { "a".uper() }', 'uper'],
  'typecheck.unknown_std': ['fn f() { std.fs.raed("a") }', 'raed'],
  'typecheck.variant_default': ['type S = | A(n: int = 3)', '3'],
  'typecheck.url.parameter': ['url Links { tagged(tags: List[str]) }', 'List[str]'],
  'typecheck.with.misplaced_option': [`${BLOG}workflow w() { a() with { mens: "join" } }`, 'mens'],
  'typecheck.with.not_record': [`${BLOG}workflow w() { a() with 3 }`, '3'],
  'typecheck.with.operand': ['fn g() to int { 1 }\nworkflow w() { g() with { retries: 1 } }', 'g()'],
  'typecheck.with.option_type': [`${BLOG}workflow w() { a() with { retries: "x" } }`, '"x"'],
  'typecheck.with.option_value': [`${BLOG}workflow w() { a() with { meta: "urgent" } }`, '"urgent"'],
  'typecheck.with.unknown_option': [`${BLOG}workflow w() { a() with { retry: 1 } }`, 'retry'],
  'response.target': ['@query fn f() to Response { Response.text("") }', 'Response'],
  'unique.use': ['type T { @unique a: str }', '@unique'],
  'vox/auth/endpoint-missing-decorator': ['@auth @query fn f() to int { 1 }\n@query fn g() to int { 1 }', 'g'],
  'vox/effect/missing-declaration': [`${TASK}fn f() uses net { db.Task.all() }`, 'db.Task.all()'],
  'vox/effect/missing-fs-decl': ['fn f() uses net { std.fs.read("a") }', 'std.fs.read'],
  'vox/effect/missing-llm-decl': ['@ai fn g() to str\nfn f() uses net { g() }', 'g'],
  'vox/effect/missing-net-decl': ['fn f() uses fs { std.http.get_text("a") }', 'std.http.get_text'],
  'vox/effect/missing-random-decl': ['fn f() uses fs { std.random.float() }', 'std.random.float'],
  'vox/effect/missing-secret-decl': ['fn f() uses fs { secrets.resolve("a") }', 'secrets.resolve'],
  'vox/effect/missing-time-decl': ['fn f() uses fs { std.time.now_ms() }', 'std.time.now_ms'],
  'vox/effect/pure-violation': ['fn g() { std.fs.read("a") }\n@pure fn f() { g() }', 'g'],
  'vox/fixture/unfilled-hole': ['@hole fn f() to str', '@hole'],
  'vox/form/missing-label': ['@form F { field name: str required }', 'name'],
  'vox/prompt/invalid-stage': ['@prompt(stage = Planer) fn f() to str', 'Planer'],
  'vox/prompt/secret-leakage': ['@ai fn g(a: str) to str\nfn f() { g(secrets.resolve("a")) }', 'secrets.resolve("a")'],
  'vox/subagent/budget-exhausted-inline': ['@subagent(budget_usd = 0.0) fn f() to str', '0.0'],
  'vox/subagent/chain-depth-exceeded': ['@subagent(max_depth = 5) fn f() to str', '5'],
  'vox/subagent/distributed-not-wired': ['@subagent(policy = distributed) fn f() to str', 'distributed'],
  'vox/workflow/mesh-disabled': ['workflow w() { mesh_ping() }', 'mesh_ping'],
  'vox/workflow/non-deterministic-call': ['workflow w() { std.time.now_ms() }', 'std.time.now_ms()']
}

/** Codes that are reported only if no mesh is enabled. */
const NEEDS_MESH: ReadonlySet<string> = new Set(['vox/subagent/distributed-not-wired', 'vox/workflow/mesh-disabled'])

/** Returns code, source at the span, and severity of each diagnostic. */
function findings(
  source: string,
  strict: boolean,
  mesh = true
): (readonly [code: string, at: string, severity: string])[] {
  const file = new SourceFile('a.vox', source)
  const options = { script: false, allowComponentFunctions: true, suppressHookLints: false, strict, mesh }
  const { diagnostics } = checkFile(file, options)
  return diagnostics.map(({ code, span, severity }) => [code, source.slice(span.start, span.end), severity])
}

for (const [code, [source, at]] of Object.entries(RAISES)) {
  t.test(`${code} is reported for ${JSON.stringify(source)}`, t => {
    const found = findings(source, false, !NEEDS_MESH.has(code))
    t.ok(
      found.some(each => each[0] === code && each[1] === at),
      `${at}: ${JSON.stringify(found)}`
    )
    t.end()
  })
}

t.test('unresolved external names and values that may fail are errors in a strict check, and warnings otherwise', t => {
  for (const source of [
    'workflow w() { elsewhere() }',
    'fn f(a: Strin) { }',
    'fn f(o: Option[int]) { match o { Some(x) => x } }',
    'fn f() { std.fs.raed("a") }',
    'import rust:serde',
    '@hole fn f() to str',
    'fn f() uses fs { std.time.now_ms() }',
    'activity a() { }',
    '@form F { field name: str }',
    'fn f(json: Json) to str { json.get_str("kind") }',
    '@table type T { a: int }\nfn f(key: str) to Option[T] { db.T.get(key) }',
    '@ai fn g(a: str) to str\nfn f() { g(secrets.resolve("a")) }'
  ]) {
    t.same([...new Set(findings(source, false).map(each => each[2]))], ['warning'], source)
    t.ok(
      findings(source, true).some(each => each[2] === 'error'),
      source
    )
  }
  t.same(findings('workflow w() { mesh_ping() }', false), [])
  t.same(findings('workflow w() { mesh_ping() }', true), [['typecheck.undefined', 'mesh_ping', 'error']])
  t.end()
})

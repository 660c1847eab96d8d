import { words } from './word.ts'

/** Documentation of decorators, by name without the `@`. */
export const DECORATOR_WORDS = words(`
table | @table type Name { field: T } | Declares a table; each row has its \`_id\`. | table type \${1:Name} {\\n    \${2:title}: \${3:str}\\n}
index | @index Table.name on (column) | Declares an index. | index \${1:Table}.\${2:by_column} on (\${3:column})
search_index | @search_index Table.name on (column) | Declares an index for full-text search. | search_index \${1:Table}.\${2:by_text} on (\${3:column})
vector_index | @vector_index Table.name on (column) | Declares an index for similarity search. | vector_index \${1:Table}.\${2:by_meaning} on (\${3:column})
query | @query fn name() to T { … } | A function that only reads, at \`GET /api/query/name\`. | query fn \${1:name}($2) to \${3:T} {\\n    $0\\n}
mutation | @mutation fn name() to T { … } | A function that writes, in one transaction, at \`POST /api/mutation/name\`. | mutation fn \${1:name}($2) to \${3:T} {\\n    $0\\n}
server | @server fn name() to T { … } | A function that clients call at \`POST /api/name\`. | server fn \${1:name}($2) to \${3:T} {\\n    $0\\n}
endpoint | @endpoint(kind: query) fn name() to T { … } | The same as \`@query\`, \`@mutation\` or \`@server\`. | endpoint(kind: \${1:query}) fn \${2:name}($3) to \${4:T} {\\n    $0\\n}
mcp.tool | @mcp.tool "what it does" fn name() to T { … } | A tool that models can call. | mcp.tool "\${1:what it does}"\\nfn \${2:name}($3) to \${4:str} {\\n    $0\\n}
mcp.resource | @mcp.resource "uri" "what it is" fn name() to str { … } | A resource that models can read. | mcp.resource "\${1:uri}" "\${2:what it is}"\\nfn \${3:name}() to str {\\n    $0\\n}
tool | @tool "what it does" fn … | The same as \`@mcp.tool\`.
resource | @resource "uri" "what it is" fn … | The same as \`@mcp.resource\`.
test | @test fn name() { … } | A test, which \`svc test\` runs. | test fn \${1:name}() {\\n    assert($0)\\n}
forall | @forall fn name(x: T) { … } | A test that runs with many generated values. | forall fn \${1:name}(\${2:x}: \${3:int}) {\\n    assert($0)\\n}
fuzz | @fuzz fn name(x: T) { … } | The same as \`@forall\`.
pure | @pure fn … | A function without effects.
deprecated | @deprecated fn … | A declaration that should no longer be used.
require | @require(condition) fn … | A condition that must hold before a function runs. | require($1)
ensure | @ensure(condition) fn … | A condition that must hold after a function returns; it may use \`result\`. | ensure($1)
invariant | @invariant(condition) fn … | A condition that must hold before and after a function. | invariant($1)
scheduled | @scheduled("1h") fn … | A function that runs at an interval. | scheduled("\${1:1h}")
loading | @loading fn name() to Element { … } | A view that is shown while a page loads.
island | @island Name { prop: T } | A component that is defined elsewhere and mounted here. | island \${1:Name} {\\n    \${2:prop}: \${3:str}\\n}
v0 | @v0 "id" Name { } | A component that v0 generated.
component | @component Name() { … } | The same as \`component\`.
form | @form Name { field name: T } | A form.
ai | @ai fn name() to T | A function that a model implements.
llm | @llm fn name() to T | The same as \`@ai\`.
prompt | @prompt fn name() to str | A prompt template.
subagent | @subagent fn name() to T | A function that a dedicated agent implements.
search | @search fn name() to T | A function that returns the results of a search.
hole | @hole fn name() to T | A function without a body yet.
uses | @uses(net) fn … | The effects that a function may have.
auth | @auth(provider: p, "scope") fn … | Only callers with a proven identity may call, from any provider or the named one. | auth(provider: \${1:session})
role | @role("admin") fn … | Only callers with one of the roles may call. | role("\${1:admin}")
rule | @rule(read: owner is user.id) | Which rows of a table callers may read, insert, update and delete. | rule(read: \${1:owner} is user.id)
public | @public fn … | Everyone may call, in a program whose other endpoints have \`@auth\`. | public
rate_limit | @rate_limit(by: ip, per: "1m", max: 100) fn … | Limits the calls of one address, user, API key, or of all callers together. | rate_limit(by: \${1:ip}, per: "\${2:1m}", max: \${3:100})
cors | @cors(origins: ["https://example.org"]) fn … | Lets pages of these origins call from a browser. | cors(origins: ["\${1:https://example.org}"])
webhook | @webhook(provider: github, secret: "NAME") http post … | Only requests with a valid signature of the body pass. | webhook(provider: \${1:github}, secret: "\${2:GITHUB_WEBHOOK_SECRET}")
unique | @unique column: T | Each row of the table has another value in that column; rows without a value may repeat.
pii | @pii field: T | A field with personal data.
embed | @embed(…) field: T | A field with an embedding, for search by meaning.
`)

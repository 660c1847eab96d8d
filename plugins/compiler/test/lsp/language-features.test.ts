import t from 'tap'
import {
  CodeLensRequest,
  CompletionRequest,
  DefinitionRequest,
  DocumentFormattingRequest,
  DocumentHighlightRequest,
  DocumentSymbolRequest,
  HoverRequest,
  type Location,
  type MarkupContent,
  PrepareRenameRequest,
  ReferencesRequest,
  RenameRequest,
  SemanticTokensRequest
} from 'vscode-languageserver-protocol/node'
import { Editor, type OpenFile } from './editor.ts'

const editor = await Editor.start(t)

const SHOP = `@table type Task { title: str done: bool due: Option[str] }
@index Task.by_title on (title)

// How much is too much.
let limit = 3

type Shape = | Circle(r: float) | Dot

// Adds two ints.
// They may be negative.
fn add(left: int, right: int = 1) to int {
    let total = left + right
    total
}

fn area(shape: Shape) to float {
    match shape {
        Circle(r) => r * r,
        Dot => 0.0
    }
}

actor Counter {
    state n: int = 0
    on increment(by: int) to int {
        n = n + by
        n
    }
}

@query fn titles() to List[str] {
    db.Task.filter({ done: false }).order_by("title").map(fn(task) task.title)
}

fn use_all(task: Task) to int {
    let c = spawn(Counter)
    c.increment(2)
    let list = [1, 2]
    add(limit, right = 2) + list.len() + std.time.now_ms()
}

@test fn adds() { assert(add(1) is 2) }
`

async function hoverAt(file: OpenFile, mark: string): Promise<string> {
  const found = await editor.connection.sendRequest(HoverRequest.type, file.at(mark))
  return (found?.contents as MarkupContent | undefined)?.value ?? ''
}

/** Returns the labels of the completions. */
async function offered(file: OpenFile, mark: string): Promise<string[]> {
  const found = await editor.connection.sendRequest(CompletionRequest.type, file.at(mark))
  return (Array.isArray(found) ? found : (found?.items ?? [])).map(({ label }) => label)
}

const shop = await editor.open('shop.vox', SHOP)

t.test('the program of these tests is valid', async t => {
  t.same(await shop.diagnostics(), [])
})

t.test('hover shows the declaration, documentation and type of a name', async t => {
  t.equal(
    await hoverAt(shop, 'assert(a|dd'),
    '```vox\nfn add(left: int, right: int = 1) to int\n```\n\nAdds two ints.\nThey may be negative.'
  )
  t.match(await hoverAt(shop, 'let to|tal'), 'let total: int')
  t.match(await hoverAt(shop, 'le|ft + right'), 'parameter left: int')
  t.match(await hoverAt(shop, 'n = n| + by'), 'state n: int = 0')
  t.match(await hoverAt(shop, 'add(lim|it'), 'How much is too much.')
  t.match(await hoverAt(shop, 'task.ti|tle'), 'Task.title: str')
  t.match(await hoverAt(shop, 'c.incr|ement'), 'Counter: on increment(by: int) to int')
  t.match(await hoverAt(shop, 'Circ|le(r) =>'), 'Shape.Circle(r: float)')
  t.match(await hoverAt(shop, 'now|_ms'), 'std.time.now_ms() to int')
  t.match(await hoverAt(shop, 'as|sert'), 'Fails if the condition is false.')
  t.match(await hoverAt(shop, '@que|ry'), 'A function that only reads')
  t.match(await hoverAt(shop, 'ma|tch shape'), 'Runs the first arm')
  t.match(await hoverAt(shop, 'list.le|n'), 'List[int].len() to int')
  t.equal(await hoverAt(shop, '= 0|.0'.replace('= 0|.0', 'Dot => |0.0')), '')
})

t.test('a definition is found from each use, and uses from the definition', async t => {
  const definitionOf = async (mark: string): Promise<string> => {
    const found = (await editor.connection.sendRequest(DefinitionRequest.type, shop.at(mark))) as Location | null
    return found === null ? '' : `${found.range.start.line}:${shop.texts([found])[0]}`
  }
  t.equal(await definitionOf('add(|limit'), '4:limit')
  t.equal(await definitionOf('db.T|ask'), '0:Task')
  t.equal(await definitionOf('task: T|ask'), '0:Task')
  t.equal(await definitionOf('d|one: false'), '0:done')
  t.equal(await definitionOf('"tit|le"'), '0:title')
  t.equal(await definitionOf('on (ti|tle'), '0:title')
  t.equal(await definitionOf('task.t|itle'), '0:title')
  t.equal(await definitionOf('spawn(C|ounter'), '22:Counter')
  t.equal(await definitionOf('c.i|ncrement'), '24:increment')
  t.equal(await definitionOf('ri|ght = 2'), '10:right')
  t.equal(await definitionOf('r| * r'), '17:r')
  t.equal(await definitionOf('shape: Sh|ape'), '6:Shape')
  t.equal(await definitionOf('as|sert'), '')

  const usesOf = async (mark: string, includeDeclaration: boolean): Promise<number[]> => {
    const params = { ...shop.at(mark), context: { includeDeclaration } }
    const found = (await editor.connection.sendRequest(ReferencesRequest.type, params)) ?? []
    return found.map(({ range }) => range.start.line)
  }
  t.same(await usesOf('fn a|dd', true), [10, 38, 41])
  t.same(await usesOf('fn a|dd', false), [38, 41])
  t.same(await usesOf('{ t|itle', false), [1, 31, 31])
  const marked = await editor.connection.sendRequest(DocumentHighlightRequest.type, shop.at('let t|otal'))
  t.same(shop.texts(marked ?? []), ['total', 'total'])
})

t.test('a rename changes every use and nothing else', async t => {
  const renamed = async (file: OpenFile, mark: string, newName: string): Promise<string> => {
    const edit = await editor.connection.sendRequest(RenameRequest.type, { ...file.at(mark), newName })
    return file.edited(edit?.changes?.[file.uri])
  }
  t.match(await editor.connection.sendRequest(PrepareRenameRequest.type, shop.at('fn a|dd')), {
    placeholder: 'add',
    range: { start: { line: 10, character: 3 } }
  })
  const text = await renamed(shop, 'fn a|dd', 'plus')
  t.equal(text, SHOP.replaceAll('add(', 'plus('))
  t.equal(await renamed(shop, 'ri|ght = 2', 'other'), SHOP.replaceAll(/\bright\b/g, 'other'))
  t.equal(await renamed(shop, 'C|ircle(r)', 'Round'), SHOP.replaceAll('Circle', 'Round'))
  t.equal(await renamed(shop, 'spawn(C|ounter', 'Meter'), SHOP.replaceAll('Counter', 'Meter'))

  const file = await editor.open(
    'rename.vox',
    'fn f(o: Result[int]) to int {\n    let key = 1\n    let r = { key, b: key }\n' +
      '    match o { Ok(n) | Error(n) => n + key }\n}\n'
  )
  t.match(await renamed(file, 'let k|ey', 'door'), 'let r = { key: door, b: door }')
  t.match(await renamed(file, 'n| + key', 'm'), 'Ok(m) | Error(m) => m + key')

  const actors =
    'actor A { on go(n: int) { n } }\nfn f() {\n    let a = spawn(A)\n    a.go(1)\n    a.send("go", 1)\n    a ! go(1)\n}\n'
  const sent = await editor.open('messages.vox', actors)
  t.equal(await renamed(sent, 'on g|o', 'run'), actors.replaceAll(/\bgo\b/g, 'run'))

  const hooks =
    'fn seen() to str { "/" }\n@back_button { on_press: back fallback: seen }\n@query fn back() to bool { true }\n' +
    '@deep_link { routes: { "/a": (seen), "/b": "/seen" } }\n'
  const app = await editor.open('hooks.vox', hooks)
  t.equal(await renamed(app, 'fallback: s|een', 'home'), hooks.replaceAll(/(?<!\/)\bseen\b/g, 'home'))
})

t.test('a rename that would change the meaning of another word is refused', async t => {
  const file = await editor.open(
    'conflict.vox',
    'let outer = 1\nfn f(a: int) to int {\n    let b = outer\n    a + b + outer\n}\nfn g(h: any) { h.ping() }\n' +
      'actor P { on ping() { } on pong() { } }\nfn s(h: any) { h ! pong() }\nimport std.mobile\n'
  )
  const refused = (mark: string, newName: string, problem: RegExp): Promise<unknown> =>
    t.rejects(editor.connection.sendRequest(RenameRequest.type, { ...file.at(mark), newName }), { message: problem })
  await refused('let b|', 'a', /already has another meaning/)
  await refused('let b|', 'outer', /already has another meaning/)
  await refused('let o|uter', 'a', /already has another meaning|no name/)
  await refused('let b|', 'while', /keyword/)
  await refused('let b|', 'state', /keyword/)
  await refused('let b|', 'B', /lower-case letter/)
  await refused('let b|', '1b', /lower-case letter/)
  await refused('let b|', 'db', /already has another meaning/)
  await refused('on p|ing', 'pong', /actor of some calls/)
  await refused('on p|ong', 'ping', /may be the name of a message/)
  await refused('std.mob|ile', 'phone', /declared elsewhere/)
  const hooks = await editor.open(
    'given.vox',
    '@push { on_register: kept on_action: opened }\nfn kept(token: str, platform: str) { }\nfn opened(anything: str) { }\n'
  )
  await t.rejects(editor.connection.sendRequest(RenameRequest.type, { ...hooks.at('tok|en:'), newName: 'id' }), {
    message: /`@push` passes `token` to `kept` by that name/
  })
  await t.resolves(editor.connection.sendRequest(RenameRequest.type, { ...hooks.at('any|thing'), newName: 'id' }))
  await refused('h: a|ny', 'some', /no name at the cursor/)
  await refused(': int|', 'some', /no name at the cursor/)
  const data = { ...shop.at('{ t|itle'), newName: 'heading' }
  await t.rejects(editor.connection.sendRequest(RenameRequest.type, data), { message: /stored or sent/ })
  await t.rejects(editor.connection.sendRequest(PrepareRenameRequest.type, file.at('in|t {')), {
    message: /no name at the cursor/
  })
})

t.test('completion offers the words that are valid at the cursor', async t => {
  const file = await editor.open(
    'complete.vox',
    `@table type Task { title: str done: bool }
actor Counter { on increment(by: int) to int { by } }
fn helper(a: int) to int { a }
fn f(task: Task, names: List[str]) {
    let first = 1
    names.
    task.
    db.
    db.Task.
    db.Task.all().
    db.Task.filter({  })
    db.Task.where({ title: {  }, or: [{  }] })
    db.Task.all().order_by("")
    db.Task.all().select(do)
    spawn(Counter).
    std.
    std.fs.
    OpenClaw.
    Speech.transcribe("a.wav")
    fi
    // a comment.
    "a text."
}
fn g() to {
}
@mu
`
  )
  const includes = async (mark: string, wanted: string[], unwanted: string[] = []): Promise<void> => {
    const labels = await offered(file, mark)
    for (const label of wanted) t.ok(labels.includes(label), `${mark} offers ${label}`)
    for (const label of unwanted) t.notOk(labels.includes(label), `${mark} does not offer ${label}`)
  }
  await includes('names.|', ['len', 'map', 'push'], ['helper', 'title'])
  await includes('    task.|', ['title', 'done', '_id'], ['len'])
  await includes('    db.|', ['Task'], ['helper'])
  await includes('    db.Task.|\n', ['all', 'filter', 'insert', 'where', 'count'], ['query', 'title'])
  await includes('db.Task.all().|\n', ['order_by', 'limit', 'select', 'live', 'len', 'is_ok'])
  await includes('filter({ | })', ['title', 'done', '_id'], ['and', 'helper'])
  await includes('where({ |title', ['title', 'and', 'or', 'not'])
  await includes('title: { | }', ['eq', 'in', 'is_null'], ['title'])
  await includes('or: [{ | }]', ['title', 'done'], ['eq'])
  await includes('order_by("|")', ['title', 'done'])
  await includes('select(do|)', ['title', 'done'])
  await includes('spawn(Counter).|', ['increment'])
  await includes('    std.|\n', ['fs', 'json', 'time'], ['read'])
  await includes('std.fs.|', ['read', 'write'], ['fs'])
  await includes('OpenClaw.|', ['list_skills', 'call', 'notify'], ['transcribe', 'helper'])
  t.match(await hoverAt(file, 'transcr|ibe'), 'Speech.transcribe(path: str) to Result[str]')
  await includes('    fi|\n', ['first', 'helper', 'task', 'names', 'print', 'match', 'Task', 'Some'])
  await includes('fn g() to| {', [], [])
  await includes('fn g() to |{', ['int', 'List', 'Task'], ['first', 'match'])
  await includes('@mu|', ['mutation', 'table', 'query', 'mcp.tool'], ['fn'])
  t.same(await offered(file, 'a comment.|'), [])
  t.same(await offered(file, 'a text.|'), [])
})

t.test('completion offers the words of decorators and of row rules', async t => {
  const file = await editor.open(
    'guards.vox',
    `@table
@rule(read: owner is user.id or (user.roles.contains("admin") and own), in)
@rule()
type Note { owner: str shared: bool }
@auth(provider: se) @rate_limit(by: ip, pe)
@query fn mine() uses db to int { 1 }
@endpoint(kind: qu) fn other() to int { 1 }
@uses(ne) fn third() { }
@require(th) fn fourth() { }
@table @rule(read: user.
`
  )
  const includes = async (mark: string, wanted: string[], unwanted: string[] = ['third', 'print', 'fn']) => {
    const labels = await offered(file, mark)
    for (const label of wanted) t.ok(labels.includes(label), `${mark} offers ${label}`)
    for (const label of unwanted) t.notOk(labels.includes(label), `${mark} does not offer ${label}`)
  }
  await includes('read: |owner', ['owner', 'shared', '_id', 'user', 'not', 'true'])
  await includes('and own|', ['owner', 'user'])
  await includes('is user.|id', ['id', 'roles', 'scopes', 'provider'], ['owner', 'third'])
  await includes('(user.roles.|contains', ['contains'], ['id', 'owner'])
  await includes('own), in|)', ['read', 'insert', 'update', 'delete'])
  await includes('@rule(|)', ['read', 'insert', 'update', 'delete'])
  await includes('provider: se|', ['session', 'jwt', 'api_key'])
  await includes('@auth(|provider', ['provider', 'optional', 'redirect'])
  await includes('by: |ip', ['ip', 'user', 'api_key'])
  await includes('by: ip, pe|', ['per', 'max'])
  await includes('kind: qu|', ['query', 'mutation', 'server'])
  await includes('@uses(ne|', ['net', 'fs', 'db_read'])
  await includes('@require(th|', ['third', 'print'], [])
  await includes('@table @rule(read: user.|', ['id', 'roles'], ['third'])
})

t.test('completion inserts snippets', async t => {
  const file = await editor.open('snippet.vox', 'fn helper(a: int, b: int = 1) to int { a }\nfn f() { he }\n')
  const found = await editor.connection.sendRequest(CompletionRequest.type, file.at('{ he|'))
  const items = Array.isArray(found) ? found : (found?.items ?? [])
  const helper = items.find(({ label }) => label === 'helper')
  t.match(helper, {
    detail: 'helper(a: int, b: int = 1) to int',
    insertTextFormat: 2,
    textEdit: { range: { start: { line: 1, character: 9 }, end: { line: 1, character: 11 } } }
  })
  t.match(helper?.textEdit, { newText: 'helper($' + '{1:a})' })
})

t.test('formatting returns edits to the canonical form', async t => {
  for (const [name, text, formatted] of [
    ['f1.vox', 'fn a() -> int {\r\n  1\r\n}\r\n', 'fn a() to int {\n    1\n}\n'],
    ['f2.vox', 'fn a()->int {\n  // 😀\n "😀"\n 1 }', 'fn a() to int {\n    // 😀\n    "😀"\n    1\n}\n'],
    ['f3.vox', 'fn a() to int {\n    1\n}\n', 'fn a() to int {\n    1\n}\n']
  ] as const) {
    const file = await editor.open(name, text)
    const params = { textDocument: { uri: file.uri }, options: { tabSize: 2, insertSpaces: true } }
    const edits = await editor.connection.sendRequest(DocumentFormattingRequest.type, params)
    t.equal(file.edited(edits), formatted, name)
  }
  const broken = await editor.open('f4.vox', 'fn a( {')
  const params = { textDocument: { uri: broken.uri }, options: { tabSize: 2, insertSpaces: true } }
  t.same(await editor.connection.sendRequest(DocumentFormattingRequest.type, params), [])
})

t.test('the outline lists each declaration with its members', async t => {
  const params = { textDocument: { uri: shop.uri } }
  const found = await editor.connection.sendRequest(DocumentSymbolRequest.type, params)
  const shown = (found ?? []).map(symbol => {
    const children = 'children' in symbol ? (symbol.children ?? []).map(({ name }) => name) : []
    return children.length === 0 ? symbol.name : [symbol.name, ...children]
  })
  t.same(shown, [
    ['Task', 'title', 'done', 'due'],
    'Task.by_title',
    'limit',
    ['Shape', 'Circle', 'Dot'],
    'add',
    'area',
    ['Counter', 'n', 'increment'],
    'titles',
    'use_all',
    'adds'
  ])
  const hooks = await editor.open('outline.vox', '@push { on_register: f }\n@tokens Colour { a: "b" }\nfn f() { }\n')
  t.match(await editor.connection.sendRequest(DocumentSymbolRequest.type, { textDocument: { uri: hooks.uri } }), [
    { name: '@push', children: [{ name: 'on_register' }] },
    { name: 'Colour' },
    { name: 'f' }
  ])
})

t.test('each test has a code lens that runs it', async t => {
  const lenses = await editor.connection.sendRequest(CodeLensRequest.type, { textDocument: { uri: shop.uri } })
  t.match(lenses, [
    {
      command: { title: 'Run test', command: 'vox.runTest', arguments: [shop.uri, 'adds'] },
      range: { start: { line: 41 } }
    }
  ])
  t.equal(lenses?.length, 1)
})

t.test('semantic tokens depend on the meaning of words', async t => {
  const text = '// note\n@query fn f(a: int) to str {\n    let ä = "1\n2"\n    str(a + 1)\n}\n'.replace('ä', 'x')
  const file = await editor.open('colour.vox', text)
  const found = await editor.connection.sendRequest(SemanticTokensRequest.type, { textDocument: { uri: file.uri } })
  const { tokenTypes } = editor.capabilities.semanticTokensProvider?.legend ?? { tokenTypes: [] }
  const lines = text.split('\n')
  const shown: string[] = []
  let [line, character] = [0, 0]
  for (let at = 0; at < (found?.data.length ?? 0); at += 5) {
    const [down = 0, along = 0, length = 0, type = 0] = found?.data.slice(at, at + 4) ?? []
    line += down
    character = down === 0 ? character + along : along
    shown.push(`${lines[line]?.slice(character, character + length)}:${tokenTypes[type]}`)
  }
  t.same(shown, [
    '// note:comment',
    '@query:decorator',
    'fn:keyword',
    'f:function',
    'a:parameter',
    'int:variable',
    'to:keyword',
    'str:variable',
    'let:keyword',
    'x:variable',
    '"1:string',
    '2":string',
    'str:variable',
    'a:parameter',
    '1:number'
  ])
})

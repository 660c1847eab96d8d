import t from 'tap'
import {
  CompletionRequest,
  DocumentFormattingRequest,
  DocumentRangeFormattingRequest,
  HoverRequest,
  InlayHintRequest,
  type MarkupContent,
  SignatureHelpRequest
} from 'vscode-languageserver-protocol/node'
import { isNativeFunction, NATIVES } from '#types'
import { Editor, type OpenFile } from './editor.ts'

// The folder of the root test belongs to workspace.test.ts, which may run in the same process.
const editor = await Editor.start(t, { cwd: import.meta.dirname })

const SHOP = `@table type Task { title: str done: bool }
type Shape = | Rect(width: float, height: float) | Dot

// Adds two ints.
fn add(left: int, right: int = 1) to int { left + right }

actor Counter(start: int) {
    state n: int = 0
    on increment(by: int, times: int) to int { n + by * times }
}

fn f(names: List[str], path: str) {
    let counter = spawn(Counter(1))
    let total = add(1, right = 2)
    let pair = names.zip([1])
    let upper = fn(text: str, loud: bool) text
    names.fold(0, fn(sum, name) sum + name.len())
    std.fs.write("a", "b")
    fs.copy("a", "b")
    counter.increment(2, 3)
    names |> join(",")
    names.map(fn(name) name.len())
    Rect(1.0, 2.0)
    print("a", "b", "c")
    db.Task.insert({ title: add(1, 2).to_str(), done: false })
    db.Task.all().order_by("title", "desc")
    upper("a", true)
    (1 + 2)
    path.slice(1, 2)
}

fn helper(flag) { if flag { 1 } else { 2 } }
fn describe(count: int) { count.to_str() }
fn join(list: List[str], separator: str) to str { list.join(separator) }
`

const shop = await editor.open('aids.vox', SHOP)

/** Returns the signature at a position, with the active parameter in angle brackets. */
async function signatureAt(file: OpenFile, mark: string): Promise<string> {
  const help = await editor.connection.sendRequest(SignatureHelpRequest.type, file.at(mark))
  const [signature] = help?.signatures ?? []
  if (signature === undefined) return ''
  const label = signature.parameters?.[help?.activeParameter ?? 0]?.label
  if (!Array.isArray(label)) return signature.label
  const [start, end] = label
  return `${signature.label.slice(0, start)}<${signature.label.slice(start, end)}>${signature.label.slice(end)}`
}

t.test('signature help shows the parameters of every kind of callee, and marks the one at the cursor', async t => {
  const cases: Readonly<Record<string, string>> = {
    'add(|1, right': 'add(<left: int>, right: int = 1) to int',
    'add(1, right = |2': 'add(left: int, <right: int = 1>) to int',
    'spawn(Counter(|1': 'Counter(<start: int>)',
    'zip(|[1])': 'List[str].zip[U](<other: List[U]>) to List[(str, U)]',
    'zip([|1])': 'List[str].zip[U](<other: List[U]>) to List[(str, U)]',
    'fold(0, |fn': 'List[str].fold[U](first: U, <f: fn(U, str) to U>) to U',
    'write("a", |"b"': 'std.fs.write(path: str, <text: str>) to Result[Unit] uses fs',
    'fs.copy(|"a"': 'std.fs.copy(<from: str>, to: str) to Result[Unit] uses fs',
    'increment(2, |3': 'increment(by: int, <times: int>) to int',
    'join(|","': 'join(list: List[str], <separator: str>) to str',
    'Rect(1.0, |2.0': 'Rect(width: float, <height: float>)',
    'print("a", "b", |"c"': 'print(<values...: any>) to Unit',
    'insert({ |title': 'insert(<row: { column: value }>) to int',
    'add(1, |2).to_str': 'add(left: int, <right: int = 1>) to int',
    'order_by("title", |"desc"': 'order_by(column: str, <direction: str>) to List[Row]',
    'slice(1, |2)': 'str.slice(from: int, <until?: int>) to str'
  }
  for (const [mark, signature] of Object.entries(cases)) t.equal(await signatureAt(shop, mark), signature, mark)
  for (const mark of ['(1 |+ 2', 'fn add(|left', '|@table', 'counter = |spawn', 'on increment(|by']) {
    t.equal(await signatureAt(shop, mark), '', mark)
  }
})

t.test('signature help works while a call is being typed', async t => {
  for (const typed of ['add(1, ', 'add(1,', 'let x = add(1, ', 'print(add(1, ']) {
    const file = await editor.open(
      'typed.vox',
      `fn add(left: int, right: int) to int { left }\nfn f() {\n    ${typed}\n}\n`
    )
    t.equal(await signatureAt(file, `${typed}|`), 'add(left: int, <right: int>) to int', typed)
    await file.close()
  }
})

/** Returns the text with the hints in it, in angle brackets. */
async function hinted(file: OpenFile, from = 0, until = 1_000): Promise<string> {
  const range = { start: { line: from, character: 0 }, end: { line: until, character: 0 } }
  const hints = await editor.connection.sendRequest(InlayHintRequest.type, { textDocument: { uri: file.uri }, range })
  const edits = (hints ?? []).map(({ position, label }) => ({
    range: { start: position, end: position },
    newText: `<${label as string}>`
  }))
  return file.edited(edits)
}

t.test('inlay hints show inferred types, and the parameters of literal arguments', async t => {
  const text = await hinted(shop)
  for (const line of [
    'let counter<: Counter> = spawn(Counter(1))',
    'let total<: int> = add(<left:>1, right = 2)',
    'names.fold(<first:>0, fn(sum<: int>, name<: str>) sum + name.len())',
    'let pair<: List[(str, int)]> = names.zip([1])',
    'fn helper(flag<: bool>) <to int >{ if flag { 1 } else { 2 } }',
    'names |> join(<separator:>",")',
    'names.map(fn(name<: str>) name.len())',
    'std.fs.write(<path:>"a", <text:>"b")',
    'counter.increment(<by:>2, <times:>3)',
    'Rect(<width:>1.0, <height:>2.0)',
    'print("a", "b", "c")',
    'upper("a", true)',
    'let upper = fn(text: str, loud: bool) text',
    'fn describe(count: int) <to str >{'
  ]) {
    t.ok(text.includes(line), `${line}\n${text}`)
  }
  const [first = ''] = (await hinted(shop, 4, 5)).split('\nfn f(')
  t.notOk(first.includes('<'), 'outside the range there are none')
})

t.test('a range is formatted without the lines outside it', async t => {
  const text = 'fn a()->int {\n  1\n}\n\nfn b() to int {\n  let  x = 1\n  x\n}\n\nfn c()->int { 3 }\n'
  const file = await editor.open('range.vox', text)
  const options = { tabSize: 4, insertSpaces: true }
  const textDocument = { uri: file.uri }
  const formatted = async (from: number, until: number): Promise<string> => {
    const range = { start: { line: from, character: 0 }, end: { line: until, character: 0 } }
    return file.edited(
      await editor.connection.sendRequest(DocumentRangeFormattingRequest.type, { textDocument, range, options })
    )
  }
  t.equal(await formatted(5, 6), text.replace('  let  x = 1\n  x\n', '    let x = 1\n    x\n'))
  t.equal(await formatted(9, 10), text.replace('fn c()->int { 3 }', 'fn c() to int { 3 }'))
  t.equal(await formatted(4, 5), text)
  const whole = await editor.connection.sendRequest(DocumentFormattingRequest.type, { textDocument, options })
  t.equal(await formatted(0, 10), file.edited(whole))
})

t.test('completion offers all members of every namespace, with their signatures and texts', async t => {
  for (const path of NATIVES.namespaces()) {
    const file = await editor.open('members.vox', `fn f() {\n    ${path}.\n}\n`)
    const found = await editor.connection.sendRequest(CompletionRequest.type, file.at(`${path}.|`))
    const items = Array.isArray(found) ? found : (found?.items ?? [])
    for (const [name, { text, source }] of NATIVES.namespace(path) ?? []) {
      const item = items.find(({ label }) => label === name)
      t.equal(item?.detail, `${path}.${source}`)
      t.match(item?.documentation, { value: text })
    }
    await file.close()
  }
})

t.test('the names of namespaces are ordinary names for a program that declares them', async t => {
  const file = await editor.open('names.vox', 'fn f(path: str, json: List[int]) {\n    path.\n    json.len()\n}\n')
  const found = await editor.connection.sendRequest(CompletionRequest.type, file.at('path.|\n'))
  const labels = (Array.isArray(found) ? found : (found?.items ?? [])).map(({ label }) => label)
  t.ok(labels.includes('to_upper'))
  t.notOk(labels.includes('basename'))
  const hover = await editor.connection.sendRequest(HoverRequest.type, file.at('json.le|n'))
  t.match((hover?.contents as MarkupContent | undefined)?.value, 'List[int].len() to int')
})

t.test('completion offers every global of the table', async t => {
  const file = await editor.open('globals.vox', 'fn f() {\n    x\n}\n')
  const found = await editor.connection.sendRequest(CompletionRequest.type, file.at('    x|'))
  const items = Array.isArray(found) ? found : (found?.items ?? [])
  for (const name of NATIVES.globalNames()) {
    const member = NATIVES.global(name)
    const item = items.find(({ label }) => label === name)
    t.ok(item, name)
    if (member !== undefined && isNativeFunction(member)) t.equal(item?.detail, member.source)
  }
})

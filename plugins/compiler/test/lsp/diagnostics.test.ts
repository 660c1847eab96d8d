import t from 'tap'
import {
  CodeActionRequest,
  DidSaveTextDocumentNotification,
  ExitNotification,
  ShutdownRequest
} from 'vscode-languageserver-protocol/node'
import { Editor } from './editor.ts'

const editor = await Editor.start(t)

t.test('the server publishes diagnostics when a file is opened, changed or saved', async t => {
  const file = await editor.open('a.vox', 'fn f() to str {\n    "ü😀" + cout\n}\nlet count = 1\n')
  const [first, ...rest] = await file.diagnostics()
  t.same(rest, [])
  t.match(first, {
    code: 'typecheck.undefined',
    source: 'svc-lsp',
    severity: 1,
    // In UTF-16, a character of four bytes has two units.
    range: { start: { line: 1, character: 12 }, end: { line: 1, character: 16 } },
    data: { fixes: [{ label: 'write count', replacement: 'count' }], suggestions: ['did you mean `count`?'] }
  })
  await file.change({ text: 'fn f() {\n' })
  t.match(await file.diagnostics(), [{ code: 'E0001', message: /expected `}`/ }])
  await file.change({ text: 'fn f() { }\n' })
  t.same(await file.diagnostics(), [])
  const saved = editor.diagnostics(file.uri)
  await editor.connection.sendNotification(DidSaveTextDocumentNotification.type, { textDocument: { uri: file.uri } })
  t.same(await saved, [])
})

t.test('mesh calls in workflows are reported if no mesh is enabled', async t => {
  const file = await editor.open('mesh.vox', 'workflow w() {\n    mesh_ping()\n}\nfn f() {\n    1\n}\n')
  const found = await file.diagnostics()
  t.match(found, [{ code: 'vox/workflow/mesh-disabled', severity: 2, message: /no mesh is enabled/ }])
  t.same(file.texts(found), ['mesh_ping'])
})

t.test('each fix of a finding is offered as a quick fix', async t => {
  const file = await editor.open('fix.vox', '@table type Task { title: str }\nfn f() { db.Tsk.all() }\n')
  const diagnostics = await file.diagnostics()
  const actions = await editor.connection.sendRequest(CodeActionRequest.type, {
    textDocument: { uri: file.uri },
    range: { start: { line: 1, character: 0 }, end: { line: 1, character: 20 } },
    context: { diagnostics: [...diagnostics] }
  })
  t.match(actions, [{ title: 'write Task', kind: 'quickfix', isPreferred: true }])
  const [action] = actions as unknown as { edit: { changes: Record<string, never[]> } }[]
  t.match(file.edited(action?.edit.changes[file.uri]), 'db.Task.all()')
})

t.test('incremental changes are applied correctly after characters of any width', async t => {
  const file = await editor.open('b.vox', 'fn f() { }\r\n// 😀 ä\r\nfn g() { f() }\r\n')
  await file.type('g() { |f', 'no_')
  t.match(await file.diagnostics(), [{ code: 'typecheck.undefined', range: { start: { line: 2, character: 9 } } }])
  const { position } = file.at('😀| ä')
  await file.change(
    { range: { start: { line: 1, character: 3 }, end: position }, text: '' },
    { range: { start: { line: 2, character: 9 }, end: { line: 2, character: 12 } }, text: '' }
  )
  t.equal(file.text, 'fn f() { }\r\n//  ä\r\nfn g() { f() }\r\n')
  t.same(await file.diagnostics(), [])
})

t.test('changes in quick succession are checked once, in their final state', async t => {
  const file = await editor.open('c.vox', 'fn f() { }\n')
  for (let index = 0; index < 40; index++) await file.change({ text: `fn f() { missing${index} }\n` })
  t.match(await file.diagnostics(), [{ message: /missing39/ }])
  t.ok(editor.versions(file.uri).length < 20, `${editor.versions(file.uri).length} versions were checked`)
})

t.test('a file with top-level statements is checked as a script', async t => {
  const file = await editor.open('script.vox', 'let a = 1\nprint(a)\nfor x in [a] { print(x) }\n')
  t.same(await file.diagnostics(), [])
})

t.test('the findings of a file are cleared when it is closed', async t => {
  const file = await editor.open('d.vox', 'fn f() { x }\n')
  t.equal((await file.diagnostics()).length, 1)
  const last = editor.diagnostics(file.uri)
  await file.close()
  t.same(await last, [])
})

t.test('a file of two thousand lines is checked after each keystroke', async t => {
  const body = Array.from({ length: 500 }, (_, n) => `fn f${n}(a: int) to int {\n    let b = a + ${n}\n    b\n}\n`)
  const file = await editor.open('long.vox', body.join(''))
  t.same(await file.diagnostics(), [])
  for (const key of ['x', 'y', 'z']) {
    await file.type('fn f250(a: int) to int {\n    let |', key)
    t.match(await file.diagnostics(), [{ code: 'typecheck.undefined' }])
  }
})

t.test('the server exits with 0 after a shutdown request', async t => {
  await editor.connection.sendRequest(ShutdownRequest.type)
  await editor.connection.sendNotification(ExitNotification.type)
  t.equal(await editor.ended, 0)
})

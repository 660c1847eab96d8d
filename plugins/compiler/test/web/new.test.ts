import { execFile } from 'node:child_process'
import { existsSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { checkFile, formatFile, runNew, SourceFile, templates } from '#root'
import { filesIn, run } from './building.ts'
import { SVC, serve, unbuilt } from './serving.ts'

const exec = promisify(execFile)

for (const template of Object.keys(templates)) {
  t.test(`a new project from ${template} is valid and formatted`, async t => {
    const name = join(t.testdir({}), 'new')
    const { code, out, err } = await run(runNew(), { name, template })
    t.equal(code, 0)
    t.equal(err, `next: cd ${name} && svc run app.vox\n`)
    const files = filesIn(name)
    t.same(Object.keys(files), ['.gitignore', 'README.md', 'app.vox', 'svc.toml'])
    for (const path of Object.keys(files)) t.match(out, `wrote ${join(name, path)}\n`)
    const source = new SourceFile('app.vox', files['app.vox'] ?? '')
    const options = { script: false, allowComponentFunctions: false, suppressHookLints: false }
    t.same(checkFile(source, options).diagnostics, [])
    t.equal(formatFile(source).text, source.text)
    for (const [, command = ''] of (files['README.md'] ?? '').matchAll(/`svc (\w+)/g)) {
      t.ok(['check', 'run', 'dev', 'test', 'fmt', 'build'].includes(command), command)
    }
  })
}

t.test('the suggested command is valid in a shell', async t => {
  const folder = t.testdir({})
  const { err } = await run(runNew(), { name: `${folder}/none/../Ada's tasks` })
  t.equal(err, `next: cd '${folder}/Ada'\\''s tasks' && svc run app.vox\n`)
})

t.test('svc new does not overwrite a file', async t => {
  const name = t.testdir({ 'README.md': 'mine' })
  const { code, err } = await run(runNew(), { name })
  t.equal(code, 1)
  t.match(err, `${join(name, 'README.md')} already exists`)
  t.same(filesIn(name), { 'README.md': 'mine' })
})

t.test('svc new fails for a broken link, but ignores unrelated files', async t => {
  const name = t.testdir({ 'other.txt': 'mine' })
  symlinkSync('/nowhere/at/all', join(name, 'svc.toml'))
  t.equal((await run(runNew(), { name })).code, 1)
  t.notOk(existsSync(join(name, 'app.vox')))
  const free = t.testdir({ 'other.txt': 'mine' })
  t.equal((await run(runNew(), { name: free }, true)).code, 0)
  t.equal(readFileSync(join(free, 'other.txt'), 'utf8'), 'mine')
})

t.test('svc new leaves no files if the folder cannot be created', async t => {
  const folder = t.testdir({ file: 'no folder' })
  const { code, err } = await run(runNew(), { name: join(folder, 'file', 'new') })
  t.equal(code, 1)
  t.match(err, /cannot be written|already exists/)
  t.same(filesIn(folder), { file: 'no folder' })
})

t.test('new projects run and pass their tests', { skip: unbuilt(), timeout: 120_000 }, async t => {
  const folder = t.testdir({})
  const inside = async (template: string): Promise<string> => {
    const name = join(folder, template)
    await run(runNew(), { name, template })
    return name
  }
  const hello = await inside('hello')
  t.equal((await exec(process.execPath, [SVC, 'run', 'app.vox'], { cwd: hello })).stdout, 'Hello, world!\n')
  const tested = await exec(process.execPath, [SVC, 'test', 'app.vox'], { cwd: hello })
  t.match(tested.stdout, '1 passed, 0 failed')

  const api = await serve(t, await inside('api'), '/api/query/open_tasks')
  const add = await fetch(`${api}/api/mutation/add_task`, post({ title: ' Water the plants ' }))
  t.same([add.status, await add.json()], [200, 1])
  t.same(await (await fetch(`${api}/tasks/1`)).json(), { _id: 1, title: 'Water the plants', done: false })
  t.equal((await fetch(`${api}/api/mutation/finish_task`, post({ id: 1 }))).status, 200)
  t.same(await (await fetch(`${api}/api/query/open_tasks`)).json(), [])
  t.equal((await fetch(`${api}/api/mutation/finish_task`, post({ id: 9 }))).status, 404)
  t.equal((await fetch(`${api}/tasks/9`)).status, 404)
  t.equal((await fetch(`${api}/api/mutation/add_task`, post({ title: ' ' }))).status, 400)

  const chat = await serve(t, await inside('chat'), '/api/query/messages')
  await fetch(`${chat}/api/mutation/post`, post({ room: 'lobby', author: 'Ada', text: 'hello' }))
  const blank = await fetch(`${chat}/api/mutation/post`, post({ room: 'lobby', author: 'Ada', text: ' ' }))
  t.equal(blank.status, 400)
  t.match(await (await fetch(`${chat}/api/query/messages`)).json(), [{ author: 'Ada', text: 'hello' }])
})

function post(body: object): RequestInit {
  return { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
}

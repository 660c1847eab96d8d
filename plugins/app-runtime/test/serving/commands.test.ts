import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { makeProject } from '../../../../test/e2e/served-project.ts'
import { ask, serveApp } from './served-app.ts'
import { svc } from './svc-command.ts'

const APP = `
@table
type Note { text: str }

@query
fn notes() to int { db.Note.count() }

@mutation
fn add(text: str) to Result[int] { db.Note.insert({ text: text }) }

fn main() { print("main ran") }
`

const address = (line: string): string => /http:\/\/[\d.:]+/.exec(line)?.[0] ?? ''

t.test('svc run serves a program with endpoints, with a separate database and port', async t => {
  const folder = makeProject(t, { 'app.vox': APP })
  const first = svc(t, folder, 'run', 'app.vox', '--port', '0', '--database', 'memory')
  const url = address(await first.line(/app listens on/))
  const json = { 'content-type': 'application/json' }
  const add = { method: 'POST', headers: json, body: '{"text":"a"}' }
  t.match(await ask(`${url}/api/mutation/add`, add), { status: 200 })
  t.same(await ask(`${url}/api/query/notes`), { status: 200, body: 1 })
  const second = svc(t, folder, 'run', 'app.vox', '--port', '0', '--database', 'notes.db')
  const other = address(await second.line(/app listens on/))
  t.same(
    await ask(`${other}/api/query/notes`),
    { status: 200, body: 0 },
    'at the same time as another program, with other rows'
  )
  t.notOk(first.output.includes('main ran'))
  first.child.kill('SIGINT')
  t.same(await first.ended, [0, null])
})

t.test('svc run calls main with --mode interp, or if the program has nothing to serve', async t => {
  const folder = makeProject(t, { 'app.vox': APP, 'hello.vox': 'fn main() { print("hello") }' })
  const commands = [
    ['app.vox', '--interp', '--database', 'memory'],
    ['app.vox', '--mode', 'interp']
  ].map(argv => svc(t, folder, 'run', ...argv))
  const plain = svc(t, folder, 'run', 'hello.vox')
  const both = svc(t, folder, 'run', 'hello.vox', '--app', '--interp')
  for (const command of commands) {
    t.same(await command.ended, [0, null])
    t.ok(command.output.includes('main ran'))
  }
  t.same(await plain.ended, [0, null])
  t.same(plain.output, ['hello'])
  t.same(await both.ended, [2, null])
})

t.test('svc run and svc dev show the errors of a program', async t => {
  const folder = makeProject(t, { 'app.vox': '@query\nfn f() to int { "a" }\n' })
  for (const { ended, output } of ['run', 'dev'].map(command => svc(t, folder, command, 'app.vox'))) {
    t.same(await ended, [1, null])
    t.match(output.join('\n'), /error\[.+\n.*app\.vox:2:/)
  }
})

t.test('a program with errors at start is served once they are corrected', async t => {
  const folder = makeProject(t, { 'app.vox': '@query\nfn f() to int { "a" }\n' })
  const set = ['app-runtime.program="app.vox"', 'app-runtime.port=0'].flatMap(each => ['--set', `plugins.${each}`])
  const served = svc(t, folder, 'serve', '--json', '--only', 'app-runtime,http', ...set)
  t.match(await served.line(/has errors/), /the program will be served once the errors are corrected/)
  await served.line(/"msg":"generation 1"/)
  writeFileSync(join(folder, 'app.vox'), '@query\nfn f() to int { 1 }\n')
  const url = address(await served.line(/app listens on/))
  await served.line(/was reloaded in/)
  t.same(await ask(`${url}/api/query/f`), { status: 200, body: 1 })
})

t.test('svc dev reports a reload', async t => {
  const folder = makeProject(t, { 'app.vox': APP })
  const dev = svc(t, folder, 'dev', 'app.vox', '--port', '0')
  const url = address(await dev.line(/app listens on/))
  writeFileSync(join(folder, 'app.vox'), `${APP}\n@query\nfn more() to int { 2 }\n`)
  t.match(await dev.line(/was reloaded in \d+ ms/), /app\.vox/)
  t.same(await ask(`${url}/api/query/more`), { status: 200, body: 2 })
})

t.test(
  'pages come from the SSR dev server, or from static files if it cannot be reached; assets come from files',
  async t => {
    const pages = createServer((request, response) => {
      response.writeHead(200, { 'content-type': 'text/html', 'x-page': 'yes' })
      response.end(`page of ${request.url}`)
    }).listen(0, '127.0.0.1')
    await once(pages, 'listening')
    const { port } = pages.address() as AddressInfo
    const folder = makeProject(t, { 'app.vox': APP, 'public/index.html': 'a file', 'public/a.css': 'a{}' })
    const settings = { 'app-runtime.ssr_dev_url': `http://127.0.0.1:${port}` }
    const app = await serveApp(t, '', settings, folder)
    const page = await fetch(`${app.app}/some/page?a=1`)
    t.equal(page.headers.get('x-page'), 'yes')
    t.equal(await page.text(), 'page of /some/page?a=1')
    const named = await fetch(`${app.app}//127.0.0.1:1/x?a=//b`)
    t.equal(await named.text(), 'page of //127.0.0.1:1/x?a=//b', 'a path cannot name another server')
    t.same(await app.get('/a.css'), { status: 200, body: 'a{}' })
    t.match(await app.get('/api/query/notes'), { status: 200 })
    await new Promise(resolve => {
      pages.close(resolve)
      pages.closeAllConnections()
    })
    t.same(await app.get('/some/page'), { status: 200, body: 'a file' })
  }
)

t.test('Vite runs for a built project as long as the program is served', async t => {
  const folder = makeProject(t, {
    'app.vox': APP,
    'dist/node_modules/vite/bin/vite.js': `
const { writeFileSync } = require('node:fs')
writeFileSync('arguments.json', JSON.stringify(process.argv.slice(2)))
writeFileSync('process.json', String(process.pid))
setInterval(() => {}, 1000)
`
  })
  const app = await serveApp(t, '', { 'app-runtime.orchestrate_vite': true }, folder)
  const read = async (name: string): Promise<unknown> => {
    for (;;) {
      try {
        return JSON.parse(readFileSync(join(folder, 'dist', name), 'utf8'))
      } catch {
        await new Promise(resolve => setTimeout(resolve, 20))
      }
    }
  }
  t.same(await read('arguments.json'), ['--host', '127.0.0.1', '--port', '3001', '--strictPort'])
  const pid = Number(await read('process.json'))
  t.ok(process.kill(pid, 0), 'Vite runs while the program is served')
  t.equal(await app.stop(), 0)
  t.throws(() => process.kill(pid, 0), { code: 'ESRCH' })
})

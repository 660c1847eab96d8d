import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { serveApp } from '../../plugins/app-runtime/test/serving/served-app.ts'
import { missing } from '../../plugins/browser/test/missing.ts'
import { descendants, isAlive, SANDBOX, until } from '../../plugins/browser/test/world.ts'
import { runSvc } from './run-svc.ts'
import { makeProject } from './served-project.ts'

const PAGE = `<!doctype html><title>Greeting</title>
<input aria-label="Name" />
<button onclick="document.querySelector('#answer').textContent = 'Hello, ' + document.querySelector('input').value">Greet</button>
<p id="answer"></p>`

const SETTINGS = `[plugins.browser]\nsandbox = ${SANDBOX}\ntimeout_ms = 60000\n[plugins.app-runtime]\ntime_limit_ms = 120000\n`

/** Starts a server with one page; returns its address. */
async function servePage(t: Test): Promise<string> {
  const server = createServer((_request, response) => response.setHeader('content-type', 'text/html').end(PAGE))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

const GREET = `
fn greet(url: str, name: str, picture: str) to Result[str] {
    let page = Browser.open(url, true)?
    Browser.fill(page, "[aria-label=Name]", name)?
    Browser.click(page, "text=Greet")?
    Browser.wait_for(page, "text=Hello", 60000)?
    Browser.screenshot(page, picture)?
    let answer = Browser.text(page, "#answer")?
    Browser.close(page)?
    Ok(answer)
}
`

t.test('a program fills, clicks and reads a page, and takes a screenshot', { skip: missing }, async t => {
  const url = await servePage(t)
  const main = 'fn main(url: str) to Result[Unit] {\n    print(greet(url, "Ada", "page.png")?)\n    Ok(())\n}\n'
  const folder = makeProject(t, { 'svc.toml': SETTINGS, 'greet.vox': `${GREET}\n${main}` })
  const { code, stdout, stderr } = await runSvc(folder, ['run', 'greet.vox', url])
  t.match({ code, stdout }, { code: 0, stdout: 'Hello, Ada\n' }, stderr)
  t.equal(readFileSync(join(folder, 'page.png')).subarray(1, 4).toString(), 'PNG')
  const denied = await runSvc(folder, ['run', 'greet.vox', url, '--set', 'plugins.app-runtime.capabilities=["net"]'])
  t.equal(denied.code, 1)
  t.match(denied.stderr, /RUN_CAPABILITY_DENIED.*capability browser/)
})

t.test('if the browser is disabled, the error of a program names the setting', async t => {
  const folder = makeProject(t, {
    'svc.toml': '[plugins.browser]\nenabled = false\n',
    'open.vox': 'fn main() {\n    print(Browser.open("http://127.0.0.1/"))\n}\n'
  })
  const { code, stderr } = await runSvc(folder, ['run', 'open.vox'])
  t.equal(code, 1)
  t.match(stderr, /RUN_UNSUPPORTED.*"enabled = true" in \[plugins\.browser\]/)
})

t.test('a served program opens pages, and all of them close with it', { skip: missing }, async t => {
  const url = await servePage(t)
  const source = `${GREET}
@server
fn greeting(url: str, name: str) to Result[str] {
    greet(url, name, "page.png")
}

@server
fn left_open(url: str) to Result[str] {
    Browser.open(url)
}
`
  const folder = makeProject(t, { 'svc.toml': SETTINGS, 'app.vox': source })
  const app = await serveApp(t, source, {}, folder)
  const [first, second] = await Promise.all(['Ada', 'Grace'].map(name => app.post('/api/greeting', { url, name })))
  t.same(first, { status: 200, body: 'Hello, Ada' })
  t.same(second, { status: 200, body: 'Hello, Grace' })
  t.match(await app.post('/api/left_open', { url }), { status: 200 })
  const pids = process.platform === 'linux' ? descendants(app.child.pid as number) : []
  t.equal(await app.stop(), 0)
  await until(() => !pids.some(isAlive))
})

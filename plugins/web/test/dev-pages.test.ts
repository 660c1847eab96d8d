import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { SVC_BIN } from '../../../test/e2e/served-project.ts'
import { inaccessible, noBrowser, opened } from './browser.ts'
import { type DevServer, serve, unbuilt } from './dev-server.ts'

const skip = noBrowser() || unbuilt()

const exec = promisify(execFile)

/** Runs a command of svc that ends. */
async function svc(folder: string, ...argv: string[]): Promise<void> {
  await exec(process.execPath, [SVC_BIN, ...argv], { cwd: folder, env: { ...process.env, NODE_OPTIONS: '' } })
}

type Template = 'web' | 'api'

const projects = new Map<Template, Promise<string>>()
const servers = new Map<Template, Promise<DevServer>>()
let built: Promise<string> | undefined

/** Creates a folder that is removed after the tests. */
function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-pages-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  return folder
}

async function created(template: Template): Promise<string> {
  const folder = freshFolder()
  await svc(folder, 'new', 'shopping_list', '--template', template)
  return join(folder, 'shopping_list')
}

/** Returns the folder of the project from a template of `svc new` that the tests of this file share. */
async function sharedProject(template: Template): Promise<string> {
  if (!projects.has(template)) projects.set(template, created(template))
  return projects.get(template) as Promise<string>
}

/** Serves the shared project of a template by `svc dev`, until the end of the tests. */
async function sharedServer(template: Template): Promise<DevServer> {
  if (!servers.has(template))
    servers.set(
      template,
      sharedProject(template).then(folder => serve(t as never, folder))
    )
  return servers.get(template) as Promise<DevServer>
}

/** Returns a copy of a project whose web files `svc build` wrote. */
async function builtProject(): Promise<string> {
  built ??= created('web').then(async folder => {
    await svc(folder, 'build', 'app.vox', '-o', 'web', '--scaffold')
    return folder
  })
  // The name of the folder is the name of the program.
  const copy = join(freshFolder(), 'shopping_list')
  cpSync(await built, copy, { recursive: true })
  return copy
}

/** Saves a changed program. */
function edit(folder: string, change: (text: string) => string): void {
  const path = join(folder, 'app.vox')
  writeFileSync(path, change(readFileSync(path, 'utf8')))
}

async function post(server: DevServer, path: string, body: object): Promise<Response> {
  return fetch(server.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body)
  })
}

const OVERLAY = 'svc-overlay >> [role=alertdialog]'

// The tests of the shared project are in the order of its contents: first empty, then with rows.

t.test(
  'errors of a saved program are shown over the page until they are corrected',
  { skip, timeout: 240_000 },
  async t => {
    const [folder, server] = [await sharedProject('web'), await sharedServer('web')]
    const { page, problems } = await opened(t)
    await page.goto(server.url)
    await page.waitForSelector('text=No tasks yet')
    const fresh = await fetch(`${server.url}/api/query/tasks`)
    t.equal(fresh.headers.get('x-svc-stale'), null)

    edit(folder, text => text.replace('db.Task.delete(id)', 'db.Task.delete(idd)'))
    const overlay = page.locator(OVERLAY)
    await overlay.waitFor()
    const shown = await overlay.innerText()
    t.same(await inaccessible(page), [])
    t.match(shown, 'app.vox has errors')
    t.match(shown, /app\.vox:\d+:\d+/)
    t.match(shown, /\d+ \|\s+db\.Task\.delete\(idd\)/, 'with an excerpt')
    t.ok(await page.locator('text=No tasks yet').isVisible(), 'the page stays below')
    const stale = await fetch(`${server.url}/api/query/tasks`)
    t.equal(stale.headers.get('x-svc-stale'), '1')
    t.same([stale.status, await stale.json()], [200, []], 'the previous version answers')

    // A page that is opened later shows them too, and the keyboard closes them.
    const later = await opened(t)
    await later.page.goto(server.url)
    await later.page.locator(OVERLAY).waitFor()
    await later.page.keyboard.press('Escape')
    await later.page.locator(OVERLAY).waitFor({ state: 'detached' })

    edit(folder, text => text.replace('delete(idd)', 'delete(id)'))
    await overlay.waitFor({ state: 'detached' })
    await page.waitForSelector('text=No tasks yet')
    const again = await fetch(`${server.url}/api/query/tasks`)
    t.equal(again.headers.get('x-svc-stale'), null)
    t.same([...problems, ...later.problems], [])
  }
)

t.test('svc dev shows the pages of a new project, whose form is sent by Enter', { skip, timeout: 240_000 }, async t => {
  const server = await sharedServer('web')
  const { page, problems } = await opened(t, { colorScheme: 'dark' })
  await page.goto(server.url)
  await page.waitForSelector('text=No tasks yet')
  t.equal(await page.title(), 'Shopping list')
  t.equal(await page.getAttribute('html', 'lang'), 'en')
  const colour = await page.evaluate('getComputedStyle(document.documentElement).backgroundColor')
  t.equal(colour, 'rgb(22, 24, 29)', 'the style follows the theme of the system')
  t.same(await inaccessible(page), [])
  await page.fill('[aria-label="New task"]', 'Water the plants')
  await page.press('[aria-label="New task"]', 'Enter')
  await page.waitForSelector('li >> text=Water the plants')
  t.same(await inaccessible(page), [])
  t.equal(await page.inputValue('[aria-label="New task"]'), '')
  t.equal(new URL(page.url()).search, '', 'the browser did not send the form')
  await page.click('text=Counter')
  await page.waitForSelector('text=Count: 0')
  await page.goto(`${server.url}/nowhere`)
  await page.waitForSelector('text=Page not found')
  t.same(problems, [])
})

t.test('a save reloads the page and keeps its scroll position', { skip, timeout: 240_000 }, async t => {
  const [folder, server] = [await sharedProject('web'), await sharedServer('web')]
  for (let n = 1; n <= 80; n++) await post(server, '/api/mutation/add_task', { title: `Task ${n}` })
  const { page, problems } = await opened(t, { viewport: { width: 800, height: 600 } })
  await page.goto(server.url)
  await page.waitForSelector('text=Task 80')
  await page.evaluate('scrollTo(0, 900)')
  edit(folder, text => text.replace('"Tasks"</h1>', '"My tasks"</h1>'))
  await page.waitForSelector('h1 >> text=My tasks')
  await page.waitForFunction('scrollY === 900')
  t.same(problems, [])
})

t.test(
  'a failed call is shown with its place, call stack and request id, by the page that made it',
  { skip, timeout: 240_000 },
  async t => {
    const folder = t.testdir({
      'app.vox': `fn third(numbers: List[int]) to int {
    numbers[3]
}

@server
fn pick(numbers: List[int]) to int {
    third(numbers)
}

component Picker() {
    view: <button on:click={pick([1, 2])}>"Pick"</button>
}

routes {
    "/" to Picker
}
`
    })
    const server = await serve(t, folder)
    const [{ page }, other] = [await opened(t), await opened(t)]
    await page.goto(server.url)
    await other.page.goto(server.url)
    await other.page.waitForSelector('text=Pick')
    const [response] = await Promise.all([page.waitForResponse(/api\/pick/), page.click('text=Pick')])
    const overlay = page.locator(OVERLAY)
    await overlay.locator('text=server pick failed').or(overlay.locator('text=pick failed')).waitFor()
    const shown = await overlay.innerText()
    t.match(shown, 'RUN_INDEX')
    t.match(shown, /app\.vox:2:\d+/)
    t.match(shown, /2 \|\s+numbers\[3\]/, 'with an excerpt')
    t.match(shown, /Call stack[\s\S]*third[\s\S]*pick/i)
    t.match(shown, `Request ${response.headers()['x-request-id']}`)
    t.equal(await other.page.locator(OVERLAY).count(), 0)
  }
)

t.test(
  'an uncaught error of a page is shown, and a changed module is bundled again',
  { skip, timeout: 240_000 },
  async t => {
    const folder = t.testdir({
      'app.vox': `import react Broken from "./broken"

component Home() {
    view: <main><h1>"Home"</h1><Broken /></main>
}

routes {
    "/" to Home
}
`,
      'broken.tsx': `export function Broken() {
  return <button onClick={() => { throw new Error('<b>broken</b>') }}>Break</button>
}
`
    })
    const server = await serve(t, folder)
    const { page } = await opened(t)
    await page.goto(server.url)
    await page.click('text=Break')
    await page.locator(OVERLAY).waitFor()
    t.match(await page.locator(OVERLAY).innerText(), /Uncaught error[\s\S]*<b>broken<\/b>/, 'as text')

    writeFileSync(join(folder, 'broken.tsx'), 'export function Broken() { return <p>{ }\n')
    await page.locator(OVERLAY).locator('text=was not reloaded').waitFor()
    t.match(await page.locator(OVERLAY).innerText(), /broken\.tsx:\d+:\d+: /, 'as are errors of the bundle')

    writeFileSync(join(folder, 'broken.tsx'), 'export function Broken() { return <p>repaired</p> }\n')
    await page.waitForSelector('p >> text=repaired')
    edit(folder, text => text.replace('"./broken"', '"./other"'))
    await page.locator(OVERLAY).locator('text=web.missing_module').waitFor()
    writeFileSync(join(folder, 'other.tsx'), 'export function Broken() { return <p>another module</p> }\n')
    await page.waitForSelector('p >> text=another module')
  }
)

t.test('a program without pages lists its routes', { skip, timeout: 240_000 }, async t => {
  const server = await sharedServer('api')
  const { page, problems } = await opened(t)
  await page.goto(server.url)
  t.same(await inaccessible(page), [])
  const text = await page.innerText('main')
  t.match(text, /GET\s+\/api\/query\/open_tasks\s+query open_tasks\(\)/)
  t.match(text, /POST\s+\/api\/mutation\/add_task\s+mutation add_task\(title\)/)
  t.match(text, /GET\s+\/tasks\/:id/)
  t.equal(await page.getByText('/api/query/open_tasks', { exact: true }).getAttribute('href'), '/api/query/open_tasks')
  t.match(await page.getAttribute('text=Console', 'href'), /^http:\/\/127\.0\.0\.1:\d+\/$/)
  await page.click('text=Try the API')
  await page.getByText('/api/mutation/add_task').waitFor()
  t.equal(await page.textContent('h1'), 'app 1.0.0')
  const missing = await fetch(`${server.url}/nowhere`)
  t.equal(missing.status, 404, 'only / has the list')
  t.same(problems, [])
})

t.test(
  'svc dev prints the addresses of the program and of the console',
  { skip: unbuilt(), timeout: 240_000 },
  async t => {
    const server = await sharedServer('api')
    const printed = await server.line(/app\.vox: http/)
    t.match(printed, `app.vox: ${server.url}/; console: http://127.0.0.1:`)
  }
)

t.test(
  'pages of other origins cannot connect to the development channel',
  { skip: unbuilt(), timeout: 240_000 },
  async t => {
    const server = await sharedServer('api')
    const status = async (headers: Record<string, string>): Promise<number | undefined> => {
      return new Promise((resolve, reject) => {
        const upgrade = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' }
        const key = { 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' }
        const sent = request(`${server.url}/@svc/dev`, { headers: { ...upgrade, ...key, ...headers } })
        sent.on('upgrade', (response, socket) => {
          socket.destroy()
          resolve(response.statusCode)
        })
        sent.on('response', response => {
          response.resume()
          resolve(response.statusCode)
        })
        sent.on('error', reject)
        sent.end()
      })
    }
    t.equal(await status({ origin: server.url }), 101)
    t.equal(await status({ origin: 'http://example.com' }), 403)
    t.equal(await status({ host: 'example.com' }), 403)
  }
)

t.test('svc run serves the same pages, without the parts for development', { skip, timeout: 240_000 }, async t => {
  const server = await serve(t, await created('web'), { command: 'run' })
  const { page, problems } = await opened(t)
  await page.goto(server.url)
  await page.waitForSelector('text=No tasks yet')
  t.notMatch(await page.content(), '/@svc/dev.js')
  t.same(problems, [])
})

t.test('built pages of another version of the program are reported as stale', { skip, timeout: 240_000 }, async t => {
  const folder = await builtProject()
  mkdirSync(join(folder, 'public'))
  writeFileSync(
    join(folder, 'public/index.html'),
    '<!doctype html><html lang="en"><head><link rel="icon" href="data:,"><title>Own</title></head><body><p>built page</p></body></html>'
  )
  const server = await serve(t, folder)
  const { page, problems } = await opened(t)
  await page.goto(server.url)
  await page.waitForSelector('text=built page')
  const notice = page.locator('svc-overlay >> aside')
  t.equal(await notice.count(), 0, 'the build is of this version')
  edit(folder, text => text.replace('"Tasks"</h1>', '"My tasks"</h1>'))
  await notice.waitFor()
  t.match(await notice.innerText(), 'pages are stale: svc build')
  t.same(problems, [])
})

t.test('with Vite, its files are forwarded and its documents reload', { skip, timeout: 240_000 }, async t => {
  const folder = await builtProject()
  const bin = join(folder, 'web/node_modules/vite/bin')
  mkdirSync(bin, { recursive: true })
  // Replaces Vite, which is not installed in a new project.
  writeFileSync(
    join(bin, 'vite.js'),
    `require('node:http').createServer((request, response) => {
  const isPage = request.url === '/'
  response.writeHead(isPage || request.url === '/app/main.tsx' ? 200 : 404, { 'content-type': isPage ? 'text/html' : 'text/javascript' })
  response.end(isPage ? '<!doctype html><html lang="en"><head><link rel="icon" href="data:,"><title>Vite</title></head><body><script type="module" src="/app/main.tsx"></script></body></html>' : 'document.body.append("from Vite")')
}).listen(Number(process.argv[process.argv.indexOf('--port') + 1]), '127.0.0.1')
`
  )
  const server = await serve(t, folder, { settings: ['plugins.app-runtime.orchestrate_vite=true'] })
  const { page, problems } = await opened(t)
  for (;;) {
    await page.goto(server.url)
    if ((await page.title()) === 'Vite') break
  }
  await page.waitForSelector('text=from Vite')
  t.equal(await page.locator('svc-overlay').count(), 0)
  edit(folder, text => text.replace('"Tasks"</h1>', '"My tasks"</h1>'))
  await page.locator('svc-overlay >> aside >> text=pages are stale: svc build').waitFor()
  await svc(folder, 'build', 'app.vox', '-o', 'web')
  await page.locator('svc-overlay').waitFor({ state: 'detached' })
  t.same(
    problems.filter(problem => !problem.includes('404')),
    []
  )
})

import { createServer } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FrameLocator, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { makeProject, type Served, serve, writeFiles } from '../served-project.ts'
import { type ConsolePage, callFrom, launch, noBrowser, openConsole } from './browser.ts'
import { buttonsPage, modulePlugin } from './module-plugin.ts'

const SETTINGS = 'kernel.plugin_directories = ["plugins"]\n[plugins.model-server]\nenabled = false\n'
/** Selects the plugins of a console with the pages of one plugin. */
const only = (plugin: string): readonly string[] => ['--watch', '--only', `http,dashboard,cli,daemon,${plugin}`]
const ISOLATED = `${SETTINGS}[plugins.boxed]\nisolation = "process"\n`

/** Presses a button of a module page and returns what the page shows as its result. */
async function press(place: Page | FrameLocator, name: string): Promise<string> {
  await place.getByRole('button', { name, exact: true }).click()
  const result = place.getByLabel('result')
  await result.filter({ hasText: `${name}: ` }).waitFor()
  return result.innerText()
}

/** Saves a source file of a page of the plugin. */
function save({ folder }: Served, plugin: string, module: string, source: string): void {
  writeFiles(join(folder, 'plugins', plugin, 'page'), { [`${module}.ts`]: source })
}

async function destructiveCall(t: Test, { page }: ConsolePage, place: Page | FrameLocator, id: string): Promise<void> {
  t.match(await press(place, 'Add'), 'Add: {"count":')
  await place.getByRole('button', { name: 'Wipe', exact: true }).click()
  const dialog = page.getByRole('dialog')
  await dialog.waitFor()
  t.match(await dialog.innerText(), id)
  t.equal(await dialog.getByRole('button', { name: 'Run' }).isDisabled(), true, 'a click does not confirm')
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await place.getByText('Wipe: DSH_NOT_CONFIRMED').waitFor()
  t.notMatch(await place.getByText('count: ').innerText(), 'count: 0', 'the operation was not called')
  await place.getByRole('button', { name: 'Wipe', exact: true }).click()
  await dialog.getByRole('textbox').fill(id)
  await dialog.getByRole('button', { name: 'Run' }).click()
  await place.getByText('Wipe: {"count":0}').waitFor()
  await place.getByText('count: 0').waitFor()
  t.pass('the person confirmed it')
}

let served: Promise<Served> | undefined

/** Returns the server of the tests whose plugin runs in its process. */
function startDrawn(): Promise<Served> {
  const files = modulePlugin('drawn', { buttons: buttonsPage('drawn', 'first') })
  served ??= serve(t, makeProject(t, { ...files, 'svc.toml': SETTINGS }), only('drawn'))
  return served
}

t.test('a page module draws in a shadow root and calls what it declares', { skip: noBrowser }, async t => {
  const server = await startDrawn()
  const signedIn = await openConsole(await launch(t), server)
  const { page, problems, open } = signedIn
  await open('/ui/p/drawn/buttons')

  await t.test('it is mounted in a shadow root', async t => {
    await page.getByRole('heading', { name: 'first' }).waitFor()
    t.equal(await page.evaluate('document.querySelector("main h2")'), null, 'styles of the console do not reach it')
    t.equal(
      await page.evaluate('document.querySelector("main .fill .fill").shadowRoot.querySelector("h2") !== null'),
      true
    )
    await page.getByText('count: 0').waitFor()
  })

  await t.test('it calls and watches the operations of uses', async t => {
    t.match(await press(page, 'Add'), 'Add: {"count":1}')
    await page.getByText('count: 1').waitFor()
    t.match(await press(page, 'May'), 'May: [true,true,false]')
  })

  await t.test('calls and watches of other operations are refused', async t => {
    for (const name of ['Hidden', 'Watch hidden', 'Other plugin'])
      t.match(await press(page, name), `${name}: DSH_OPERATION_UNDECLARED`)
  })

  await t.test('a destructive call asks the person, and the module cannot confirm it', t =>
    destructiveCall(t, signedIn, page, 'drawn.wipe')
  )

  await t.test('a changed filter of the address mounts it again, with its memory', async t => {
    await page.getByRole('button', { name: 'Filter' }).click()
    await page.getByText('route: {"color":"red"}').waitFor()
    await page.getByText('mounts: 2').waitFor()
    t.match(page.url(), '?color=red')
  })

  await t.test('it opens pages of the console only', async t => {
    t.match(await press(page, 'Leave'), 'Leave: undefined')
    t.match(page.url(), '/ui/p/drawn/buttons')
    await page.getByRole('button', { name: 'Navigate' }).click()
    await page.waitForURL('**/ui/plugins')
    t.same(await page.evaluate('window.marks.slice(-2)'), ['aborted first', 'disposed first'], 'it ended')
  })
  t.same(problems, [], 'no errors')
})

t.test('a saved page is replaced in the open tab', { skip: noBrowser }, async t => {
  const server = await startDrawn()
  const { page, problems, open } = await openConsole(await launch(t), server)
  await open('/ui/p/drawn/buttons')
  await page.getByRole('heading', { name: 'first' }).waitFor()
  await page.evaluate('window.tab = "the same document"')
  t.match(await press(page, 'Add'), '{"count":1}')

  save(server, 'drawn', 'buttons', buttonsPage('drawn', 'second'))
  await page.getByRole('heading', { name: 'second' }).waitFor()
  t.equal(await page.evaluate('window.tab'), 'the same document', 'the tab did not navigate')
  t.same(await page.evaluate('window.marks'), ['aborted first', 'disposed first'], 'the old code ended')
  await page.getByText('mounts: 2').waitFor()
  t.equal(await page.getByRole('heading', { name: 'first' }).count(), 0, 'nothing of the old code is left')
  await page.getByText('count: 1').waitFor()
  t.pass('the plugin was not reloaded: it kept its count')

  await t.test('a page that does not compile is shown as broken, and the plugin serves on', async t => {
    save(server, 'drawn', 'buttons', `${buttonsPage('drawn', 'third')}\nconst unfinished = (\n`)
    const notice = page.getByText('page/buttons.ts:')
    await notice.waitFor()
    t.match(await notice.innerText(), /page\/buttons\.ts:\d+:\d+/, 'it names the file, line and column')
    t.match(await callFrom(page, 'drawn.add', {}), { status: 200, body: { count: 2 } })
  })

  await t.test('the repaired page is drawn again', async t => {
    save(server, 'drawn', 'buttons', buttonsPage('drawn', 'fourth'))
    await page.getByRole('heading', { name: 'fourth' }).waitFor()
    await page.getByText('count: 2').waitFor()
    t.equal(await page.evaluate('window.tab'), 'the same document')
  })

  await t.test('a mount that throws shows its error', async t => {
    save(server, 'drawn', 'buttons', `export function mount() { throw new Error('no map tiles') }\n`)
    const alert = page.getByRole('alert')
    await alert.waitFor()
    t.match(await alert.innerText(), 'no map tiles')
  })

  await t.test('a mount whose disposer throws does not stop its successor', async t => {
    save(
      server,
      'drawn',
      'buttons',
      `export function mount(root: ParentNode) { root.append(Object.assign(document.createElement('p'), { textContent: 'leaks' })); return () => { throw new Error('stuck') } }\n`
    )
    await page.getByText('leaks').waitFor()
    save(server, 'drawn', 'buttons', buttonsPage('drawn', 'sixth'))
    await page.getByRole('heading', { name: 'sixth' }).waitFor()
    t.equal(await page.getByText('leaks').count(), 0)
  })
  t.same(problems, [], 'no errors')
})

/**
 * Page that tries what a sandboxed frame must not reach, and shows each result as a line of text. `stranger`: address of
 * another server.
 */
function escapingPage(stranger: string): string {
  return `
export function mount(root: HTMLElement, api: any): void {
  const attempts: Record<string, () => unknown> = {
    origin: () => origin,
    document: () => parent.document.title,
    'parent storage': () => (parent as any).localStorage.length,
    storage: () => localStorage.length,
    cookie: () => document.cookie,
    opener: () => String(window.open('/ui/plugins')),
    top: () => ((top as any).location.href = '${stranger}/top'),
    evaluate: () => new Function('return 1')(),
    fetch: () => fetch('/ui/api/console').then(answer => answer.status),
    stranger: () => fetch('${stranger}/fetch', { mode: 'no-cors' }).then(() => 'sent'),
    beacon: () => (navigator.sendBeacon('${stranger}/beacon'), 'queued'),
    script: () => import(['', 'ui', 'plugins'].join('/')),
    image: () => new Promise((resolve, reject) => {
      const image = new Image()
      image.onload = resolve
      image.onerror = () => reject(new Error('image refused'))
      image.src = '${stranger}/image'
    }),
    socket: () => new Promise((resolve, reject) => {
      const socket = new WebSocket('${stranger}/socket'.replace('http', 'ws'))
      socket.onopen = () => resolve('open')
      socket.onerror = () => reject(new Error('socket refused'))
    }),
    forged: () => {
      parent.postMessage({ t: 'call', id: 1, operation: 'boxed.add', input: {} }, '*')
      return 'posted'
    }
  }
  const run = async (): Promise<void> => {
    for (const [name, attempt] of Object.entries(attempts)) {
      const line = document.createElement('p')
      let result: string
      try {
        result = String(await attempt())
      } catch (error: any) {
        result = error.name + ' ' + error.message
      }
      line.textContent = name + '> ' + result
      root.append(line)
    }
    const end = document.createElement('h2')
    end.textContent = 'all tried'
    root.append(end)
    const leave = document.createElement('button')
    leave.textContent = 'Leave'
    leave.onclick = () => { location.href = '${stranger}/leave' }
    root.append(leave)
  }
  void run()
}
`
}

t.test('the page of an isolated plugin runs in a sandboxed frame', { skip: noBrowser }, async t => {
  const reached: string[] = []
  const stranger = createServer((request, response) => {
    reached.push(request.url ?? '')
    response.end('stranger')
  })
  await new Promise<void>(resolve => stranger.listen(0, '127.0.0.1', resolve))
  t.teardown(() => stranger.close())
  const { port } = stranger.address() as { port: number }
  const files = modulePlugin('boxed', {
    buttons: buttonsPage('boxed', 'first'),
    escape: escapingPage(`http://127.0.0.1:${port}`),
    throws: `export function mount() { throw new Error('no map tiles') }\n`
  })
  const server = await serve(t, makeProject(t, { ...files, 'svc.toml': ISOLATED }), only('boxed'))
  const signedIn = await openConsole(await launch(t), server)
  const { page, problems, open } = signedIn
  const frame = page.frameLocator('iframe.module')

  await t.test('it calls and watches the operations of uses, and no others', async t => {
    await open('/ui/p/boxed/buttons?color=blue')
    await frame.getByText('route: {"color":"blue"}').waitFor()
    await frame.getByText('count: 0').waitFor()
    t.match(await press(frame, 'Add'), 'Add: {"count":1}')
    await frame.getByText('count: 1').waitFor()
    for (const name of ['Hidden', 'Watch hidden', 'Other plugin'])
      t.match(await press(frame, name), `${name}: DSH_OPERATION_UNDECLARED`)
    t.equal(await page.locator('iframe.module').getAttribute('sandbox'), 'allow-scripts')
  })

  await t.test('a destructive call asks the person, and the frame cannot confirm it', t =>
    destructiveCall(t, signedIn, frame, 'boxed.wipe')
  )

  await t.test('a changed filter of the address starts it again', async t => {
    await frame.getByRole('button', { name: 'Filter' }).click()
    await frame.getByText('route: {"color":"red"}').waitFor()
    t.match(await press(frame, 'Add'), 'Add: {"count":1}', 'its channel works')
  })

  await t.test('a saved page is replaced in the open tab', async t => {
    await page.evaluate('window.tab = "the same document"')
    save(server, 'boxed', 'buttons', buttonsPage('boxed', 'second'))
    await frame.getByRole('heading', { name: 'second' }).waitFor()
    await frame.getByText('count: 1').waitFor()
    t.equal(await page.evaluate('window.tab'), 'the same document')
  })
  t.same(problems, [], 'no errors')

  await t.test('an error of its mount is shown', async t => {
    await open('/ui/p/boxed/throws')
    await page.getByRole('alert').waitFor()
    t.match(await page.getByRole('alert').innerText(), 'no map tiles')
  })

  await t.test('it has no origin, and reaches neither the console nor a server', async t => {
    await open('/ui/p/boxed/escape')
    await frame.getByRole('heading', { name: 'all tried' }).waitFor()
    const lines = await frame.locator('p').allInnerTexts()
    const results = Object.fromEntries(lines.map(line => line.split('> ') as [string, string]))
    for (const name of ['document', 'parent storage', 'storage', 'cookie', 'top'])
      t.match(results[name], /^SecurityError/, name)
    for (const name of ['fetch', 'stranger', 'script']) t.match(results[name], /^TypeError/, name)
    for (const name of ['image', 'socket']) t.match(results[name], 'refused', name)
    t.match(results, { origin: 'null', opener: 'null', evaluate: /^EvalError/ })
    await page.getByRole('main').waitFor()
    t.match(page.url(), '/ui/p/boxed/escape', 'the console was not navigated')

    await frame.getByRole('button', { name: 'Leave' }).click()
    // The refusal is reported as an error of the page; wait for it, so that a request would have arrived.
    while (!problems.some(problem => /frame-src/.test(problem))) await sleep(20)
    t.same(reached, [], 'nothing arrived at the other server')
    t.match((await callFrom(page, 'boxed.count', {})).body, { count: 1 }, 'a message outside the channel calls nothing')
  })
})

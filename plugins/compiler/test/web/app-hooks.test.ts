import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, extname, join } from 'node:path'
import { promisify } from 'node:util'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { launched, noBrowser } from './browsing.ts'
import { build, filesIn, install, ROOT, typeCheck } from './building.ts'

const exec = promisify(execFile)

const PAGES = `
component Home() { view: <p>"Home"</p> }
component Task(id: str) { view: <p>"Task {id}"</p> }
routes {
    "/" to Home
    "/tasks/:id" to Task
}
`

const APP = `
@mutation fn back() to bool { true }
@mutation fn remember(token: str, platform: str) to bool { true }
@mutation fn noticed(title: str, body: str, data: str = "") to Result[bool] { Ok(true) }
@query fn resolve(url: str) to Option[str] { None }
fn opened(id: int) to str { "/tasks/" + (id + 1).to_string() }
fn chosen(action: str, data: Option[str]) to str { if data.is_some() { "/tasks/" + action } else { "/" } }

@back_button { on_press: back }
@deep_link {
    scheme: "tasks"
    universal_link: "https://tasks.example.org/"
    routes: { "/t/:id": "/tasks/:id", "/next/:id": opened }
    on_link: resolve
}
@push {
    on_register: remember
    on_notification: noticed
    on_action: chosen
    public_key: "${'B'.repeat(87)}"
}
${PAGES}`

/** A program that uses push without a hook, through an import alias. */
const PUSHED = `import std.mobile as phone
component P() {
    state last: str = ""
    on mount: phone.push.on_message(fn(message: str) { last = message })
    view: <p on_click={match phone.push.register() {
        Ok(token) => { last = token }
        Error(why) => { last = why }
    }}>{last}</p>
}
`

/** Type declarations of the packages that a mobile application installs. */
const CAPACITOR = {
  app: `interface Handle { remove(): Promise<void> }
export declare const App: {
  addListener(event: 'backButton', listener: (event: { canGoBack: boolean }) => void): Promise<Handle>
  addListener(event: 'appUrlOpen', listener: (event: { url: string; iosOpenInPlace?: boolean }) => void): Promise<Handle>
  getLaunchUrl(): Promise<{ url: string } | undefined>
  exitApp(): Promise<void>
}`,
  core: 'export declare const Capacitor: { getPlatform(): string; isNativePlatform(): boolean }',
  'push-notifications': `interface Handle { remove(): Promise<void> }
interface Schema { title?: string; body?: string; id: string; data: any }
type State = 'prompt' | 'denied' | 'granted'
export declare const PushNotifications: {
  addListener(event: 'registration', listener: (token: { value: string }) => void): Promise<Handle>
  addListener(event: 'registrationError', listener: (error: { error: string }) => void): Promise<Handle>
  addListener(event: 'pushNotificationReceived', listener: (notification: Schema) => void): Promise<Handle>
  addListener(
    event: 'pushNotificationActionPerformed',
    listener: (notification: { actionId: string; inputValue?: string; notification: Schema }) => void
  ): Promise<Handle>
  checkPermissions(): Promise<{ receive: State }>
  requestPermissions(): Promise<{ receive: State }>
  register(): Promise<void>
}`,
  cli: 'export interface CapacitorConfig { appId?: string; appName?: string; webDir?: string }'
}

function installCapacitor(folder: string): void {
  for (const [name, text] of Object.entries(CAPACITOR)) {
    const path = join(folder, 'node_modules/@capacitor', name, 'index.d.ts')
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
}

t.test('generated hooks type-check in strict mode, for browsers and mobile devices', { timeout: 240_000 }, async t => {
  const folder = t.testdir({
    'app.vox': APP,
    'push.vox': PUSHED,
    'link.vox':
      '@deep_link { routes: { "/a": "/" } }\n@push { on_register: kept }\nfn kept(token: str) { print(token) }\n'
  })
  const cases = [
    ['app', undefined],
    ['app', 'native'],
    ['push', undefined],
    ['link', 'native']
  ] as const
  for (const [name, target] of cases) {
    const out = join(folder, `${name}-${target}`)
    const result = await build(join(folder, `${name}.vox`), out, { scaffold: true, mobile_target: target })
    t.equal(result.code, 0, result.err)
    install(out)
    if (target !== undefined) installCapacitor(out)
    t.equal(await typeCheck(out), '', `${name} for ${target}`)
  }
})

t.test('only a mobile application contains the Capacitor files', async t => {
  const folder = t.testdir({ 'my_tasks.vox': APP })
  const file = join(folder, 'my_tasks.vox')
  await build(file, join(folder, 'web'), { scaffold: true })
  const web = filesIn(join(folder, 'web'))
  t.notOk(web['capacitor.config.ts'])
  t.notMatch(Object.values(web).join('\n'), '@capacitor/')
  const expected = {
    android: ['@capacitor/android', '@capacitor/app', '@capacitor/core', '@capacitor/push-notifications'],
    ios: ['@capacitor/app', '@capacitor/core', '@capacitor/ios', '@capacitor/push-notifications'],
    native: [
      '@capacitor/android',
      '@capacitor/app',
      '@capacitor/core',
      '@capacitor/ios',
      '@capacitor/push-notifications'
    ]
  }
  for (const [target, packages] of Object.entries(expected)) {
    const out = join(folder, target)
    await build(file, out, { scaffold: true, mobile_target: target })
    const files = filesIn(out)
    t.match(
      files['capacitor.config.ts'],
      "appId: 'com.example.my_tasks',\n  appName: 'my tasks',\n  webDir: '../public'"
    )
    const manifest = JSON.parse(files['package.json'] ?? '')
    t.same(
      Object.keys(manifest.dependencies).filter(name => name.startsWith('@capacitor/')),
      packages
    )
    t.ok(manifest.devDependencies['@capacitor/cli'])
    t.equal(manifest.scripts['sync:android'] !== undefined, target !== 'ios')
  }
  const out = join(folder, 'bare')
  await build(file, out, { mobile_target: 'ios' })
  t.ok(filesIn(out)['capacitor.config.ts'], 'the file is written even without --scaffold')
  writeFileSync(join(out, 'capacitor.config.ts'), '// mine\n')
  await build(file, out, { mobile_target: 'ios' })
  t.equal(filesIn(out)['capacitor.config.ts'], '// mine\n', 'a later build does not change the file')
})

t.test('a main module that does not start the hooks is reported', async t => {
  const folder = t.testdir({ 'app.vox': PAGES })
  const [file, out] = [join(folder, 'app.vox'), join(folder, 'web')]
  await build(file, out, { scaffold: true })
  writeFileSync(file, APP)
  const { code, err } = await build(file, out, { scaffold: true })
  t.equal(code, 0)
  t.match(err, 'warning[web.hook.not_started]')
  writeFileSync(join(out, 'app/main.tsx'), "import { startMobile } from '../mobile'\nstartMobile()\n")
  t.notMatch((await build(file, out, { scaffold: true })).err, 'not_started')
})

t.test('a handler that a page cannot call is reported', async t => {
  const folder = t.testdir({ 'app.vox': '@ai fn back() to bool\n@back_button { on_press: back }\n' })
  const { code, err } = await build(join(folder, 'app.vox'), join(folder, 'web'))
  t.equal(code, 1)
  t.match(err, 'error[web.not_in_browser]: a hook of an app cannot call `back`')
})

t.test('hooks work in a browser', { skip: noBrowser(), timeout: 240_000 }, async t => {
  const browser = await launched(t)
  const url = await served(t, APP)

  await t.test('a deep link at which the page starts opens its route', async t => {
    const { page, calls } = await open(t, browser, url)
    await page.goto(`${url}/t/a%2Fb?from=mail`)
    await shows(page, 'Task a/b')
    await page.goto(`${url}/next/8`)
    await shows(page, 'Task 9')
    calls.answers.set('resolve', '/tasks/elsewhere')
    await page.goto(`${url}/other?x=1`)
    await shows(page, 'Task elsewhere')
    t.same(calls.of('resolve'), [{ url: `${url}/other?x=1` }])
    calls.answers.set('resolve', '//evil.example/')
    await page.goto(`${url}/another`)
    await calls.until('resolve', 2)
    await shows(page, 'Page not found.')
    t.equal(new URL(page.url()).pathname, '/another', 'a page of another origin is never opened')
    await page.goto(`${url}/tasks/5`)
    await shows(page, 'Task 5')
    t.equal(calls.of('resolve').length, 2, 'on_link is not called for a page of the program')
  })

  await t.test('going back first calls the handler, and stays on the page if the handler did something', async t => {
    const { page, calls } = await open(t, browser, url)
    await page.goto(`${url}/tasks/1`)
    await shows(page, 'Task 1')
    for (const id of ['2', '3']) {
      await page.evaluate(`history.pushState(null, '', '/tasks/${id}')`)
      await shows(page, `Task ${id}`)
    }
    calls.answers.set('back', true)
    await page.evaluate('history.back()')
    await calls.until('back', 1)
    await page.waitForURL('**/tasks/3')
    await shows(page, 'Task 3')
    calls.answers.set('back', false)
    await page.evaluate('history.go(-1)')
    await shows(page, 'Task 2')
    t.match(page.url(), /\/tasks\/2$/)
    await page.evaluate('history.forward()')
    await shows(page, 'Task 3')
    t.equal(calls.of('back').length, 2, 'the handler is not called on forward navigation')
    calls.answers.delete('back')
    await page.evaluate('history.go(-2)')
    await shows(page, 'Task 1')
    t.equal(calls.of('back').length, 3, 'a failing handler does not block navigation')
  })

  await t.test('pushed messages and chosen actions reach the program', async t => {
    const { page, context, calls } = await open(t, browser, url)
    await context.grantPermissions(['notifications'], { origin: url })
    calls.answers.set('remember', true)
    // The test has no push service.
    await page.addInitScript(`PushManager.prototype.subscribe = async options => {
      return { endpoint: 'https://push.example/1', key: options.applicationServerKey }
    }`)
    await page.goto(`${url}/`)
    await calls.until('remember', 1)
    const [{ token, platform }] = calls.of('remember') as [{ token: string; platform: string }]
    t.equal(platform, 'web')
    t.same(JSON.parse(token), { endpoint: 'https://push.example/1', key: 'B'.repeat(87) })

    calls.answers.set('noticed', true)
    await deliver(page, url, '{"title":"A","body":"B","data":{"id":7}}')
    await calls.until('noticed', 1)
    t.same(calls.of('noticed'), [{ title: 'A', body: 'B', data: '{"id":7}' }])
    await deliver(page, url, 'only a text')
    await calls.until('noticed', 2)
    t.same(calls.of('noticed')[1], { title: '', body: 'only a text', data: 'null' })

    await page.evaluate(`navigator.serviceWorker.dispatchEvent(new MessageEvent('message', {
      data: { type: 'vox-push-action', action: 'show', message: { title: '', body: '', data: '1' } }
    }))`)
    await shows(page, 'Task show')
  })

  await t.test('the page listens to a surrounding app instead of the browser', async t => {
    const { page, calls } = await open(t, browser, url)
    for (const name of ['back', 'remember', 'noticed']) calls.answers.set(name, name !== 'back')
    await page.addInitScript(`
      const listeners = {}
      const plugin = { addListener: (name, listener) => ((listeners[name] = listener), { remove() {} }) }
      globalThis.tell = (name, event) => listeners[name](event)
      globalThis.left = 0
      globalThis.Capacitor = {
        isNativePlatform: () => true,
        getPlatform: () => 'android',
        Plugins: {
          App: { ...plugin, getLaunchUrl: async () => ({ url: 'tasks://t/4' }), exitApp: async () => { left++ } },
          PushNotifications: {
            ...plugin,
            checkPermissions: async () => ({ receive: 'prompt' }),
            requestPermissions: async () => ({ receive: 'granted' }),
            register: async () => listeners.registration({ value: 'token 1' })
          }
        }
      }`)
    await page.goto(`${url}/`)
    await shows(page, 'Task 4')
    await calls.until('remember', 1)
    t.same(calls.of('remember'), [{ token: 'token 1', platform: 'android' }])
    await page.evaluate("tell('appUrlOpen', { url: 'https://tasks.example.org/next/1' })")
    await shows(page, 'Task 2')
    await page.evaluate("tell('appUrlOpen', { url: 'other://t/1' })")
    await page.evaluate("tell('backButton', { canGoBack: true })")
    await shows(page, 'Task 4')
    await page.evaluate("tell('backButton', { canGoBack: false })")
    await page.waitForFunction('left === 1')
    await page.evaluate("tell('pushNotificationReceived', { title: 'T', id: '1', data: { a: 1 } })")
    await calls.until('noticed', 1)
    t.same(calls.of('noticed'), [{ title: 'T', body: '', data: '{"a":1}' }])
    await page.evaluate("tell('pushNotificationActionPerformed', { actionId: 'tap', notification: { data: null } })")
    await shows(page, 'Task tap')
  })

  await t.test('a fallback is called instead of going back', async t => {
    const fallback = await served(
      t,
      `@query fn back() to bool { true }\n@back_button { on_press: back fallback: "/" }\n${PAGES}`
    )
    const { page, calls } = await open(t, browser, fallback)
    calls.answers.set('back', false)
    await page.goto(`${fallback}/tasks/1`)
    for (const id of ['2', '3']) {
      await page.evaluate(`history.pushState(null, '', '/tasks/${id}')`)
      await shows(page, `Task ${id}`)
    }
    await page.evaluate('history.back()')
    await shows(page, 'Home')
    t.equal(new URL(page.url()).pathname, '/')
  })
})

/** Builds a program with Vite and serves its pages. Returns their address. */
async function served(t: Test, source: string): Promise<string> {
  const folder = t.testdir({ 'app.vox': source })
  const web = join(folder, 'web')
  const { code, err } = await build(join(folder, 'app.vox'), web, { scaffold: true })
  t.equal(code, 0, err)
  install(web)
  await exec(process.execPath, [join(ROOT, 'node_modules/vite/bin/vite.js'), 'build'], { cwd: web })
  const types: Record<string, string> = { '.js': 'text/javascript', '.css': 'text/css' }
  const server = createServer(({ url = '/' }, response) => {
    const path = join(folder, 'public', new URL(url, 'http://localhost').pathname)
    const isFile = extname(path) !== '' && existsSync(path)
    response.setHeader('content-type', isFile ? (types[extname(path)] ?? 'text/plain') : 'text/html')
    response.end(readFileSync(isFile ? path : join(folder, 'public/index.html')))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

interface Calls {
  /** Responses of server functions; a call of another function fails. */
  readonly answers: Map<string, unknown>
  /** Returns the arguments of each call of a function. */
  of(name: string): unknown[]
  /** Waits for a number of calls of a function. */
  until(name: string, count: number): Promise<void>
}

/** Opens a page. The test answers its server calls. */
async function open(
  t: Test,
  browser: Browser,
  url: string
): Promise<{ page: Page; context: BrowserContext; calls: Calls }> {
  const context = await browser.newContext()
  t.teardown(() => context.close())
  const page = await context.newPage()
  page.setDefaultTimeout(30_000)
  const made: { readonly name: string; readonly args: unknown }[] = []
  const answers = new Map<string, unknown>()
  let waiting: (() => void)[] = []
  await page.route(`${url}/api/**`, async route => {
    const request = route.request()
    const address = new URL(request.url())
    const name = address.pathname.split('/').at(-1) ?? ''
    const query = [...address.searchParams].map(([key, value]) => [key, JSON.parse(value)])
    made.push({ name, args: request.method() === 'GET' ? Object.fromEntries(query) : request.postDataJSON() })
    const body = JSON.stringify(answers.get(name) ?? { error: 'no answer' })
    await route.fulfill({ status: answers.has(name) ? 200 : 500, contentType: 'application/json', body })
    for (const notify of waiting) notify()
    waiting = []
  })
  const of = (name: string): unknown[] => made.filter(call => call.name === name).map(({ args }) => args)
  const until = async (name: string, count: number): Promise<void> => {
    while (of(name).length < count) await new Promise<void>(resolve => waiting.push(resolve))
  }
  return { page, context, calls: { answers, of, until } }
}

async function shows(page: Page, text: string): Promise<void> {
  await page.waitForSelector(`p:text-is(${JSON.stringify(text)})`)
}

/** Delivers a message to the service worker of a page, like a push service. */
async function deliver(page: Page, url: string, data: string): Promise<void> {
  const session = await page.context().newCDPSession(page)
  const registration = new Promise<string>(resolve => {
    session.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
      const found = registrations.find(each => each.scopeURL.startsWith(url) && !each.isDeleted)
      if (found !== undefined) resolve(found.registrationId)
    })
  })
  await session.send('ServiceWorker.enable')
  await session.send('ServiceWorker.deliverPushMessage', { origin: url, registrationId: await registration, data })
  await session.detach()
}

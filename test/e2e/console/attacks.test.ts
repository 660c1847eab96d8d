import { createServer, type IncomingHttpHeaders, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { BrowserContext, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { runSvc } from '../run-svc.ts'
import { makeProject, type Served, serve } from '../served-project.ts'
import { callFrom, launch, noBrowser, openConsole, REBOUND_HOST, settled, signInUrl } from './browser.ts'
import { HOSTILE, rowsPlugin } from './rows-plugin.ts'

const SETTINGS = `kernel.plugin_directories = ["plugins"]
[plugins.http]
access_log = "all"
`

/** Routes of the API. Their operations read and write. */
const API = [
  { method: 'POST', path: '/ui/api/session' },
  { method: 'GET', path: '/ui/api/session' },
  { method: 'DELETE', path: '/ui/api/session' },
  { method: 'GET', path: '/ui/api/sessions' },
  { method: 'DELETE', path: '/ui/api/sessions/0123456789abcdef' },
  { method: 'GET', path: '/ui/api/console' },
  { method: 'GET', path: '/ui/api/operations/rows.change' },
  { method: 'POST', path: '/ui/api/call/rows.change' },
  { method: 'POST', path: '/ui/api/call/rows.wipe' },
  { method: 'GET', path: '/ui/api/anything' }
]

let served: Promise<Served> | undefined

/** Returns the server of this file. */
function startConsole(): Promise<Served> {
  served ??= serve(t, makeProject(t, { ...rowsPlugin, 'svc.toml': SETTINGS }))
  return served
}

/** Server of another page, on another port. Its pages are empty. */
async function startStranger(
  t: Test
): Promise<{ port: number; requests: { url: string; headers: IncomingHttpHeaders }[] }> {
  const requests: { url: string; headers: IncomingHttpHeaders }[] = []
  const server = createServer(({ url = '', headers }, response) => {
    requests.push({ url, headers })
    response.setHeader('content-type', 'text/html')
    response.end('<!doctype html><title>stranger</title><body></body>')
  })
  // Without a host, it is reached as 127.0.0.1, as localhost and over IPv6.
  await new Promise<void>(resolve => server.listen(0, resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { port: (server.address() as AddressInfo).port, requests }
}

/** Requests of the access log since a line. */
function requestsSince({ lines }: Served, from: number): { method: string; path: string; status: number }[] {
  return lines
    .slice(from)
    .map(line => JSON.parse(line))
    .filter(({ plugin, msg }) => plugin === 'http' && /^request/.test(msg))
}

/** Returns both halves of the session of a signed-in page. */
async function halvesOf(context: BrowserContext, page: Page): Promise<{ cookie: string; token: string }> {
  const cookies = await context.cookies(page.url().replace(/(\/\/[^/]+).*/, '$1/ui/'))
  const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
  return { cookie, token: await page.evaluate(`localStorage.getItem('svc-token')`) }
}

/**
 * Tries from a page to read or change something at `target`. Returns each attempt that got an answer that the page can
 * read. `token`: half of a session that leaked. `asset`: path of a file of the console.
 */
function attack(page: Page, target: string, token: string, asset: string): Promise<string[]> {
  return page.evaluate(`(async () => {
    const target = ${JSON.stringify(target)}
    const readable = []
    const attempt = async (name, run) => {
      try {
        const result = await run()
        if (result !== undefined) readable.push(name + ': ' + result)
      } catch {}
    }
    const read = async response => response.type === 'opaque' ? undefined : response.status + ' ' + await response.text()
    const json = JSON.stringify({ count: 1, name: 'stolen' })
    for (const { method, path } of ${JSON.stringify(API)}) {
      const body = method === 'POST' ? json : undefined
      const options = { method, body, credentials: 'include' }
      await attempt(method + ' ' + path, async () => read(await fetch(target + path, options)))
      await attempt(method + ' ' + path + ' with the token', async () => read(await fetch(target + path, {
        ...options,
        headers: { 'x-svc-token': ${JSON.stringify(token)}, 'content-type': 'application/json', 'x-svc-confirm': 'rows.change' }
      })))
      if (method !== 'DELETE')
        await attempt(method + ' ' + path + ' without CORS', async () => read(await fetch(target + path, { ...options, mode: 'no-cors' })))
      if (method === 'POST') {
        navigator.sendBeacon(target + path, new Blob([json], { type: 'text/plain' }))
        for (const type of ['application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data'])
          await new Promise(resolve => {
            const frame = document.createElement('iframe')
            frame.name = 'sink' + type + path
            const form = document.createElement('form')
            Object.assign(form, { method, action: target + path, enctype: type, target: frame.name })
            const field = document.createElement('input')
            Object.assign(field, { name: '{"count":1,"name":"stolen","rest":"', value: '"}' })
            form.append(field)
            document.body.append(frame, form)
            frame.onload = () => { frame.onload = resolve; form.submit() }
            frame.src = 'about:blank'
          })
      }
    }
    await attempt('socket', () => new Promise((resolve, reject) => {
      const socket = new WebSocket(target.replace('http', 'ws') + '/ui/stream')
      socket.onopen = () => socket.send(JSON.stringify({ t: 'hello', token: ${JSON.stringify(token)}, build: '' }))
      socket.onmessage = ({ data }) => resolve(data)
      socket.onerror = socket.onclose = reject
    }))
    for (const [tag, path] of [['script', '/ui/api/console'], ['script', ${JSON.stringify(asset)}], ['img', '/ui/api/console']])
      await attempt(tag + ' ' + path, () => new Promise((resolve, reject) => {
        const element = document.createElement(tag)
        element.onload = () => resolve('loaded')
        element.onerror = reject
        element.src = target + path
        document.body.append(element)
      }))
    return readable
  })()`)
}

t.test('a page of another origin gets nothing and changes nothing', { skip: noBrowser }, async t => {
  const server = await startConsole()
  const { port } = await startStranger(t)
  const browser = await launch(t)
  const owner = await openConsole(browser, server)
  await owner.open('/ui/p/rows/many')
  const { token } = await halvesOf(owner.context, owner.page)
  const asset = (await owner.page.locator('script[src]').first().getAttribute('src')) ?? ''
  t.match(asset, '/ui/assets/')
  // From here on, every request comes from the attacker. The cookie stays in the browser.
  await owner.page.close()
  const names = { 'another port of the host, which gets the cookie': '127.0.0.1', 'another site': 'localhost' }
  for (const [name, host] of Object.entries(names))
    await t.test(`from ${name}`, async t => {
      const page = await owner.context.newPage()
      await page.goto(`http://${host}:${port}/`)
      const from = server.lines.length
      t.same(await attack(page, server.url, token, asset), [], 'no answer can be read')
      await page.close()
      // Files of the page hold no data and are served to all; the browser does not give them to another page.
      const requests = requestsSince(server, from).filter(({ path }) => path !== asset)
      t.ok(requests.length > 2 * API.length, `${requests.length} requests arrived`)
      t.same(
        requests.filter(({ status }) => status < 400),
        [],
        'each was refused'
      )
      t.same(
        server.lines.slice(from).filter(line => /was called in the console|a browser signed in/.test(line)),
        [],
        'nothing was called'
      )
    })

  await t.test('in a frame', async t => {
    const page = await owner.context.newPage()
    await page.goto(`http://127.0.0.1:${port}/`)
    await page.evaluate(`new Promise(resolve => {
      const frame = document.createElement('iframe')
      frame.onload = resolve
      frame.src = ${JSON.stringify(`${server.url}/ui/plugins`)}
      document.body.append(frame)
    })`)
    t.same(
      page.frames().map(frame => frame.url()),
      [`http://127.0.0.1:${port}/`, 'chrome-error://chromewebdata/'],
      'the browser refuses to show it'
    )
    await page.close()
  })

  await t.test('in a window', async t => {
    const page = await owner.context.newPage()
    await page.goto(`http://127.0.0.1:${port}/`)
    const [opened] = await Promise.all([
      owner.context.waitForEvent('page'),
      page.evaluate(`{ window.opened = window.open(${JSON.stringify(`${server.url}/ui/plugins`)}) }`)
    ])
    await settled(opened)
    t.equal(await opened.evaluate('window.opener'), null, 'the window does not know its opener')
    t.equal(await page.evaluate('window.opened.closed'), true, 'nor the opener the window')
    t.notMatch(JSON.stringify((await callFrom(opened, 'rows.feed', {})).body), 'stolen', 'no row was changed')
    await page.close()
  })
})

t.test('a host name of a stranger that DNS points at the console is refused', { skip: noBrowser }, async t => {
  const server = await startConsole()
  const browser = await launch(t)
  const context = await browser.newContext()
  const page = await context.newPage()
  const { port } = new URL(server.url)
  for (const path of ['/', '/ui/api/session', '/ui/assets/main.js']) {
    const response = await page.goto(`http://${REBOUND_HOST}:${port}${path}`)
    t.equal(response?.status(), 403, path)
    t.match(await response?.text(), 'HTTP_HOST_FORBIDDEN', path)
  }
})

/** Sends a request with exactly these headers. */
function send(
  url: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  method = 'GET'
): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(new URL(path, url), { method, headers }, async response =>
      resolve({ status: response.statusCode ?? 0, body: await text(response) })
    )
    sent.on('error', reject)
    sent.end(method === 'POST' ? '{}' : undefined)
  })
}

t.test('stolen halves of a session', { skip: noBrowser }, async t => {
  const server = await startConsole()
  const browser = await launch(t)
  const { context, page } = await openConsole(browser, server)
  const { cookie, token } = await halvesOf(context, page)
  const json = { 'content-type': 'application/json' }
  const same = { 'sec-fetch-site': 'same-origin' }
  const call = (headers: Readonly<Record<string, string>>) =>
    send(server.url, '/ui/api/call/rows.change', { ...json, ...headers }, 'POST')
  const from = server.lines.length
  for (const [name, headers] of Object.entries({
    'the cookie without the token': { cookie, ...same },
    'the token without the cookie': { 'x-svc-token': token, ...same },
    'both, from a page of another site': { cookie, 'x-svc-token': token, 'sec-fetch-site': 'cross-site' },
    'both, from another port of the host': { cookie, 'x-svc-token': token, 'sec-fetch-site': 'same-site' },
    'both, without a browser that names the page': { cookie, 'x-svc-token': token }
  }))
    t.match(await call(headers), { status: 401, body: /DSH_SESSION_REQUIRED/ }, name)
  for (const origin of ['null', 'http://127.0.0.1:1', 'https://example.org'])
    t.equal((await call({ cookie, 'x-svc-token': token, origin, ...same })).status, 403, origin)
  for (const host of [REBOUND_HOST, `${REBOUND_HOST}:${new URL(server.url).port}`, '127.0.0.1.example.org'])
    t.match(
      await call({ cookie, 'x-svc-token': token, host, ...same }),
      { status: 403, body: /HTTP_HOST_FORBIDDEN/ },
      host
    )
  t.same(
    server.lines.slice(from).filter(line => /was called in the console/.test(line)),
    [],
    'nothing was called'
  )
  t.match(await call({ cookie, 'x-svc-token': token, ...same }), { status: 200 }, 'both halves of the own page call')

  const secrets = [token, ...cookie.split('.').slice(1)]
  const log = server.lines.join('\n')
  t.same(
    secrets.filter(secret => log.includes(secret)),
    [],
    'the log has neither half'
  )
})

t.test('a sign-in code leaves no trace', { skip: noBrowser }, async t => {
  const server = await startConsole()
  const stranger = await startStranger(t)
  const browser = await launch(t)
  const context = await browser.newContext()
  // Notes the address at the time of each request of the page.
  await context.addInitScript(`{
    const { fetch } = window
    window.addresses = []
    window.fetch = (...parts) => { window.addresses.push(location.href); return fetch(...parts) }
  }`)
  const page = await context.newPage()
  const requests: string[] = []
  page.on('request', each => requests.push(each.url(), JSON.stringify(each.headers())))
  const url = await signInUrl(server)
  const secret = url.split('.').at(-1) as string
  t.equal(secret.length, 43)
  await page.goto(url)
  await settled(page)
  const addresses = (await page.evaluate('window.addresses')) as string[]
  t.ok(addresses.length > 1)
  t.same(
    addresses.filter(each => each.includes('#')),
    [],
    'no request was sent before the fragment was removed'
  )
  t.notMatch(await page.evaluate('navigation.entries().map(({ url }) => url).join()'), secret, 'the history')
  t.notMatch(requests.join('\n'), secret, 'addresses and headers of all requests')
  await page.goto(`http://127.0.0.1:${stranger.port}/`)
  t.equal(stranger.requests[0]?.headers.referer, undefined, 'no Referer')
  await page.goBack()
  t.notMatch(page.url(), secret)
  const { stdout } = await runSvc(server.folder, ['requests', '--json'])
  t.match(stdout, '/ui/api/session', 'the recorded requests')
  t.notMatch(`${stdout}${server.lines.join('\n')}`, secret, 'records of requests, and the log')
  t.notMatch((await runSvc(server.folder, ['logs', '--json'])).stdout, secret, 'svc logs')
})

t.test('a session that a stranger planted is not the one of the person who signs in', { skip: noBrowser }, async t => {
  const server = await startConsole()
  const browser = await launch(t)
  const thief = await openConsole(browser, server, { role: 'viewer' })
  const planted = await halvesOf(thief.context, thief.page)
  const [{ name = '', value = '' } = {}] = await thief.context.cookies(`${server.url}/ui/`)
  const victim = await browser.newContext()
  await victim.addCookies([{ name, value, domain: '127.0.0.1', path: '/ui' }])
  const page = await victim.newPage()
  await page.goto(await signInUrl(server))
  await settled(page)
  const own = await halvesOf(victim, page)
  t.notMatch(own.cookie, value, 'signing in replaced the cookie')
  t.not(own.token, planted.token)
  t.match((await callFrom(page, 'rows.change', {})).status, 200, 'the victim is the owner')
  t.equal((await callFrom(thief.page, 'rows.change', {})).status, 403, 'and the thief is still a viewer')
  const mixed = { cookie: planted.cookie, 'x-svc-token': own.token, 'sec-fetch-site': 'same-origin' }
  t.equal((await send(server.url, '/ui/api/session', mixed)).status, 401, 'halves of two sessions are none')
})

t.test('texts of strangers stay text on every page', { skip: noBrowser }, async t => {
  const server = await startConsole()
  const browser = await launch(t)
  const { page, problems, open } = await openConsole(browser, server)
  const hostile = encodeURIComponent(HOSTILE)
  await send(server.url, `/${hostile}?q=${hostile}`, {
    'x-request-id': '<img src=x onerror=window.hacked=1>',
    'user-agent': '<img src=x onerror=window.hacked=1>',
    traceparent: '<script>window.hacked=1</script>'
  })
  const task = await callFrom(page, 'orchestrator.submitTask', { description: HOSTILE, planning_mode: 'direct' })
  t.equal(task.status, 200)
  await callFrom(page, 'orchestrator.failTask', { task_id: task.body.task_id, reason: HOSTILE })
  await callFrom(page, 'sessions.setContext', { key: 'text', value: HOSTILE })
  await callFrom(page, 'rows.broken', {})
  await page.reload()
  await settled(page)
  const contributed = (await page.evaluate(
    '[...document.querySelectorAll("nav[aria-label=pages] a")].map(each => each.getAttribute("href"))'
  )) as string[]
  const paths = [
    ...contributed.filter(path => !['/ui/p/rows/never', '/ui/p/rows/broken'].includes(path)),
    '/ui/plugins/rows',
    '/ui/plugins?tab=generations',
    '/ui/operations/rows.hostile',
    '/ui/configuration?tab=toml',
    '/ui/p/orchestrator-tools/tasks/1',
    '/ui/p/sessions/context/text',
    // Parameters and filters of the address are texts of strangers as well.
    `/ui/plugins/${hostile}`,
    `/ui/operations/${hostile}`,
    `/ui/p/${hostile}`,
    `/ui/p/rows/many?name=${hostile}`
  ]
  let shown = 0
  for (const path of paths) {
    problems.length = 0
    await open(path)
    t.equal(await page.evaluate('window.hacked'), undefined, path)
    t.equal(await page.locator('main img, main script, main a[href^="javascript:"]').count(), 0, path)
    const refused = problems.filter(problem => !/status of 404/.test(problem))
    t.same(refused, [], `${path}: no error and no violation of the policy`)
    if ((await page.locator('main').innerText()).includes('onerror=')) shown++
  }
  t.ok(shown > 5, `${shown} pages show such a text`)
})

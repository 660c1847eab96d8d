import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { join } from 'node:path'
import tap from 'tap'
import { newSessionState, Sessions, SignInCodes } from '#root'
import { type Browser, codeOf, openWorld, type World } from './world.ts'

const HOUR_MS = 3_600_000
const silent = { warn: () => {} }

function post(world: World, code: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(world.url('/ui/api/session'), {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ code })
  })
}

/** Sends a request with headers that fetch does not let through, such as Host. */
function raw(
  world: World,
  path: string,
  headers: Record<string, string>,
  method = 'GET'
): Promise<{ status: number; code: string }> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(world.url(path), { method, headers }, response => {
      let text = ''
      response.setEncoding('utf8').on('data', chunk => {
        text += chunk
      })
      response.on('end', () => {
        const code = text.startsWith('{') ? (JSON.parse(text) as { error?: { code: string } }).error?.code : ''
        resolve({ status: response.statusCode ?? 0, code: code ?? '' })
      })
    })
    request.on('error', reject)
    request.end()
  })
}

tap.test('a code signs in once, with a cookie and a token', async t => {
  const world = await openWorld()
  t.teardown(() => world.close())
  const { code } = world.codes.create('operator')
  const response = await post(world, code)
  t.equal(response.status, 201)
  t.match(await response.json(), {
    token: /^[\w-]{43}$/,
    session: { id: String, role: 'operator', readOnly: false, current: true, created: Number, expires: Number }
  })
  const cookie = response.headers.get('set-cookie') ?? ''
  t.match(cookie, /^svc_ui_[0-9a-f]{16}=[0-9a-f]{16}\.[\w-]{43}; Path=\/ui; HttpOnly; SameSite=Strict; Max-Age=\d+$/)
  const again = await post(world, code)
  t.equal(again.status, 401)
  t.equal(await codeOf(again), 'DSH_CODE_INVALID')
})

tap.test('of two simultaneous requests with one code, one signs in', async t => {
  const world = await openWorld()
  t.teardown(() => world.close())
  const { code } = world.codes.create('owner')
  const answers = await Promise.all(Array.from({ length: 8 }, () => post(world, code)))
  t.equal(answers.filter(({ status }) => status === 201).length, 1)
})

tap.test('wrong, late and malformed codes are refused, and a wrong secret uses up the code', async t => {
  const world = await openWorld()
  t.teardown(() => world.close())
  const { code } = world.codes.create('owner')
  const [id = ''] = code.split('.')
  const wrong = await post(world, `${id}.${'x'.repeat(43)}`)
  t.equal(await codeOf(wrong), 'DSH_CODE_INVALID')
  t.equal((await post(world, code)).status, 401)
  const late = new SignInCodes(world.folder, () => Date.now() - 61_000).create('owner')
  t.equal((await post(world, late.code)).status, 401)
  for (const malformed of ['', '../../secret.x', `${'0'.repeat(16)}.${'x'.repeat(43)}`, 'a'.repeat(3_000)])
    t.equal((await post(world, malformed)).status, 401)
  t.same(readdirSync(join(world.folder, 'codes')), [])
})

tap.test('codes that were not used are removed', async t => {
  const world = await openWorld()
  t.teardown(() => world.close())
  new SignInCodes(world.folder, () => Date.now() - 61_000).create('owner')
  world.codes.create('owner')
  t.equal(readdirSync(join(world.folder, 'codes')).length, 1)
})

tap.test('from the eleventh wrong code within a minute, only a valid one is accepted', async t => {
  const world = await openWorld()
  t.teardown(() => world.close())
  for (let count = 0; count < 10; count += 1) t.equal((await post(world, 'wrong')).status, 401)
  const response = await post(world, 'wrong')
  t.equal(response.status, 429)
  t.ok(Number(response.headers.get('retry-after')) > 0)
  t.equal(await codeOf(response), 'DSH_TOO_MANY_TRIES')
  await world.reload()
  t.equal((await post(world, 'wrong')).status, 429, 'a reload does not reset the limit')
  const { code } = world.codes.create('owner')
  t.equal((await post(world, code)).status, 201, 'another program of this machine cannot lock a person out')
  t.equal((await post(world, code)).status, 429, 'a used code is a wrong one')
})

tap.test('a page of another origin cannot sign in, even one that may call the server', async t => {
  const foreign = 'http://other.example'
  const world = await openWorld({ http: { cors_origins: [foreign] } })
  t.teardown(() => world.close())
  const { code } = world.codes.create('owner')
  t.equal(await codeOf(await post(world, code, { origin: foreign })), 'DSH_SESSION_REQUIRED')
  t.equal((await post(world, code)).status, 201, 'a program may, and the code was not used up')
})

tap.test('bodies that are too large or no object are refused', async t => {
  const world = await openWorld()
  t.teardown(() => world.close())
  t.equal((await post(world, 'x'.repeat(5_000))).status, 413)
  const list = await fetch(world.url('/ui/api/session'), { method: 'POST', body: '[]' })
  t.equal(list.status, 400)
})

tap.test('files of codes and sessions hold only hashes, and only the user can read them', async t => {
  const world = await openWorld()
  t.teardown(() => world.close())
  const browser = await world.signIn()
  world.codes.create('owner')
  const mode = (path: string): number => statSync(path).mode & 0o777
  const codes = join(world.folder, 'codes')
  t.equal(mode(codes), 0o700)
  for (const name of readdirSync(codes)) t.equal(mode(join(codes, name)), 0o600)
  const file = join(world.folder, 'sessions.json')
  t.equal(mode(file), 0o600)
  const text = readFileSync(file, 'utf8')
  t.notOk(text.includes(browser.token))
  t.notOk(text.includes(browser.cookie.split('.')[1] as string))
})

tap.test('each request needs the cookie, the token, and a page of the same origin', async t => {
  const world = await openWorld()
  t.teardown(() => world.close())
  const [browser, other] = [await world.signIn(), await world.signIn()]
  const { cookie, token } = browser
  const site = { 'sec-fetch-site': 'same-origin' }
  const own = world.origin
  const cases: [string, Record<string, string>, number][] = [
    ['cookie, token and Sec-Fetch-Site', { cookie, 'x-svc-token': token, ...site }, 200],
    ['cookie, token and Origin', { cookie, 'x-svc-token': token, origin: own }, 200],
    [
      'a planted cookie before the own one',
      { cookie: `${cookie.replace(/=.*/, '=planted')}; ${cookie}`, 'x-svc-token': token, ...site },
      200
    ],
    ['no cookie', { 'x-svc-token': token, ...site }, 401],
    ['no token', { cookie, ...site }, 401],
    ['an empty token', { cookie, 'x-svc-token': '', ...site }, 401],
    ['a wrong token', { cookie, 'x-svc-token': 'x'.repeat(43), ...site }, 401],
    ["another session's token", { cookie, 'x-svc-token': other.token, ...site }, 401],
    ['the cookie as token', { cookie, 'x-svc-token': cookie.split('.')[1] as string, ...site }, 401],
    [
      'a cookie of another installation',
      { cookie: cookie.replace(/svc_ui_\w+/, 'svc_ui_0'), 'x-svc-token': token, ...site },
      401
    ],
    ['neither Origin nor Sec-Fetch-Site', { cookie, 'x-svc-token': token }, 401],
    ['a page of another port', { cookie, 'x-svc-token': token, 'sec-fetch-site': 'same-site' }, 401],
    ['an Origin with another site', { cookie, 'x-svc-token': token, origin: own, 'sec-fetch-site': 'cross-site' }, 401],
    ['a foreign Origin', { cookie, 'x-svc-token': token, origin: 'http://evil.example', ...site }, 403],
    ['Origin null', { cookie, 'x-svc-token': token, origin: 'null', ...site }, 403],
    ['the origin with https', { cookie, 'x-svc-token': token, origin: own.replace('http', 'https'), ...site }, 401],
    ['a foreign Host', { cookie, 'x-svc-token': token, host: 'evil.example', ...site }, 403]
  ]
  for (const path of ['/ui/api/session', '/ui/api/console', '/ui/api/sessions', '/ui/api/operations/dashboard.pages'])
    for (const [name, headers, status] of cases)
      t.equal((await raw(world, path, headers)).status, status, `${path}: ${name}`)
  for (const [name, headers, status] of cases) {
    const answer = await raw(world, '/ui/api/call/dashboard.pages', headers, 'POST')
    t.equal(answer.status, status, `call: ${name}`)
  }
})

tap.test('a session ends by signing out, by an owner, and by a file that svc dashboard sessions writes', async t => {
  const world = await openWorld()
  t.teardown(() => world.close())
  const [owner, viewer, third] = [
    await world.signIn('owner'),
    await world.signIn('viewer'),
    await world.signIn('viewer')
  ]
  const isSignedIn = async (browser: Browser): Promise<boolean> => (await browser.get('/ui/api/session')).status === 200
  t.equal((await viewer.get('/ui/api/sessions')).status, 403)
  t.equal((await viewer.send('DELETE', `/ui/api/sessions/${owner.session}`)).status, 403)
  const { sessions } = (await (await owner.get('/ui/api/sessions')).json()) as {
    sessions: { id: string; current: boolean }[]
  }
  t.same(sessions.map(({ id }) => id).sort(), [owner, viewer, third].map(({ session }) => session).sort())
  t.same(
    sessions.filter(({ current }) => current).map(({ id }) => id),
    [owner.session]
  )
  t.equal((await owner.send('DELETE', `/ui/api/sessions/${viewer.session}`)).status, 204)
  t.notOk(await isSignedIn(viewer))
  t.equal((await owner.send('DELETE', `/ui/api/sessions/${viewer.session}`)).status, 404)
  t.equal((await owner.send('DELETE', '/ui/api/sessions/..%2Fcodes')).status, 404)
  const elsewhere = new Sessions(world.folder, newSessionState(), { idleMs: HOUR_MS, maxMs: HOUR_MS }, silent)
  t.ok(elsewhere.revoke(third.session))
  t.notOk(await isSignedIn(third))
  const out = await owner.send('DELETE', '/ui/api/session')
  t.equal(out.status, 204)
  t.match(out.headers.get('set-cookie'), /Max-Age=0/)
  t.notOk(await isSignedIn(owner))
})

tap.test('sessions survive a reload, and a revoked one stays revoked', async t => {
  const world = await openWorld()
  t.teardown(() => world.close())
  const [kept, revoked] = [await world.signIn(), await world.signIn()]
  await kept.send('DELETE', `/ui/api/sessions/${revoked.session}`)
  await world.reload()
  t.equal((await kept.get('/ui/api/session')).status, 200)
  t.equal((await revoked.get('/ui/api/session')).status, 401)
})

tap.test('signing out ends the session, although the file of sessions cannot be written', async t => {
  const world = await openWorld()
  t.teardown(() => world.close())
  const browser = await world.signIn()
  const file = join(world.folder, 'sessions.json')
  rmSync(file)
  mkdirSync(file)
  t.equal((await browser.send('DELETE', '/ui/api/session')).status, 204)
  t.equal((await browser.get('/ui/api/session')).status, 401)
})

tap.test('a session ends after hours without use, and at its maximum age', async t => {
  const world = await openWorld()
  t.teardown(() => world.close())
  let now = 1_000_000_000_000
  const limits = { idleMs: 12 * HOUR_MS, maxMs: 168 * HOUR_MS }
  const sessions = new Sessions(world.folder, newSessionState(), limits, silent, () => now)
  const idle = sessions.create('viewer')
  now += 12 * HOUR_MS - 1
  t.ok(sessions.ofBoth(idle.cookie, idle.token))
  now += 12 * HOUR_MS
  t.equal(sessions.ofBoth(idle.cookie, idle.token), null)
  const used = sessions.create('viewer')
  for (let hours = 0; hours < 168 - 6; hours += 6) {
    now += 6 * HOUR_MS
    t.ok(sessions.ofBoth(used.cookie, used.token))
  }
  now += 6 * HOUR_MS
  t.equal(sessions.ofBoth(used.cookie, used.token), null)
})

tap.test('two servers of a project keep the sessions of each other', async t => {
  const world = await openWorld()
  t.teardown(() => world.close())
  const limits = { idleMs: HOUR_MS, maxMs: HOUR_MS }
  const first = new Sessions(world.folder, newSessionState(), limits, silent)
  const second = new Sessions(world.folder, newSessionState(), limits, silent)
  const [a, b] = [first.create('viewer'), second.create('viewer')]
  t.equal(first.install, second.install)
  const third = new Sessions(world.folder, newSessionState(), limits, silent)
  for (const { cookie, token } of [a, b]) t.ok(third.ofBoth(cookie, token))
  second.revoke(a.session.id)
  first.create('viewer')
  t.equal(new Sessions(world.folder, newSessionState(), limits, silent).ofBoth(a.cookie, a.token), null)
})

tap.test('a damaged file of sessions is kept aside', async t => {
  const world = await openWorld()
  t.teardown(() => world.close())
  await world.signIn()
  writeFileSync(join(world.folder, 'sessions.json'), '{ "sessions": [')
  const warnings: string[] = []
  const log = { warn: (message: string) => void warnings.push(message) }
  const sessions = new Sessions(world.folder, newSessionState(), { idleMs: HOUR_MS, maxMs: HOUR_MS }, log)
  t.same(sessions.list(), [])
  t.ok(existsSync(join(world.folder, 'sessions.json.unreadable')))
  t.match(warnings, [/sign in again/])
})

tap.test('over a network the console needs TLS', async t => {
  const world = await openWorld({
    settings: { public_url: 'https://svc.example' },
    http: { host: '0.0.0.0', token: 'x'.repeat(22) }
  })
  t.teardown(() => world.close())
  const browser = await world.signIn()
  t.equal((await browser.get('/ui/api/session')).status, 200, 'on this machine, without the bearer token')
  t.same(await raw(world, '/', { host: '192.168.0.7:3847' }), { status: 403, code: 'DSH_TRANSPORT_INSECURE' })
  const proxied = { 'x-forwarded-for': '203.0.113.9', cookie: browser.cookie, 'x-svc-token': browser.token }
  t.same(await raw(world, '/ui/api/session', { ...proxied, 'sec-fetch-site': 'same-origin' }), {
    status: 403,
    code: 'DSH_TRANSPORT_INSECURE'
  })
  const tls = { ...proxied, host: 'svc.example', 'x-forwarded-proto': 'https' }
  t.equal((await raw(world, '/ui/api/session', { ...tls, origin: 'https://svc.example' })).status, 200)
  t.equal((await raw(world, '/ui/api/session', { ...tls, origin: 'http://svc.example' })).status, 401)
  t.same(await raw(world, '/', { ...tls, 'x-forwarded-proto': 'http' }), {
    status: 403,
    code: 'DSH_TRANSPORT_INSECURE'
  })
  const response = await new Promise<string>((resolve, reject) => {
    const body = JSON.stringify({ code: world.codes.create('owner').code })
    const headers = { host: 'svc.example', 'x-forwarded-proto': 'https', 'content-type': 'application/json' }
    const request = httpRequest(world.url('/ui/api/session'), { method: 'POST', headers }, answer => {
      answer.resume()
      resolve(String(answer.headers['set-cookie']))
    })
    request.on('error', reject)
    request.end(body)
  })
  t.match(response, /; Secure$/)
})

tap.test('a public address without TLS, or with a path, is refused', async t => {
  for (const public_url of [
    'http://svc.example',
    'https://svc.example/console',
    'svc.example',
    'https://user@svc.example'
  ])
    await t.rejects(openWorld({ settings: { public_url } }), { message: /public_url/ }, public_url)
})

tap.test('the address of the console is in a file while it is served', async t => {
  const world = await openWorld()
  const file = join(world.folder, 'address.json')
  const read = (): unknown => JSON.parse(readFileSync(file, 'utf8'))
  while (!existsSync(file)) await new Promise(resolve => setTimeout(resolve, 5))
  t.same(read(), { url: world.origin, public_url: null, pid: process.pid })
  const lines = (): string[] =>
    world.kernel.log.map(({ message }) => message).filter(each => each.startsWith('console: '))
  t.same(lines(), [`console: ${world.origin}/ (sign in with: svc dashboard)`])
  await world.reload()
  t.same(read(), { url: world.origin, public_url: null, pid: process.pid })
  t.equal(lines().length, 1)
  const { folder } = world
  t.teardown(() => world.close())
  t.ok(existsSync(join(folder, 'address.json')))
})

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import type { ServedApp } from '../../../../test/e2e/served-in-process.ts'
import { openStore } from '../schema/schema-fixture.ts'
import { Browser, openIdServer } from './openid-provider.ts'
import { NOTES, PASSWORD, serveNotes, signUp } from './users-app.ts'

t.setTimeout(300_000)

const SECRET = 'a client secret of the tests, long enough'

/** A program whose users sign in with a provider on another port. */
async function serveWithProvider(t: Test, source = NOTES, codeSeconds = 60, more = ''): Promise<ServedApp> {
  const server = await openIdServer(t, SECRET, codeSeconds)
  const provider = (secret: string) =>
    `{ issuer = "${server.issuer}", client_id = "app", client_secret = "${secret}"${more} }`
  const app = await serveNotes(t, source, [
    'plugins.app-runtime.database="app.db"',
    `plugins.app-runtime.auth.oauth={ idp = ${provider(SECRET)}, other = ${provider(SECRET)}, wrong = ${provider('a wrong secret')}, gone = { issuer = "http://127.0.0.1:9", client_id = "app" } }`
  ])
  server.start(['idp', 'other', 'wrong'].map(name => `${app.url}/api/auth/callback/${name}`))
  return app
}

async function json(response: Response): Promise<any> {
  return JSON.parse(await response.text())
}

/** Signs in and returns the answer to the callback. */
async function signIn(app: ServedApp, browser: Browser, user: string, path = '/api/auth/oauth/idp'): Promise<Response> {
  return browser.open(await browser.signIn(app.url + path, user, `${app.url}/api/auth/callback/`))
}

t.test('a user signs in with a real OpenID provider, and is the same user again', async t => {
  const app = await serveWithProvider(t)
  const browser = new Browser()
  const answer = await signIn(app, browser, 'ann', '/api/auth/oauth/idp?next=/notes')
  t.equal(answer.status, 303)
  t.equal(answer.headers.get('location'), '/notes')
  t.match(browser.cookies.get('vox'), /^vxs_/)
  t.notOk(browser.cookies.has('vox-sign-in'))
  t.match(await json(await browser.open(`${app.url}/api/auth/me`)), { _id: 1, email: 'ann@idp.example', name: 'ann' })
  t.strictSame(await json(await browser.open(`${app.url}/api/query/notes`)), ['welcome ann'])
  const elsewhere = new Browser()
  t.equal((await signIn(app, elsewhere, 'ann')).headers.get('location'), '/')
  t.match(await json(await elsewhere.open(`${app.url}/api/auth/me`)), { _id: 1 })
  const ben = new Browser()
  await signIn(app, ben, 'ben')
  t.match(await json(await ben.open(`${app.url}/api/auth/me`)), { _id: 2, name: 'ben' })
})

t.test('a sign-in replaces the session that the browser had', async t => {
  const app = await serveWithProvider(t)
  const browser = new Browser()
  await signIn(app, browser, 'ann')
  const planted = browser.cookies.get('vox') ?? ''
  await signIn(app, browser, 'ben')
  t.not(browser.cookies.get('vox'), planted)
  const old = await fetch(`${app.url}/api/query/who`, { headers: { cookie: `vox=${planted}` } })
  t.equal(old.status, 401)
})

t.test('an answer counts once, in the browser that began the sign-in, and for its provider', async t => {
  const app = await serveWithProvider(t)
  const target = `${app.url}/api/auth/callback/`
  const victim = new Browser()
  const attacker = new Browser()
  const ofAttacker = await attacker.signIn(`${app.url}/api/auth/oauth/idp`, 'mallory', target)
  t.equal((await victim.open(ofAttacker)).status, 401, 'not in a browser that has begun no sign-in')
  await victim.open(`${app.url}/api/auth/oauth/idp`)
  t.equal((await victim.open(ofAttacker)).status, 401, 'not in one that has begun another')
  t.notOk(victim.cookies.has('vox'))

  const browser = new Browser()
  const callback = await browser.signIn(`${app.url}/api/auth/oauth/idp`, 'ann', target)
  const cookie = browser.cookies.get('vox-sign-in') ?? ''
  t.equal((await browser.open(callback)).status, 303)
  browser.cookies.set('vox-sign-in', cookie)
  t.equal((await browser.open(callback)).status, 401, 'not twice')

  const mixed = new Browser()
  const ofOther = await mixed.signIn(`${app.url}/api/auth/oauth/other`, 'ann', target)
  t.equal(
    (await mixed.open(ofOther.replace('/callback/other', '/callback/idp'))).status,
    401,
    'not for another provider'
  )

  const changed = new Browser()
  const url = new URL(await changed.signIn(`${app.url}/api/auth/oauth/idp`, 'ann', target))
  const sealed = changed.cookies.get('vox-sign-in') ?? ''
  for (const [name, value] of [
    ['state', 'x'],
    ['iss', 'https://evil.example'],
    ['code', 'x']
  ] as const) {
    const other = new URL(url)
    other.searchParams.set(name, value)
    changed.cookies.set('vox-sign-in', sealed)
    t.equal((await changed.open(other.href)).status, 401, name)
  }
  const forged = new Browser()
  const again = await forged.signIn(`${app.url}/api/auth/oauth/idp`, 'ann', target)
  const genuine = forged.cookies.get('vox-sign-in') ?? ''
  forged.cookies.set('vox-sign-in', `${genuine.slice(0, -4)}AAAA`)
  t.equal((await forged.open(again)).status, 401, 'a forged cookie')
})

t.test('the code of one sign-in is of no use with the verifier of another', async t => {
  const app = await serveWithProvider(t)
  const target = `${app.url}/api/auth/callback/`
  const [one, other] = [new Browser(), new Browser()]
  const first = new URL(await one.signIn(`${app.url}/api/auth/oauth/idp`, 'ann', target))
  const second = new URL(await other.signIn(`${app.url}/api/auth/oauth/idp`, 'ben', target))
  // The state is that of the other browser, so that only PKCE and the nonce tell the codes apart.
  second.searchParams.set('code', first.searchParams.get('code') ?? '')
  t.equal((await other.open(second.href)).status, 401)
  t.notOk(other.cookies.has('vox'))
})

t.test('an expired code, and a sign-in that the user cancels, sign no one in', async t => {
  const app = await serveWithProvider(t, NOTES, 1)
  const target = `${app.url}/api/auth/callback/`
  const late = new Browser()
  const callback = await late.signIn(`${app.url}/api/auth/oauth/idp`, 'ann', target)
  await wait(2500)
  t.equal((await late.open(callback)).status, 401)
  t.notOk(late.cookies.has('vox'))

  const cancelling = new Browser()
  const answer = new URL(await cancelling.signIn(`${app.url}/api/auth/oauth/idp`, 'ann', target))
  answer.searchParams.delete('code')
  answer.searchParams.set('error', 'access_denied')
  const cancelled = await cancelling.open(answer.href)
  t.equal(cancelled.status, 401)
  t.match(await json(cancelled), { error: /did not sign the user in: access_denied/ })
  t.notOk(cancelling.cookies.has('vox'))
})

t.test('an address that is not verified, or that a user has, is not taken over', async t => {
  const app = await serveWithProvider(t)
  const unverified = await signIn(app, new Browser(), 'unverified')
  t.equal(unverified.status, 403)
  const { status } = await fetch(`${app.url}/api/auth/sign_up`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: 'ann@idp.example', name: 'Ann', password: PASSWORD })
  })
  t.equal(status, 200)
  const browser = new Browser()
  t.equal((await signIn(app, browser, 'ann')).status, 409)
  t.notOk(browser.cookies.has('vox'))
  const refused = await signIn(app, new Browser(), 'refused')
  t.match(await json(refused), { code: 'RUN_REFUSED' })
  t.ok(await signUp(app, 'ben'))
})

t.test('a wrong secret, an unknown provider and an unreachable one are separate errors', async t => {
  const app = await serveWithProvider(t)
  const answer = await signIn(app, new Browser(), 'ann', '/api/auth/oauth/wrong')
  t.equal(answer.status, 401)
  t.notMatch(await answer.text(), /a wrong secret/)
  t.equal((await fetch(`${app.url}/api/auth/oauth/none`, { redirect: 'manual' })).status, 404)
  const gone = await fetch(`${app.url}/api/auth/oauth/gone`, { redirect: 'manual' })
  t.equal(gone.status, 503)
  t.match(await json(gone), { code: 'RUN_AUTH_UNAVAILABLE' })
  for (const next of ['//evil.example', 'https://evil.example', '/\\evil.example', '/a\\b', '/%0d%0a x', 'x']) {
    const browser = new Browser()
    const path = `/api/auth/oauth/idp?next=${encodeURIComponent(next)}`
    t.equal((await signIn(app, browser, 'ann', path)).headers.get('location'), '/', next)
  }
})

t.test('a program without a table of users knows them by their id at the provider', async t => {
  const app = await serveWithProvider(
    t,
    '@query @auth(provider: oauth) fn who() to str { request.user.id }\n@query @auth(provider: jwt) fn other() to str { request.user.id }'
  )
  const browser = new Browser()
  await signIn(app, browser, 'ann')
  t.equal(await json(await browser.open(`${app.url}/api/query/who`)), 'idp|ann')
  t.match(await json(await browser.open(`${app.url}/api/auth/me`)), { id: 'idp|ann', email: 'ann@idp.example' })
  t.equal((await browser.open(`${app.url}/api/query/other`)).status, 401)
})

/** A browser in which a user with a password is signed in. */
async function withPassword(app: ServedApp, email: string, name: string): Promise<Browser> {
  const browser = new Browser()
  const { status } = await browser.open(`${app.url}/api/auth/sign_up`, sent(app, { email, name, password: PASSWORD }))
  if (status !== 200) throw new Error(`the sign-up of ${name} was answered with ${status}`)
  return browser
}

const sent = ({ url }: ServedApp, body: object = {}, origin = url): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', origin },
  body: JSON.stringify(body)
})

/** Links the identity of a user at the provider. Returns the answer to the callback. */
async function link(app: ServedApp, browser: Browser, user: string): Promise<Response> {
  const { url } = await json(await browser.open(`${app.url}/api/auth/oauth/idp/link?next=/settings`, sent(app)))
  return browser.open(await browser.signIn(String(url), user, `${app.url}/api/auth/callback/`))
}

const me = async (app: ServedApp, browser: Browser): Promise<any> => json(await browser.open(`${app.url}/api/auth/me`))

t.test('a user links an identity at a provider, signs in with it, and unlinks it', async t => {
  const app = await serveWithProvider(t)
  const ann = await withPassword(app, 'ann@example.org', 'Ann')
  const answer = await link(app, ann, 'ann')
  t.equal(answer.status, 303)
  t.equal(answer.headers.get('location'), '/settings')
  t.equal((await link(app, ann, 'ann')).status, 303, 'again')
  t.match(await json(await ann.open(`${app.url}/api/auth/identities`)), [
    { provider: 'password' },
    { provider: /^(idp|other|wrong)$/ }
  ])
  const elsewhere = new Browser()
  t.equal((await signIn(app, elsewhere, 'ann')).status, 303)
  t.match(await me(app, elsewhere), { _id: 1, email: 'ann@example.org' })

  t.equal((await ann.open(`${app.url}/api/auth/oauth/gone/unlink`, sent(app))).status, 404)
  t.equal((await ann.open(`${app.url}/api/auth/oauth/idp/unlink`, sent(app))).status, 200)
  t.equal(await me(app, elsewhere), null, 'the other sessions have ended')
  t.match(await me(app, ann), { _id: 1 })
  t.match(await json(await ann.open(`${app.url}/api/auth/identities`)), [{ provider: 'password' }])
  await signIn(app, elsewhere, 'ann')
  t.match(await me(app, elsewhere), { _id: 2, email: 'ann@idp.example' })
  const last = await elsewhere.open(`${app.url}/api/auth/oauth/idp/unlink`, sent(app))
  t.equal(last.status, 409)
  t.match(await json(last), { error: /only way in which the user can sign in/ })
})

t.test('the generated client links and unlinks identities, and shows and ends sessions', async t => {
  const app = await serveWithProvider(t)
  const [ann, elsewhere] = [await withPassword(app, 'ann@example.org', 'Ann'), new Browser()]
  const file = join(app.folder, 'client.ts')
  writeFileSync(file, await (await fetch(`${app.url}/api/client.ts`)).text())
  const { createClient } = await import(pathToFileURL(file).href)
  const ownPage = (url: string, init: RequestInit): Promise<Response> =>
    ann.open(url, { ...init, headers: { ...(init.headers as Record<string, string>), origin: app.url } })
  const { auth } = createClient({ baseUrl: app.url, fetch: ownPage })

  const { url } = await auth.link('idp', '/settings')
  const linked = await ann.open(await ann.signIn(url, 'ann', `${app.url}/api/auth/callback/`))
  t.equal(linked.headers.get('location'), '/settings')
  t.match(await auth.identities(), [{ provider: 'password' }, { provider: /^(idp|other|wrong)$/ }])
  await t.rejects(auth.link('a/b'), { status: 404, message: 'there is no OpenID provider a/b' })

  await signIn(app, elsewhere, 'ann')
  const sessions = await auth.sessions()
  t.match(sessions, [{ is_current: false }, { is_current: true, created_at_ms: Number, expires_at_ms: Number }])
  t.equal(await auth.endSession(sessions[0].id), true)
  t.equal(await auth.endSession(sessions[0].id), false)
  t.equal(await me(app, elsewhere), null)
  t.equal(await auth.unlink('idp'), null)
  t.match(await auth.identities(), [{ provider: 'password' }])
  await t.rejects(auth.unlink('idp'), { status: 404, code: 'RUN_NOT_FOUND' })
})

t.test('a form begins to link an identity', async t => {
  const app = await serveWithProvider(t)
  const ann = await withPassword(app, 'ann@example.org', 'Ann')
  const headers = { 'content-type': 'application/x-www-form-urlencoded', origin: app.url }
  const begun = await ann.open(`${app.url}/api/auth/oauth/idp/link`, { method: 'POST', headers, body: '' })
  t.equal(begun.status, 303)
  const target = `${app.url}/api/auth/callback/`
  t.equal((await ann.open(await ann.signIn(begun.headers.get('location') ?? '', 'ann', target))).status, 303)
  t.equal((await json(await ann.open(`${app.url}/api/auth/identities`))).length, 2)
})

t.test('an identity is linked only by its user, from a page of this origin, soon after a sign-in', async t => {
  const app = await serveWithProvider(t)
  const ann = await withPassword(app, 'ann@example.org', 'Ann')
  const path = `${app.url}/api/auth/oauth/idp/link`
  t.equal((await new Browser().open(path, sent(app))).status, 401, 'without a session')
  t.equal((await ann.open(path, sent(app, {}, 'https://evil.example'))).status, 403, 'from another origin')
  t.equal((await ann.open(path)).status, 405, 'with a link')

  await signIn(app, new Browser(), 'ben')
  const taken = await link(app, ann, 'ben')
  t.equal(taken.status, 409)
  t.match(await json(taken), { error: /belongs to another user/ })

  const { url } = await json(await ann.open(path, sent(app)))
  const callback = await ann.signIn(String(url), 'carl', `${app.url}/api/auth/callback/`)
  const other = await withPassword(app, 'dan@example.org', 'Dan')
  other.cookies.set('vox-sign-in', ann.cookies.get('vox-sign-in') ?? '')
  t.equal((await other.open(callback)).status, 401, 'in the session of another user')
  const ended = await json(await ann.open(path, sent(app)))
  const late = await ann.signIn(String(ended.url), 'carl', `${app.url}/api/auth/callback/`)
  await ann.open(`${app.url}/api/auth/sign_out`, sent(app))
  t.equal((await ann.open(late)).status, 401, 'after the session has ended')
  t.equal((await json(await other.open(`${app.url}/api/auth/identities`))).length, 1)

  const store = await openStore(join(app.folder, 'app.db'))
  await store.execute('UPDATE program_sessions SET created_at_ms = created_at_ms - 660000')
  for (const action of ['link', 'unlink']) {
    const stale = await other.open(`${app.url}/api/auth/oauth/idp/${action}`, sent(app))
    t.equal(stale.status, 403, action)
    t.match(await json(stale), { error: /signed in more than 10 minutes ago/ })
  }
})

t.test('a verified address joins an identity to a user only if the provider is set up so', async t => {
  const app = await serveWithProvider(t, NOTES, 60, ', link_by_email = true')
  const before = await withPassword(app, 'ann@idp.example', 'Ann')
  t.equal((await link(app, before, 'carl')).status, 303)
  await withPassword(app, 'unverified@idp.example', 'Una')
  t.not((await signIn(app, new Browser(), 'unverified')).status, 303, 'not an address that is not verified')
  const ann = new Browser()
  t.equal((await signIn(app, ann, 'ann')).status, 303)
  t.match(await me(app, ann), { _id: 1, name: 'Ann' })
  t.equal(await me(app, before), null, 'who signed up with the address may not own it')
  const credentials = { email: 'ann@idp.example', password: PASSWORD }
  t.equal((await new Browser().open(`${app.url}/api/auth/sign_in`, sent(app, credentials))).status, 401)
  t.equal((await json(await ann.open(`${app.url}/api/auth/identities`))).length, 1)
  const carl = new Browser()
  await signIn(app, carl, 'carl')
  t.match(await me(app, carl), { email: 'carl@idp.example' }, 'nor may who linked another identity')
})

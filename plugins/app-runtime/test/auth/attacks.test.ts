import { request } from 'node:http'
import t from 'tap'
import { openIssuer } from './tokens.ts'
import { type Client, clientOf, NOTES, PASSWORD, serveNotes, signUp } from './users-app.ts'

t.setTimeout(300_000)

const LIVE = `${NOTES}
@query @auth fn live_notes() to List[str] { db.Note.all().order_by("_id").live("notes").map(fn(note) { note.body }) }
`

t.test('attacks on sessions and users', async t => {
  const app = await serveNotes(t, LIVE)
  const ann = await signUp(app, 'ann')

  await t.test('a session that was planted before the sign-in is worth nothing after it', async t => {
    const victim = clientOf(app)
    const fixed = `vox=vxs_${'A'.repeat(43)}`
    victim.cookie = fixed
    await victim.post('/api/auth/sign_in', { email: 'ann@example.org', password: PASSWORD })
    t.not(victim.cookie, fixed)
    t.equal((await victim.get('/api/query/who')).body, '1')
    t.equal((await clientOf(app).get('/api/query/who', { cookie: fixed })).status, 401)
    const before = victim.cookie ?? ''
    await victim.post('/api/auth/sign_in', { email: 'ann@example.org', password: PASSWORD })
    t.not(victim.cookie, before)
    t.equal((await clientOf(app).get('/api/query/who', { cookie: before })).status, 401, 'nor is an own older one')
  })

  await t.test('a cookie does not count on requests of other sites', async t => {
    for (const headers of [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: 'http://127.0.0.1:1' },
      { origin: app.url, 'sec-fetch-site': 'cross-site' },
      { origin: app.url, 'sec-fetch-site': 'same-site' }
    ]) {
      // Some are refused by the listener, the others have no identity.
      const refusals = [401, 403]
      const note = await ann.post('/api/mutation/add_note', { body: 'planted' }, headers)
      t.ok(refusals.includes(note.status))
      const change = await ann.post('/api/auth/password', { current: PASSWORD, password: 'taken over' }, headers)
      t.ok(refusals.includes(change.status))
      await ann.post('/api/auth/sign_out', {}, headers)
      const cookie = clientOf(app)
      t.equal((await cookie.post('/api/auth/sign_in', { email: 'x', password: PASSWORD }, headers)).status, 403)
      t.equal(cookie.cookie, null)
    }
    t.equal((await ann.get('/api/query/who')).body, '1', 'the session goes on')
    const withoutOrigin = { 'content-type': 'application/json', cookie: ann.cookie ?? '' }
    const bare = await fetch(`${app.url}/api/mutation/add_note`, {
      method: 'POST',
      headers: withoutOrigin,
      body: '{"body":"x"}'
    })
    t.equal(bare.status, 401, 'nor without an origin')
  })

  await t.test('bodies that forms of other sites can send are refused', async t => {
    const body = JSON.stringify({ email: 'ann@example.org', password: PASSWORD })
    t.equal((await clientOf(app).post('/api/auth/sign_in', body, { 'content-type': 'text/plain' })).status, 415)
    const form = new URLSearchParams({ email: 'ann@example.org', password: PASSWORD, next: '/notes' }).toString()
    const type = { 'content-type': 'application/x-www-form-urlencoded' }
    const foreign = clientOf(app)
    t.equal((await foreign.post('/api/auth/sign_in', form, { ...type, origin: 'https://evil.example' })).status, 403)
    t.equal(foreign.cookie, null)
    const own = clientOf(app)
    const answer = await own.post('/api/auth/sign_in', form, type)
    t.equal(answer.status, 303)
    t.equal(answer.headers.get('location'), '/notes')
    t.equal((await own.get('/api/query/who')).body, '1')
    const wrong = new URLSearchParams({
      email: 'ann@example.org',
      password: 'wrong wrong',
      next: '//evil.example'
    }).toString()
    const back = await clientOf(app).post('/api/auth/sign_in', wrong, { ...type, referer: `${app.url}/sign-in?a=1` })
    t.equal(back.headers.get('location'), '/sign-in?a=1&problem=the+email+or+the+password+is+wrong')
    const elsewhere = await clientOf(app).post('/api/auth/sign_in', wrong, {
      ...type,
      referer: 'https://evil.example/x'
    })
    t.match(elsewhere.headers.get('location'), /^\/\?problem=/)
  })

  await t.test('cookies that were changed, sent twice or belong to nothing are no session', async t => {
    const token = (ann.cookie ?? '').slice('vox='.length)
    const flipped = `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`
    for (const cookie of [
      `vox=${flipped}`,
      `vox=${token}x`,
      `vox=${token.toUpperCase()}`,
      `vox=${token}; vox=${flipped}`,
      `__Host-vox=${token}`,
      `Vox=${token}`,
      'vox=',
      "vox=' OR 1=1 --"
    ]) {
      t.equal((await clientOf(app).get('/api/query/who', { cookie })).status, 401, cookie.slice(0, 20))
    }
    for (const authorization of [`Bearer ${flipped}`, `Basic ${token}`, `Bearer ${token} x`, 'Bearer vxs_']) {
      t.equal((await clientOf(app).get('/api/query/who', { authorization })).status, 401)
    }
    t.equal((await clientOf(app).get('/api/query/who', { authorization: `Bearer ${token}` })).body, '1')
  })

  await t.test('an unknown user and a wrong password get the same answer', async t => {
    const answers = []
    for (const email of ['ann@example.org', 'nobody@example.org']) {
      const { status, body, headers } = await clientOf(app).post('/api/auth/sign_in', {
        email,
        password: 'wrong wrong'
      })
      const { request_id: _, ...rest } = body
      answers.push({ status, rest, type: headers.get('www-authenticate') })
    }
    t.equal(answers[0]?.status, 401)
    t.strictSame(answers[0], answers[1])
  })

  await t.test('guesses are limited for a user and address', async t => {
    const attempt = (): ReturnType<Client['post']> =>
      clientOf(app).post('/api/auth/sign_in', { email: 'target@example.org', password: 'x' })
    const answers = await Promise.all(Array.from({ length: 15 }, attempt))
    const limited = answers.filter(({ status }) => status === 429)
    t.ok(limited.length > 0)
    t.ok(answers.every(({ status }) => status === 401 || status === 429))
    t.match(limited[0]?.headers.get('retry-after'), /^\d+$/)
  })

  await t.test('two users on one live query get their own rows', async t => {
    const ben = await signUp(app, 'ben')
    const abort = new AbortController()
    const follow = async (client: Client): Promise<{ until(pattern: RegExp): Promise<string> }> => {
      const response = await fetch(`${app.url}/api/live/query/live_notes`, {
        headers: { cookie: client.cookie ?? '' },
        signal: abort.signal
      })
      t.equal(response.status, 200)
      const reader = (response.body as ReadableStream<Uint8Array>).getReader()
      let text = ''
      return {
        async until(pattern) {
          while (!pattern.test(text)) text += new TextDecoder().decode((await reader.read()).value)
          return text
        }
      }
    }
    const [ofAnn, ofBen] = [await follow(ann), await follow(ben)]
    await ofAnn.until(/welcome ann/)
    await ofBen.until(/welcome ben/)
    await ann.post('/api/mutation/add_note', { body: 'secret of ann' })
    await ben.post('/api/mutation/add_note', { body: 'secret of ben' })
    t.notMatch(await ofAnn.until(/secret of ann/), /of ben|welcome ben/)
    t.notMatch(await ofBen.until(/secret of ben/), /of ann|welcome ann/)
    const { status } = await fetch(`${app.url}/api/live/query/live_notes`)
    t.equal(status, 401)
    abort.abort()
  })
})

await t.test('refused guesses of one address do not lock a user out at other addresses', async t => {
  const app = await serveNotes(t)
  await signUp(app, 'ben')
  const fields = { email: 'ben@example.org', password: PASSWORD }
  const statuses: number[] = []
  for (let count = 0; count < 130; count++) {
    // A password of another type costs no hash.
    statuses.push((await clientOf(app).post('/api/auth/sign_in', { ...fields, password: 5 })).status)
  }
  t.ok(statuses.includes(429))
  t.equal(await statusFrom('127.0.0.2', `${app.url}/api/auth/sign_in`, fields), 200)
})

await t.test('a user of an issuer of tokens does not get the rows of a user with the same id', async t => {
  const { url, sign } = await openIssuer(t)
  const issuer = `{ issuer = "https://issuer.example", audience = "app", jwks = "${url}" }`
  const app = await serveNotes(t, NOTES, [`plugins.app-runtime.auth.issuers=[${issuer}]`])
  await signUp(app, 'ann')
  const authorization = `Bearer ${await sign({ sub: '1' })}`
  t.equal((await clientOf(app).get('/api/query/who', { authorization })).body, 'https://issuer.example|1')
  t.same((await clientOf(app).get('/api/query/notes', { authorization })).body, [])
})

/** Posts JSON from another address of this machine. Returns the status. */
function statusFrom(localAddress: string, url: string, body: object): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', localAddress, headers: { 'content-type': 'application/json' } })
    sent.on('response', response => {
      response.resume()
      resolve(response.statusCode)
    })
    sent.on('error', reject)
    sent.end(JSON.stringify(body))
  })
}

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { type ServedApp, serveInProcess } from '../../../../test/e2e/served-in-process.ts'
import { bearer, call, SET } from './guarded-app.ts'
import { ownToken } from './tokens.ts'

t.setTimeout(120_000)

const KINDS = ['query', 'mutation', 'server', 'route'] as const
const PROVIDERS = ['any', 'jwt', 'bearer', 'api_key'] as const

/** Returns a function of each kind, which returns the id of its caller. */
function guarded(name: string, guard: string): string {
  return `${guard} @query fn q_${name}() to str { request.user.id }
${guard} @mutation fn m_${name}() to str { request.user.id }
${guard} @server fn s_${name}() to str { request.user.id }
${guard} http post "/r/${name}" to str { request.user.id }
`
}

const SOURCE = `
${PROVIDERS.map(name => guarded(name, `@auth(${name === 'any' ? '' : `provider: ${name}`}) @role("admin")`)).join('')}
${guarded('scoped', '@auth("notes.read")')}
@auth @query fn whoami() to str { request.user.id + " " + request.user.provider }
@auth(optional: true) @query fn perhaps() to str { match request.user { Some(user) => user.id  None => "anonymous" } }
@public @query fn open() to int { 1 }
@public @query fn inner() to str { q_any() }
@auth @query fn plain() to str { admin_only() }
@role("admin") @query fn admin_only() to str { "secret" }
@public @query fn about() to str {
    request.method() + " " + request.header("x-a").unwrap_or("-") + " " + request.cookie("c").unwrap_or("-") + " " + request.ip()
}
@public http get "/authorization" to str { request.header("authorization").unwrap_or("-") }
@auth(provider: api_key, header: "x-my-key") @query fn own_header() to str { request.user.id }
`

const PATHS = {
  query: 'GET /api/query/q_',
  mutation: 'POST /api/mutation/m_',
  server: 'POST /api/s_',
  route: 'POST /r/'
}

/** Headers without a proof, and with a wrong, an expired, a weaker and a right one, by provider. */
async function proofs(app: ServedApp, provider: (typeof PROVIDERS)[number]) {
  const past = Math.floor(Date.now() / 1000) - 60
  if (provider !== 'api_key') {
    return {
      none: {},
      wrong: bearer(await ownToken({ roles: ['admin'] }, 'a secret that is not the one of this app')),
      expired: bearer(await ownToken({ roles: ['admin'], exp: past })),
      weaker: bearer(await ownToken({ roles: ['reader'] })),
      right: bearer(await ownToken({ roles: ['admin'] }))
    }
  }
  const key = async (roles: string[], days = 1) => ({
    'x-api-key': (await app.call('auth.token.create', { subject: 'ann', roles, days })).token as string
  })
  const right = await key(['admin'])
  return {
    none: {},
    wrong: { 'x-api-key': `${right['x-api-key'].slice(0, -4)}AAAA` },
    expired: await key(['admin'], 0),
    weaker: await key(['reader']),
    right
  }
}

t.test('each kind of function admits only callers with the right proof and role, for each provider', async t => {
  const app = await serveInProcess(t, SOURCE, { set: SET })
  const statuses = { none: 401, wrong: 401, expired: 401, weaker: 403, right: 200 }
  for (const provider of PROVIDERS) {
    const all = await proofs(app, provider)
    for (const kind of KINDS) {
      for (const [proof, status] of Object.entries(statuses)) {
        const answer = await call(app, PATHS[kind] + provider, all[proof as keyof typeof all])
        const label = `${kind} ${provider} ${proof}`
        t.equal(answer.status, status, label)
        if (status === 200) t.equal(answer.body, 'ann', label)
        else
          t.match(
            answer.body,
            { error: String, code: status === 401 ? 'RUN_UNAUTHORIZED' : 'RUN_FORBIDDEN', request_id: String },
            label
          )
        if (status === 401)
          t.match(answer.headers.get('www-authenticate'), provider === 'api_key' ? /^ApiKey / : /^Bearer /, label)
        t.equal(answer.headers.get('cache-control'), 'no-store', label)
      }
    }
  }
})

t.test('guards of scopes, options, own headers and calls inside the program', async t => {
  const app = await serveInProcess(t, SOURCE, { set: SET })
  const reader = bearer(await ownToken({ scope: 'notes.read other', sub: 'eve' }))
  t.match(await call(app, `${PATHS.query}scoped`, reader), { status: 200, body: 'eve' })
  const forbidden = await call(app, `${PATHS.query}scoped`, bearer(await ownToken({ scope: 'other' })))
  t.equal(forbidden.status, 403)
  t.match(forbidden.headers.get('www-authenticate'), /insufficient_scope", scope="notes.read"/)

  t.match(await call(app, 'GET /api/query/perhaps'), { status: 200, body: 'anonymous' })
  t.match(await call(app, 'GET /api/query/perhaps', reader), { status: 200, body: 'eve' })
  t.equal((await call(app, 'GET /api/query/perhaps', bearer('rubbish'))).status, 401, 'a wrong proof is not anonymous')

  t.match(await call(app, 'GET /api/query/inner'), { status: 401, body: { code: 'RUN_UNAUTHORIZED' } })
  t.match(await call(app, 'GET /api/query/inner', bearer(await ownToken({ roles: ['admin'] }))), {
    status: 200,
    body: 'ann'
  })
  t.match(await call(app, 'GET /api/query/plain', reader), { status: 403, body: { code: 'RUN_FORBIDDEN' } })
  t.match(await call(app, 'GET /api/query/plain', bearer(await ownToken({ role: 'admin' }))), { body: 'secret' })

  const late = app.call('auth.token.create', { subject: 'kim', days: 1e9 })
  await t.rejects(late, { code: 'OPR_INPUT_INVALID' }, 'there is no such date')
  const { token } = await app.call('auth.token.create', { subject: 'kim' })
  t.match(await call(app, 'GET /api/query/own_header', { 'x-my-key': token }), { status: 200, body: 'kim' })
  t.equal((await call(app, 'GET /api/query/own_header', { 'x-api-key': token })).status, 401)
  t.match(await call(app, 'GET /api/query/whoami', bearer(token)), { body: 'kim api_key' })
  t.equal((await call(app, `${PATHS.query}jwt`, bearer(token))).status, 401, 'an API key is no JWT')

  const about = await call(app, 'GET /api/query/about', { 'x-a': 'one', cookie: 'b=2; c=3' })
  t.equal(about.body, 'GET one 3 127.0.0.1')
  t.equal((await call(app, 'GET /authorization', { authorization: 'Basic abc' })).body, 'Basic abc')
  const open = await call(app, 'GET /api/query/open')
  t.match(open, { status: 200, body: 1 })
  t.equal(open.headers.get('cache-control'), null)

  await call(app, 'GET /api/query/whoami')
  const { upsert } = await app.call('app.feed')
  t.ok(
    upsert.some(({ name, status }: { name: string; status: number }) => name === 'query whoami' && status === 401),
    'developers see refused calls'
  )
})

t.test('a revoked API key ends, and a list shows no key', async t => {
  const app = await serveInProcess(t, SOURCE, { set: SET })
  const { id, token } = await app.call('auth.token.create', { subject: 'kim', roles: ['admin'], scopes: ['a'] })
  t.match(await call(app, 'GET /api/query/whoami', { 'x-api-key': token }), { status: 200 })
  const listed = await app.call('auth.token.list')
  t.match(listed.tokens, [{ id, subject: 'kim', roles: ['admin'], scopes: ['a'] }])
  t.notMatch(JSON.stringify(listed), token.slice(8))
  t.notMatch(
    readFileSync(join(app.folder, '.vox', 'store.db'), 'latin1').toString(),
    token.slice(8),
    'only a hash is stored'
  )
  await app.call('auth.token.revoke', { id })
  await t.rejects(app.call('auth.token.revoke', { id }), { code: 'RUN_TOKEN_UNKNOWN' })
  let status = 200
  while (status === 200) status = (await call(app, 'GET /api/query/whoami', { 'x-api-key': token })).status
  t.equal(status, 401)
})

t.test('a guarded query that finds a row by id is a lookup, and knows its caller', async t => {
  const source = `
@table type Note { owner: str }
@public @mutation fn add(owner: str) to int { db.Note.insert({ owner: owner }) }
@auth @query fn note(id: Id[Note]) to Option[str] {
    match db.Note.get(id) {
        Some(note) => if note.owner is request.user.id { Some(note.owner) } else { None }
        None => None
    }
}
`
  const app = await serveInProcess(t, source, { set: SET })
  await app.post('/api/mutation/add', { owner: 'ann' })
  const [ann, eve] = [bearer(await ownToken()), bearer(await ownToken({ sub: 'eve' }))]
  // The first calls run in a thread, the others in the main thread.
  for (let left = 30; left > 0; left--) {
    t.match(await call(app, 'GET /api/query/note?id=1', ann), { status: 200, body: 'ann' })
    t.match(await call(app, 'GET /api/query/note?id=1', eve), { status: 200, body: null })
    t.equal((await call(app, 'GET /api/query/note?id=1')).status, 401)
  }
})

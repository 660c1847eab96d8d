import t from 'tap'
import { serveInProcess } from '../../../../test/e2e/served-in-process.ts'
import { clientOf, PASSWORD, serveNotes, signUp } from './users-app.ts'

t.setTimeout(300_000)

t.test('a user signs up, is known by the cookie, and signs out', async t => {
  const app = await serveNotes(t)
  const ann = clientOf(app)
  const made = await ann.post('/api/auth/sign_up', { email: ' Ann@Example.org', name: 'Ann', password: PASSWORD })
  t.equal(made.status, 200)
  t.match(made.body, { user: { _id: 1, email: 'ann@example.org', name: 'Ann', role: 'member', bio: null, signups: 1 } })
  t.notOk('token' in made.body)
  const cookie = made.headers.getSetCookie()[0] ?? ''
  t.match(cookie, /^vox=vxs_[\w-]{43}; Path=\/; Max-Age=34560000; HttpOnly; SameSite=Lax$/)
  t.equal(made.headers.get('cache-control'), 'no-store')
  t.match((await ann.get('/api/auth/me')).body, { _id: 1, name: 'Ann' })
  t.equal((await ann.get('/api/query/who')).body, '1')
  t.equal((await ann.get('/api/query/account')).body, 'Ann')
  const out = await ann.post('/api/auth/sign_out')
  t.match(out.headers.getSetCookie()[0], /^vox=; .*Max-Age=0/)
  t.equal((await ann.get('/api/auth/me')).body, null)
  t.equal((await ann.get('/api/query/who')).status, 401)
  const stolen = { cookie: cookie.split(';', 1)[0] ?? '' }
  t.equal((await clientOf(app).get('/api/query/who', stolen)).status, 401, 'the session has ended, not only the cookie')
})

t.test('two users see and change only their own rows', async t => {
  const app = await serveNotes(t)
  const [ann, ben] = [await signUp(app, 'ann'), await signUp(app, 'ben')]
  t.equal((await ann.post('/api/mutation/add_note', { body: 'of ann' })).status, 200)
  t.equal((await ben.post('/api/mutation/add_note', { body: 'of ben' })).status, 200)
  t.strictSame((await ann.get('/api/query/notes')).body, ['welcome ann', 'of ann'])
  t.strictSame((await ben.get('/api/query/notes')).body, ['welcome ben', 'of ben'])
  t.match(await ann.post('/api/mutation/edit', { id: 4, body: 'taken' }), {
    status: 403,
    body: { code: 'RUN_FORBIDDEN' }
  })
  t.match(await ann.post('/api/mutation/add_for', { owner: 2, body: 'planted' }), { status: 403 })
  t.equal((await ann.post('/api/mutation/edit', { id: 3, body: 'edited' })).status, 200)
  t.strictSame((await ann.get('/api/query/notes')).body, ['welcome ann', 'edited'])
  t.strictSame((await ben.get('/api/query/notes')).body, ['welcome ben', 'of ben'])
  t.equal((await clientOf(app).get('/api/query/open_notes')).body, 0, 'an open query applies the rules, too')
  t.equal((await ann.get('/api/query/open_notes')).body, 2)
})

t.test('on_sign_up joins the transaction, and may refuse', async t => {
  const app = await serveNotes(t)
  const client = clientOf(app)
  const fields = { email: 'x@example.org', name: 'refused', password: PASSWORD }
  t.match(await client.post('/api/auth/sign_up', fields), {
    status: 422,
    body: { code: 'RUN_REFUSED', error: 'this name is not welcome' }
  })
  t.equal(client.cookie, null)
  t.equal((await client.post('/api/auth/sign_in', fields)).status, 401, 'neither the user nor the password was stored')
  t.equal((await client.post('/api/mutation/on_sign_up', { user: {} })).status, 404, 'it is no endpoint')
  t.equal((await client.post('/api/auth/sign_up', { ...fields, name: 'Xaver' })).status, 200)
})

t.test('a sign-up sets only the columns that users may set', async t => {
  const app = await serveNotes(t)
  const client = clientOf(app)
  const fields = { email: 'a@example.org', name: 'a', password: PASSWORD }
  let attempts = 0
  // Attempts for one user are limited.
  const other = () => ({ email: `${attempts++}@example.org` })
  for (const more of [{ role: 'admin' }, { signups: 9 }, { _id: 7 }, { bio: 'b' }]) {
    t.match(await client.post('/api/auth/sign_up', { ...fields, ...other(), ...more }), {
      status: 400,
      body: { code: 'RUN_ARGUMENTS' }
    })
  }
  const { name, ...without } = fields
  t.match(await client.post('/api/auth/sign_up', without), { status: 400 }, `${name} is missing`)
  for (const wrong of [
    { email: 1 },
    { email: ' ' },
    { password: 'short' },
    { password: 7 },
    { name: 1 },
    { session: 'x' }
  ]) {
    t.match(
      await client.post('/api/auth/sign_up', { ...fields, ...other(), ...wrong }),
      { status: 400 },
      JSON.stringify(wrong)
    )
  }
  t.equal((await client.post('/api/auth/sign_up', fields)).status, 200)
  t.match(await clientOf(app).post('/api/auth/sign_up', { ...fields, email: 'A@EXAMPLE.ORG' }), {
    status: 409,
    body: { code: 'RUN_CONSTRAINT' }
  })
})

t.test('roles come from the row of the user, at each request', async t => {
  const app = await serveNotes(t)
  const ann = await signUp(app, 'ann')
  t.equal((await ann.get('/api/query/all_users')).status, 403)
  t.equal((await ann.post('/api/mutation/promote')).status, 200)
  t.equal((await ann.get('/api/query/all_users')).body, 1)
})

t.test('each password that a sign-up accepts is accepted by a sign-in, too', async t => {
  const app = await serveNotes(t)
  const fields = { email: 'ann@example.org', name: 'ann' }
  // Each has two UTF-16 units; the second list has more characters than the limit.
  const [accepted, refused] = [600, 1001].map(length => '\u{1f642}'.repeat(length))
  t.equal((await clientOf(app).post('/api/auth/sign_up', { ...fields, password: refused })).status, 400)
  t.equal((await clientOf(app).post('/api/auth/sign_up', { ...fields, password: accepted })).status, 200)
  t.equal((await clientOf(app).post('/api/auth/sign_in', { email: fields.email, password: accepted })).status, 200)
})

t.test('a cookie without a session counts as no proof where everyone may call', async t => {
  const app = await serveNotes(t)
  const ann = await signUp(app, 'ann')
  const old = { cookie: ann.cookie ?? '' }
  t.match(await clientOf(app).get('/api/query/greeting', old), { status: 200, body: '1' })
  await ann.post('/api/auth/sign_out')
  t.match(await clientOf(app).get('/api/query/greeting', old), { status: 200, body: 'anonymous' })
  t.equal((await clientOf(app).get('/api/query/who', old)).status, 401)
})

t.test('a client without cookies signs in for a token', async t => {
  const app = await serveNotes(t)
  await signUp(app, 'ann')
  const client = clientOf(app)
  const { body, headers } = await client.post('/api/auth/sign_in', {
    email: 'ann@example.org',
    password: PASSWORD,
    session: 'token'
  })
  t.match(body.token, /^vxs_/)
  t.strictSame(headers.getSetCookie(), [])
  const authorization = `Bearer ${body.token}`
  t.equal((await client.get('/api/query/who', { authorization })).body, '1')
  t.equal((await client.post('/api/auth/sign_out', {}, { authorization })).status, 200)
  t.equal((await client.get('/api/query/who', { authorization })).status, 401)
})

t.test('a changed password ends the other sessions', async t => {
  const app = await serveNotes(t)
  const ann = await signUp(app, 'ann')
  const other = clientOf(app)
  const fields = { email: 'ann@example.org', password: PASSWORD }
  await other.post('/api/auth/sign_in', fields)
  const before = ann.cookie
  t.match(await ann.post('/api/auth/password', { current: 'wrong wrong', password: 'another password' }), {
    status: 403
  })
  t.equal((await other.get('/api/query/who')).status, 200)
  t.equal((await ann.post('/api/auth/password', { current: PASSWORD, password: 'another password' })).status, 200)
  t.not(ann.cookie, before)
  t.equal((await ann.get('/api/query/who')).body, '1')
  t.equal((await other.get('/api/query/who')).status, 401)
  t.equal((await other.post('/api/auth/sign_in', fields)).status, 401)
  t.equal((await other.post('/api/auth/sign_in', { ...fields, password: 'another password' })).status, 200)
})

t.test('a user sees its sessions, and ends one', async t => {
  const app = await serveNotes(t)
  const [ann, ben] = [await signUp(app, 'ann'), await signUp(app, 'ben')]
  const phone = clientOf(app)
  await phone.post('/api/auth/sign_in', { email: 'ann@example.org', password: PASSWORD }, { 'user-agent': 'phone' })
  const { body } = await ann.get('/api/auth/sessions')
  t.equal(body.length, 2)
  const other = body.find((each: { is_current: boolean }) => !each.is_current)
  t.equal(other.agent, 'phone')
  t.equal((await ben.post('/api/auth/end_session', { id: other.id })).body, false, 'of another user')
  t.equal((await phone.get('/api/query/who')).status, 200)
  t.equal((await ann.post('/api/auth/end_session', { id: other.id })).body, true)
  t.equal((await phone.get('/api/query/who')).status, 401)
  t.equal((await clientOf(app).get('/api/auth/sessions')).status, 401)
})

t.test('the session of a deleted user ends at once', async t => {
  const app = await serveNotes(t)
  const ann = await signUp(app, 'ann')
  t.equal((await ann.get('/api/query/who')).status, 200)
  t.equal((await clientOf(app).post('/api/mutation/delete_user', { id: 1 })).status, 200)
  t.equal((await ann.get('/api/query/who')).status, 401)
  t.equal((await ann.get('/api/auth/me')).body, null)
  t.equal((await ann.post('/api/auth/sign_in', { email: 'ann@example.org', password: PASSWORD })).status, 401)
  const again = await signUp(app, 'ann')
  t.equal((await again.get('/api/query/who')).body, '2', 'no id is used again')
  t.equal((await ann.get('/api/query/who')).status, 401)
})

t.test('sessions and users outlive the server', async t => {
  const app = await serveNotes(t)
  const ann = await signUp(app, 'ann')
  await app.close()
  const again = await serveInProcess(t, '', { folder: app.folder })
  const client = clientOf(again)
  client.cookie = ann.cookie
  t.equal((await client.get('/api/query/who')).body, '1')
})

import { readFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Validator } from '@seriousme/openapi-schema-validator'
import t from 'tap'
import { build, install, typeCheck } from './building.ts'

const SOURCE = `
@auth("notes.read") @role("admin", "owner") @rate_limit(by: user, per: "1m", max: 10)
@query fn notes() to List[str] { ["a"] }
@auth(optional: true) @query fn maybe() to int { 1 }
@auth(provider: api_key, header: "x-key") @mutation fn keyed() to int { 1 }
@webhook(provider: github, secret: "HOOK") http post "/hook" to int { 1 }
@public @query fn open() to int { 1 }
@auth(redirect: "/sign-in") component Inbox(items: List[str]) { view: <ul>for item in items { <li>{item}</li> }</ul> }
component SignIn() { view: <p>"Sign in"</p> }
routes {
    "/" to Inbox with (loader: notes)
    "/sign-in" to SignIn
}
`

t.test('the OpenAPI document names the proofs, the limits and the errors of guards', async t => {
  const folder = t.testdir({ 'app.vox': SOURCE })
  const out = join(folder, 'web')
  t.equal((await build(join(folder, 'app.vox'), out)).code, 0)
  const document = JSON.parse(readFileSync(join(out, 'openapi.json'), 'utf8'))
  t.match(await new Validator().validate(document), { valid: true })
  const { paths, components } = document
  t.match(components.securitySchemes, {
    bearer: { type: 'http', scheme: 'bearer' },
    api_key: { type: 'apiKey', in: 'header', name: 'x-api-key' },
    'api_key_x-key': { name: 'x-key' },
    session: { type: 'apiKey', in: 'cookie', name: '__Host-vox' }
  })
  const needed = ['notes.read', 'role:admin', 'role:owner']
  const { security, responses, ...operation } = paths['/api/query/notes'].get
  t.same(security, [{ bearer: needed }, { api_key: needed }, { session: needed }])
  t.same(operation['x-rate-limit'], [{ by: 'user', max: 10, window_ms: 60_000 }])
  t.match(responses, { 401: {}, 403: {}, 429: { headers: { 'Retry-After': {} } } })
  t.same(paths['/api/query/maybe'].get.security.at(-1), {})
  t.same(paths['/api/mutation/keyed'].post.security, [{ 'api_key_x-key': [] }, { bearer: [] }])
  t.match(paths['/hook'].post, { 'x-webhook': { provider: 'github' }, responses: { 401: {} } })
  t.notOk(paths['/hook'].post.security)
  for (const field of ['security', 'x-rate-limit']) t.notOk(paths['/api/query/open'].get[field])
  t.notOk(paths['/api/query/open'].get.responses[401])
})

t.test('the client sends its token, and reports that the caller must sign in', async t => {
  const folder = t.testdir({ 'app.vox': SOURCE })
  const out = join(folder, 'web')
  await build(join(folder, 'app.vox'), out)
  const seen: IncomingHttpHeaders[] = []
  const server = createServer(({ headers, url }, response) => {
    seen.push(headers)
    response.statusCode = headers.authorization === undefined ? 401 : url?.startsWith('/api/auth/pages/') ? 204 : 200
    response.end(
      response.statusCode === 200 ? '1' : response.statusCode === 204 ? '' : '{"error":"no","code":"RUN_UNAUTHORIZED"}'
    )
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const client = await import(join(out, 'vox-client.ts'))
  const errors: { readonly code: string }[] = []
  Object.assign(client.voxClient, {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    onUnauthorized: (error: { readonly code: string }) => errors.push(error)
  })
  await t.rejects(client.notes(), { status: 401, code: 'RUN_UNAUTHORIZED' })
  await t.rejects(client.$admitted('Inbox'), { message: 'no' })
  t.match(errors, [{ code: 'RUN_UNAUTHORIZED' }, { code: 'RUN_UNAUTHORIZED' }])
  client.voxClient.token = 'one'
  t.equal(await client.notes(), 1)
  client.voxClient.token = async () => 'two'
  t.equal(await client.keyed(), 1)
  await client.$admitted('Inbox')
  client.voxClient.headers.authorization = 'Bearer three'
  await client.open()
  t.same(
    seen.map(({ authorization }) => authorization),
    [undefined, undefined, 'Bearer one', 'Bearer two', 'Bearer two', 'Bearer three']
  )
  t.equal(errors.length, 2)
})

t.test('the manifest asks the guard of a page before its loader', async t => {
  const folder = t.testdir({ 'app.vox': SOURCE })
  const out = join(folder, 'web')
  await build(join(folder, 'app.vox'), out, { scaffold: true })
  const manifest = readFileSync(join(out, 'routes.manifest.ts'), 'utf8')
  t.match(manifest, "loader: () => $guarded('Inbox', '/sign-in', async () => $client.notes())")
  t.match(manifest, /component: 'SignIn',\s+loader: null/)
  install(out)
  t.equal(await typeCheck(out), '')
})

t.test('a build with an Express server refuses guards, which it would not enforce', async t => {
  const folder = t.testdir({ 'app.vox': SOURCE, 'open.vox': '@public @query fn open() to int { 1 }\n' })
  const refused = await build(join(folder, 'app.vox'), join(folder, 'web'), {}, { express: true })
  t.equal(refused.code, 1)
  for (const name of ['auth', 'role', 'rate_limit', 'webhook'])
    t.match(refused.err, `the Express server does not enforce \`@${name}\``)
  t.match(refused.err, /error\[auth\.not_enforced\]/)
  t.equal((await build(join(folder, 'open.vox'), join(folder, 'open'), {}, { express: true })).code, 0)
})

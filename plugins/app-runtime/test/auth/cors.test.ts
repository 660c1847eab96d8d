import t from 'tap'
import { serveInProcess } from '../../../../test/e2e/served-in-process.ts'
import { call } from './guarded-app.ts'

const SOURCE = `
@cors(origins: ["https://one.example", "https://*.two.example"]) @query fn shared() to int { 1 }
@cors(origins: "*") http get "/items/:id" to str { id }
@query fn own() to int { 1 }
http post "/items/:id" to str { id }
`

t.test('pages of other origins may call only the functions that allow them', async t => {
  const app = await serveInProcess(t, SOURCE)
  const from = async (origin: string, request: string) => {
    const { status, headers } = await call(app, request, { origin })
    return [status, headers.get('access-control-allow-origin')]
  }
  t.same(await from('https://one.example', 'GET /api/query/shared'), [200, 'https://one.example'])
  t.same(await from('https://a.two.example', 'GET /api/query/shared'), [200, 'https://a.two.example'])
  t.same(await from('https://evil.example', 'GET /api/query/shared'), [403, null])
  t.same(await from('https://one.example.evil.example', 'GET /api/query/shared'), [403, null])
  t.same(await from('https://one.example', 'GET /api/query/own'), [403, null])
  t.same(await from(app.url, 'GET /api/query/own'), [200, null])
  t.same(await from('https://any.example', 'GET /items/1'), [200, '*'])
  t.same(await from('https://any.example', 'POST /items/1'), [403, null])
})

t.test('a preflight is answered for the method and the origin that a function allows', async t => {
  const app = await serveInProcess(t, SOURCE)
  const preflight = async (path: string, origin: string, method: string) => {
    const headers = {
      origin,
      'access-control-request-method': method,
      'access-control-request-headers': 'content-type'
    }
    const response = await fetch(app.url + path, { method: 'OPTIONS', headers })
    await response.arrayBuffer()
    return {
      status: response.status,
      origin: response.headers.get('access-control-allow-origin'),
      headers: response.headers.get('access-control-allow-headers'),
      credentials: response.headers.get('access-control-allow-credentials')
    }
  }
  const allowed = { status: 204, origin: 'https://one.example', headers: 'content-type', credentials: null }
  t.same(await preflight('/api/query/shared', 'https://one.example', 'GET'), allowed)
  t.match(await preflight('/api/query/shared', 'https://evil.example', 'GET'), { status: 403, origin: null })
  t.match(await preflight('/items/1', 'https://any.example', 'GET'), { status: 204, origin: '*' })
  t.match(await preflight('/items/1', 'https://any.example', 'POST'), { status: 403, origin: null })
})

import { once } from 'node:events'
import { strictJsonSuite } from '@svc/contracts/conformance'
import t from 'tap'
import { WebSocket } from 'ws'
import { type App, serveApp } from './served-app.ts'

const SOURCE = `
@table
type Note { title: str }

@query
fn notes() to List[Note] { db.Note.all().live("notes") }

@query
fn shown(value: any) to any { value }

@mutation
fn enter(value: any) to any { value }

@server
fn answer(value: any) to any { value }

http post "/declared"(value: any, other: int = 1) to any { value }

http post "/whole"(value: Map[str, any]) to any { value }

http post "/raw" to any { request.json() }

http get "/in-query"(value: List[any]) to any { value }

@mcp.tool("take: Takes any value")
fn take(value: any) to str { "taken" }
`

let app: App
t.before(async () => {
  app = await serveApp(t as never, SOURCE, {}, undefined, ['mcp'])
})

const REASONS = /appears twice|is not allowed|nested deeper|is not JSON|not accepted as JSON|UTF-8/

for (const path of ['/api/mutation/enter', '/api/answer', '/declared', '/whole', '/raw']) {
  t.test(`POST ${path} accepts only strict JSON`, async t => {
    const send = async (input: Buffer): Promise<boolean> => {
      const response = await fetch(app.app + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: new Uint8Array(input)
      })
      const body = (await response.json()) as { readonly error: string }
      if (response.status === 200) return true
      t.equal(response.status, 400)
      t.match(body.error, REASONS)
      return false
    }
    for (const { name, run } of strictJsonSuite(send)) await t.resolves(run(), name)
  })
}

t.test('JSON in query strings is strict, too', async t => {
  const shown = (json: string) => app.get(`/api/query/shown?value=${encodeURIComponent(json)}`)
  t.same(await shown('{"a":1}'), { status: 200, body: { a: 1 } })
  t.match(await shown('{"a":1,"a":2}'), { status: 400, body: { code: 'RUN_ARGUMENTS', error: /"a" appears twice/ } })
  t.match(await shown('{"__proto__":1}'), { status: 400, body: { error: /is not allowed/ } })
  const listed = (json: string) => app.get(`/in-query?value=${encodeURIComponent(json)}`)
  t.same(await listed('[{"a":1}]'), { status: 200, body: [{ a: 1 }] })
  t.match(await listed('[{"a":1,"a":2}]'), { status: 400, body: { error: /"a" appears twice/ } })
})

t.test('integers keep all digits, next to the checks', async t => {
  const post = async (path: string, body: string) => {
    const response = await fetch(app.app + path, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json' }
    })
    return { status: response.status, text: await response.text() }
  }
  const large = '{"n":1234567890123456789}'
  t.same(await post('/api/mutation/enter', `{"value":${large}}`), { status: 200, text: large })
  t.same(await post('/raw', large), { status: 200, text: large })
  t.match(await post('/api/mutation/enter', `{"value":${large},"value":1}`), { status: 400, text: /appears twice/ })
})

t.test('the tools of a program accept only strict JSON', async t => {
  const { url } = app
  const head = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"take","arguments":'
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const send = async (input: Buffer): Promise<boolean> => {
    const body = new Uint8Array(Buffer.concat([Buffer.from(head), input, Buffer.from('}}')]))
    const response = await fetch(`${url}/mcp`, { method: 'POST', headers, body })
    const text = await response.text()
    if (response.status === 400) return false
    t.match(text, /taken/)
    return true
  }
  for (const { name, run } of strictJsonSuite(send)) await t.resolves(run(), name)
})

t.test('messages to live feeds are strict JSON', async t => {
  const send = async (input: Buffer): Promise<boolean> => {
    const socket = new WebSocket(`${app.app.replace('http:', 'ws:')}/api/live`)
    await once(socket, 'open')
    const reply = Promise.race([
      once(socket, 'message').then(([data]) => String(data)),
      // Text that is not UTF-8 ends the connection.
      once(socket, 'close').then(([code]) => `closed ${code}`)
    ])
    socket.send(Buffer.concat([Buffer.from('{"subscribe":"notes","of":'), input, Buffer.from('}')]), { binary: false })
    const text = await reply
    socket.terminate()
    if (text.includes('"subscribed":"notes"')) return true
    t.match(text, /RUN_ARGUMENTS.*not accepted as JSON|not accepted as JSON.*RUN_ARGUMENTS|closed 1007/)
    return false
  }
  for (const { name, run } of strictJsonSuite(send)) await t.resolves(run(), name)
})

import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { Interpreter } from '#interpreter'
import { serveInProcess } from '../../../../test/e2e/served-in-process.ts'
import { makeProject } from '../../../../test/e2e/served-project.ts'
import { hostOf, LIMITS, programFrom } from '../run-program.ts'

t.setTimeout(300_000)

const SOURCE = `
type Problem = | NotFound(id: int)

fn page(title: str) to Response { Response.html("<h1>" + title + "</h1>") }

http get "/page"() to Response { page("Ä") }
http get "/made"() to Response {
    page("x")
        .with_status(418)
        .with_header("X-A", "1")
        .with_header("x-a", "2")
        .with_cookie("a", "1")
        .with_cookie("b", "2", { max_age: 60, path: "/p", same_site: "strict", http_only: false, secure: true })
}
http get "/text"() to Response { Response.text("<b>").with_header("content-type", "text/markdown") }
http get "/json"() to Response { Response.json({ n: 9007199254740993, some: Some(1), list: [1.5] }).with_status(202) }
http get "/to"(url: str) to Response { Response.redirect(url) }
http post "/after" to Response { Response.redirect("/new?a=ü b", 303) }
http get "/bytes"() to Response { Response.bytes([0, 255, 10], "image/x-test") }
http get "/none"() to Response { Response.text("").with_status(204) }
http get "/maybe/:id"(id: int) to Result[Response, Problem] {
    if id is 0 { return Error(NotFound(id)) }
    Ok(Response.text(str(id)))
}
http get "/file"(name: str) to Response { Response.file(name) }
http get "/attached"() to Response {
    Response.file("big.bin").with_header("content-disposition", "attachment").with_header("cache-control", "no-store")
}
http get "/missing"() to Response { Response.file("404.html").with_status(404) }
http get "/inferred" to any { if request.query("plain").is_some() { return Response.text("plain") }  { json: true } }
http get "/header"(value: str) to Response { Response.text("").with_header("x-value", value) }
`

async function openApp(t: Test) {
  const folder = makeProject(t, {
    'app.vox': SOURCE,
    'public/a.txt': 'hello',
    'public/404.html': '<p>gone',
    'secret.txt': 'no',
    'public/.env': 'no'
  })
  writeFileSync(join(folder, 'public', 'big.bin'), Buffer.alloc(3_000_000, 'abc'))
  mkdirSync(join(folder, 'public', 'sub'))
  writeFileSync(join(folder, 'public', 'sub', 'ü %2e.txt'), 'odd')
  symlinkSync(join(folder, 'secret.txt'), join(folder, 'public', 'link.txt'))
  symlinkSync(folder, join(folder, 'public', 'up'))
  symlinkSync(join(folder, 'public', 'a.txt'), join(folder, 'public', 'inside.txt'))
  const { url } = await serveInProcess(t, SOURCE, { folder })
  const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    fetch(url + path, { headers, method, redirect: 'manual' })
  return { url, get }
}

interface RawAnswer {
  readonly status: number
  readonly headers: NodeJS.Dict<string | string[]>
  readonly body: string
}

/** Sends a request without the headers that `fetch` adds. */
function rawRequest(url: string, headers: Record<string, string> = {}): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    request(url, { headers }, response => {
      buffer(response).then(
        body => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: String(body) }),
        reject
      )
    })
      .on('error', reject)
      .end()
  })
}

t.test('a route answers with a document, a text, JSON, bytes, a redirect or nothing', async t => {
  const { get } = await openApp(t)
  const page = await get('/page')
  t.match([page.status, await page.text()], [200, '<h1>Ä</h1>'])
  t.equal(page.headers.get('content-type'), 'text/html; charset=utf-8')
  t.equal(page.headers.get('x-content-type-options'), 'nosniff')
  const text = await get('/text')
  t.same([text.headers.get('content-type'), await text.text()], ['text/markdown', '<b>'])
  const json = await get('/json')
  t.same([json.status, await json.text()], [202, '{"n":9007199254740993,"some":1,"list":[1.5]}'])
  const bytes = await get('/bytes')
  t.same(
    [bytes.headers.get('content-type'), [...new Uint8Array(await bytes.arrayBuffer())]],
    ['image/x-test', [0, 255, 10]]
  )
  const moved = await get('/after', {}, 'POST')
  t.same([moved.status, moved.headers.get('location')], [303, '/new?a=%C3%BC%20b'])
  const none = await get('/none')
  t.same([none.status, await none.text()], [204, ''])
  t.same([(await get('/maybe/7')).status, await (await get('/maybe/7')).text()], [200, '7'])
  const refused = await get('/maybe/0')
  t.match([refused.status, await refused.json()], [404, { code: 'RUN_REFUSED' }])
  t.equal(await (await get('/inferred?plain=1')).text(), 'plain')
  t.same(await (await get('/inferred')).json(), { json: true })
})

t.test('a response has its status, headers and cookies', async t => {
  const { get } = await openApp(t)
  const made = await get('/made')
  t.same([made.status, made.headers.get('x-a')], [418, '1, 2'])
  t.same(made.headers.getSetCookie(), [
    'a=1; Path=/; HttpOnly; SameSite=Lax',
    'b=2; Path=/p; Max-Age=60; SameSite=Strict; Secure'
  ])
  const other = await get('/made', { host: 'app.example' })
  t.equal(other.status, 418)
})

t.test('a file is sent whole, in parts, or not again, and streamed', async t => {
  const { get, url } = await openApp(t)
  const whole = await get('/file?name=big.bin')
  t.equal((await whole.arrayBuffer()).byteLength, 3_000_000)
  t.equal(whole.headers.get('content-type'), 'application/octet-stream')
  const etag = whole.headers.get('etag') ?? ''
  t.ok(etag)
  const part = await get('/file?name=big.bin', { range: 'bytes=3-7' })
  t.same([part.status, await part.text(), part.headers.get('content-range')], [206, 'abcab', 'bytes 3-7/3000000'])
  t.equal((await rawRequest(`${url}/file?name=big.bin`, { 'if-none-match': etag })).status, 304)
  t.equal((await get('/file?name=big.bin', { range: 'bytes=4000000-' })).status, 416)
  const head = await get('/file?name=big.bin', {}, 'HEAD')
  t.same([head.headers.get('content-length'), await head.text()], ['3000000', ''])
  const attached = await get('/attached')
  t.same(
    [attached.headers.get('content-disposition'), attached.headers.get('cache-control')],
    ['attachment', 'no-store']
  )
  await attached.arrayBuffer()
  const missing = await get('/missing', { range: 'bytes=0-1' })
  t.same(
    [missing.status, await missing.text(), missing.headers.get('content-type')],
    [404, '<p>gone', 'text/html; charset=utf-8']
  )
  t.equal(await (await get(`/file?name=${encodeURIComponent('sub/ü %2e.txt')}`)).text(), 'odd')
  t.equal(await (await get('/file?name=inside.txt')).text(), 'hello', 'a link within the directory')
})

t.test('no path leaves the public directory', async t => {
  const { get } = await openApp(t)
  const names = [
    '../secret.txt',
    'sub/../../secret.txt',
    '/etc/passwd',
    '..%2fsecret.txt',
    '%2e%2e/secret.txt',
    '..\\secret.txt',
    'link.txt',
    'up/secret.txt',
    'up/public/../secret.txt',
    '.env',
    'a.txt\0.png',
    '',
    '.',
    'sub',
    'absent.txt'
  ]
  for (const name of names) {
    const { status } = await get(`/file?name=${encodeURIComponent(name)}`)
    t.equal(status, 404, JSON.stringify(name))
  }
})

t.test('no value of a header or a redirect begins another header', async t => {
  const { url } = await openApp(t)
  const raw = (path: string) => rawRequest(url + path)
  await fc.assert(
    fc.asyncProperty(
      fc.string({ unit: 'binary', maxLength: 20 }),
      fc.nat(3),
      fc.boolean(),
      async (text, from, isRedirect) => {
        for (const each of [text, `${text}${'\r\n\r\n'.slice(from)}x-injected: 1`]) {
          const path = isRedirect ? `/to?url=${encodeURIComponent(each)}` : `/header?value=${encodeURIComponent(each)}`
          const { status, headers } = await raw(path)
          t.notOk('x-injected' in headers)
          t.ok([200, 302, 400, 500].includes(status), `${status}`)
        }
      }
    ),
    { numRuns: 60 }
  )
})

t.test('wrong parts of a response are errors that name them', t => {
  const message = (expression: string): string => {
    const source = `fn main() { ${expression} }`
    try {
      new Interpreter(programFrom(source), hostOf([])).call('main', [], LIMITS)
      return 'none'
    } catch (error) {
      return (error as Error).message
    }
  }
  t.match(message('Response.text("").with_status(99)'), 'with_status takes a status from 200 to 599, found 99')
  t.match(message('Response.text("").with_header("a b", "")'), /"a b" is not the name of a header/)
  t.match(message('Response.text("").with_header("Content-Length", "1")'), 'content-length cannot be set')
  t.match(message('Response.text("").with_header("set-cookie", "a=b")'), 'use with_cookie')
  t.match(message('Response.text("").with_cookie("a;", "")'), /"a;" is not the name of a cookie/)
  t.match(message('Response.text("").with_cookie("a", "b; Domain=x")'), 'the value of a contains a space')
  t.match(message('Response.text("").with_cookie("a", "b", { path: "/; Secure" })'), 'path contains a semicolon')
  t.match(message('Response.text("").with_cookie("a", "b", { same_site: "any" })'), 'same_site must be')
  t.match(message('Response.redirect("/", 200)'), 'takes a status of 301, 302, 303, 307, 308, found 200')
  t.match(message('Response.bytes([256])'), 'takes ints from 0 to 255, found 256')
  t.end()
})

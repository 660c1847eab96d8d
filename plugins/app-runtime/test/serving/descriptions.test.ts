import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { makeProject } from '../../../../test/e2e/served-project.ts'
import { type App, args, serveApp } from './served-app.ts'

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url))

const SOURCE = `
type Point { x: int
    y: int = 7 }

type Shape =
    | Circle(center: Point, radius: float)
    | Nothing

type Pair[A, B] { first: A
    second: B }

type Tree =
    | Leaf(value: int)
    | Node(left: Tree, right: Tree)

@table
type Note { text: str
    tag: Option[str] }

@query
fn add(a: int, b: int = 5) to int { a + b }

@query
fn same(shape: Shape, tree: Option[Tree]) to Pair[Shape, Option[Tree]] { { first: shape, second: tree } }

@query
fn notes() to List[Note] { db.Note.all() }

@mutation
fn note(text: str, tag: Option[str]) to Result[Note] {
    let id = db.Note.insert({ text: text, tag: tag })?
    if text is "" { return Error("a note needs a text") }
    match db.Note.get(id) { Some(found) => Ok(found)
        None => Error("it is gone") }
}

@server
fn prices(of: List[str]) to Map[str, dec] { { "a": 1.50dec } }

http get "/hello/:name"(name: str, times: int = 1) to str { ("hello " + name).repeat(times) }
http post "/points"(point: Point) to Point { point }

@mcp.tool("greet: Greets a person")
fn greet(name: str, times: int = 1, at: Option[Point]) to str { "hi ".repeat(times) + name }

@mcp.tool("Fails")
fn failing() to Result[int] { Error("on purpose") }

@mcp.resource("vox://texts/a", "A text")
fn a_text() to str { "the text" }

@scheduled("150ms")
fn tick() { std.log.info("the clock ticks") }
`

let app: App
t.before(async () => {
  const folder = makeProject(t as never, {
    'app.vox': SOURCE,
    'public/index.html': '<h1>home</h1>',
    'public/style.css': 'a{}',
    'public/.secret': 'no',
    'secret.txt': 'no'
  })
  app = await serveApp(t as never, '', {}, folder, ['mcp'])
})

interface Document {
  readonly openapi: string
  readonly paths: Record<
    string,
    Record<string, { readonly responses: Record<string, never>; readonly requestBody?: never }>
  >
  readonly components: { readonly schemas: Record<string, object> }
}

t.test('the OpenAPI document has every route, and responses match its schemas', async t => {
  const document = (await app.get('/openapi.json')).body as Document
  t.equal(document.openapi, '3.1.0')
  t.same(Object.keys(document.paths).sort(), [
    '/api/mutation/note',
    '/api/prices',
    '/api/query/add',
    '/api/query/notes',
    '/api/query/same',
    '/hello/{name}',
    '/points'
  ])
  const ajv = new Ajv2020({ strict: false, logger: false })
  ajv.addSchema({ $id: 'https://svc.invalid/openapi', ...document })
  const check = (pointer: string, value: unknown): boolean => {
    const escaped = pointer.replaceAll('~', '~0')
    return ajv.validate({ $ref: `https://svc.invalid/openapi#${escaped}` }, value) as boolean
  }
  const answer = '/responses/200/content/application~1json/schema'.replaceAll('~1', '\u0001')
  const pointer = (path: string, method: string, rest: string): string =>
    `/paths/${path.replaceAll('/', '\u0001')}/${method}${rest}`
      .replaceAll('\u0001', '~1')
      .replaceAll('{', '%7B')
      .replaceAll('}', '%7D')
  const holds = (path: string, method: string, rest: string, value: unknown): boolean =>
    ajv.validate({ $ref: `https://svc.invalid/openapi#${pointer(path, method, rest)}` }, value) as boolean
  t.ok(check('/components/schemas/Point', { x: 1 }))
  t.notOk(check('/components/schemas/Point', { y: 1 }))
  const tree = { _tag: 'Node', left: { _tag: 'Leaf', value: 1 }, right: { _tag: 'Leaf', value: 2 } }
  const shape = { _tag: 'Circle', center: { x: 1, y: 2 }, radius: 1 }
  const same = await app.get(`/api/query/same${args({ shape, tree })}`)
  t.same(same, { status: 200, body: { first: shape, second: tree } })
  t.ok(holds('/api/query/same', 'get', answer, same.body), ajv.errorsText())
  const body = '/requestBody/content/application\u0001json/schema'
  t.ok(holds('/api/mutation/note', 'post', body, { text: 'a' }), ajv.errorsText())
  t.notOk(holds('/api/mutation/note', 'post', body, { tag: 'a' }))
  const note = await app.post('/api/mutation/note', { text: 'a' })
  t.ok(holds('/api/mutation/note', 'post', answer, note.body), ajv.errorsText())
  const refused = await app.post('/api/mutation/note', {})
  t.ok(holds('/api/mutation/note', 'post', '/responses/400/content/application\u0001json/schema', refused.body))
})

const USE = (url: string): string => `
import { ApiError, createClient, type Note, type Shape } from './client.ts'

const client = createClient({ baseUrl: '${url}' })
const shape: Shape = { _tag: 'Circle', center: { x: 1, y: 2 }, radius: 0.5 }
const results: unknown[] = []
results.push(await client.add(1), await client.add(1, 2))
const pair = await client.same(shape, { _tag: 'Leaf', value: 3 })
const first: Shape = pair.first
results.push(first, pair.second)
const note: Note = await client.note('x', 'y')
results.push(note.tag, (await client.prices(['a'])).a)
results.push(await client.get_hello_name('a b/c', 2), await client.post_points({ x: 1, y: 7 }))
try {
  await client.note('')
} catch (error) {
  if (error instanceof ApiError) results.push(error.status, error.code, error.message)
}
// @ts-expect-error a string is not an int
client.add('1').catch(() => undefined)
console.log(JSON.stringify(results))
`

t.test('the client passes strict type checks, and calls its routes', async t => {
  const client = (await app.get('/api/client.ts')).body as string
  const command = spawnSync(process.execPath, [join(ROOT, 'kernel/bin/svc.cjs'), 'client', 'app.vox'], {
    cwd: app.folder,
    encoding: 'utf8'
  })
  t.equal(command.stdout, client, 'svc client writes the same client')
  const folder = t.testdir({ 'client.ts': client, 'use.ts': USE(app.app) })
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({
      compilerOptions: {
        strict: true,
        noUncheckedIndexedAccess: true,
        exactOptionalPropertyTypes: true,
        noUnusedLocals: true,
        noEmit: true,
        module: 'nodenext',
        target: 'es2023',
        lib: ['es2023', 'dom'],
        types: [],
        allowImportingTsExtensions: true
      },
      files: ['use.ts', 'client.ts']
    })
  )
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  mkdirSync(join(folder, 'node_modules'))
  for (const name of ['tsx', 'typescript']) {
    symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name))
  }
  // Without the test runner's hooks, which child processes inherit and which cannot load tsc.
  const tsc = ['-u', 'NODE_OPTIONS', process.execPath, join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', folder]
  const checked = spawnSync('env', tsc, { encoding: 'utf8' })
  t.same([checked.status, checked.stdout], [0, ''], 'tsc reports no errors')
  const ran = spawnSync(process.execPath, ['--import', 'tsx', 'use.ts'], { cwd: folder, encoding: 'utf8' })
  t.equal(ran.stderr, '')
  t.same(JSON.parse(ran.stdout), [
    6,
    3,
    { _tag: 'Circle', center: { x: 1, y: 2 }, radius: 0.5 },
    { _tag: 'Leaf', value: 3 },
    'y',
    '1.50',
    'hello a b/chello a b/c',
    { x: 1, y: 7 },
    500,
    'RUN_REFUSED',
    'a note needs a text'
  ])
})

t.test('tools and resources appear in the MCP surface', async t => {
  const send = async (method: string, params: object): Promise<{ result?: Record<string, never>; error?: unknown }> => {
    const response = await fetch(`${app.url}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(session === '' ? {} : { 'mcp-session-id': session })
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    })
    session = response.headers.get('mcp-session-id') ?? session
    const text = await response.text()
    return JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text) as never
  }
  let session = ''
  const capabilities = { protocolVersion: '2025-03-26', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
  await send('initialize', capabilities)
  const { result } = await send('tools/list', {})
  const tools = result?.tools as unknown as { name: string; description: string; inputSchema: unknown }[]
  t.match(
    tools.find(({ name }) => name === 'greet'),
    {
      description: 'Greets a person',
      inputSchema: {
        type: 'object',
        properties: { name: { type: 'string' }, times: { type: 'integer' }, at: { anyOf: [{}, { type: 'null' }] } },
        required: ['name']
      }
    }
  )
  const call = async (name: string, given: object): Promise<unknown> =>
    (await send('tools/call', { name, arguments: given })).result
  t.match(await call('greet', { name: 'you', times: 2 }), { content: [{ type: 'text', text: 'hi hi you' }] })
  t.match(await call('failing', {}), { isError: true, content: [{ type: 'text', text: 'on purpose' }] })
  t.match(await send('resources/read', { uri: 'vox://texts/a' }), {
    result: { contents: [{ uri: 'vox://texts/a', mimeType: 'text/plain', text: 'the text' }] }
  })
})

t.test('functions with @scheduled run repeatedly', async t => {
  const before = app.lines.length
  await app.line(/the clock ticks/, before)
  await app.line(/the clock ticks/, app.lines.length)
  t.pass('twice')
})

t.test('only files in public are sent, and index.html for pages', async t => {
  t.same(await app.get('/style.css'), { status: 200, body: 'a{}' })
  for (const page of ['/', '/some/page', '/index.html']) {
    t.same(await app.get(page), { status: 200, body: '<h1>home</h1>' }, page)
  }
  for (const path of ['/api/none', '/none.png', '/%2e%2e/secret.txt', '/..%2fsecret.txt', '/.secret.css', '/app.vox']) {
    t.match(await app.get(path), { status: 404 }, path)
  }
  const head = await fetch(`${app.app}/style.css`, { method: 'HEAD' })
  t.equal(head.headers.get('content-length'), '3')
  const tag = head.headers.get('etag') ?? ''
  // fetch adds no-cache to a request with an ETag.
  const again = get(`${app.app}/style.css`, { headers: { 'if-none-match': tag } })
  const [{ statusCode }] = (await once(again, 'response')) as [IncomingMessage]
  t.equal(statusCode, 304)
})

import { once } from 'node:events'
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { readSources } from '#root'
import { v0Health } from '#web'
import { build, filesIn } from './building.ts'

async function built(t: Test, source: string, others: Record<string, string> = {}, settings = {}) {
  const folder = t.testdir({ 'app.vox': source, ...others })
  const out = join(folder, 'web')
  const ran = await build(join(folder, 'app.vox'), out, {}, settings)
  return { ...ran, folder: out, files: existsSync(out) ? filesIn(out) : {} }
}

async function listen(t: Test, answer: (request: IncomingMessage, body: string) => [number, string]): Promise<string> {
  const server: Server = createServer((request, response) => {
    text(request).then(body => {
      const [status, content] = answer(request, body)
      response.writeHead(status, { 'content-type': 'application/json' }).end(content)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

t.test('the client sends JSON as a sorted query or as a body, and returns the result', async t => {
  const source = `
type Shape =
    | Dot
    | Round(radius: float)

@query
fn find(word: str, after: int = 0, shape: Shape) to List[str] { [word] }

@mutation
fn add(word: str, note: Option[str]) to Result[int] { Ok(1) }

@server
fn nothing() to Unit { Unit }
`
  const { folder } = await built(t, source)
  const seen: unknown[] = []
  const url = await listen(t, (request, body) => {
    seen.push([request.method, request.url, body, request.headers.authorization])
    if (request.url === '/api/nothing') return [200, 'null']
    return request.method === 'GET' ? [200, '["a"]'] : [200, '7']
  })
  const client = await import(join(folder, 'vox-client.ts'))
  client.voxClient.baseUrl = url
  let changes = 0
  client.voxClient.onChange.add(() => changes++)
  t.same(await client.find('ä&b', undefined, { _tag: 'Dot' }), ['a'])
  t.equal(changes, 0)
  client.voxClient.headers.authorization = 'Bearer x'
  t.equal(await client.add('w', null), 7)
  t.equal(await client.nothing(), null)
  t.equal(changes, 2)
  const shape = encodeURIComponent('{"_tag":"Dot"}')
  t.same(seen, [
    ['GET', `/api/query/find?shape=${shape}&word=${encodeURIComponent('"ä&b"')}`, '', undefined],
    ['POST', '/api/mutation/add', '{"word":"w","note":null}', 'Bearer x'],
    ['POST', '/api/nothing', '{}', 'Bearer x']
  ])
})

t.test('the client calls routes as declared', async t => {
  const source = `
type Point { x: int
    y: int = 7 }

http get "/items/:id"(id: int, limit: int = 10, q: Option[str]) to List[str] { [] }
http post "/it's/:name"(point: Point) to Point { point }
http put "/raw" to str { request.text() }
http post "/raw" (a: int, b: Option[str]) to str { "" }
http delete "/items/:id"(id: int, now: bool) to Unit { Unit }
http get "/items_id" to int { 1 }
http get "/all/of/*" to int { 1 }
`
  const { folder } = await built(t, source)
  const seen: unknown[] = []
  const url = await listen(t, (request, body) => {
    seen.push([request.method, request.url, body, request.headers['content-type']])
    return [200, 'null']
  })
  const { createClient } = await import(join(folder, 'vox-client.ts'))
  const sent: string[] = []
  const client = createClient({
    baseUrl: url,
    fetch: (...args: Parameters<typeof fetch>) => {
      sent.push(String(args[0]))
      return fetch(...args)
    }
  })
  await client.get_items_id(7, undefined, 'a&b')
  await client.post_it_s_name('a/b', { x: 1, y: 2 })
  await client.put_raw({ any: ['thing'] })
  await client.put_raw()
  await client.post_raw(1, null)
  await client.delete_items_id(3, true)
  await client.get_items_id_2()
  await client.get_all_of()
  const json = 'application/json'
  t.same(seen, [
    ['GET', '/items/7?q=a%26b', '', undefined],
    ['POST', "/it's/a%2Fb", '{"x":1,"y":2}', json],
    ['PUT', '/raw', '{"any":["thing"]}', json],
    ['PUT', '/raw', '', undefined],
    ['POST', '/raw', '{"a":1,"b":null}', json],
    ['DELETE', '/items/3?now=true', '', undefined],
    ['GET', '/items_id', '', undefined],
    ['GET', '/all/of/*', '', undefined]
  ])
  t.equal(sent.length, seen.length, 'the client uses the passed fetch')
})

t.test('program functions may have names that the client uses', async t => {
  const names = ['Object', 'Set', 'String', 'JSON', 'Promise', 'fetch', 'URL', 'Error', 'Array', 'encodeURIComponent']
  const reserved = ['undefined', 'globalThis', 'voxClient']
  const functions = [...names, ...reserved].map(name => `@mutation\nfn ${name}(a: str) to str { a }\n`)
  const { folder } = await built(
    t,
    `${functions.join('')}http get "/:String/x"(String: str, JSON: int) to str { String }`
  )
  const seen: string[] = []
  const url = await listen(t, (request, body) => {
    seen.push(`${request.url} ${body}`)
    return [200, '"b"']
  })
  const client = await import(join(folder, 'vox-client.ts'))
  client.voxClient.baseUrl = url
  for (const name of names) t.equal(await client[name]('a'), 'b', name)
  for (const name of reserved) t.equal(await client[`${name}_`]('a'), 'b', name)
  t.equal(await client.createClient({ baseUrl: url }).get_String_x('a b', 5), 'b')
  const called = [...names, ...reserved].map(name => `/api/mutation/${name} {"a":"a"}`)
  t.same(seen, [...called, '/a%20b/x?JSON=5 '])
})

t.test('a failed call throws an ApiError with its status and code', async t => {
  const { folder } = await built(t, '@query\nfn a() to int { 1 }\n@mutation\nfn b() to int { 1 }\n')
  const answers: [number, string][] = [
    [500, '{"error": "no room", "code": "FULL"}'],
    [502, '<html>'],
    [200, '<html>'],
    [404, '']
  ]
  const url = await listen(t, () => answers.shift() as [number, string])
  const { a, ApiError, b, createClient, voxClient } = await import(join(folder, 'vox-client.ts'))
  voxClient.baseUrl = url
  let changes = 0
  voxClient.onChange.add(() => changes++)
  await t.rejects(b(), { name: 'ApiError', message: 'no room', status: 500, code: 'FULL' })
  t.equal(changes, 0, 'a failed call does not notify of changes')
  await t.rejects(a(), { message: '/api/query/a returned status 502', status: 502, code: null, body: '<html>' })
  await t.rejects(a(), { message: '/api/query/a returned status 200', status: 200 })
  await t.rejects(a(), { status: 404, message: '/api/query/a returned status 404' })
  voxClient.baseUrl = 'http://127.0.0.1:1'
  const failed = await a().catch((error: unknown) => error)
  t.ok(failed instanceof ApiError)
  t.match(failed, { status: 0, message: '/api/query/a at http://127.0.0.1:1 cannot be reached: bad port' })
  const refused = Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' })
  const because = (cause?: Error) => ({
    baseUrl: 'http://b',
    fetch: () => Promise.reject(new TypeError('fetch failed', { cause }))
  })
  const prefix = '/api/query/a at http://b cannot be reached: '
  await t.rejects(createClient(because(new Error('connect ECONNREFUSED ::1:3000'))).a(), {
    message: `${prefix}connect ECONNREFUSED ::1:3000`
  })
  await t.rejects(createClient(because(refused)).a(), { message: `${prefix}ECONNREFUSED` })
  await t.rejects(createClient(because()).a(), { message: `${prefix}TypeError: fetch failed` })
})

t.test('state machines follow their transitions and know their final states', async t => {
  const { folder } = await built(t, readFileSync(new URL('rich.vox', import.meta.url), 'utf8'))
  const { isOrderDone, nextOrder, Order } = await import(join(folder, 'state_machines.ts'))
  const paid = nextOrder(Order.Open, { _tag: 'pay', amount: 5 })
  t.same(paid, { _tag: 'Paid', amount: 5 })
  t.same(nextOrder(paid, { _tag: 'ship', carrier: 'c' }), { _tag: 'Shipped', carrier: 'c', amount: 5 })
  t.equal(nextOrder(Order.Open, { _tag: 'ship', carrier: 'c' }), null)
  t.same(nextOrder(paid, { _tag: 'cancel' }), Order.Cancelled)
  t.ok(isOrderDone(Order.Cancelled))
  t.notOk(isOrderDone(paid))
})

t.test('addresses encode their parameters', async t => {
  const { folder } = await built(t, 'url U {\n home\n task_list(owner: str, ?tab: str, ?page: int)\n}\n')
  const { U } = await import(join(folder, 'urls.ts'))
  t.equal(U.home(), '/')
  t.equal(U.task_list('a/b'), '/task-list/a%2Fb')
  t.equal(U.task_list('x', undefined, 2), '/task-list/x?page=2')
  t.equal(U.task_list('x', 'a&b', 2), '/task-list/x?tab=a%26b&page=2')
})

t.test('activities call their implementation, and throw without one', async t => {
  const { folder } = await built(t, 'activity pay(amount: int) to Result[str] { Ok("paid") }\n')
  const { bindActivities, pay } = await import(join(folder, 'activities.ts'))
  await t.rejects(pay(1), { message: 'the activity pay has no implementation: call bindActivities first' })
  bindActivities({ pay: async (amount: number) => ({ _tag: 'Ok', value: `${amount}` }) })
  t.same(await pay(3), { _tag: 'Ok', value: '3' })
})

t.test('tokens become CSS variables, and a token that is not a single value is rejected', async t => {
  const program = 'fn main() { print("a") }\n'
  const tokens = {
    color: { brand: '#06c', textOnBrand: { $value: '#fff', $type: 'color' }, link: '{color.brand}' },
    space: { 2: 8, large: { value: '2rem' } }
  }
  const { files } = await built(t, program, { 'vox.tokens.json': JSON.stringify(tokens) })
  t.equal(
    files['vox-tokens.css'],
    `/* Generated from vox.tokens.json by svc build; the next build overwrites it. */

:root {
  --color-brand: #06c;
  --color-text-on-brand: #fff;
  --color-link: var(--color-brand);
  --space-2: 8;
  --space-large: 2rem;
}
`
  )
  for (const [text, why] of [
    ['{', 'has invalid design tokens'],
    ['[1]', 'the document is not an object'],
    ['{"a": "red; } body { display: none"}', 'a has a character that CSS values cannot have'],
    ['{"a": {"b": [1]}}', 'a.b is not a string or a number']
  ] as const) {
    const { code, err } = await built(t, program, { 'vox.tokens.json': text })
    t.equal(code, 1)
    t.match(err, why)
  }
})

t.test('a program may declare tokens in addition to those of the file', async t => {
  const source = '@tokens Color { brandDark: "#036" half: 0.5 }\n@tokens { gap: "calc({space.2} * 2)" }\n'
  const { files } = await built(t, source, { 'vox.tokens.json': '{"space": {"2": "8px"}}' })
  t.match(files['vox-tokens.css'], ':root {\n  --space-2: 8px;\n  --color-brand-dark: #036;\n  --color-half: 0.5;\n')
  t.match(files['vox-tokens.css'], '  --gap: calc(var(--space-2) * 2);\n}')
  t.match(files['tokens.ts'], "  'color-brand-dark': 'var(--color-brand-dark)',\n")
  for (const value of ['"red; } *"', 'print("a")', '[1]']) {
    t.match((await built(t, `@tokens { a: ${value} }\n`)).err, 'error[web.token_value]')
  }
})

t.test('each environment becomes a Dockerfile', async t => {
  const source = `env small {
    base "alpine:3.22"
    packages ["git"]
    env GREETING = "a \\"b\\""
    run "echo hi"
    volumes ["/data"]
    cmd "svc run app.vox"
}

env plain {
    expose [3000, 3001]
}
`
  const { files } = await built(t, source)
  const head = '# Generated from app.vox by svc build; the next build overwrites it.\n'
  t.equal(
    files['Dockerfile.small'],
    `${head}FROM alpine:3.22
RUN apk add --no-cache git
ENV GREETING="a \\"b\\""
RUN echo hi
VOLUME ["/data"]
CMD svc run app.vox
`
  )
  t.equal(files['Dockerfile.plain'], `${head}FROM debian:stable-slim\nEXPOSE 3000\nEXPOSE 3001\n`)
})

t.test('pages that refer to missing declarations are reported', async t => {
  const parts =
    '@query\nfn rows() to List[int] { [1] }\n@mutation\nfn write() to int { 1 }\ncomponent Page(n: int) { view: <p>"a"</p> }\n'
  for (const [routes, code] of [
    ['"/" to Nowhere', 'web.route.unknown_component'],
    ['"/" to Page with loader: write', 'web.route.unknown_loader'],
    ['"/:n" to Page with pending: Nowhere', 'web.route.unknown_component'],
    ['"/" to Page', 'web.route.missing_property'],
    ['"/" to Page with loader: rows', 'typecheck.prop'],
    ['"/:n" to Page with speed: rows', 'web.route.unknown_option'],
    ['not_found: Nowhere', 'web.route.unknown_component']
  ] as const) {
    const { code: exit, err, folder } = await built(t, `${parts}routes { ${routes} }\n`)
    t.equal(exit, 1, routes)
    t.match(err, `error[${code}]`, routes)
    t.notOk(existsSync(folder), routes)
  }
  const holds = 'state_machine M {\n state A\n state B(n: int)\n on go from A -> B\n}\n'
  t.match((await built(t, holds)).err, 'error[web.machine.missing_value]')
})

t.test('the build re-exports React modules next to the program', async t => {
  const source =
    'import react Chart from "./ui/chart"\nimport react Dot from "./ui/chart"\ncomponent P() { view: <Chart /> }\n'
  const there = { ui: { 'chart.tsx': 'export function Chart() {\n  return null\n}\nexport const Dot = Chart\n' } }
  const { files, err } = await built(t, source, there as never)
  t.match(files['ui/chart.ts'], "\nexport { Chart, Dot } from '../../ui/chart'\n")
  t.match(files['P.tsx'], "import { Chart } from './ui/chart'")
  t.notMatch(err, 'warning')
  const missing = await built(t, source)
  t.equal(missing.code, 0)
  t.match(missing.err, 'warning[web.missing_module]')
  t.notOk(missing.files['ui/chart.ts'])
})

t.test('a component with @v0 from re-exports the file next to the program', async t => {
  const source = '@v0 from "./Card.tsx" Card { title: str }\n@v0 from "@/ui/badge" Badge { text: str }\n'
  const { files } = await built(t, source, { 'Card.tsx': 'export const Card = () => null\n' })
  t.match(files['Card.tsx'], "\nexport { Card } from '../Card'\n")
  t.match(files['Badge.tsx'], "\nexport { Badge } from '@/ui/badge'\n")
})

const V0 = '@v0 "abc" Card { title: str }\n'

t.test('components from v0 are fetched once from the configured URL', async t => {
  const card = 'export function Card({ title }: { title: string }) {\n  return <p>{title}</p>\n}\n'
  const asked: (string | undefined)[] = []
  const url = await listen(t, ({ url: path }) => {
    asked.push(path)
    return [200, JSON.stringify({ name: 'card', files: [{ path: 'card.tsx', content: card }] })]
  })
  const { folder, files } = await built(t, V0, {}, { v0ApiUrl: `${url}/registry/` })
  t.equal(files['Card.tsx'], card)
  t.same(asked, ['/registry/abc'])
  writeFileSync(join(folder, 'Card.tsx'), `${card}// mine\n`)
  await build(join(folder, '..', 'app.vox'), folder, {}, { v0ApiUrl: url })
  t.equal(asked.length, 1)
  t.match(filesIn(folder)['Card.tsx'], '// mine')
})

t.test('without a URL nothing is fetched; with one the module replaces the placeholder', async t => {
  const { folder, files } = await built(t, V0)
  t.match(files['Card.tsx'], 'export function Card')
  t.match(files['Card.tsx'], 'data-v0')
  const url = await listen(t, () => [200, 'export const Card = () => null\n'])
  await build(join(folder, '..', 'app.vox'), folder, {}, { v0ApiUrl: url })
  t.equal(filesIn(folder)['Card.tsx'], 'export const Card = () => null\n')
})

t.test('a component that cannot be fetched or has another name fails the build', async t => {
  for (const [answer, code] of [
    [[404, ''], 'status 404'],
    [[200, 'export default function Other() {}'], 'does not export `Card`'],
    [[200, '{"files": []}'], 'is a registry item without a file']
  ] as const) {
    const url = await listen(t, () => [...answer])
    const { code: exit, err, folder } = await built(t, V0, {}, { v0ApiUrl: url })
    t.equal(exit, 1)
    t.match(err, code)
    t.notOk(existsSync(folder))
  }
  t.match((await built(t, V0, {}, { v0ApiUrl: 'http://127.0.0.1:1' })).err, 'cannot be fetched')
})

t.test('a build reports v0 components without an export of their name', async t => {
  const parts = {
    parts: { 'Card.tsx': 'export { Other as Card } from "./other"\n', 'Badge.tsx': 'export default 1\n' }
  }
  const source = `${V0}@v0 "b" Badge { text: str }\n@v0 "c" Chip { text: str }\n`
  const folder = t.testdir({ 'app.vox': source, ...parts })
  const webTsOut = join(folder, 'parts')
  const { code, err } = await build(join(folder, 'app.vox'), join(folder, 'web'), {}, { webTsOut })
  t.equal(code, 0)
  t.match(err, `warning[web.v0_export]: ${join(webTsOut, 'Badge.tsx')} does not export \`Badge\``)
  t.match(err, `warning[web.v0_export]: ${join(webTsOut, 'Chip.tsx')} is missing`)
  t.notMatch(err, 'Card')
  const read = (paths: readonly string[]) => readSources(paths, false)
  t.match(await v0Health(folder, 'parts', read), {
    status: 'degraded',
    detail: /Badge\.tsx does not export .*, and 1 more/
  })
  writeFileSync(join(folder, 'app.vox'), V0)
  t.same(await v0Health(folder, 'parts', read), { status: 'ok', detail: 'all @v0 components are in parts' })
})

t.test('the contract and the OpenAPI document name every route', async t => {
  const folder = t.testdir({})
  copyFileSync(new URL('rich.vox', import.meta.url), join(folder, 'rich.vox'))
  await build(join(folder, 'rich.vox'), join(folder, 'web'))
  const files = filesIn(join(folder, 'web'))
  const contract = JSON.parse(files['vox-app-contract.json'] ?? '')
  t.equal(contract.schema_version, 2)
  t.same(contract.mutation_fns[0], {
    name: 'add_note',
    route_path: '/api/mutation/add_note',
    params: [
      { name: 'title', type: 'string', required: true },
      { name: 'body', type: 'string | null', required: false }
    ],
    return_type: 'Result<number>',
    method: 'POST',
    wraps_db_transaction: true
  })
  t.same(
    contract.client_routes.routes[1].children.map(({ path }: { path: string }) => path),
    ['/notes/:id', '/notes/search', '/notes/plot']
  )
  t.same(contract.islands, [
    {
      name: 'Chart',
      props: [
        { name: 'values', required: true },
        { name: 'label', required: false }
      ]
    }
  ])
  t.same(contract.server_config, {
    bind_host: '127.0.0.1',
    default_port: 3000,
    port_env_var: 'SVC_PORT',
    dev_proxy_env_var: 'SVC_SSR_DEV_URL',
    static_assets_embed_dir: 'public/'
  })
  const { openapi, paths, components } = JSON.parse(files['openapi.json'] ?? '')
  t.equal(openapi, '3.1.0')
  t.same(Object.keys(paths), [
    '/api/query/notes',
    '/api/query/note',
    '/api/query/page',
    '/api/query/delete',
    '/api/mutation/add_note',
    '/api/mutation/remove_note',
    '/api/mutation/touch',
    '/api/describe',
    '/api/anything',
    '/feeds/{name}',
    '/hooks/{id}'
  ])
  t.same(components.schemas.Kind.oneOf[1], {
    type: 'object',
    properties: { _tag: { const: 'Todo' }, due: { type: 'string' }, done: { type: 'boolean' } },
    required: ['_tag', 'due', 'done'],
    additionalProperties: false
  })
})

t.test('the client sends a text of an address that is no int as it is, so that the refusal names it', async t => {
  const { folder } = await built(
    t,
    `
@query
fn item(id: int) to str { str(id) }

component Item(item: str) { view: <p>{item}</p> }

routes { "/items/:id" to Item with (loader: item) }
`
  )
  const { $int } = await import(join(folder, 'vox-client.ts'))
  t.same(['12', '-3', '9007199254740993', '1.5', 'x1', undefined].map($int), [
    12,
    -3,
    9_007_199_254_740_993n,
    '1.5',
    'x1',
    Number.NaN
  ])
})

import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { type BodyOptions, type RanBody, runBody } from './run-body.ts'

async function served(t: Test, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function execute(
  body: string,
  { capabilities = ['net', 'process'], ...options }: Partial<BodyOptions> = {}
): Promise<RanBody> {
  return runBody(body, { capabilities, ...options })
}

t.test('programs call other servers, and get the response body', async t => {
  const url = await served(t, (request, response) => {
    let body = ''
    request.on('data', chunk => {
      body += chunk
    })
    request.on('end', () => response.end(`${request.method} ${request.headers['content-type'] ?? '-'} ${body} ü`))
  })
  const { lines, ending, failures } = await execute(`
    print(std.http.get_text("${url}/").unwrap())
    print(std.http.post_json("${url}/", { a: [1, 9223372036854775807] }).unwrap())
    print(HTTP.post_json("${url}/", "[1]").unwrap())
    print(std.http.post_json("${url}/", "no JSON").unwrap())`)
  t.same(ending, { ok: true, outcome: { refused: null, exit: null } })
  t.same(lines, [
    'GET -  ü',
    'POST application/json {"a":[1,9223372036854775807]} ü',
    'POST application/json [1] ü',
    'POST application/json "no JSON" ü'
  ])
  t.same(failures, [])
})

t.test('an error status and a missing response are Errors', async t => {
  const url = await served(t, (_request, response) => response.writeHead(418).end('I am a teapot'))
  const { lines } = await execute(`
    print(std.http.get_text("${url}/pot"))
    print(std.http.get_text("http://127.0.0.1:1/?token=hidden"))
    print(std.http.get_text("file:///etc/passwd"))`)
  t.equal(lines[0], `Error(${url}/pot: HTTP status 418: I am a teapot)`)
  t.match(lines[1], /^Error\(http:\/\/127\.0\.0\.1:1\/: /)
  t.notMatch(lines[1], /hidden/)
  t.match(lines[2], /^Error\(file:\/\/\/etc\/passwd: not an HTTP URL\)$/)
})

t.test('a response larger than 32 MiB is an error', async t => {
  const url = await served(t, (_request, response) => {
    const piece = Buffer.alloc(2 ** 20, 'x')
    const write = (): void => {
      while (!response.destroyed && response.write(piece));
    }
    response.on('drain', write)
    write()
  })
  const { lines } = await execute(`    print(std.http.get_text("${url}/"))`)
  t.match(lines[0], /the response is larger than 33554432 bytes/)
})

t.test('a program disconnects from a slow server at its time limit', async t => {
  let gone: () => void = () => undefined
  const hungUp = new Promise<void>(resolve => {
    gone = resolve
  })
  const url = await served(t, request => void request.on('close', () => gone()))
  const { ending } = await execute(`    print(std.http.get_text("${url}/"))`, { milliseconds: 3000 })
  t.match(ending, { ok: false, failure: { code: 'RUN_TIME_LIMIT' } })
  await hungUp
})

t.test('a program exits with a code, after its exit commands', async t => {
  const folder = t.testdir({})
  const { ending } = await execute(`
    std.process.register_exit_command("touch", ["${folder}/ended"])
    std.process.exit(7)
    print("not reached")`)
  t.same(ending, { ok: true, outcome: { refused: null, exit: 7 } })
  t.ok(existsSync(`${folder}/ended`))
})

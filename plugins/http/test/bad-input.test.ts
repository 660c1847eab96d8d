import { httpRoutes } from '@svc/contracts'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import type { FastifyInstance } from 'fastify'
import tap, { type Test } from 'tap'
import { things } from './echo.ts'
import { type Envelope, openWorld, parseResponse, sendBytes, sendRequest } from './world.ts'

const LIMIT = 50_000

/** Plugin with a raw route, which parses bodies under the same rules. */
const raw = definePlugin({
  name: 'raw',
  activate(ctx) {
    ctx.contribute(httpRoutes, {
      routes: [{ method: 'POST', path: '/raw' }],
      register(app) {
        const scope = app as FastifyInstance
        scope.post('/raw', async request => request.body)
      }
    })
  }
}) as Plugin

const JSON_HEADER = 'content-type: application/json'

tap.test('bad input', async tap => {
  const world = await openWorld([things, raw], { body_limit_bytes: LIMIT })
  tap.teardown(() => world.close())
  const port = world.port()

  const refused = async (
    tap: Test,
    answer: Promise<string>,
    status: number,
    code: string
  ): Promise<Envelope['error']> => {
    const response = parseResponse(await answer)
    const { error } = JSON.parse(response.body) as Envelope
    tap.equal(response.status, status)
    tap.equal(error.code, code)
    tap.ok(
      response.head.includes(`x-request-id: ${error.request_id.toLowerCase()}`),
      'the header x-request-id has the same id'
    )
    return error
  }
  const post = (body: string | Buffer, headers = [JSON_HEADER], path = '/v1/things'): Promise<string> =>
    sendRequest(port, `POST ${path}`, headers, body)

  for (const path of ['/v1/things', '/raw']) {
    tap.test(`bodies of ${path}`, async tap => {
      tap.test('malformed JSON', async tap => {
        await refused(tap, post('{"title":', [JSON_HEADER], path), 400, 'HTTP_BODY_INVALID')
        await refused(tap, post('{"title":"a",}', [JSON_HEADER], path), 400, 'HTTP_BODY_INVALID')
      })
      tap.test('bytes that are not UTF-8', async tap => {
        const body = Buffer.concat([Buffer.from('{"title":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}')])
        await refused(tap, post(body, [JSON_HEADER], path), 400, 'HTTP_BODY_NOT_UTF8')
      })
      tap.test('a duplicate key in an object', async tap => {
        const error = await refused(
          tap,
          post('{"title":"a","title":"b"}', [JSON_HEADER], path),
          400,
          'HTTP_BODY_INVALID'
        )
        tap.match(error.message, /"title" appears twice/)
        await refused(tap, post('{"title":"a","\\u0074itle":"b"}', [JSON_HEADER], path), 400, 'HTTP_BODY_INVALID')
      })
      tap.test('keys that would change a prototype', async tap => {
        await refused(tap, post('{"__proto__":{"admin":true}}', [JSON_HEADER], path), 400, 'HTTP_BODY_INVALID')
        const nested = '{"title":"a","x":{"constructor":{"prototype":{"a":1}}}}'
        await refused(tap, post(nested, [JSON_HEADER], path), 400, 'HTTP_BODY_INVALID')
      })
      tap.test('nesting that would overflow the stack', async tap => {
        const error = await refused(
          tap,
          post('['.repeat(20_000) + ']'.repeat(20_000), [JSON_HEADER], path),
          400,
          'HTTP_BODY_INVALID'
        )
        tap.match(error.message, /nested deeper than 500/)
      })
      tap.test('a content type that is not JSON', async tap => {
        for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', ';;;']) {
          await refused(tap, post('{}', [`content-type: ${type}`], path), 415, 'HTTP_MEDIA_TYPE')
        }
        await refused(tap, post('{}', [], path), 415, 'HTTP_MEDIA_TYPE')
      })
      tap.test('a body above the limit, with and without content-length', async tap => {
        const large = `{"title":"${'x'.repeat(LIMIT)}"}`
        await refused(tap, post(large, [JSON_HEADER], path), 413, 'HTTP_BODY_TOO_LARGE')
        const chunk = `${large.length.toString(16)}\r\n${large}\r\n0\r\n\r\n`
        const head = `POST ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n${JSON_HEADER}\r\n`
        await refused(
          tap,
          sendBytes(port, `${head}transfer-encoding: chunked\r\n\r\n`, chunk),
          413,
          'HTTP_BODY_TOO_LARGE'
        )
      })
    })
  }

  tap.test('after a rejected 10 MB body, the client reads the response and reuses its connection', async tap => {
    const large = Buffer.alloc(10_000_000, 'x')
    const head = `POST /v1/things HTTP/1.1\r\nhost: localhost\r\n${JSON_HEADER}\r\ncontent-length: ${large.length}\r\n\r\n`
    const next = 'GET /v1/things/7 HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n'
    const answers = await sendBytes(port, head, large, next)
    tap.match(answers, /^HTTP\/1.1 413 /)
    tap.match(answers, /HTTP\/1.1 200 OK/)
  })

  tap.test('a compressed body', tap =>
    refused(tap, post('{}', [JSON_HEADER, 'content-encoding: gzip']), 415, 'HTTP_MEDIA_TYPE').then(() => {})
  )

  tap.test('input that does not match the schema of the operation', async tap => {
    const error = await refused(tap, post('{"title":5}'), 400, 'OPR_INPUT_INVALID')
    tap.match(error.message, /title must be string/)
    await refused(tap, post('{"titel":"a"}'), 400, 'OPR_INPUT_INVALID')
    await refused(tap, post('[1,2]'), 400, 'OPR_INPUT_INVALID')
    await refused(tap, post('null'), 400, 'OPR_INPUT_INVALID')
    await refused(tap, sendRequest(port, 'GET /v1/things/7?limit=many'), 400, 'OPR_INPUT_INVALID')
    await refused(tap, sendRequest(port, 'GET /v1/things/7?limit=1&limit=2'), 400, 'OPR_INPUT_INVALID')
    await refused(tap, sendRequest(port, 'GET /v1/things/7?unknown=1'), 400, 'OPR_INPUT_INVALID')
    const put = (path: string) => sendRequest(port, `PUT ${path}`, [JSON_HEADER], '{"title":"a"}')
    await refused(tap, put('/v1/shelves/third'), 400, 'OPR_INPUT_INVALID')
  })

  tap.test('a field in two places, or in the wrong place', async tap => {
    const put = (path: string, body: string) => sendRequest(port, `PUT ${path}`, [JSON_HEADER], body)
    await refused(tap, put('/v1/shelves/3', '{"shelf":4,"title":"a"}'), 400, 'HTTP_BODY_UNEXPECTED')
    await refused(tap, put('/v1/shelves/3?title=b', '{"title":"a"}'), 400, 'HTTP_QUERY_INVALID')
    await refused(tap, sendRequest(port, 'GET /v1/things/7?id=8'), 400, 'HTTP_QUERY_INVALID')
    await refused(tap, sendRequest(port, 'DELETE /v1/things/7', [JSON_HEADER], '{}'), 400, 'HTTP_BODY_UNEXPECTED')
    await refused(tap, sendRequest(port, 'GET /v1/things/7', [JSON_HEADER], '{}'), 400, 'HTTP_BODY_UNEXPECTED')
  })

  tap.test('a query that cannot be read', async tap => {
    await refused(tap, sendRequest(port, 'GET /v1/things/7?filter=%7Bbroken'), 400, 'HTTP_QUERY_INVALID')
    await refused(tap, sendRequest(port, 'GET /v1/things/7?__proto__=1'), 400, 'HTTP_QUERY_INVALID')
  })

  tap.test('paths that cannot be decoded or are too long', async tap => {
    await refused(tap, sendRequest(port, 'GET /%zz'), 400, 'HTTP_PATH_INVALID')
    await refused(tap, sendRequest(port, 'GET /v1/things/%ff'), 400, 'HTTP_PATH_INVALID')
    await refused(tap, sendRequest(port, `GET /v1/things/${'x'.repeat(9000)}`), 414, 'HTTP_PATH_TOO_LONG')
    await refused(tap, sendRequest(port, `GET /v1/things/${'x'.repeat(20_000)}`), 431, 'HTTP_HEADERS_TOO_LARGE')
  })

  tap.test('unknown paths and methods', async tap => {
    await refused(tap, sendRequest(port, 'GET /nowhere'), 404, 'HTTP_NOT_FOUND')
    await refused(tap, sendRequest(port, 'GET /v1/things/'), 404, 'HTTP_NOT_FOUND')
    await refused(tap, sendRequest(port, 'OPTIONS /nowhere'), 404, 'HTTP_NOT_FOUND')
    const response = parseResponse(await sendRequest(port, 'PATCH /v1/things/7'))
    tap.equal(response.status, 405)
    tap.match(response.head, /allow: get, delete, head, options/)
    await refused(tap, sendRequest(port, 'TRACE /v1/things/7'), 405, 'HTTP_METHOD_NOT_ALLOWED')
  })

  tap.test('bytes that are not HTTP', async tap => {
    await refused(tap, sendBytes(port, 'how do you do\r\n\r\n'), 400, 'HTTP_MALFORMED')
    await refused(tap, sendBytes(port, 'GET /health HTTP/1.1\r\nconnection: close\r\n\r\n'), 400, 'HTTP_MALFORMED')
    const smuggled =
      'POST /v1/things HTTP/1.1\r\nhost: localhost\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n'
    await refused(tap, sendBytes(port, smuggled), 400, 'HTTP_MALFORMED')
    await refused(tap, sendRequest(port, 'GET /health', [`x: ${'y'.repeat(20_000)}`]), 431, 'HTTP_HEADERS_TOO_LARGE')
  })

  tap.test('a request that arrives only in part', async tap => {
    const impatient = await openWorld([things], { request_timeout_ms: 600 })
    tap.teardown(() => impatient.close())
    const port = impatient.port()
    await refused(tap, sendBytes(port, 'GET /health HTTP/1.1\r\nhost: loc'), 408, 'HTTP_REQUEST_TIMEOUT')
    const half = `POST /v1/things HTTP/1.1\r\nhost: localhost\r\n${JSON_HEADER}\r\ncontent-length: 100\r\n\r\n{"title"`
    await refused(tap, sendBytes(port, half), 408, 'HTTP_REQUEST_TIMEOUT')
  })

  tap.test('the server still works', async tap => {
    const response = await fetch(world.url('/v1/things/7'))
    tap.equal(response.status, 200)
    const errors = world.kernel.log.filter(line => line.level === 'error')
    tap.same(errors, [], 'bad input of a client is not logged as an error')
  })
})

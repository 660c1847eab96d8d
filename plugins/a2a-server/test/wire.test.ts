import { connect } from 'node:net'
import t from 'tap'
import { openWorld, type Rpc, VERSION } from './open-world.ts'
import { until } from './requests.ts'

const MESSAGE = { messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: 'say hello' }] }
const TYPE = { 'content-type': 'application/json' }

const world = await openWorld(t)
const { rpc, rest, url } = world

/** Posts bytes to a binding. */
async function post(path: string, body: string | Buffer, headers: Record<string, string>): Promise<Rpc> {
  const response = await fetch(url + path, { method: 'POST', body, headers })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) }
}

t.test('every malformed message is refused with its reason by both bindings', async t => {
  const wrong: Record<string, [unknown, RegExp]> = {
    'no message': [{}, /message is required/],
    'a text as message': [{ message: 'hello' }, /messageId is required/],
    'no message id': [{ message: { ...MESSAGE, messageId: '' } }, /messageId is required/],
    'a long message id': [{ message: { ...MESSAGE, messageId: 'x'.repeat(257) } }, /maximum is 256/],
    'a control character in the id': [{ message: { ...MESSAGE, messageId: 'a\u001fb' } }, /control character/],
    'no role': [{ message: { ...MESSAGE, role: undefined } }, /ROLE_USER/],
    'the role of the agent': [{ message: { ...MESSAGE, role: 'ROLE_AGENT' } }, /ROLE_USER/],
    'no parts': [{ message: { ...MESSAGE, parts: [] } }, /parts is empty/],
    'parts that are no list': [{ message: { ...MESSAGE, parts: 'hello' } }, /parts is empty/],
    'a part that is null': [{ message: { ...MESSAGE, parts: [null] } }, /wrong form/],
    'an empty part': [{ message: { ...MESSAGE, parts: [{}] } }, /no text, data, raw or url/],
    'blank text': [{ message: { ...MESSAGE, parts: [{ text: ' \n' }] } }, /contain no text/],
    'too much text': [{ message: { ...MESSAGE, parts: [{ text: 'x'.repeat(131_073) }] } }, /maximum is 131072/],
    'too many parts': [{ message: { ...MESSAGE, parts: Array(257).fill({ text: 'x' }) } }, /maximum is 256/],
    'a negative history': [{ message: MESSAGE, configuration: { historyLength: -1 } }, /historyLength/],
    'a fraction of history': [{ message: MESSAGE, configuration: { historyLength: 1.5 } }, /historyLength/],
    'a tenant': [{ tenant: 'acme', message: MESSAGE }, /no tenants/]
  }
  for (const [name, [params, reason]] of Object.entries(wrong)) {
    t.match((await rpc('SendMessage', params)).body, { error: { code: -32602, message: reason } }, name)
    const answer = await rest('POST', '/message:send', params)
    t.match(answer, { status: 400, body: { error: { code: 400, status: 'INVALID_ARGUMENT', message: reason } } }, name)
    t.match(answer.headers.get('content-type'), 'application/a2a+json')
    const streamed = await rpc('SendStreamingMessage', params)
    t.match(streamed.body, { error: { code: -32602 } }, `${name}, streamed`)
  }
  t.equal(world.orchestrator.tasks().length, 0, 'no task was created')
})

t.test('JSON-RPC refuses what is not one valid request', async t => {
  const send = (body: string | Buffer, headers = { ...TYPE, ...VERSION }) => post('/a2a/v1', body, headers)
  const wrong: Record<string, [string | Buffer, number]> = {
    'no JSON': ['{', -32700],
    'an empty body': ['', -32600],
    'a duplicate key': ['{"jsonrpc":"2.0","jsonrpc":"2.0"}', -32700],
    'a key that changes a prototype': ['{"__proto__":{}}', -32700],
    'bytes that are not UTF-8': [Buffer.from([0x7b, 0xff, 0x7d]), -32700],
    'deep nesting': ['['.repeat(10_000) + ']'.repeat(10_000), -32700],
    'a batch': ['[]', -32600],
    'a number': ['7', -32600],
    'another version': ['{"jsonrpc":"1.0","id":1,"method":"GetTask","params":{}}', -32600],
    'an object as id': ['{"jsonrpc":"2.0","id":{},"method":"GetTask","params":{}}', -32600],
    'no method': ['{"jsonrpc":"2.0","id":1}', -32600],
    'an unknown method': ['{"jsonrpc":"2.0","id":1,"method":"Nothing","params":{}}', -32601],
    'no parameters': ['{"jsonrpc":"2.0","id":1,"method":"GetTask"}', -32602],
    'a list as parameters': ['{"jsonrpc":"2.0","id":1,"method":"GetTask","params":[]}', -32602],
    'a missing id of the task': ['{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{}}', -32602]
  }
  for (const [name, [body, code]] of Object.entries(wrong)) {
    const answer = await send(body)
    t.match(answer, { status: 200, body: { jsonrpc: '2.0', error: { code } } }, name)
  }
  const typed = await send('x', { 'content-type': 'text/plain', ...VERSION })
  t.match(typed.body, { error: { code: -32005, data: [{ reason: 'CONTENT_TYPE_NOT_SUPPORTED' }] } })
})

t.test('REST answers each wrong request with its status', async t => {
  const wrong: [string, string, unknown, number, RegExp][] = [
    ['GET', '/tasks/unknown', undefined, 404, /no task unknown/],
    ['POST', '/tasks/unknown:cancel', {}, 404, /no task unknown/],
    ['POST', '/tasks/unknown:subscribe', {}, 404, /no task unknown/],
    ['GET', '/tasks/unknown:subscribe', undefined, 404, /no task unknown/],
    ['POST', '/tasks/unknown:explode', {}, 404, /no such path/],
    ['POST', '/message:explode', MESSAGE, 404, /no such path/],
    ['POST', '/message:send', '[]', 400, /not a JSON object/],
    ['POST', '/message:send', '{', 400, /not valid JSON/],
    ['GET', '/tasks?pageSize=0', undefined, 400, /pageSize/],
    ['GET', '/tasks?pageSize=101', undefined, 400, /pageSize/],
    ['GET', '/tasks?pageSize=ten', undefined, 400, /pageSize/],
    ['GET', '/tasks?status=TASK_STATE_HAPPY', undefined, 400, /status/],
    ['GET', '/tasks?historyLength=-1', undefined, 400, /historyLength/],
    ['GET', '/tasks?includeArtifacts=maybe', undefined, 400, /includeArtifacts/],
    ['GET', '/tasks?statusTimestampAfter=yesterday', undefined, 400, /ISO 8601/],
    ['GET', '/tasks?pageToken=x', undefined, 400, /pageToken/],
    ['GET', '/tasks?tenant=acme', undefined, 400, /no tenants/],
    ['GET', '/tasks/unknown/pushNotificationConfigs', undefined, 404, /no task unknown/],
    ['GET', '/tasks/unknown/pushNotificationConfigs/x', undefined, 404, /no task unknown/]
  ]
  for (const [method, path, body, status, message] of wrong) {
    const answer = await rest(method, path, body)
    t.match(answer, { status, body: { error: { code: status, message } } }, `${method} ${path}`)
    t.match(answer.headers.get('content-type'), 'application/a2a+json', path)
  }
  t.match((await rest('GET', '/tasks/unknown')).body.error.details, [
    { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'TASK_NOT_FOUND', domain: 'a2a-protocol.org' }
  ])
})

t.test('REST reads application/a2a+json and application/json, and no other types', async t => {
  const body = JSON.stringify({ message: { ...MESSAGE, messageId: 'm-types' } })
  for (const type of ['application/a2a+json', 'application/json; charset=utf-8']) {
    const answer = await post('/a2a/v1/message:send', body, { 'content-type': type, ...VERSION })
    t.match(answer, { status: 200, body: { task: { status: { state: 'TASK_STATE_COMPLETED' } } } }, type)
  }
  for (const type of ['application/xml', 'multipart/form-data; boundary=x']) {
    const answer = await post('/a2a/v1/message:send', body, { 'content-type': type, ...VERSION })
    t.match(answer, { status: 400, body: { error: { details: [{ reason: 'CONTENT_TYPE_NOT_SUPPORTED' }] } } }, type)
  }
})

t.test('the card names the host of the request', async t => {
  const other = url.replace('127.0.0.1', 'localhost')
  const card = await fetch(`${other}/.well-known/agent-card.json`)
  t.match(await card.json(), { supportedInterfaces: [{ url: `${other}/a2a/v1` }] })
})

t.test('a stream of JSON-RPC has events with numbers, from which it continues', async t => {
  const params = { message: { ...MESSAGE, messageId: 'm-numbers' } }
  const response = await rpc('SendStreamingMessage', params)
  t.match(response.headers.get('content-type'), 'text/event-stream')
  const numbers = [...String(response.body).matchAll(/^id: (\d+)$/gm)].map(([, number]) => Number(number))
  t.ok(numbers.length >= 3)
  t.strictSame(
    [...numbers].sort((one, other) => one - other),
    numbers
  )
  const events = [...String(response.body).matchAll(/^data: (.*)$/gm)].map(([, data = '']) => JSON.parse(data))
  t.match(events[0], { jsonrpc: '2.0', id: 1, result: { task: { status: { state: 'TASK_STATE_SUBMITTED' } } } })
  const { id } = events[0].result.task
  const headers = { 'last-event-id': String(numbers.at(-2)) }
  const rest1 = await rpc('SubscribeToTask', { id }, headers)
  const replayed = [...String(rest1.body).matchAll(/^id: (\d+)$/gm)].map(([, number]) => Number(number))
  t.strictSame(replayed, numbers.slice(-2))
  t.match((await rpc('SubscribeToTask', { id }, { 'last-event-id': 'x' })).body, { error: { code: -32602 } })
})

t.test('a body above the limit is refused, and the server serves on', async t => {
  const answer = await fetch(`${url}/a2a/v1`, {
    method: 'POST',
    body: 'x'.repeat(1_048_577),
    headers: { ...TYPE, ...VERSION }
  })
  t.equal(answer.status, 413)
  t.equal((await rest('GET', '/tasks')).status, 200)
})

t.test('a client that disconnects ends its stream and its waiting request', async t => {
  for (const method of ['SendStreamingMessage', 'SendMessage']) {
    const message = { ...MESSAGE, messageId: `m-gone-${method}`, parts: [{ text: 'wait' }] }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { message } })
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.write(
      `POST /a2a/v1 HTTP/1.1\r\nhost: 127.0.0.1\r\na2a-version: 1.0\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
    )
    const streams = async () => Number(/svc_a2a_streams (\d+)/.exec(await (await fetch(`${url}/metrics`)).text())?.[1])
    await until(async () => (await streams()) === 1)
    socket.destroy()
    t.ok(await until(async () => (await streams()) === 0), method)
  }
})

t.test('a page of another origin cannot call', async t => {
  const answer = await rpc('ListTasks', {}, { origin: 'https://evil.example' })
  t.equal(answer.status, 403)
})

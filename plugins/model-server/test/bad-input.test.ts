import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { type Serving, serve } from './serve.ts'
import { until } from './until.ts'

const CHATS = ['/v1/chat/completions', '/v1/completions', '/api/chat', '/api/generate']

/** Returns the message of an error response in the format of the path's API. Fails the test on any other format. */
async function errorOf(t: Test, path: string, reply: Response): Promise<string> {
  t.match(reply.headers.get('content-type'), /^application\/json/)
  const body = (await reply.json()) as { error: any }
  if (path.startsWith('/v1')) {
    t.same(Object.keys(body), ['error'])
    t.same(Object.keys(body.error), ['message', 'type', 'param', 'code'])
    return body.error.message
  }
  t.same(Object.keys(body), ['error'])
  t.type(body.error, 'string')
  return body.error
}

function questionFor(path: string): object {
  return path.includes('chat') ? { messages: [{ role: 'user', content: 'hi' }] } : { prompt: 'hi' }
}

for (const path of CHATS) {
  t.test(`${path} rejects invalid bodies`, async t => {
    const serving = await serve(t)
    const refuse = async (body: unknown, status: number, message: RegExp, headers?: Record<string, string>) => {
      const reply = await serving.post(path, body, headers)
      t.equal(reply.status, status)
      t.match(await errorOf(t, path, reply), message)
    }
    await refuse('', 400, /missing request body/)
    await refuse('{"model": ', 400, /not valid JSON/)
    for (const body of ['null', '[]', '"text"', '3', 'true']) await refuse(body, 400, /must be a JSON object/)
    await refuse({ prompt: 'hi', messages: [{ role: 'user' }], model: 3 }, 400, /'model' must be a string, got 3/)
    await refuse(
      { prompt: 'hi', messages: [{ role: 'user' }], stream: 'yes' },
      400,
      /'stream' must be true or false, got "yes"/
    )
    await refuse(Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d]), 400, /not UTF-8/)
    await refuse({ prompt: 'x'.repeat(100_000) }, 413, /limit is 65536/)
    await refuse('{"prompt":"hi"}', 415, /application\/json/, {
      origin: 'http://evil.example',
      'content-type': 'text/plain'
    })
    const healthy = await serving.post(path, { model: 'toy', ...questionFor(path) })
    t.equal(healthy.status, 200)
    await healthy.text()
  })

  t.test(`${path} parses JSON with any content type`, async t => {
    const serving = await serve(t)
    const body = questionFor(path)
    for (const type of ['application/x-www-form-urlencoded', 'text/plain', 'application/octet-stream']) {
      const reply = await serving.post(path, body, { 'content-type': type })
      t.equal(reply.status, 200)
      await reply.text()
    }
  })

  t.test(`${path} rejects a 10 MB body, with or without content-length, and continues to serve`, async t => {
    const serving = await serve(t, { maxBodyBytes: 1_048_576 })
    const body = JSON.stringify({ prompt: 'x'.repeat(10_000_000) })
    const announced = await serving.post(path, body)
    t.equal(announced.status, 413)
    t.match(await errorOf(t, path, announced), /10000013 bytes/)
    const chunked = await fetch(`${serving.url}${path}`, {
      method: 'POST',
      body: new Blob([body]).stream(),
      duplex: 'half'
    } as RequestInit)
    t.equal(chunked.status, 413)
    await errorOf(t, path, chunked)
    t.equal((await fetch(`${serving.url}/api/version`)).status, 200)
  })

  t.test(`${path} rejects a body that is far too large before reading it all`, async t => {
    const serving = await serve(t, { maxBodyBytes: 1024 })
    const reply = await rawExchange(
      serving,
      `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n{`
    )
    t.match(reply, /^HTTP\/1\.1 413 /)
    t.match(reply, /99999999 bytes/)
  })

  t.test(`${path} survives a disconnect in the middle of a body`, async t => {
    const serving = await serve(t)
    const socket = connect(serving.port, '127.0.0.1')
    await new Promise(resolve => socket.once('connect', resolve))
    socket.write(`POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000\r\n\r\n{"prompt":`)
    await new Promise(resolve => setImmediate(resolve))
    socket.destroy()
    t.equal((await fetch(`${serving.url}/api/version`)).status, 200)
  })
}

t.test('the OpenAI route names the invalid part of a message', async t => {
  const { post } = await serve(t)
  const cases: [object, RegExp, string | null][] = [
    [{}, /'messages' must be a list of at least 1, got nothing/, 'messages'],
    [{ messages: [] }, /'messages' must be a list of at least 1, got an empty list/, 'messages'],
    [{ messages: 'hi' }, /'messages' must be a list of at least 1, got "hi"/, 'messages'],
    [{ messages: ['hi'] }, /'messages\[0\]' must be an object/, 'messages[0]'],
    [{ messages: [{ content: 'hi' }] }, /'messages\[0\]\.role' must be one of 'system'/, 'messages[0].role'],
    [{ messages: [{ role: 'robot', content: 'hi' }] }, /got "robot"/, 'messages[0].role'],
    [{ messages: [{ role: 'user' }] }, /'messages\[0\]\.content' must be/, 'messages[0].content'],
    [{ messages: [{ role: 'user', content: 3 }] }, /a string or a list of content parts, got 3/, 'messages[0].content'],
    [
      { messages: [{ role: 'user', content: [{ type: 'text' }] }] },
      /text' must be a string/,
      'messages[0].content[0].text'
    ],
    [{ messages: [{ role: 'user', content: [{ type: 'image_url' }] }] }, /'image_url'/, 'messages[0].content[0]'],
    [{ messages: [{ role: 'assistant', tool_calls: [{}] }] }, /tool_calls/, 'messages[0].tool_calls'],
    [
      {
        messages: [
          { role: 'user', content: 'a' },
          { role: 'system', content: 'b' }
        ]
      },
      /chat template rejects these messages: system message must come first/,
      'messages'
    ]
  ]
  for (const [body, message, param] of cases) {
    const reply = await post('/v1/chat/completions', body)
    t.equal(reply.status, 400)
    t.match(await reply.json(), { error: { message, param, type: 'invalid_request_error' } })
  }
})

t.test('the OpenAI route names an invalid field', async t => {
  const { post } = await serve(t)
  const cases: [object, RegExp][] = [
    [{ temperature: 'hot' }, /'temperature' must be a number from 0 to 2, got "hot"/],
    [{ temperature: -1 }, /'temperature' must be a number from 0 to 2, got -1/],
    [{ top_p: 2 }, /'top_p' must be a number from 0 to 1, got 2/],
    [{ max_tokens: 0 }, /'max_tokens' must be an integer of at least 1, got 0/],
    [{ max_tokens: 1.5 }, /'max_tokens' must be an integer of at least 1, got 1.5/],
    [{ max_completion_tokens: '5' }, /'max_completion_tokens' must be an integer of at least 1, got "5"/],
    [{ seed: 1.5 }, /'seed' must be an integer, got 1.5/],
    [{ stop: 3 }, /'stop' must be a string or a list of up to 4 strings, none of them empty, got 3/],
    [{ stop: [1] }, /'stop' must be a string or a list/],
    [{ stop: '' }, /'stop' must be a string or a list/],
    [{ stop: ['a', 'b', 'c', 'd', 'e'] }, /'stop' must be a string or a list of up to 4/],
    [{ presence_penalty: 3 }, /'presence_penalty' must be a number from -2 to 2/],
    [{ frequency_penalty: [] }, /'frequency_penalty' must be a number from -2 to 2, got an empty list/],
    [{ logit_bias: { 9999: 1 } }, /'logit_bias' names the token 9999; the vocabulary has 259/],
    [{ logit_bias: { a: 1 } }, /'logit_bias' has the key 'a'/],
    [{ logit_bias: { '1': 'x' } }, /'logit_bias\[1\]' must be a number from -100 to 100, got "x"/],
    [{ logprobs: 3 }, /'logprobs' must be true or false/],
    [{ logprobs: true, top_logprobs: 21 }, /'top_logprobs' must be an integer from 0 to 20, got 21/],
    [{ top_logprobs: 2 }, /'top_logprobs' is only allowed when 'logprobs' is true/],
    [{ stream_options: { include_usage: true } }, /'stream_options' is only allowed when 'stream' is true/],
    [{ stream: true, stream_options: 3 }, /'stream_options' must be an object/],
    [{ n: 0 }, /'n' must be an integer from 1 to 128/],
    [{ n: 129 }, /'n' must be an integer from 1 to 128, got 129/]
  ]
  for (const [fields, message] of cases) {
    const reply = await post('/v1/chat/completions', { messages: [{ role: 'user', content: 'hi' }], ...fields })
    t.equal(reply.status, 400, JSON.stringify(fields))
    t.match(await reply.json(), { error: { message, param: /^[a-z_]+/, type: 'invalid_request_error', code: null } })
  }
})

t.test('rejects unsupported fields that would change the answer, by name', async t => {
  const { post } = await serve(t)
  const fields = {
    functions: [{}],
    function_call: { name: 'f' },
    audio: {},
    modalities: ['audio'],
    web_search_options: {},
    prediction: {},
    store: true,
    verbosity: 'low',
    best_of: 2,
    echo: true,
    suffix: 'x',
    prompt_logprobs: 0
  }
  for (const [name, value] of Object.entries(fields)) {
    const reply = await post('/v1/chat/completions', { messages: [{ role: 'user', content: 'hi' }], [name]: value })
    t.equal(reply.status, 400, name)
    t.match(await reply.json(), { error: { param: name, code: 'unsupported_parameter', message: `'${name}'` } })
  }
})

t.test('routes return 503 while the model is loading or if its load failed', async t => {
  const loading = await serve(t, { state: { status: 'loading', fraction: 0.428, step: 'reading weights' } })
  const failed = await serve(t, { state: { status: 'failed', error: new Error('model.safetensors is cut off') } })
  const requests: [string, object | null][] = [
    ['/v1/chat/completions', { messages: [{ role: 'user', content: 'hi' }] }],
    ['/v1/models', null],
    ['/v1/models/toy', null],
    ['/api/chat', { messages: [{ role: 'user', content: 'hi' }] }],
    ['/api/generate', { prompt: 'hi' }],
    ['/api/generate', { prompt: '' }],
    ['/api/tags', null],
    ['/api/show', { model: 'toy' }]
  ]
  for (const [path, body] of requests) {
    const ask = (of: Serving) => (body === null ? fetch(`${of.url}${path}`) : of.post(path, body))
    const early = await ask(loading)
    t.equal(early.status, 503)
    t.equal(early.headers.get('retry-after'), '2')
    t.equal(await errorOf(t, path, early), `model 'toy' is loading: reading weights, 42 %`)
    const never = await ask(failed)
    t.equal(never.status, 503)
    t.match(await errorOf(t, path, never), /could not be loaded from \/models\/toy: model\.safetensors is cut off/)
  }
  for (const serving of [loading, failed]) {
    t.same(await (await fetch(`${serving.url}/api/version`)).json(), { version: '1.2.3' })
    t.same(await (await fetch(`${serving.url}/api/ps`)).json(), { models: [] })
    t.equal(await (await fetch(serving.url)).text(), 'svc model server is running')
  }
})

t.test('unknown paths return 404 in the format of their API', async t => {
  const { url } = await serve(t)
  for (const [method, path] of [
    ['GET', '/v1/files'],
    ['POST', '/v1/files'],
    ['DELETE', '/v1/models/toy'],
    ['GET', '/v1/chat/completions'],
    ['GET', '/api/chat'],
    ['DELETE', '/api/chat']
  ] as const) {
    const reply = await fetch(`${url}${path}?x=1`, { method })
    t.equal(reply.status, 404)
    t.match(await errorOf(t, path, reply), new RegExp(`there is no ${method} ${path}\\b`))
  }
})

t.test('unsupported routes suggest an alternative', async t => {
  const { url } = await serve(t)
  for (const [method, path] of [
    ['POST', '/api/push'],
    ['POST', '/api/blobs/sha256:ab'],
    ['POST', '/api/embed'],
    ['POST', '/api/embeddings'],
    ['POST', '/v1/embeddings']
  ] as const) {
    const reply = await fetch(`${url}${path}`, { method })
    t.equal(reply.status, 501, path)
    t.match(await errorOf(t, path, reply), /: .* (server|model|run directory|files)/)
  }
})

t.test('a missing or wrong key returns 401 in the format of each API', async t => {
  const { url, post } = await serve(t, { apiKey: 'sesame' })
  for (const path of ['/v1/models', '/api/tags', '/api/version']) {
    for (const authorization of [undefined, 'Bearer wrong', 'Basic sesame', 'Bearer sesame2', 'sesame']) {
      const reply = await fetch(`${url}${path}`, authorization === undefined ? {} : { headers: { authorization } })
      t.equal(reply.status, 401)
      t.equal(reply.headers.get('www-authenticate'), 'Bearer')
      t.notMatch(await errorOf(t, path, reply), /sesame/)
    }
    t.equal((await fetch(`${url}${path}`, { headers: { authorization: 'bearer  sesame' } })).status, 200)
  }
  t.equal((await post('/api/chat', 'not json')).status, 401, 'the key is checked before the body is read')
  t.equal((await fetch(url)).status, 200, 'GET / needs no key')
})

t.test('rejects a foreign host name on a loopback address, and accepts any on other addresses', async t => {
  const request = 'GET /api/tags HTTP/1.1\r\nHost: rebound.example:80\r\nConnection: close\r\n\r\n'
  t.match(
    await rawExchange(await serve(t), request),
    /^HTTP\/1\.1 403 .*"error":"this server accepts the host names localhost/s
  )
  t.match(await rawExchange(await serve(t, { host: '0.0.0.0' }), request), /^HTTP\/1\.1 200 /)
  for (const host of ['localhost', 'localhost:1', '127.0.0.1:11435', '[::1]:11435']) {
    const named = request.replace('rebound.example:80', host)
    t.match(await rawExchange(await serve(t), named), /^HTTP\/1\.1 200 /)
  }
  const root = request.replace('/api/tags', '/')
  t.match(await rawExchange(await serve(t), root), /^HTTP\/1\.1 403 .*"error":"this server accepts the host names/s)
  t.match(await rawExchange(await serve(t), root.replace('rebound.example:80', '127.999.999.999')), /^HTTP\/1\.1 403 /)
  t.match(await rawExchange(await serve(t), root.replace('rebound.example:80', 'localhost:11434')), /^HTTP\/1\.1 200 /)
})

t.test('after too many wrong keys, a short key is not compared on the routes of both APIs', async t => {
  const { url } = await serve(t, { apiKey: 'sesame' })
  const status = async (path: string, key: string) =>
    (await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${key}` } })).status
  // The limit allows a guess a second, so on a slow machine the right key may be the one that is compared.
  let right = 200
  for (let attempts = 0; right === 200 && attempts < 100; attempts += 1) {
    while ((await status('/v1/models', 'wrong')) !== 429);
    right = await status('/api/tags', 'sesame')
  }
  t.equal(right, 429)
})

t.test('a stopping server ends open streams with an error', async t => {
  const serving = await serve(t, { contextLength: 100_000, maxTokens: 90_000 })
  const [sse, ndjson] = await Promise.all(
    [
      serving.post('/v1/chat/completions', { stream: true, messages: [{ role: 'user', content: 'x'.repeat(9000) }] }),
      serving.post('/api/generate', { prompt: 'ab\n', raw: true, stream: false })
    ].map(async (reply, at) => {
      if (at === 0) await until(() => serving.model.generated > 5)
      serving.completions.stop()
      return reply
    })
  )
  t.match(await sse?.text(), /data: \{"error":\{"message":"the answer was aborted.*\n\n$/)
  t.equal(ndjson?.status, 503)
  t.match(await ndjson?.json(), { error: /the answer was aborted/ })
})

/** Sends raw bytes and resolves to the complete response. */
function rawExchange({ port }: Serving, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes))
    let reply = ''
    socket.setEncoding('utf8')
    socket.on('data', data => {
      reply += data
      if (/\r\n\r\n\{.*\}\s*$/s.test(reply)) socket.end()
    })
    socket.on('close', () => resolve(reply))
    socket.on('error', reject)
  })
}

import { cp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Plugin } from '@svc/plugin-sdk'
import fc from 'fast-check'
import t from 'tap'
import { formed, readRequest } from '#root'
import { ToyEngine } from '../../model-server/test/toy-engine.ts'
import { toyPlugin } from '../../model-server/test/toy-plugin.ts'
import { eventsOf, MODEL, openServer } from './open-server.ts'

const RECORD = {
  type: 'object',
  properties: { kind: { enum: ['a', 'b'] }, count: { type: 'integer', minimum: 0, maximum: 9 } },
  required: ['kind', 'count'],
  additionalProperties: false
}

t.test('completions of one checkpoint', async t => {
  const { url, post, json, settled } = await openServer(t)
  t.same(await json('/health'), { status: 200, body: { status: 'ok' } })
  t.same((await settled()).body, { ready: true, model: 'llama-tiny-bf16' })
  t.match((await json('/v1/models')).body, { object: 'list', data: [{ id: 'llama-tiny-bf16', object: 'model' }] })

  await t.test('the three paths answer alike', async t => {
    const request = { prompt: 'Hello', max_tokens: 5, temperature: 0 }
    const answers = []
    for (const path of ['/v1/generate', '/generate', '/v1/completions']) answers.push(await json(path, request))
    const [first] = answers
    t.match(first, {
      status: 200,
      body: { model: 'llama-tiny-bf16', object: 'text_completion', tokens_generated: Number, text: String }
    })
    t.equal(first?.body.choices[0].text, first?.body.text)
    t.match(first?.body.choices[0].finish_reason, /^(stop|length)$/)
    t.notOk('repair_attempts' in (first?.body ?? {}))
    for (const answer of answers) t.same(answer, first)
  })

  await t.test('a stream has the same text, and ends with [DONE]', async t => {
    const request = { prompt: 'Hello', max_tokens: 6, temperature: 0 }
    const { body } = await json('/generate', request)
    for (const response of [
      await post('/v1/completions/stream', request),
      await post('/v1/completions', { ...request, stream: true })
    ]) {
      t.match(response.headers.get('content-type'), /^text\/event-stream/)
      const events = await eventsOf(response)
      t.equal(events.at(-1), null)
      const chunks = events.slice(0, -1)
      t.equal(chunks.map(chunk => chunk?.choices[0].text).join(''), body.text)
      t.match(chunks.at(-1), { tokens_generated: body.tokens_generated, choices: [{ finish_reason: String }] })
    }
  })

  await t.test('strict_json and tool_args_json satisfy the schema', async t => {
    for (const output_mode of ['strict_json', 'tool_args_json']) {
      const { status, body } = await json('/v1/generate', { prompt: 'x', output_mode, schema: RECORD, max_tokens: 120 })
      t.equal(status, 200)
      t.match(JSON.parse(body.text), { kind: /^[ab]$/, count: Number })
      t.match(body.repair_attempts, Number)
    }
  })

  await t.test('jsonl_records are one object a line', async t => {
    const schema = { enum: [{ kind: 'a' }, { kind: 'b' }] }
    const request = { prompt: 'x', output_mode: 'jsonl_records', schema, max_tokens: 400, max_retries: 10 }
    const { status, body } = await json('/v1/generate', request)
    if (status === 200) {
      t.ok(body.text.endsWith('\n'))
      for (const line of body.text.trimEnd().split('\n')) t.match(JSON.parse(line), { kind: /^[ab]$/ })
    } else t.match(body.error, { code: 'EXE_OUTPUT_INVALID', message: /all 11 attempts were cut off/ })
  })

  await t.test('output that is cut off is refused, after all attempts', async t => {
    const request = { prompt: 'x', output_mode: 'strict_json', schema: RECORD, max_tokens: 3 }
    const { status, body } = await json('/v1/generate', { ...request, max_retries: 2 })
    t.match(
      [status, body.error],
      [422, { code: 'EXE_OUTPUT_INVALID', message: /all 3 attempts were cut off after 3 tokens/ }]
    )
    const once = await json('/v1/generate', { ...request, temperature: 0 })
    t.match(once.body.error.message, /the output was cut off/, 'without a random choice, one attempt is enough')
    const stream = await post('/v1/completions/stream', { ...request, max_retries: 0 })
    t.equal(stream.status, 422, 'a stream that has not begun has the status of its error')
    await stream.body?.cancel()
  })

  await t.test('invalid requests are refused, and name the field', async t => {
    for (const [body, status, message] of [
      ['{', 400, /not valid JSON/],
      ['[]', 400, /the body: /],
      [{}, 400, /prompt/],
      [{ prompt: '' }, 400, /^prompt: /],
      [{ prompt: 7 }, 400, /^prompt: /],
      [{ prompt: 'x', max_tokens: 0 }, 400, /^max_tokens: /],
      [{ prompt: 'x', temperature: -1 }, 400, /^temperature: /],
      [{ prompt: 'x', top_p: 0.5 }, 400, /^top_p: /],
      [{ prompt: 'x', output_mode: 'xml' }, 400, /^output_mode: /],
      [{ prompt: 'x', schema: {} }, 400, /^schema: it needs an output_mode/],
      [{ prompt: 'x', output_mode: 'tool_args_json' }, 400, /^schema: output_mode tool_args_json needs it/],
      [{ prompt: 'x', model: 'other' }, 404, /the model other is not served; llama-tiny-bf16 is/],
      [{ prompt: 'word '.repeat(2_000) }, 400, /context/i]
    ] as const) {
      const answer = await json('/v1/completions', body)
      t.match([answer.status, answer.body.error.message], [status, message], JSON.stringify(body).slice(0, 60))
    }
    const large = await post('/v1/completions', { prompt: 'x'.repeat(1_100_000) })
    t.equal(large.status, 413)
    await large.body?.cancel()
    t.equal((await fetch(`${url}/v1/completions`)).status, 405)
  })

  await t.test('a web page of another origin is refused', async t => {
    const response = await fetch(`${url}/generate`, {
      method: 'POST',
      headers: { origin: 'https://evil.example', 'content-type': 'text/plain' },
      body: '{"prompt":"x"}'
    })
    t.equal(response.status, 403)
    await response.body?.cancel()
  })
})

/** An engine whose model generates nothing until the request ends. */
function waiting() {
  const requests: (AbortSignal | undefined)[] = []
  const engine = new ToyEngine({
    beforeToken: (_, signal) => {
      requests.push(signal)
      return new Promise(resolve => signal?.addEventListener('abort', () => resolve()))
    }
  })
  return { plugin: toyPlugin(engine) as Plugin, requests }
}

t.test('above the queue, requests get 503, and a client that leaves frees its place', async t => {
  const { plugin, requests } = waiting()
  const { post, settled } = await openServer(t, { queue: 1 }, plugin)
  await settled()
  const gone = new AbortController()
  const first = post('/generate', { prompt: 'x' }, gone.signal)
  while (requests.length === 0) await sleep(1)
  // Of two further requests, one waits in the queue. The other one is refused at once.
  const others = [post('/generate', { prompt: 'x' }, gone.signal), post('/generate', { prompt: 'x' }, gone.signal)]
  const refused = await Promise.race(others)
  t.match([refused.status, await refused.json()], [503, { error: { code: 'EXE_BUSY', message: /the queue holds 1/ } }])
  gone.abort()
  const ends = await Promise.allSettled([first, ...others])
  t.equal(ends.filter(({ status }) => status === 'rejected').length, 2)
  while (requests.some(signal => signal?.aborted !== true)) await sleep(1)
  const before = requests.length
  const third = post('/generate', { prompt: 'x' }, AbortSignal.timeout(30_000))
  third.catch(() => undefined)
  while (requests.length === before) await sleep(1)
  t.pass('the place of the clients that left is free')
})

t.test('a request that takes too long ends with 504, and its sequence with it', async t => {
  const { plugin, requests } = waiting()
  const { json, settled } = await openServer(t, { timeout_seconds: 1 }, plugin)
  await settled()
  const { status, body } = await json('/generate', { prompt: 'x' })
  t.match([status, body.error], [504, { code: 'EXE_TIMEOUT', message: /took longer than 1 s/ }])
  t.equal(requests[0]?.aborted, true)
})

t.test('without a usable model, the server says why', async t => {
  const folder = join(t.testdir(), 'run')
  await cp(MODEL, folder, { recursive: true })
  await rm(join(folder, 'model.safetensors'))
  await t.test('no weights', async t => {
    const { json, settled } = await openServer(t, { model: folder })
    t.match(await settled(), { status: 503, body: { ready: false, reason: /model\.safetensors is missing/ } })
    t.match(await json('/generate', { prompt: 'x' }), { body: { error: { code: 'INF_RUN_DIR_FILE_MISSING' } } })
  })
  await writeFile(join(folder, 'pytorch_model.bin'), 'PK')
  await t.test('weights in a pickle', async t => {
    const { json, settled } = await openServer(t, { model: folder, model_name: 'mine' })
    t.match(await settled(), {
      status: 503,
      body: { model: 'mine', reason: /pytorch_model\.bin, which could run code/ }
    })
    t.match(await json('/generate', { prompt: 'x' }), {
      status: 503,
      body: { error: { code: 'EXE_CHECKPOINT_UNSAFE' } }
    })
  })
})

t.test('without a model, nothing is served', async t => {
  const { url } = await openServer(t, { model: undefined })
  t.equal(url, '')
})

t.test('any bytes are a request or EXE_REQUEST_INVALID', t => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.json().map(text => Buffer.from(text)),
        fc.uint8Array()
      ),
      bytes => {
        try {
          return readRequest(bytes).prompt.length > 0
        } catch (error) {
          return (error as { code?: string }).code === 'EXE_REQUEST_INVALID'
        }
      }
    ),
    { numRuns: 200 }
  )
  t.end()
})

t.test('complete output has the form of its mode', t => {
  t.equal(formed('strict_json', '{"a":1}'), '{"a":1}')
  t.equal(formed('strict_json', '{"a":1'), null)
  t.equal(formed('jsonl_records', '[{"a":1},{"b":2}]'), '{"a":1}\n{"b":2}\n')
  t.equal(formed('jsonl_records', '[{"a":1},'), null)
  t.end()
})

import { join } from 'node:path'
import { type DatabaseStore, databaseStore, type KernelAdmin, kernelAdmin, type LocalLane } from '@svc/contracts'
import inference from '@svc/plugin-inference-client'
import providers from '@svc/plugin-providers'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import { fake } from '@svc/plugin-sdk/testing'
import fc from 'fast-check'
import t from 'tap'
import { explainCommandHandler, hintExplain } from '#operations'
import { hintsOperation, notificationsList } from '#root'
import { RewardStore } from '#store'
import { HintWatch, type Link, localLink, MAX_GRAPHEMES, plainText, Teacher, teach } from '#teaching'
import { completion, type FreeServer, freeServer, lines, local } from './free-servers.ts'
import { openReward, send } from './world.ts'

const GOOD = lines({ response: 'Small steps ' }, { response: 'help.' }, { response: '', done: true })
const FIXED = /^Run only the failing test/
const KEY = 'pk-known-secret-4711'

type Test = Parameters<typeof openReward>[0]

/** Opens the plugin with the real inference client and providers. Without an address, nothing listens. */
async function open(t: Test, given: { local?: string; reward?: object; hosted?: object; serves?: boolean } = {}) {
  let store: DatabaseStore | undefined
  const probe = definePlugin({
    name: 'probe',
    requires: { database: databaseStore },
    activate: (_, { database }) => {
      store = database
    }
  }) as Plugin
  const folder = t.testdir({})
  const path = join(folder, 'teaching.db')
  const plugins = [inference as Plugin, providers as Plugin, probe]
  const reward = {
    teaching: 'chain',
    session_mode: 'learning',
    pollinations_url: 'http://127.0.0.1:9',
    ...given.reward
  }
  const settings = {
    'inference-client': { url: given.local ?? 'http://127.0.0.1:9' },
    providers: {
      models_file: join(folder, 'models.toml'),
      catalog_cache: join(folder, 'catalog.json'),
      ...given.hosted
    }
  }
  const services =
    given.serves === true
      ? [fake(kernelAdmin, { serves: true, settings: () => [] as const } as unknown as KernelAdmin)]
      : []
  const kernel = await openReward(t, reward, plugins, path, settings, services)
  const explain = (kind = 'test_failure') => kernel.call(hintExplain, { kind })
  const query = async (sql: string) => (await store?.query(sql))?.rows ?? []
  if (store === undefined) throw new Error('no database')
  return { kernel, explain, query, store }
}

/** Answers every request at Gemini or OpenRouter with one text, in the format of the path. */
async function hostedServer(t: Test, text: string, free = true): Promise<FreeServer & { settings: object }> {
  const server = await freeServer(t, (response, path) => {
    if (path.startsWith('/models'))
      return void response.end(
        JSON.stringify({
          data: [
            {
              id: free ? 'meta-llama/tiny:free' : 'meta-llama/tiny',
              context_length: 8_000,
              pricing: { prompt: '0', completion: '0' }
            }
          ]
        })
      )
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const part = path.includes('streamGenerateContent')
      ? { candidates: [{ content: { role: 'model', parts: [{ text }] }, finishReason: 'STOP' }] }
      : {
          id: 'c',
          object: 'chat.completion.chunk',
          choices: [{ index: 0, delta: { content: text }, finish_reason: 'stop' }]
        }
    response.end(`data: ${JSON.stringify(part)}\n\n${path.includes('streamGenerateContent') ? '' : 'data: [DONE]\n\n'}`)
  })
  return Object.assign(server, {
    settings: {
      catalog_url: `${server.url}/models`,
      google_url: `${server.url}/v1beta`,
      openrouter_url: `${server.url}/chat/completions`
    }
  })
}

t.test('without the setting nothing is sent, and the text is the fixed one', async t => {
  const server = await freeServer(
    t,
    local(response => response.end(GOOD))
  )
  const { kernel, explain } = await open(t, {
    local: server.url,
    reward: { teaching: 'fixed', pollinations_url: server.url, pollinations_api_key: KEY }
  })
  t.match(await explain(), { source: 'fixed', text: FIXED, failed: [] })
  await send(kernel, { type: 'test_fail' })
  await kernel.call(hintsOperation, {})
  t.same(server.seen, [])
})

t.test('the local server is probed, and gets only the kind of the mistake and the fixed text', async t => {
  const server = await freeServer(
    t,
    local(response => response.end(GOOD))
  )
  const { explain } = await open(t, { local: server.url, reward: { teaching: 'local' } })
  t.match(await explain(), { source: 'local', text: 'Small steps help.', failed: [] })
  const paths = server.seen.map(({ method, path }) => `${method} ${path}`)
  t.same(paths.slice(-2), ['GET /api/version', 'POST /api/generate'])
  const { prompt, model, stream } = JSON.parse(server.seen.at(-1)?.body ?? '')
  t.match({ model, stream }, { model: 'toy', stream: true })
  t.match(prompt, /Kind of mistake: test failure\nAdvice: Run only the failing test/)
})

t.test('the model that svc contains is not asked, since it writes only programs', async t => {
  const server = await freeServer(
    t,
    local(response => response.end(GOOD), 'vox-tiny')
  )
  const { explain } = await open(t, { local: server.url, reward: { teaching: 'local' } })
  t.match(await explain(), { source: 'fixed', failed: [{ link: 'local', reason: /vox-tiny/ }] })
  t.same(
    server.seen.filter(({ method }) => method === 'POST'),
    []
  )
})

t.test('a model server on another machine is asked only by the chain', async t => {
  // Nothing listens at the address of another machine here, so the lane is a service of the test.
  const chat = async function* () {
    yield { type: 'text', text: 'From afar.' } as const
  }
  const lane = {
    model: 'toy',
    connection: async () => ({ url: 'http://192.0.2.1:11434', api: 'openai', headers: {} }),
    models: async () => [{ name: 'toy' }],
    chat
  } as unknown as LocalLane
  const services = { local: () => lane }
  await t.rejects(localLink(services, true).write('prompt', new AbortController().signal), /another machine/)
  t.equal(await localLink(services, false).write('prompt', new AbortController().signal), 'From afar.')
})

t.test('a slow service has half of the time, and the last one the rest', async t => {
  const slow = (name: Link['name']): Link => ({
    name,
    write: (_, signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  })
  const quick: Link = { name: 'gemini', write: async () => 'At last.' }
  const options = { mask: (text: string) => text, limitMs: 2_000 }
  const hint = { kind: 'cost', text: 'Fixed.' }
  const { signal } = new AbortController()
  t.match(await teach(hint, [slow('local'), quick], options, signal), {
    text: 'At last.',
    source: 'gemini',
    failed: [{ link: 'local' }]
  })
  const short = { ...options, limitMs: 50 }
  t.match(await teach(hint, [slow('local'), slow('openrouter')], short, signal), { text: 'Fixed.', source: 'fixed' })
})

const CUT = lines({ response: 'Small' })
for (const [what, generate] of [
  ['an error', local(response => response.writeHead(500).end('{"error":"out of memory"}'))],
  ['a cut answer', local(response => void response.write(CUT, () => response.destroy()))],
  ['an answer without its end', local(response => response.end(CUT))],
  ['a malformed answer', local(response => response.end('{"response":\n'))],
  ['an empty answer', local(response => response.end(lines({ response: ' \u0007 ' }, { response: '', done: true })))],
  [
    'no version',
    (response: Parameters<ReturnType<typeof local>>[0], path: string) =>
      path === '/api/tags' ? local(() => undefined)(response, path) : response.writeHead(404).end('{}')
  ]
] as const)
  t.test(`after ${what} of the local server, Pollinations is asked`, async t => {
    const server = await freeServer(t, generate)
    const free = await freeServer(t, response => response.end(completion('Breathe, then test.')))
    const { explain } = await open(t, {
      local: server.url,
      reward: { pollinations_url: free.url, pollinations_api_key: KEY }
    })
    t.match(await explain(), {
      source: 'pollinations',
      text: 'Breathe, then test.',
      failed: [{ link: 'local', reason: /./ }]
    })
    // Format: text() in dist/index.js of @pollinations/sdk 5.0.0.
    t.match(free.seen, [
      { method: 'POST', path: '/v1/chat/completions', authorization: `Bearer ${KEY}`, type: 'application/json' }
    ])
    const body = JSON.parse(free.seen[0]?.body ?? '')
    t.same(
      { ...body, messages: body.messages.length },
      {
        messages: 1,
        model: 'openai',
        max_tokens: 300,
        stream: false,
        private: true
      }
    )
    t.match(body.messages, [{ role: 'user', content: /Kind of mistake: test failure/ }])
  })

for (const [what, reply, reason] of [
  ['rejects the key', (to: any) => to.writeHead(401).end('{"error":"bad key"}'), /401/],
  ['limits the rate', (to: any) => to.writeHead(429, { 'retry-after': '60' }).end(), /429/],
  ['redirects', (to: any) => to.writeHead(302, { location: 'http://127.0.0.1:9/' }).end(), /redirect/],
  ['cuts the answer', (to: any) => to.write('{"choices":', () => to.destroy()), /./],
  ['answers no JSON', (to: any) => to.end('<html>'), /./],
  ['answers without a text', (to: any) => to.end(completion(null)), /no text/],
  ['answers with an empty text', (to: any) => to.end(completion('  ')), /empty/]
] as const)
  t.test(`if Pollinations ${what} and nothing else is set up, the text is the fixed one`, async t => {
    const free = await freeServer(t, reply)
    const { explain } = await open(t, { reward: { pollinations_url: free.url, pollinations_api_key: KEY } })
    const answer = await explain()
    t.match(answer, { source: 'fixed', text: FIXED })
    t.same(
      answer.failed.map(({ link }) => link),
      ['local', 'pollinations', 'gemini', 'openrouter']
    )
    t.match(answer.failed[1]?.reason, reason)
    t.equal(free.seen.length, 1, 'it is asked once')
    t.notMatch(JSON.stringify(answer), KEY)
  })

t.test('the own address of Pollinations is not asked without a key', async t => {
  const { explain } = await open(t, { reward: { pollinations_url: 'https://gen.pollinations.ai' } })
  t.match((await explain()).failed[1], { link: 'pollinations', reason: /POLLINATIONS_API_KEY/ })
})

t.test('Gemini is asked after Pollinations, with its cheapest model', async t => {
  const hosted = await hostedServer(t, 'Read it twice.')
  const { explain } = await open(t, { hosted: { ...hosted.settings, google_api_key: KEY } })
  t.match(await explain(), { source: 'gemini', text: 'Read it twice.' })
  t.match(hosted.seen.at(-1)?.path, /gemini-2\.5-flash-lite:streamGenerateContent/)
})

t.test('OpenRouter is asked last, and only a model without a price', async t => {
  const hosted = await hostedServer(t, 'Sleep on it.')
  const { explain } = await open(t, { hosted: { ...hosted.settings, openrouter_api_key: KEY } })
  t.match(await explain(), { source: 'openrouter', text: 'Sleep on it.' })
  t.match(JSON.parse(hosted.seen.at(-1)?.body ?? '{}'), { model: 'meta-llama/tiny:free' })

  const paid = await hostedServer(t, 'Pay me.', false)
  const other = await open(t, { hosted: { ...paid.settings, openrouter_api_key: KEY } })
  t.match(await other.explain(), { source: 'fixed' })
  t.same(
    paid.seen.filter(({ method }) => method === 'POST'),
    []
  )
})

t.test('one text is written at a time, and a caller that leaves ends the request', async t => {
  let asked = (): void => undefined
  const isAsked = new Promise<void>(resolve => {
    asked = resolve
  })
  const server = await freeServer(
    t,
    local(response => {
      response.write(CUT)
      asked()
    })
  )
  const { kernel, explain } = await open(t, { local: server.url, reward: { teaching: 'local' } })
  const controller = new AbortController()
  const first = kernel.call(hintExplain, { kind: 'cost' }, { signal: controller.signal })
  await isAsked
  await t.rejects(explain(), { code: 'RWD_HINT_BUSY' })
  controller.abort(new Error('left'))
  await t.rejects(first)
  server.reply = local(response => response.end(GOOD))
  t.match(await explain(), { source: 'local' })
})

t.test('a hint is stored with its fixed text, and replaced when the text of a model arrives', async t => {
  let finish = (): void => undefined
  const isAsked = new Promise<void>(resolve => {
    finish = resolve
  })
  let answer = (_text: string): void => undefined
  const server = await freeServer(
    t,
    local(response => {
      answer = text => response.end(text)
      finish()
    })
  )
  const { kernel, query } = await open(t, { local: server.url, serves: true, reward: { teaching: 'local' } })
  await send(kernel, { type: 'test_fail' })
  const shown = async () => {
    const { hints } = await kernel.call(hintsOperation, {})
    return hints.find(({ kind }) => kind === 'test_failure')?.last_hint
  }
  t.match(await shown(), FIXED)
  await isAsked
  t.match(await shown(), FIXED, 'nothing waits for the model')
  answer(GOOD)
  const text = 'Small steps help. (text of a model: local)'
  while ((await shown()) !== text) await new Promise(resolve => setTimeout(resolve, 10))
  const { notifications } = await kernel.call(notificationsList, {})
  t.match(
    notifications.filter(({ kind }) => kind === 'hint'),
    [{ message: text }]
  )
  t.same(await query("SELECT count(*) FROM gamify_notifications WHERE kind = 'hint'"), [[1]])
})

t.test('a serving process finds the hint of a command, and asks once for it', async t => {
  const server = await freeServer(t, response => response.writeHead(500).end())
  const { kernel, store } = await open(t, { local: server.url, reward: { teaching: 'local' } })
  await send(kernel, { type: 'test_fail' })
  await kernel.call(hintsOperation, {})
  const offered: object[] = []
  const options = { store: new RewardStore(store), log: { debug() {} }, offer: (hint: object) => offered.push(hint) }
  await new HintWatch({ ...options, user: () => null }).look(Date.now())
  const watch = new HintWatch({ ...options, user: () => 'ada' })
  await watch.look(Date.now() + 600_000)
  t.same(offered, [])
  await watch.look(Date.now())
  t.match(offered, [{ user: 'ada', kind: 'test_failure', text: FIXED }])
  let starts = 0
  const start = (): void => void (starts += 1)
  const none = { changed() {}, isOn: () => true, mask: (text: string) => text, start }
  const teacher = new Teacher({ ...options, ...none, links: () => [{ name: 'local', write: async () => '' }] })
  const hint = offered[0] as Parameters<Teacher['offer']>[0]
  teacher.offer(hint)
  teacher.offer(hint)
  t.equal(starts, 1)
  await store.execute("UPDATE gamify_hint_telemetry SET hint = 'Small steps. (text of a model: local)'")
  await watch.look(Date.now())
  t.equal(offered.length, 1)
})

t.test('a text that is being written is given up when the plugin stops', async t => {
  let asked = (): void => undefined
  const isAsked = new Promise<void>(resolve => {
    asked = resolve
  })
  let closed = (): void => undefined
  const isClosed = new Promise<void>(resolve => {
    closed = resolve
  })
  const server = await freeServer(
    t,
    local(response => {
      response.on('close', () => closed())
      response.write(CUT)
      asked()
    })
  )
  const { kernel } = await open(t, { local: server.url, serves: true, reward: { teaching: 'local' } })
  await send(kernel, { type: 'test_fail' })
  await kernel.call(hintsOperation, {})
  await isAsked
  await kernel.close()
  await isClosed
  t.equal(server.left, 1)
})

t.test('the command prints the text, and on standard error what failed', async t => {
  const { kernel } = await open(t, { reward: { teaching: 'local' } })
  const written = { stdout: '', stderr: '' }
  const sink = (name: 'stdout' | 'stderr') => ({ write: (text: string) => (written[name] += text) })
  const io = { stdout: sink('stdout'), stderr: sink('stderr'), json: false, signal: new AbortController().signal }
  t.equal(await explainCommandHandler(kernel as never)({ kind: 'test_failure' }, io as never), 0)
  t.match(written, { stdout: FIXED, stderr: /^local: / })
})

t.test('a text is one line without control characters, of a limited number of clusters', t => {
  t.equal(plainText('\u001b[31mred\u001b[0m\r\n\u202etxt\u0000 👩‍💻 '), '[31mred [0m txt 👩‍💻')
  t.equal(plainText('👩‍💻'.repeat(5), 3), '👩‍💻👩‍💻…')
  t.equal(plainText('👩‍💻'.repeat(3), 3), '👩‍💻'.repeat(3))
  t.equal(plainText(`e${'\u0301'.repeat(100_000)}`).length, 4_000)
  const clusters = new Intl.Segmenter('und', { granularity: 'grapheme' })
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 1_000 }), text => {
      const plain = plainText(text)
      return !/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u.test(plain) && [...clusters.segment(plain)].length <= MAX_GRAPHEMES
    }),
    { numRuns: 50 }
  )
  t.end()
})

import { type HttpServer, httpServer, type InferenceServer, inferenceClient, inferenceServers } from '@svc/contracts'
import http from '@svc/plugin-http'
import client from '@svc/plugin-inference-client'
import { definePlugin } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import t from 'tap'
import router from '#plugin'
import { modelServer, send } from './model-servers.ts'
import { openRouter } from './open-router.ts'
import { until } from './until.ts'

t.test('metrics count requests, retries, prefixes and times by server', async t => {
  const good = await modelServer(t, { api: 'openai', models: ['m'] })
  const bad = await modelServer(t, { api: 'openai', models: ['m'], generate: response => send(response, 502, {}) })
  const { chat, get } = await openRouter(t, { good, bad })
  const long = 'careful '.repeat(1000)
  for (let turn = 0; turn < 4; turn++) await chat('m', `${long} ${turn}`)
  for (let turn = 0; turn < 4; turn++) await chat('m', `${turn}`)
  const text = await (await get('/metrics')).text()
  const value = (line: string) => Number(new RegExp(`^${line} (.+)$`, 'm').exec(text)?.[1])
  t.equal(value('svc_router_requests_total{server="good",outcome="ok"}'), 8)
  t.equal(value('svc_router_first_byte_seconds_count{server="good"}'), 8)
  t.equal(value('svc_router_first_byte_seconds_bucket{server="good",le="\\+Inf"}'), 8)
  t.equal(value('svc_router_retries_total{server="bad",reason="502"}'), bad.received.length)
  t.ok(value('svc_router_prefix_bytes_total{server="good"}') >= 2 * 7 * 1024)
  t.ok(value('svc_router_prompt_bytes_total{server="good"}') > 4 * 8000)
  t.equal(value('svc_router_server_in_flight{server="good"}'), 0)
  t.equal(value('svc_router_server_up{server="good"}'), 1)
  t.equal(value('svc_router_prefix_blocks'), 7)
})

t.test('the operation shows the state of every server, and one by name', async t => {
  const one = await modelServer(t, { api: 'ollama', models: ['b', 'a'], loaded: ['b'] })
  const { kernel, servers } = await openRouter(
    t,
    { one },
    {
      servers: [
        { name: 'one', url: one.url, api: 'ollama', slots: 3, weight: 2 },
        { name: 'off', url: 'http://127.0.0.1:9', api: 'vllm', weight: 0 }
      ]
    }
  )
  t.match(await servers(), [
    {
      name: 'one',
      source: 'settings',
      status: 'ready',
      slots: 3,
      weight: 2,
      model_names: 'b, a',
      models: [
        { name: 'b', loaded: true },
        { name: 'a', loaded: false }
      ]
    },
    { name: 'off', status: 'drained', models: [] }
  ])
  const { servers: shown } = (await kernel.callById('model.servers', { name: 'off' })) as { servers: object[] }
  t.equal(shown.length, 1)
  const changes = kernel.changes('inference-router.servers')
  await until(() => kernel.changes('inference-router.servers') > changes)
})

t.test('invalid servers are refused by name, with the setting and without the secret', async t => {
  const start = (...servers: object[]) => testKernel([router, http], { settings: settingsWith(servers) })
  const settingsWith = (servers: object[]) => ({
    http: { main: false },
    'inference-router': { port: 0, servers }
  })
  const api = 'openai'
  for (const [servers, message] of [
    [[{ url: 'ftp://x', api }], /inference_router\.servers\.0: the url is not an HTTP address/],
    [[{ url: 'http://me:hunter2@x', api }], /^(?!.*hunter2).*user name or password/],
    [[{ url: 'http://x?key=hunter2', api }], /^(?!.*hunter2).*query/],
    [[{ url: 'http://x', api, name: 'ä' }], /printable ASCII/],
    [
      [
        { url: 'http://x/v1/', api },
        { url: 'http://x', api, name: 'y' }
      ],
      /servers\.1: server 'y' has the same url as/
    ],
    [
      [
        { url: 'http://x', api, name: 'y' },
        { url: 'http://z', api, name: 'y' }
      ],
      /the same name as/
    ]
  ] as const) {
    await t.rejects(start(...servers), { code: 'IRT_SERVER_INVALID', message }, JSON.stringify(servers))
  }
  await t.rejects(start({ url: 'http://x', api: 'mystery' }))
})

t.test('other plugins contribute servers, which may come and go', async t => {
  const one = await modelServer(t, { api: 'openai', models: ['m'] })
  const two = await modelServer(t, { api: 'openai', models: ['m'] })
  let listed: InferenceServer[] = [{ name: 'node-2', url: two.url, api: 'openai', models: ['m'] }]
  let listings = 0
  const list = () => {
    listings += 1
    return listed
  }
  const mesh = definePlugin({
    name: 'mesh-source',
    activate: ctx => ctx.contribute(inferenceServers, { source: 'mesh', list })
  })
  const { chat, servers, kernel } = await openRouter(t, { one }, {}, { plugins: [mesh] })
  await until(async () => (await servers()).length === 2)
  t.match(await servers(), [
    { name: 'one', source: 'settings' },
    { name: 'node-2', source: 'mesh' }
  ])
  await one.kill()
  t.match(await chat('m', 'x'), { server: 'node-2' })
  const again: InferenceServer[] = [
    { name: 'other', url: one.url, api: 'openai' },
    { name: 'broken', url: 'nonsense', api: 'openai' }
  ]
  listed = again
  const warnings = () => kernel.log.filter(({ message }) => message.startsWith('a contributed model server'))
  await until(() => warnings().length === 2)
  await until(async () => (await servers()).length === 1)
  listed = [...again]
  const before = listings
  await until(() => listings > before + 1)
  t.equal(warnings().length, 2, 'a problem is logged once')
})

t.test('a reload keeps facts, counts and prefixes, and does not cut answers', async t => {
  const proceed: (() => void)[] = []
  const one = await modelServer(t, { api: 'openai', models: ['m'] })
  const { chat, servers, kernel, post } = await openRouter(t, { one })
  await chat('m', 'x'.repeat(5000))
  one.options.generate = async response => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: 1\n\n')
    await new Promise<void>(resolve => proceed.push(resolve))
    response.end('data: [DONE]\n\n')
  }
  const running = await post('/v1/chat/completions', { model: 'm', stream: true, messages: [] })
  const replaced = kernel.replace(router)
  await until(() => proceed.length === 1)
  setTimeout(() => proceed[0]?.(), 50)
  t.equal(await running.text(), 'data: 1\n\ndata: [DONE]\n\n')
  await replaced
  const [row] = await servers()
  t.match(row, { requests: 2, status: 'ready' })
  one.options.generate = undefined as never
  await chat('m', 'x'.repeat(5000))
  t.ok(((await servers())[0]?.prefix_hit_rate ?? 0) > 0.3)
})

t.test(
  'the inference client of the process uses the router, and each answer comes from a server with its model',
  async t => {
    const one = await modelServer(t, { api: 'openai', models: ['small'] })
    const two = await modelServer(t, { api: 'openai', models: ['large'] })
    let found: HttpServer | undefined
    let api: import('@svc/contracts').InferenceClient | undefined
    const probe = definePlugin({
      name: 'probe',
      requires: { server: httpServer, client: inferenceClient },
      activate: (_ctx, { server, client }) => {
        found = server
        api = client
      }
    })
    const servers = [one, two].map(({ url }) => ({ url, api: 'openai' }))
    const kernel = await testKernel([router, http, client, probe], {
      settings: { http: { main: false }, 'inference-router': { port: 0, servers, probe_interval_ms: 300 } }
    })
    t.teardown(() => kernel.close())
    const url = found?.addresses[0]?.url
    t.same(api?.target().urls, [url])
    await until(async () =>
      ((await kernel.callById('model.servers', {})) as { servers: { status: string }[] }).servers.every(
        each => each.status === 'ready'
      )
    )
    for (const model of ['small', 'large']) {
      let text = ''
      for await (const event of api?.chat({ model, messages: [{ role: 'user', content: `hello ${model}` }] }) ?? []) {
        if (event.type === 'text') text += event.text
      }
      t.equal(text, `hello ${model}`)
    }
    t.same([one.received.length, two.received.length], [1, 1])
    t.equal(one.received[0]?.headers['x-svc-routed'], undefined, 'the pass of the client does not leave the process')
  }
)

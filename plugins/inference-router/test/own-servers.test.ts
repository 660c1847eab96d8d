import { fileURLToPath } from 'node:url'
import {
  type HttpServer,
  httpServer,
  type InferenceClient,
  inferenceClient,
  inferenceServers,
  modelRequest
} from '@svc/contracts'
import http from '@svc/plugin-http'
import client from '@svc/plugin-inference-client'
import engine from '@svc/plugin-inference-onnx'
import modelServer from '@svc/plugin-model-server'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import t, { type Test } from 'tap'
import router from '#plugin'
import { modelServers } from '#root'
import { openRouter } from './open-router.ts'
import { until } from './until.ts'

const MODEL = fileURLToPath(new URL('../../model-server/models/vox-tiny', import.meta.url))

/** Starts a real model server with the bundled model. */
async function ownServer(t: Test, settings: object = {}, plugins: readonly Plugin[] = [], others: object = {}) {
  let found: HttpServer | undefined
  const probe = definePlugin({
    name: 'probe',
    requires: { server: httpServer },
    activate: (_ctx, { server }) => {
      found = server
    }
  })
  const kernel = await testKernel([engine, modelServer, http, probe, ...plugins], {
    settings: {
      http: { main: false },
      'model-server': { port: 0, temperature: 0, model: MODEL, ...settings },
      ...others
    }
  })
  t.teardown(() => kernel.close())
  const url = (listener: string) => found?.addresses.find(each => each.listener === listener)?.url ?? ''
  while (!(await fetch(`${url('model-server')}/ready`)).ok);
  return { kernel, url: url('model-server'), routerUrl: () => url('inference-router'), options: { api: 'svc' } }
}

t.test("svc's own servers report slots and load, and answer in both formats", async t => {
  const one = await ownServer(t, { slots: 2 })
  const two = await ownServer(t, { slots: 2 })
  const { post, servers } = await openRouter(t, { one, two })
  await until(async () => (await servers()).every(({ status }) => status === 'ready'))
  t.match(await servers(), [
    { status: 'ready', slots: 2, load: 0, models: [{ name: 'vox-tiny', loaded: true }] },
    { status: 'ready', slots: 2, load: 0 }
  ])
  const messages = [{ role: 'user', content: 'a table of customers' }]
  const routed = await post('/v1/chat/completions', { model: 'vox-tiny', messages, max_tokens: 8, seed: 1 })
  const answer = (await routed.json()) as { choices: { message: { content: string } }[] }
  t.type(answer.choices[0]?.message.content, 'string')
  const stream = await post('/api/chat', { model: 'vox-tiny:latest', messages, options: { num_predict: 4 } })
  const rows = (await stream.text())
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
  t.match(rows.at(-1), { done: true, model: 'vox-tiny' })
  const facts = await (await fetch(`${one.url}/metrics`)).text()
  t.match(facts, /^svc_model_running\{model="vox-tiny"\} 0$/m)
})

t.test('requests of the client in the process of router and server trigger the model hooks once', async t => {
  let triggered = 0
  let own: string | null = null
  let api: InferenceClient | undefined
  const here = definePlugin({
    name: 'here',
    requires: { api: inferenceClient },
    activate: (ctx, deps) => {
      api = deps.api
      ctx.on(modelRequest, request => {
        triggered += 1
        return request
      })
      const list = () => (own === null ? [] : [{ name: 'here', url: own, api: 'svc' } as const])
      ctx.contribute(inferenceServers, { source: 'here', list })
    }
  })
  const others = { 'inference-router': { port: 0, probe_interval_ms: 300 } }
  const { url, routerUrl, kernel } = await ownServer(t, {}, [router, client, here], others)
  own = url
  const ready = async () => (await kernel.call(modelServers, {})).servers.some(({ status }) => status === 'ready')
  await until(ready)
  t.same(api?.target().urls, [routerUrl()])
  const messages = [{ role: 'user', content: 'a table' }] as const
  for await (const _ of api?.chat({ model: 'vox-tiny', messages, maxTokens: 4 }) ?? []);
  t.equal(triggered, 1)
  const sent = { model: 'vox-tiny', messages, max_tokens: 4 }
  const body = JSON.stringify(sent)
  const headers = { 'content-type': 'application/json', 'x-svc-routed': 'a'.repeat(32), 'x-svc-tapped': 'a'.repeat(32) }
  const response = await fetch(`${routerUrl()}/v1/chat/completions`, { method: 'POST', headers, body })
  t.match([response.status, response.headers.get('x-svc-server')], [200, 'here'])
  await response.text()
  t.equal(triggered, 2, 'other clients cannot skip the hooks')
})

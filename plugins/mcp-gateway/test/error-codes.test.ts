import {
  type AccessRecord,
  accessRecordOf,
  type FinishedAccess,
  type HttpCaller,
  httpHandlers,
  httpRoutes,
  httpServer,
  observabilitySink
} from '@svc/contracts'
import http from '@svc/plugin-http'
import mcp from '@svc/plugin-mcp'
import { defineOperation, definePlugin, type Plugin, t as s } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import t, { type Test } from 'tap'
import gateway from '#plugin'

const refuse = defineOperation({
  id: 'demo.refuse',
  summary: 'Refuse',
  input: s.object({}),
  output: s.object({}),
  errors: { DEMO_REFUSED: { message: 'Refused.', status: 409 } },
  effect: 'read',
  expose: { mcp: { name: 'svc_demo_refuse', result: 'tool-result', readRole: true } }
})

interface Scope {
  get(path: string, handle: (request: { readonly caller: HttpCaller }, reply: Reply) => unknown): void
}
interface Reply {
  code(status: number): Reply
  send(body: unknown): Reply
}

const demo = definePlugin({
  name: 'demo',
  operations: [refuse],
  activate(ctx) {
    ctx.implement(refuse, (_input, call) => {
      call.log.warn('refusing')
      return call.fail('DEMO_REFUSED')
    })
    ctx.contribute(httpRoutes, {
      routes: [{ method: 'GET', path: '/raw' }],
      register: app =>
        (app as Scope).get('/raw', ({ caller }, reply) => {
          caller.recordError?.('DEMO_RAW')
          return reply.code(418).send({ oops: true })
        })
    })
    ctx.contribute(httpHandlers, {
      routes: [
        {
          method: 'GET',
          path: '/handler',
          handle(exchange) {
            exchange.caller.recordError?.('DEMO_HANDLER')
            exchange.send(418, 'application/json', '{}')
          }
        }
      ]
    })
  }
})

async function open(t: Test) {
  const records: AccessRecord[] = []
  const urls = new Map<string, string>()
  const probe = definePlugin({
    name: 'probe',
    requires: { server: httpServer },
    activate: (ctx, { server }) =>
      ctx.onServe('addresses', () => {
        for (const { listener, url } of server.addresses) urls.set(listener, url)
      })
  })
  const kernel = await testKernel([http, mcp, gateway, demo, probe] as Plugin[], {
    services: [
      {
        token: observabilitySink,
        value: { request: (request: FinishedAccess) => void records.push(accessRecordOf(request)) }
      }
    ],
    settings: {
      http: { port: 0 },
      'mcp-gateway': {
        http_enabled: true,
        port: 0,
        bearer_token: 'token-0123456789',
        allowed_tools: ['svc_demo_refuse']
      }
    }
  })
  t.teardown(() => kernel.close())
  return { kernel, records, urls }
}

t.test('access records have the code of errors that routes send in their own format', async t => {
  const { kernel, records, urls } = await open(t)
  const headers = (id: string) => ({ 'x-request-id': id, 'content-type': 'application/json' })
  const main = urls.get('main')
  const own = urls.get('mcp-gateway')
  await (await fetch(`${main}/raw`, { headers: headers('r-raw') })).text()
  await (await fetch(`${main}/handler`, { headers: headers('r-handler') })).text()

  const accept = { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-11-25' }
  const params = { name: 'svc_demo_refuse', arguments: {} }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
  const authorization = 'Bearer token-0123456789'
  const overMcp = await fetch(`${main}/mcp`, { method: 'POST', headers: { ...headers('r-mcp'), ...accept }, body })
  t.equal(overMcp.status, 200)
  t.match(await overMcp.text(), /"request_id":"r-mcp"/)
  const behind = { ...headers('r-gateway-mcp'), ...accept, authorization }
  t.match(
    await (await fetch(`${own}/mcp`, { method: 'POST', headers: behind, body })).text(),
    /"request_id":"r-gateway-mcp"/
  )
  const call = (id: string, more: object) =>
    fetch(`${own}/v1/tools/call`, {
      method: 'POST',
      headers: { ...headers(id), ...more },
      body: JSON.stringify({ name: params.name, args: {} })
    })
  t.match(await (await call('r-gateway', { authorization })).json(), {
    success: false,
    result: { meta: { code: 'DEMO_REFUSED', request_id: 'r-gateway' } }
  })
  await (await call('r-token', { authorization: 'Bearer wrong' })).text()

  const codes = Object.fromEntries(records.map(({ request_id, error_code }) => [request_id, error_code]))
  t.same(codes, {
    'r-raw': 'DEMO_RAW',
    'r-handler': 'DEMO_HANDLER',
    'r-mcp': 'DEMO_REFUSED',
    'r-gateway-mcp': 'DEMO_REFUSED',
    'r-gateway': 'DEMO_REFUSED',
    'r-token': 'GWY_UNAUTHORIZED'
  })
  const refusing = kernel.log.filter(({ message }) => message === 'refusing').map(({ fields }) => fields.request_id)
  t.same(refusing, ['r-mcp', 'r-gateway-mcp', 'r-gateway'], 'log lines of the tool have the request id')
})

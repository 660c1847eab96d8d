import http from '@svc/plugin-http'
import mcp from '@svc/plugin-mcp'
import { defineOperation, definePlugin, type Plugin, t as s } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import t from 'tap'
import gateway from '#plugin'
import { openWorld, toolsPlugin, WRITE } from './world.ts'

t.test('the gateway does not listen until it is enabled', async t => {
  const kernel = await testKernel([http, mcp, gateway] as Plugin[], { settings: { http: { main: false } } })
  t.teardown(() => kernel.close())
  t.equal(kernel.state('mcp-gateway'), 'active')
  t.notOk(kernel.log.some(({ message }) => message.includes('listens on')))
})

t.test('the gateway does not start without a token, unless configured to', async t => {
  await t.rejects(openWorld(t, {}, { tokens: false }), {
    code: 'GWY_TOKEN_MISSING',
    message: /SVC_MCP_HTTP_BEARER_TOKEN/,
    hint: /SVC_MCP_HTTP_ALLOW_UNAUTHENTICATED=1/
  })
  await t.rejects(openWorld(t, { read_bearer_token: WRITE }), { code: 'GWY_TOKENS_EQUAL' })
  const reader = await openWorld(t, { read_bearer_token: WRITE }, { tokens: false })
  t.match(await (await reader.get('/v1/tools')).json(), { tools: [{}, {}] }, 'the token of the read role is enough')

  const open = await openWorld(t, { allow_unauthenticated: true }, { tokens: false })
  t.match(await (await open.call('svc_cancel_task', {}, {})).json(), { success: true })
  t.match(await (await open.get('/v1/info', {})).json(), { auth_required: false })
  t.ok(
    open.kernel.log.some(
      ({ level, message }) => level === 'warn' && /no token is set: any client that reaches/.test(message)
    )
  )

  const both = await openWorld(t, { allow_unauthenticated: true })
  t.equal((await both.get('/v1/tools', {})).status, 401, 'with a token the override has no effect')
  t.ok(both.kernel.log.some(({ level, message }) => level === 'warn' && /has no effect/.test(message)))
})

t.test('an unknown tool in a list prevents the start; the hint suggests the nearest name', async t => {
  await t.rejects(openWorld(t, { allowed_tools: ['svc_rebalance', 'svc_task_staus'] }), {
    code: 'GWY_TOOL_UNKNOWN',
    message: /SVC_MCP_HTTP_ALLOWED_TOOLS\) names the tool "svc_task_staus"/,
    hint: /did you mean svc_task_status\?/
  })
  await t.rejects(openWorld(t, { read_role_allowed_tools: ['rebalance'] }), {
    code: 'GWY_TOOL_UNKNOWN',
    message: /SVC_MCP_HTTP_READ_ROLE_ALLOWED_TOOLS/,
    hint: /did you mean svc_rebalance\?/
  })
  const world = await openWorld(t, { allowed_tools: ['svc_rebalance', 'svc_chat_message'] })
  t.match(await (await world.get('/v1/info')).json(), {
    allowed_tools: ['svc_rebalance'],
    missing_tools: ['svc_chat_message']
  })
})

t.test('tools appear and disappear with their plugins', async t => {
  const world = await openWorld(
    t,
    { allowed_tools: ['svc_rebalance', 'svc_later'] },
    {
      plugins: [toolsPlugin(), later('svc_later')]
    }
  )
  const names = async (): Promise<unknown> => {
    const { allowed_tools } = (await (await world.get('/v1/info')).json()) as { allowed_tools: unknown }
    return allowed_tools
  }
  t.same(await names(), ['svc_later', 'svc_rebalance'])
  await world.kernel.replace(later('svc_other'))
  t.same(await names(), ['svc_rebalance'], 'the plugin of an allowed tool can be removed')
  await world.kernel.replace(later('svc_later'))
  t.same(await names(), ['svc_later', 'svc_rebalance'])
})

t.test('an invalid origin is a settings error', async t => {
  for (const origin of ['svc.example.org', 'https://svc.example.org/', 'ftp://x.example', '*']) {
    await t.rejects(openWorld(t, { allowed_origins: [origin] }), { code: 'GWY_ORIGIN_INVALID' })
  }
})

function later(name: string): Plugin {
  const operation = defineOperation({
    id: 'later.op',
    summary: 'Added later',
    input: s.object({}),
    output: s.object({}),
    expose: { mcp: { name } }
  })
  return definePlugin({
    name: 'later',
    operations: [operation],
    activate: ctx => ctx.implement(operation, () => ({}))
  }) as Plugin
}

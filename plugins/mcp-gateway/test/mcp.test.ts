import { EventEmitter, once } from 'node:events'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import mcp from '@svc/plugin-mcp'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import t, { type Test } from 'tap'
import gateway from '#plugin'
import { bearer, openWorld, READ, toolsPlugin, type World, WRITE } from './world.ts'

const ERAS = ['2026', '2025'] as const

async function connect(t: Test, world: World, era: (typeof ERAS)[number], token: string): Promise<Client> {
  const client = new Client(
    { name: 'test', version: '1.0.0' },
    { versionNegotiation: { mode: era === '2026' ? { pin: '2026-07-28' } : 'legacy' } }
  )
  const requestInit = { headers: bearer(token) }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${world.url}/mcp`), { requestInit }))
  t.teardown(() => client.close())
  return client
}

const names = async (client: Client): Promise<string[]> =>
  (await client.listTools(undefined, { cacheMode: 'refresh' } as never)).tools.map(({ name }) => name)

for (const era of ERAS) {
  t.test(`an MCP client has the tools of its role and no others (${era})`, async t => {
    const world = await openWorld(t)
    const writer = await connect(t, world, era, WRITE)
    const reader = await connect(t, world, era, READ)
    t.same(await names(writer), ['svc_cancel_task', 'svc_orchestrator_status', 'svc_rebalance', 'svc_task_status'])
    t.same(await names(reader), ['svc_orchestrator_status', 'svc_task_status'])
    t.match(
      await writer.callTool({ name: 'svc_level' }),
      { structuredContent: { success: true } },
      'an alias is listed by its canonical name'
    )
    for (const [client, name] of [
      [writer, 'svc_submit_task'],
      [reader, 'svc_cancel_task'],
      [reader, 'svc_repo_status']
    ] as const) {
      t.match(await client.callTool({ name }), { isError: true, structuredContent: { error: `unknown tool: ${name}` } })
    }
    await t.rejects(writer.callTool({ name: 'raw_picture' }), { code: -32602 })
    t.same((await writer.listResources()).resources, [])
    t.same((await writer.listPrompts()).prompts, [])
  })

  t.test(`calls survive reloads of the gateway and of mcp (${era})`, async t => {
    const gates = new EventEmitter()
    const world = await openWorld(t, {}, { plugins: [toolsPlugin({ gates })] })
    const client = await connect(t, world, era, WRITE)
    for (const plugin of [gateway, mcp]) {
      const entered = once(gates, 'entered a')
      const call = client.callTool({ name: 'svc_rebalance', arguments: { text: 'wait a' } })
      await entered
      await world.kernel.replace({ ...plugin } as Plugin)
      gates.emit('open a')
      t.match(await call, { structuredContent: { success: true } })
    }
    t.equal((await names(client)).length, 4)
  })
}

t.test('rejects a caller without a token, with a wrong origin, or with a session of another caller', async t => {
  const world = await openWorld(t)
  const post = (headers: Record<string, string>, body: object): Promise<Response> =>
    fetch(`${world.url}/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
      body: JSON.stringify(body)
    })
  const initialize = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } }
  }
  t.equal((await post({}, initialize)).status, 401)
  t.equal((await post({ ...bearer(WRITE), origin: 'https://evil.example' }, initialize)).status, 403)
  t.equal((await post(bearer(WRITE), { ...initialize, padding: 'x'.repeat(262_144) })).status, 413)
  const opened = await post(bearer(WRITE), initialize)
  await opened.text()
  const session = opened.headers.get('mcp-session-id') as string
  const list = { jsonrpc: '2.0', id: 2, method: 'tools/list' }
  t.equal((await post({ ...bearer(READ), 'mcp-session-id': session }, list)).status, 404)
  t.equal((await post({ ...bearer(WRITE), 'mcp-session-id': session }, list)).status, 200)
})

t.test('a session uses the current rights of its caller, not the initial ones', async t => {
  const world = await openWorld(t)
  const client = await connect(t, world, '2025', WRITE)
  t.ok((await names(client)).includes('svc_rebalance'))
  const narrower = definePlugin({
    ...gateway,
    activate(ctx, deps) {
      const config = { ...ctx.config, allowed_tools: ['svc_cancel_task'] }
      const get = (target: typeof ctx, key: keyof typeof ctx): unknown => {
        const value = key === 'config' ? config : target[key]
        return typeof value === 'function' ? value.bind(target) : value
      }
      return gateway.activate(new Proxy(ctx, { get } as never), deps)
    }
  })
  await world.kernel.replace(narrower as Plugin)
  t.same(await names(client), ['svc_cancel_task'])
  t.match(await client.callTool({ name: 'svc_rebalance' }), { isError: true })
})

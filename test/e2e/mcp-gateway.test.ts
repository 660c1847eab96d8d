import t from 'tap'
import WebSocket from 'ws'
import { mcpProject } from './mcp-clients.ts'
import { errorOf, runSvc } from './run-svc.ts'
import { type Files, pluginPackage, SVC_BIN, serve } from './served-project.ts'

const PLUGIN = `
import { defineOperation, definePlugin, t } from '@svc/plugin-sdk'

const look = defineOperation({
  id: 'demo.look', summary: 'Look', input: t.object({}), output: t.object({ seen: t.integer() }), effect: 'read',
  expose: { mcp: { name: 'svc_demo_look', aliases: ['svc_demo_see'], result: 'tool-result', lane: 'app', readRole: true } }
})
const push = defineOperation({
  id: 'demo.push', summary: 'Push', input: t.object({}), output: t.object({}),
  expose: { mcp: { name: 'svc_demo_push', result: 'tool-result' } }
})

export default definePlugin({
  name: 'demo',
  operations: [look, push],
  activate(ctx) {
    ctx.implement(look, () => ({ seen: 1 }))
    ctx.implement(push, () => ({}))
  }
})
`
const files: Files = {
  'plugins/demo/package.json': pluginPackage('demo'),
  'plugins/demo/src/plugin.ts': PLUGIN
}
const WRITE = 'the-token-of-a-writer'
const READ = 'the-token-of-a-reader'
const GATEWAY = {
  SVC_MCP_HTTP_ENABLED: 'yes',
  SVC_MCP_HTTP_PORT: '0',
  SVC_MCP_HTTP_BEARER_TOKEN: WRITE,
  SVC_MCP_HTTP_READ_BEARER_TOKEN: READ,
  SVC_MCP_HTTP_ALLOWED_TOOLS: 'svc_demo_see, svc_demo_push',
  SVC_MCP_HTTP_RATE_LIMIT_PER_MINUTE: '20',
  SVC_MCP_HTTP_HEALTH_AUTH: 'on',
  SVC_MCP_HTTP_TRUST_X_FORWARDED_FOR: '1'
}
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

t.test('svc serve opens the gateway if the environment enables it', async t => {
  const folder = mcpProject(t, files)
  const server = await serve(t, folder, ['--no-watch'], SVC_BIN, GATEWAY)
  const url = /mcp-gateway listens on (http:\/\/[^\s"]+)/.exec(await server.line(/mcp-gateway listens on/))?.[1] ?? ''
  const post = async (name: string, token: string): Promise<unknown> => {
    const response = await fetch(`${url}/v1/tools/call`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...bearer(token) },
      body: JSON.stringify({ name, args: {} })
    })
    return response.json()
  }
  t.equal((await fetch(`${url}/health`)).status, 401)
  t.same(await post('svc_demo_see', READ), {
    success: true,
    is_error: false,
    result: { success: true, data: { seen: 1 } }
  })
  t.match(await post('svc_demo_push', READ), { success: false })
  t.match(await post('svc_demo_push', WRITE), { success: true })
  t.equal((await fetch(`${url}/v1/mobile`)).status, 401)
  t.equal((await fetch(`${url}/v1/mobile`, { headers: bearer(READ) })).status, 200)

  const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/ws`, { headers: bearer(WRITE) })
  const answer = new Promise(resolve => socket.once('message', data => resolve(JSON.parse(String(data)))))
  socket.once('open', () => socket.send('{"type":"list_tools"}'))
  t.match(await answer, { data: { tools: ['svc_demo_look', 'svc_demo_push'] } })
  socket.terminate()

  const statuses = new Set<number>()
  const flood = { ...bearer(READ), 'x-forwarded-for': '203.0.113.5' }
  for (let request = 0; request < 25; request++) {
    statuses.add((await fetch(`${url}/v1/tools`, { headers: flood })).status)
  }
  t.same([...statuses], [200, 429])
  t.equal((await fetch(`${url}/v1/tools`, { headers: bearer(READ) })).status, 200, 'other clients are not affected')

  t.equal(await server.stop(), 0)
  t.notOk(
    server.lines.some(line => line.includes(WRITE) || line.includes(READ)),
    'the log has no token'
  )
})

t.test('svc serve does not start with a gateway without a token, or with an invalid tool list', async t => {
  const folder = mcpProject(t, files)
  const argv = ['serve', '--json', '--set', 'plugins.http.port=0', '--set', 'plugins.daemon.socket=127.0.0.1:0']
  const start = async (env: Record<string, string>): Promise<unknown> => {
    const ran = await runSvc(folder, argv, { env: { SVC_MCP_HTTP_ENABLED: '1', SVC_MCP_HTTP_PORT: '0', ...env } })
    t.not(ran.code, 0)
    return errorOf(ran)
  }
  t.match(await start({}), { code: 'GWY_TOKEN_MISSING', hint: /SVC_MCP_HTTP_ALLOW_UNAUTHENTICATED/ })
  t.match(await start({ SVC_MCP_HTTP_BEARER_TOKEN: WRITE, SVC_MCP_HTTP_ALLOWED_TOOLS: 'svc_demo_lok' }), {
    code: 'GWY_TOOL_UNKNOWN',
    hint: /did you mean svc_demo_look/
  })
})

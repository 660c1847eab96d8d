import t from 'tap'
import { overStdio } from '../../../../test/e2e/mcp-clients.ts'
import { makeProject } from '../../../../test/e2e/served-project.ts'
import { serveApp } from '../serving/served-app.ts'

t.setTimeout(120_000)

const SOURCE = `
@mcp.tool "who calls" @auth fn who() to str { request.user.id + " " + request.user.provider }
@mcp.tool "for admins" @role("admin") fn for_admins() to str { "secret" }
@mcp.tool "for owners" @role("owner") fn for_owners() to str { "shared" }
@mcp.tool "once an hour" @rate_limit(by: ip, per: "1h", max: 1) fn once() to str { "one" }
@mcp.resource "app://secret" "for admins" @role("admin") fn secret() to str { "secret" }
`

interface ToolResult {
  readonly isError?: boolean
  readonly content?: readonly { readonly text: string }[]
  readonly _meta?: { readonly 'svc/error'?: { readonly code: string } }
}

async function request(url: string, method: string, params: object, token?: string): Promise<any> {
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` })
  }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const text = await (await fetch(`${url}/mcp`, { method: 'POST', headers, body })).text()
  return JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text)
}

async function call(url: string, name: string, token?: string): Promise<string> {
  const { result } = (await request(url, 'tools/call', { name, arguments: {} }, token)) as { result: ToolResult }
  if (result.isError !== true) return result.content?.[0]?.text ?? ''
  return result._meta?.['svc/error']?.code ?? result.content?.[0]?.text ?? ''
}

t.test('over HTTP without a token, the operator of this machine is a caller with the role owner', async t => {
  const { url } = await serveApp(t, SOURCE, {}, undefined, ['mcp'])
  t.equal(await call(url, 'who'), 'local operator')
  t.equal(await call(url, 'for_owners'), 'shared')
  t.equal(await call(url, 'for_admins'), 'RUN_FORBIDDEN')
  t.match(await request(url, 'resources/read', { uri: 'app://secret' }), { error: {} })
  t.equal(await call(url, 'once'), 'one')
  t.match(await call(url, 'once'), /too many calls|RUN_RATE_LIMITED/)
})

t.test('over stdio, the operator of this machine may call every tool', async t => {
  const off = ['model-server', 'inference-onnx'].map(name => `[plugins.${name}]\nenabled = false\n`).join('')
  const settings = `[plugins.app-runtime]\nprogram = "app.vox"\nport = 0\n${off}`
  const client = await overStdio(makeProject(t, { 'app.vox': SOURCE, 'svc.toml': settings }), '2026')
  t.teardown(() => client.close())
  const text = async (name: string): Promise<unknown> => {
    const { content } = await client.callTool({ name, arguments: {} })
    return (content as readonly { readonly text?: string }[])[0]?.text
  }
  t.equal(await text('who'), 'system system')
  t.equal(await text('for_admins'), 'secret')
  t.match(await client.readResource({ uri: 'app://secret' }), { contents: [{ text: 'secret' }] })
})

t.test('a caller with the token of the service has the role of its principal, and is limited', async t => {
  const token = 'the-token-of-the-service-1234'
  const { url } = await serveApp(t, SOURCE, { 'http.token': token }, undefined, ['mcp'])
  t.equal(await call(url, 'who', token), 'bearer operator')
  t.equal(await call(url, 'for_owners', token), 'shared')
  t.equal(await call(url, 'for_admins', token), 'RUN_FORBIDDEN')
  t.match(await request(url, 'resources/read', { uri: 'app://secret' }, token), { error: {} })
  t.equal(await call(url, 'once', token), 'one')
  t.match(await call(url, 'once', token), /too many calls|RUN_RATE_LIMITED/)
})

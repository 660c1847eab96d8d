import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { connect as connectSocket } from 'node:net'
import { join } from 'node:path'
import type { Client, ClientOptions, Progress } from '@modelcontextprotocol/client'
import t, { type Test } from 'tap'
import { ERAS, type Era, mcpProject, overHttp, overStdio, serveMcp } from './mcp-clients.ts'
import { pluginPackage, SVC_BIN } from './served-project.ts'

const tool = (name: string): string => `
import { defineOperation, definePlugin, t } from '@svc/plugin-sdk'

const hello = defineOperation({
  id: 'demo.${name}', summary: 'Say hello', input: t.object({ name: t.string() }), output: t.object({ text: t.string() }),
  effect: 'read', expose: { mcp: true }
})

export default definePlugin({
  name: 'demo',
  operations: [hello],
  activate(ctx) {
    console.log('a careless plugin prints to standard output')
    ctx.implement(hello, ({ name }) => ({ text: 'hello ' + name }))
  }
})
`
const files = { 'plugins/demo/package.json': pluginPackage('demo'), 'plugins/demo/src/plugin.ts': tool('hello') }

const CAPABILITIES = { elicitation: { form: {} }, sampling: {}, roots: {} }

/** Makes a client respond to the input requests of the fixture's tools. */
function answering(client: Client): void {
  client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { name: 'Ada', ok: true } }))
  client.setRequestHandler('sampling/createMessage', () => ({
    model: 'test',
    role: 'assistant',
    content: { type: 'text', text: 'Paris' }
  }))
  client.setRequestHandler('roots/list', () => ({ roots: [{ uri: 'file:///work' }] }))
}

const text = async (client: Client, name: string, args: Record<string, unknown> = {}): Promise<unknown> => {
  const { content } = (await client.callTool({ name, arguments: args })) as { content: { text?: string }[] }
  return content[0]?.text
}

type Connect = (era: Era, options?: ClientOptions) => Promise<Client>

/** Tests all features, with any transport and protocol version. */
async function everything(t: Test, connect: Connect, era: Era): Promise<void> {
  const client = await connect(era, { capabilities: CAPABILITIES })
  t.teardown(() => client.close())
  answering(client)
  t.match(client.getServerVersion(), { name: 'svc-mcp' })

  const names = (await client.listTools()).tools.map(each => each.name)
  t.same(names, [...names].sort())
  t.ok(names.includes('demo_hello') && names.includes('test_simple_text'))
  t.match(await client.callTool({ name: 'demo_hello', arguments: { name: 'Ada' } }), {
    structuredContent: { text: 'hello Ada' }
  })
  t.match(await client.callTool({ name: 'demo_hello', arguments: {} }), {
    isError: true,
    _meta: { 'svc/error': { code: 'OPR_INPUT_INVALID' } }
  })
  t.match(await client.callTool({ name: 'test_error_handling' }), { isError: true })
  const { content } = (await client.callTool({ name: 'test_multiple_content_types' })) as {
    content: { type: string }[]
  }
  t.same(
    content.map(block => block.type),
    ['text', 'image', 'resource']
  )
  const progress: Progress[] = []
  await client.callTool({ name: 'test_tool_with_progress' }, { onprogress: each => void progress.push(each) })
  t.same(
    progress.map(each => each.progress),
    [0, 50, 100]
  )

  t.equal(await text(client, 'test_input_required_result_elicitation'), 'Hello, Ada!')
  t.equal(await text(client, 'test_sampling', { prompt: 'x' }), 'LLM response: Paris')
  t.equal(await text(client, 'test_input_required_result_list_roots'), 'file:///work')
  t.match(await text(client, 'test_input_required_result_request_state'), /state-ok/)

  const { resources } = await client.listResources()
  t.ok(resources.some(each => each.uri === 'test://static-binary'))
  t.match(await client.readResource({ uri: 'test://static-text' }), { contents: [{ text: /static text/ }] })
  t.match(await client.readResource({ uri: 'test://template/7/data' }), { contents: [{ text: /"id":"7"/ }] })
  await t.rejects(client.readResource({ uri: 'test://nowhere' }), { code: -32602 })
  const { resourceTemplates } = await client.listResourceTemplates()
  t.match(resourceTemplates, [{ uriTemplate: 'test://template/{id}/data' }])

  const prompt = { name: 'test_prompt_with_arguments', arguments: { arg1: 'a', arg2: 'b' } }
  t.match(await client.getPrompt(prompt), { messages: [{ content: { text: /arg1='a', arg2='b'/ } }] })
  await t.rejects(client.getPrompt({ name: 'test_prompt_with_arguments', arguments: {} }), {
    code: -32602,
    message: /arg1, arg2/
  })
  t.same(
    (
      await client.complete({
        ref: { type: 'ref/prompt', name: 'test_prompt_with_arguments' },
        argument: { name: 'arg1', value: 'teste' }
      })
    ).completion.values,
    ['tested']
  )
  const template = { type: 'ref/resource', uri: 'test://template/{id}/data' } as const
  t.same((await client.complete({ ref: template, argument: { name: 'id', value: '12' } })).completion.values, [
    '12',
    '123'
  ])

  if (era === '2025') {
    const lines: unknown[] = []
    client.setNotificationHandler('notifications/message', ({ params }) => void lines.push(params.data))
    await client.setLoggingLevel('warning')
    await client.callTool({ name: 'test_tool_with_logging' })
    t.same(lines, [], 'log lines below the requested level are not sent')
    await client.setLoggingLevel('info')
    await client.callTool({ name: 'test_tool_with_logging' })
    t.equal(lines.length, 3)
    await client.ping()
  }
}

/** Tests that a client is notified of a saved tool, even right after the handshake. */
async function newTool(t: Test, connect: Connect, era: Era, folder: string): Promise<void> {
  const name = `demo_era${era}`
  let told: (names: string[]) => void = () => undefined
  const changed = new Promise<string[]>(resolve => {
    told = resolve
  })
  const onChanged = (_error: Error | null, tools: readonly { name: string }[] | null): void => {
    const names = (tools ?? []).map(each => each.name)
    // The notification may belong to an earlier test.
    if (names.includes(name)) told(names)
  }
  const client = await connect(era, { listChanged: { tools: { debounceMs: 0, onChanged } } })
  t.teardown(() => client.close())
  writeFileSync(join(folder, 'plugins/demo/src/plugin.ts'), tool(`era${era}`))
  t.notOk((await changed).includes('demo_hello'))
}

t.test('over HTTP', async t => {
  const folder = mcpProject(t, files)
  // So long that a shutdown that waits for clients would be logged.
  const server = await serveMcp(t, folder, ['--set', 'plugins.http.drain_ms=3600000'])
  const connect: Connect = (era, options) => overHttp(server.url, era, options)

  for (const era of ERAS) {
    t.test(`everything works in the ${era} protocol`, t => everything(t, connect, era))
  }

  t.test('rejects pages of other origins', async t => {
    const { hostname, port } = new URL(server.url)
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
    const post = async (headers: Record<string, string>): Promise<number | undefined> => {
      const sent = request({ hostname, port, path: '/mcp', method: 'POST', headers: { ...JSON_HEADERS, ...headers } })
      sent.end(body)
      const [response] = await once(sent, 'response')
      response.resume()
      return response.statusCode
    }
    t.equal(await post({}), 200)
    t.equal(await post({ host: 'evil.example' }), 403)
    t.equal(await post({ origin: 'http://evil.example' }), 403)
  })

  t.test('a body that is not JSON is a parse error', async t => {
    const response = await fetch(`${server.url}/mcp`, { method: 'POST', headers: JSON_HEADERS, body: '{' })
    t.equal(response.status, 400)
    t.match(await response.json(), { jsonrpc: '2.0', id: null, error: { code: -32700 } })
  })

  for (const era of ERAS) t.test(`a saved plugin is announced (${era})`, t => newTool(t, connect, era, folder))

  t.test('a stop does not wait for notification streams or idle connections', async t => {
    const idle = connectSocket(Number(new URL(server.url).port), '127.0.0.1')
    await once(idle, 'connect')
    const listening = await Promise.all(
      ERAS.map(era => connect(era, { listChanged: { tools: { onChanged: () => undefined } } }))
    )
    t.equal(await server.stop(), 0)
    t.same(
      server.lines.filter(line => line.includes('did not stop')),
      []
    )
    await Promise.allSettled(listening.map(client => client.close()))
  })
})

const JSON_HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

t.test('MCP over stdio', async t => {
  const folder = mcpProject(t, files)
  // A served project runs at the same time; svc mcp uses none of its ports.
  await serveMcp(t, folder)
  const connect: Connect = (era, options) => overStdio(folder, era, options)
  for (const era of ERAS) t.test(`everything works in the ${era} protocol`, t => everything(t, connect, era))
  for (const era of ERAS) t.test(`a saved plugin is announced (${era})`, t => newTool(t, connect, era, folder))

  t.test('--read-only hides tools that may change something', async t => {
    const options = ['--read-only', '--toolsets', 'mcp-conformance,demo', '--output-schemas']
    const client = await overStdio(folder, '2026', {}, options)
    t.teardown(() => client.close())
    const { tools } = await client.listTools()
    const names = tools.map(each => each.name)
    t.ok(names.includes('test_simple_text'))
    t.notOk(names.includes('test_image_content'))
    t.notOk(names.includes('svc_orchestrator_status'), 'another toolset')
    t.ok(tools.find(each => each.name.startsWith('demo_'))?.outputSchema)
  })

  t.test('an invalid line gets an error response, and the process ends with its input', async t => {
    const child = spawn(process.execPath, [SVC_BIN, 'mcp'], { cwd: folder, stdio: ['pipe', 'pipe', 'ignore'] })
    const chunks: Buffer[] = []
    child.stdout.on('data', chunk => chunks.push(chunk))
    const initialize = {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'e2e', version: '1' } }
    }
    child.stdin.end(
      `nonsense\n${JSON.stringify(initialize)}\n${JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'ping' })}\n`
    )
    const [code] = await once(child, 'exit')
    t.equal(code, 0)
    const lines = Buffer.concat(chunks).toString().trim().split('\n')
    t.match(
      lines.map(line => JSON.parse(line)),
      [
        { id: null, error: { code: -32700 } },
        { id: 1, result: { serverInfo: { name: 'svc-mcp' } } },
        { id: 2, result: {} }
      ]
    )
  })
})

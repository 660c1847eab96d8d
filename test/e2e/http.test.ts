import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, get, type IncomingMessage } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import t, { type Test } from 'tap'
import { makeProject, pluginPackage, type Served, SVC_BIN, serve, writeFiles } from './served-project.ts'

const source = `
import { defineOperation, definePlugin, t } from '@svc/plugin-sdk'

const echo = defineOperation({
  id: 'echo.say', summary: 'Return the text', input: t.object({ text: t.string() }), output: t.unknown(),
  expose: { http: { method: 'POST', path: '/echo' } }
})
const wait = defineOperation({
  id: 'echo.wait', summary: 'Wait for a release', effect: 'read', input: t.object({}), output: t.unknown(), events: t.unknown(),
  expose: { http: { method: 'GET', path: '/echo/wait' } }
})
const later = defineOperation({
  id: 'echo.later', summary: 'Return after a delay', effect: 'read', input: t.object({}), output: t.unknown(),
  events: t.unknown(), expose: { http: { method: 'GET', path: '/echo/later' } }
})
const go = defineOperation({
  id: 'echo.go', summary: 'Release the waiting call', input: t.object({}), output: t.unknown(),
  expose: { http: { method: 'POST', path: '/echo/go' } }
})

export default definePlugin({
  name: 'echo',
  operations: [echo, wait, later, go],
  activate(ctx) {
    const waiting = new Set<() => void>()
    ctx.implement(echo, input => input)
    ctx.implement(wait, (_input, call) => {
      call.emit('waiting')
      return new Promise(resolve => waiting.add(() => resolve('released')))
    })
    ctx.implement(later, async (_input, call) => {
      call.emit('begun')
      await new Promise(resolve => setTimeout(resolve, 300))
      return 'in the end'
    })
    ctx.implement(go, () => {
      for (const release of waiting) release()
      return waiting.size
    })
  }
})
`

const toml = (http: string): string => `[kernel]\nplugin_directories = ["plugins"]\n[plugins.http]\n${http}`

function project(test: Test, http = ''): string {
  return makeProject(test, {
    'svc.toml': toml(http),
    'plugins/echo/package.json': pluginPackage('echo'),
    'plugins/echo/src/plugin.ts': source
  })
}

const say = (server: Served, text: string): Promise<Response> =>
  fetch(`${server.url}/echo`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ text })
  })

async function open(server: Served, path: string, agent: Agent): Promise<IncomingMessage> {
  const request = get(`${server.url}${path}`, { agent, headers: { accept: 'text/event-stream' } })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return response
}

async function read(response: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of response) text += String(chunk)
  return text
}

t.test('changed settings of the HTTP server keep its port, its connections and requests in flight', async t => {
  const folder = project(t)
  const server = await serve(t, folder, ['--watch', '--only', 'http,echo'])
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  const stream = await open(server, '/echo/wait', new Agent())
  const health = async (): Promise<number | undefined> => {
    const response = await open(server, '/health', agent)
    const { localPort } = response.socket
    await read(response)
    return localPort
  }
  const port = await health()
  t.equal((await say(server, 'x'.repeat(2_000))).status, 200)

  const from = server.lines.length
  writeFiles(folder, { 'svc.toml': toml('body_limit_bytes = 1000\n') })
  await server.line(/"replaced":\["http"\]/, from)
  t.equal((await say(server, 'x'.repeat(2_000))).status, 413, 'the new limit applies')
  t.equal(await health(), port, 'an idle connection stayed open')
  t.equal((await fetch(`${server.url}/echo/go`, { method: 'POST' })).status, 200)
  t.match(await read(stream), /event: result\ndata: "released"/, 'an open stream continues')
  t.same(
    server.lines.filter(line => /"level":(40|50|60|"(warn|error|fatal)")/.test(line)),
    [],
    'the log has no warning'
  )

  writeFiles(folder, { 'svc.toml': toml('allowed_hosts = ["svc.example"]\n') })
  await server.line(/"replaced":\["http"\]/, server.lines.length - 1)
  t.equal(await health(), port)
  t.equal(await server.stop(), 0)
})

t.test('after SIGTERM requests in flight complete, and new ones are rejected', async t => {
  const server = await serve(t, project(t), ['--only', 'http,echo'])
  const stream = await open(server, '/echo/later', new Agent())
  await once(stream, 'data')
  const stopped = server.stop()
  await server.line(/stopping/)
  const accepts = (): Promise<boolean> =>
    fetch(`${server.url}/health`).then(
      () => true,
      () => false
    )
  while (await accepts()) {}
  t.match(await read(stream), /event: result\ndata: "in the end"/)
  t.equal(await stopped, 0)
})

t.test('a port in use fails the start with an error that names port and setting', async t => {
  const holder = createServer()
  holder.listen(0, '127.0.0.1')
  await once(holder, 'listening')
  t.teardown(() => holder.close())
  const { port } = holder.address() as AddressInfo
  const folder = project(t, `port = ${port}\non_boot_failure = "abort"\n`)
  const child = spawn(process.execPath, [SVC_BIN, 'serve', '--only', 'http,echo'], {
    cwd: folder,
    env: { ...process.env, NODE_OPTIONS: '' }
  })
  let output = ''
  for (const part of [child.stdout, child.stderr]) part.on('data', chunk => (output += String(chunk)))
  const [code] = (await once(child, 'exit')) as [number]
  t.not(code, 0)
  t.match(output, new RegExp(`port ${port} on 127.0.0.1 is in use`))
  t.match(output, /plugins\.http\.port/)
})

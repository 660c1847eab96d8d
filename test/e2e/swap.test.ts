import { once } from 'node:events'
import { Agent, get, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import t from 'tap'
import { makeProject, pluginPackage, serve, writeFiles } from './served-project.ts'

const RELOADS = 40
const REQUESTS = 10_000
const CONNECTIONS = 16
const STREAMS = 8

const source = (revision: number): string => `
import { defineOperation, definePlugin, t } from '@svc/plugin-sdk'

const version = defineOperation({
  id: 'swap.version', summary: 'x', input: t.object({}), output: t.object({ revision: t.integer() }), effect: 'read',
  expose: { http: { method: 'GET', path: '/swap/version' } }
})
const ticks = defineOperation({
  id: 'swap.ticks', summary: 'x', input: t.object({ count: t.integer() }), output: t.object({ revision: t.integer() }),
  events: t.integer(), effect: 'read', timeoutMs: 0, expose: { http: { method: 'GET', path: '/swap/ticks' } }
})

export default definePlugin({
  name: 'swap',
  operations: [version, ticks],
  activate(ctx) {
    ctx.implement(version, () => ({ revision: ${revision} }))
    ctx.implement(ticks, async ({ count }, call) => {
      for (let tick = 1; tick <= count; tick++) {
        call.emit(tick)
        await new Promise(resolve => setTimeout(resolve, 20))
      }
      return { revision: ${revision} }
    })
  }
})
`

t.test('when plugins reload under load, no request fails, and open streams finish on their old code', async t => {
  const folder = makeProject(t, {
    'plugins/swap/package.json': pluginPackage('swap'),
    'plugins/swap/src/plugin.ts': source(0)
  })
  const server = await serve(t, folder, [
    '--watch',
    '--set',
    'kernel.plugin_directories=["plugins"]',
    '--only',
    'http,swap'
  ])
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS + STREAMS })
  t.teardown(() => agent.destroy())

  const begin = () => open(`${server.url}/swap/ticks?count=150`, agent, { accept: 'text/event-stream' })
  const streams = (await Promise.all(Array.from({ length: STREAMS }, begin))).map(readEvents)
  const failures: string[] = []
  const seen = new Set<number>()
  let answered = 0
  let reloading = true
  const work = async (): Promise<void> => {
    while (reloading || answered < REQUESTS) {
      try {
        seen.add(await readRevision(`${server.url}/swap/version`, agent))
      } catch (error) {
        failures.push(String(error))
      }
      answered += 1
    }
  }
  const load = Promise.all(Array.from({ length: CONNECTIONS }, work))
  for (let revision = 1; revision <= RELOADS; revision++) {
    const from = server.lines.length
    writeFiles(folder, { 'plugins/swap/src/plugin.ts': source(revision) })
    await server.line(/"replaced":\["swap"\]/, from)
  }
  reloading = false
  await load

  t.same(failures.slice(0, 5), [], 'no request failed')
  t.ok(answered >= REQUESTS, `${answered} requests were answered`)
  t.equal(await readRevision(`${server.url}/swap/version`, agent), RELOADS, 'the last revision serves')
  t.ok(seen.size > RELOADS / 2, `${seen.size} revisions answered`)
  for (const events of await Promise.all(streams)) {
    t.equal(events.filter(event => event.startsWith('event')).length, 151, 'the stream has every event and the result')
    t.match(events.at(-1), /"revision":0/, 'the stream ended on the code that it began with')
  }
  t.equal(await server.stop(), 0)
})

async function readRevision(url: string, agent: Agent): Promise<number> {
  const response = await open(url, agent)
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString()
  if (response.statusCode !== 200) throw new Error(`${response.statusCode} ${text}`)
  return (JSON.parse(text) as { revision: number }).revision
}

/** Returns the events of a stream, each with its lines joined. */
async function readEvents(response: IncomingMessage): Promise<string[]> {
  let text = ''
  for await (const chunk of response) text += String(chunk)
  return text
    .split('\n\n')
    .map(event => event.trim())
    .filter(event => event !== '' && !event.startsWith(':'))
    .map(event => (event.startsWith('event') ? event : `event\n${event}`))
}

async function open(url: string, agent: Agent, headers: Record<string, string> = {}): Promise<IncomingMessage> {
  const [response] = (await once(get(url, { agent, headers }), 'response')) as [IncomingMessage]
  return response
}

t.test(
  'after a syntax error, an error in activate or a conflict, the old code serves and the error is reported',
  async t => {
    const folder = makeProject(t, {
      'plugins/swap/package.json': pluginPackage('swap'),
      'plugins/swap/src/plugin.ts': source(7)
    })
    const server = await serve(t, folder, [
      '--watch',
      '--set',
      'kernel.plugin_directories=["plugins"]',
      '--only',
      'http,swap,cli'
    ])
    const agent = new Agent({ keepAlive: true })
    t.teardown(() => agent.destroy())
    const broken: [string, RegExp][] = [
      [`${source(8)}\nconst = 1\n`, /plugin\.ts:\d+:\d+/],
      [
        source(8).replace('activate(ctx) {', "activate(ctx) {\n    throw new Error('no luck')"),
        /no luck.*plugin\.ts:\d+/
      ],
      [
        source(8).replace("path: '/swap/version'", "path: '/kernel/plugins'"),
        /\/kernel\/plugins.*(cli and swap|swap and cli)/
      ]
    ]
    for (const [text, reason] of broken) {
      const from = server.lines.length
      writeFiles(folder, { 'plugins/swap/src/plugin.ts': text })
      t.match(await server.line(/change refused|cannot load/, from), reason)
      t.equal(await readRevision(`${server.url}/swap/version`, agent), 7)
    }
    const from = server.lines.length
    writeFiles(folder, { 'plugins/swap/src/plugin.ts': source(9) })
    await server.line(/"replaced":\["swap"\]/, from)
    t.equal(await readRevision(`${server.url}/swap/version`, agent), 9)
  }
)

t.test('configuration reloads apply live settings, reject a typo with its line, and disable plugins', async t => {
  const folder = makeProject(t, {
    'svc.toml': '[kernel]\nplugin_directories = ["plugins"]\n',
    'plugins/swap/package.json': pluginPackage('swap'),
    'plugins/swap/src/plugin.ts': source(1)
  })
  const server = await serve(t, folder, ['--set', 'plugins.model-server.enabled=false'])
  const status = async (): Promise<number> => (await fetch(`${server.url}/swap/version`)).status
  t.equal(await status(), 200)
  let from = server.lines.length
  writeFiles(folder, { 'svc.toml': '[kernel]\nplugin_directories = ["plugins"]\n[plugins.http]\nporrt = 1\n' })
  t.match(
    await server.line(/invalid settings, the previous ones stay in force/, from),
    new RegExp(`${join(folder, 'svc.toml')}:4:1.*porrt.*port`)
  )
  t.equal(await status(), 200)
  from = server.lines.length
  writeFiles(folder, { 'svc.toml': '[kernel]\nplugin_directories = ["plugins"]\n[plugins.swap]\nenabled = false\n' })
  await server.line(/"removed":\["swap"\]/, from)
  t.equal(await status(), 404)
  from = server.lines.length
  writeFiles(folder, { 'svc.toml': '[kernel]\nplugin_directories = ["plugins"]\n' })
  await server.line(/"added":\["swap"\]/, from)
  t.equal(await status(), 200)
})

import { openTestProject } from '@svc/kernel/testing'
import t, { type Test } from 'tap'
import { packageJson } from '../fixtures/loader/plugin-folder.ts'

const FREE_PORTS = ['--set', 'plugins.http.port=0', '--set', 'plugins.daemon.socket=127.0.0.1:0']

function open(t: Test, files: Readonly<Record<string, string | object>> = {}) {
  const project = openTestProject({ files })
  t.teardown(() => project.close())
  return project
}

function plugin(name: string, activate: string, head = '', operations = ''): Readonly<Record<string, string | object>> {
  return {
    [`plugins/${name}/package.json`]: packageJson(name),
    [`plugins/${name}/src/plugin.ts`]: `import { defineOperation, definePlugin, t } from '@svc/plugin-sdk'
${head}
export default definePlugin({ name: '${name}', ${operations} activate(ctx) { ${activate} } })
`
  }
}

const HELLO = `const hello = defineOperation({
  id: 'hello.say', summary: 'Say hello', input: t.object({}), output: t.object({ said: t.string() }), effect: 'read',
  expose: { http: { method: 'GET', path: '/hello' } }
})`

t.test('--only without a plugin name is a usage error with an example', async t => {
  const project = open(t)
  for (const argv of [['--only'], ['--only', ''], ['--only='], ['--only', ' , ']]) {
    const { code, stderr } = await project.svc([
      'serve',
      ...argv,
      ...(argv.length === 1 && argv[0] === '--only' ? [] : FREE_PORTS)
    ])
    t.equal(code, 2, argv.join(' '))
    t.match(stderr, /svc serve (needs a value after --only|--only ".*" names no plugin)/)
    t.match(stderr, /code: CLI_ARGUMENT_INVALID\n {2}hint: .*for example .*--only http,orchestrator/)
  }
})

t.test('--only with plugins that no client can reach is an error that names plugins to add', async t => {
  const project = open(t, plugin('quiet', ''))
  const hints = {
    orchestrator:
      /hint: add orchestrator-tools, .* and one of .*daemon, http.*: --only orchestrator,orchestrator-tools,/,
    quiet: /hint: add one of .*daemon, http.*: --only quiet,/
  }
  for (const [only, hint] of Object.entries(hints)) {
    const { code, stderr } = await project.svc(['serve', '--only', only, ...FREE_PORTS])
    t.equal(code, 2, only)
    t.match(stderr, `error: clients cannot reach ${only}: no selected plugin listens`)
    t.match(stderr, hint)
  }
})

t.test('a selection in svc.toml follows the same rule', async t => {
  const project = open(t, { 'svc.toml': '[kernel]\nonly = ["quiet"]\n', ...plugin('quiet', '') })
  const { code, stderr } = await project.svc(['serve', ...FREE_PORTS])
  t.equal(code, 2)
  t.match(stderr, /hint: add one of .*: kernel\.only = quiet,/)
})

t.test('http runs too if a selected plugin has HTTP routes', async t => {
  const operation = plugin('hello', "ctx.implement(hello, () => ({ said: 'hi' }))", HELLO, 'operations: [hello],')
  const project = open(t, operation)
  for (const [only, path] of [
    ['hello', '/hello'],
    ['speech', '/ready'],
    ['inference-client', '/ready'],
    ['app-runtime', '/ready'],
    ['mcp', '/ready']
  ] as const) {
    const served = await project.serve(['--only', only])
    const runs = `"msg":"http runs too, because it serves the routes of ${only}"`
    await project.until(() => served.lines.some(line => line.includes(runs)))
    const [, url] = /main listens on (http:[^"]+)/.exec(served.lines.join('\n')) ?? []
    t.equal((await fetch(`${url}${path}`)).status, 200, `${only}: ${url}${path}`)
    t.equal(await served.stop(), 0)
  }
})

t.test('a plugin that opens its own server needs no other plugin', async t => {
  const own = plugin(
    'own',
    "const server = createServer().listen(0, '127.0.0.1'); ctx.effect('server', () => void server.close()); ctx.log.info('own server')",
    "import { createServer } from 'node:net'"
  )
  const project = open(t, own)
  const served = await project.serve(['--only', 'own'])
  await project.until(() => served.lines.some(line => line.includes('"msg":"own server"')))
  t.equal(await served.stop(), 0)
  t.notMatch(served.lines.join('\n'), /runs too/)
})

t.test('the daemon logs its address', async t => {
  const project = open(t)
  const served = await project.serve(['--only', 'daemon'])
  await project.until(() => served.lines.some(line => /"msg":"JSON-RPC listens on 127\.0\.0\.1:\d+"/.test(line)))
  t.equal(await served.stop(), 0)
})

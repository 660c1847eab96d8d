// Runs the official MCP conformance suite and the inspector's command line against `svc serve`, its gateway and `svc
// mcp`, with the fixture plugin and all others. Run it manually: it installs both tools, and the Node version that they
// need, into a temporary folder.
//
//   npm run build && node tools/mcp-conformance.mjs [--keep FOLDER]
//
// --keep installs into FOLDER, reuses existing packages there, and does not delete it. Exits with 1 if a required check
// fails.
import { spawn, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const PACKAGES = [
  'node@24',
  '@modelcontextprotocol/conformance@0.2.0-alpha.12',
  '@modelcontextprotocol/inspector@2.12.0'
]
const REVISIONS = ['2026-07-28', '2025-11-25']
const TASKS = [
  ['tools/list', '--strict'],
  ['tools/call', '--tool-name', 'svc_submit_task', '--tool-arg', 'description=Look at the inspector'],
  ['tools/call', '--tool-name', 'svc_task_status', '--tool-arg', 'task_id=1'],
  ['tools/call', '--tool-name', 'svc_explain_task', '--tool-arg', 'task_id=1']
]
const INSPECTIONS = [
  ...TASKS,
  ['tools/call', '--tool-name', 'test_simple_text'],
  ['resources/list'],
  ['resources/read', '--uri', 'test://static-text'],
  ['prompts/list'],
  ['prompts/get', '--prompt-name', 'test_simple_prompt']
]
const TOOL_NOT_FOUND = 5
/** Scenarios that do not need the fixture's tools, which the gateway does not offer. */
const GATEWAY_SCENARIOS = {
  '2026-07-28': ['tools-list', 'caching', 'http-header-validation', 'dns-rebinding-protection'],
  '2025-11-25': ['server-initialize', 'ping', 'tools-list', 'server-session-lifecycle', 'dns-rebinding-protection']
}
const TOKEN = randomUUID()
const ALLOWED = 'svc_submit_task,svc_task_status,svc_explain_task'

const root = fileURLToPath(new URL('..', import.meta.url))
const svc = join(root, 'kernel', 'bin', 'svc.cjs')

const { values } = parseArgs({ options: { keep: { type: 'string' } } })
const folder = values.keep ?? mkdtempSync(join(tmpdir(), 'svc-mcp-conformance-'))
const bin = join(folder, 'node_modules', 'node', 'bin')
const suite = join(folder, 'node_modules', '@modelcontextprotocol', 'conformance', 'dist', 'index.js')
const env = { ...process.env, PATH: `${bin}:${process.env.PATH}`, MCP_CATALOG_PATH: join(folder, 'catalog.json') }

install()
const project = makeProject()
// Tasks belong to the process that created them. The next process on standard streams takes them over.
const other = makeProject()
const server = await serve(project)
let failed = false
try {
  for (const revision of REVISIONS) failed = !conform(revision, server.url) || failed
  const door = await openDoor(server.gateway)
  for (const [revision, scenarios] of Object.entries(GATEWAY_SCENARIOS))
    for (const scenario of scenarios) failed = !(await conformThrough(door.url, revision, scenario)) || failed
  door.close()
  for (const era of ['modern', 'legacy']) {
    const through = [server.gateway, '--transport', 'http', '--header', `Authorization: Bearer ${TOKEN}`]
    failed = !inspect(`gateway, ${era}`, [...through, '--protocol-era', era], TASKS) || failed
    failed = !inspect(`http, ${era}`, [server.url, '--transport', 'http', '--protocol-era', era]) || failed
    const stdio = [process.execPath, svc, 'mcp', '--transport', 'stdio', '--cwd', other, '--protocol-era', era]
    failed = !inspect(`stdio, ${era}`, stdio) || failed
  }
} finally {
  server.child.kill()
  await once(server.child, 'exit')
  for (const each of [project, other]) rmSync(each, { recursive: true, force: true })
  if (values.keep === undefined) rmSync(folder, { recursive: true, force: true })
}
process.exitCode = failed ? 1 : 0

function install() {
  mkdirSync(folder, { recursive: true })
  if (existsSync(join(folder, 'node_modules', '@modelcontextprotocol', 'conformance'))) return
  writeFileSync(join(folder, 'package.json'), '{ "private": true }')
  console.log(`installing ${PACKAGES.join(', ')}`)
  const { status } = spawnSync('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error', ...PACKAGES], {
    cwd: folder,
    stdio: 'inherit'
  })
  if (status !== 0) throw new Error('npm install failed')
}

function makeProject() {
  const path = mkdtempSync(join(tmpdir(), 'svc-mcp-project-'))
  const off = ['model-server', 'inference-onnx'].map(name => `[plugins.${name}]\nenabled = false\n`).join('')
  const fixtures = JSON.stringify(join(root, 'test', 'fixtures', 'plugins'))
  writeFileSync(join(path, 'svc.toml'), `[kernel]\nplugin_directories = [${fixtures}]\n${off}`)
  symlinkSync(join(root, 'node_modules'), join(path, 'node_modules'))
  return path
}

async function serve(cwd) {
  const ports = ['plugins.http.port=0', 'plugins.daemon.socket=127.0.0.1:0'].flatMap(setting => ['--set', setting])
  const gateway = { SVC_MCP_HTTP_ENABLED: '1', SVC_MCP_HTTP_PORT: '0', SVC_MCP_HTTP_BEARER_TOKEN: TOKEN }
  const child = spawn(process.execPath, [svc, 'serve', '--json', ...ports], {
    cwd,
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      ...process.env,
      ...gateway,
      SVC_MCP_HTTP_ALLOWED_TOOLS: ALLOWED,
      SVC_MCP_HTTP_RATE_LIMIT_PER_MINUTE: '100000'
    }
  })
  let log = ''
  const found = {}
  await new Promise((resolve, reject) => {
    child.stderr.setEncoding('utf8').on('data', chunk => {
      log += chunk
      for (const name of ['main', 'mcp-gateway'])
        found[name] ??= new RegExp(`${name} listens on (http://[^\\s"]+)`).exec(log)?.[1]
      if (found.main !== undefined && found['mcp-gateway'] !== undefined) resolve()
    })
    child.once('exit', () => reject(new Error(`svc serve ended:\n${log}`)))
  })
  return { child, url: `${found.main}/mcp`, gateway: `${found['mcp-gateway']}/mcp` }
}

/** Starts a proxy to the gateway that adds the token, since the suite does not support tokens. */
async function openDoor(gateway) {
  const door = createServer((incoming, outgoing) => {
    const headers = { ...incoming.headers, authorization: `Bearer ${TOKEN}` }
    const passed = request(gateway, { method: incoming.method, headers }, answer => {
      outgoing.writeHead(answer.statusCode, answer.headers)
      answer.pipe(outgoing)
    })
    passed.on('error', () => outgoing.destroy())
    outgoing.on('close', () => passed.destroy())
    incoming.pipe(passed)
  }).listen(0, '127.0.0.1')
  await once(door, 'listening')
  return {
    url: `http://127.0.0.1:${door.address().port}/mcp`,
    close() {
      door.close()
      door.closeAllConnections()
    }
  }
}

/** Like {@link conform}, but asynchronous, since the proxy runs in this process. */
async function conformThrough(url, revision, scenario) {
  const args = [suite, 'server', '--url', url, '--spec-version', revision, '--scenario', scenario]
  const child = spawn(join(bin, 'node'), args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'ignore'] })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', chunk => {
    output += chunk
  })
  const [status] = await once(child, 'close')
  console.log(`${status === 0 ? '✓' : '✗'} gateway, ${revision}, ${scenario}${status === 0 ? '' : `:\n${output}`}`)
  return status === 0
}

function conform(revision, url) {
  const args = [suite, 'server', '--url', url, '--requirements', revision]
  const { status, stdout } = spawnSync(join(bin, 'node'), args, {
    cwd: folder,
    env,
    encoding: 'utf8',
    maxBuffer: 2 ** 27
  })
  console.log(`\n# ${revision}`)
  console.log(stdout.slice(stdout.indexOf('=== SUMMARY ===')).trim())
  return status === 0
}

function inspect(name, target, inspections = INSPECTIONS) {
  console.log(`\n# inspector, ${name}`)
  const run = method => {
    const inspector = join(folder, 'node_modules', '.bin', 'mcp-inspector')
    const options = { cwd: folder, env, encoding: 'utf8', timeout: 60_000 }
    const { status, stderr } = spawnSync(
      inspector,
      ['--cli', ...target, '--connect-timeout', '60000', '--method', ...method],
      options
    )
    return { status, stderr }
  }
  const results = inspections.map(method => {
    const { status, stderr } = run(method)
    console.log(`${status === 0 ? '✓' : '✗'} ${method.join(' ')}${status === 0 ? '' : `: ${status} ${stderr.trim()}`}`)
    return status === 0
  })
  const unknown = run(['tools/call', '--tool-name', 'nobody']).status
  console.log(`${unknown === TOOL_NOT_FOUND ? '✓' : '✗'} exit code for an unknown tool: ${unknown}`)
  return results.every(Boolean) && unknown === TOOL_NOT_FOUND
}

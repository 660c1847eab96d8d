// Runs the official MCP conformance suite and the inspector's command line against `svc serve` and `svc mcp` with the
// fixture plugin. By hand: it installs both, and the Node that they need, into a temporary folder.
//
//   npm run build && node tools/mcp-conformance.mjs [--keep FOLDER]
//
// --keep installs into FOLDER, uses what is there already, and leaves it. Exits 1 when anything that counts fails.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
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
const INSPECTIONS = [
  ['tools/list'],
  ['tools/call', '--tool-name', 'test_simple_text'],
  ['resources/list'],
  ['resources/read', '--uri', 'test://static-text'],
  ['prompts/list'],
  ['prompts/get', '--prompt-name', 'test_simple_prompt']
]
const TOOL_NOT_FOUND = 5

const root = fileURLToPath(new URL('..', import.meta.url))
const svc = join(root, 'kernel', 'bin', 'svc.mjs')

const { values } = parseArgs({ options: { keep: { type: 'string' } } })
const folder = values.keep ?? mkdtempSync(join(tmpdir(), 'svc-mcp-conformance-'))
const bin = join(folder, 'node_modules', 'node', 'bin')
const env = { ...process.env, PATH: `${bin}:${process.env.PATH}`, MCP_CATALOG_PATH: join(folder, 'catalog.json') }

install()
const project = makeProject()
const server = await serve(project)
let failed = false
try {
  for (const revision of REVISIONS) failed = !conform(revision, server.url) || failed
  for (const era of ['modern', 'legacy']) {
    failed = !inspect(`http, ${era}`, [server.url, '--transport', 'http', '--protocol-era', era]) || failed
    const stdio = [process.execPath, svc, 'mcp', '--transport', 'stdio', '--cwd', project, '--protocol-era', era]
    failed = !inspect(`stdio, ${era}`, stdio) || failed
  }
} finally {
  server.child.kill()
  await once(server.child, 'exit')
  rmSync(project, { recursive: true, force: true })
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
  const child = spawn(process.execPath, [svc, 'serve', '--json', ...ports], {
    cwd,
    stdio: ['ignore', 'ignore', 'pipe']
  })
  let log = ''
  const url = await new Promise((resolve, reject) => {
    child.stderr.setEncoding('utf8').on('data', chunk => {
      log += chunk
      const address = /main listens on (http:\/\/[^\s"]+)/.exec(log)?.[1]
      if (address !== undefined) resolve(`${address}/mcp`)
    })
    child.once('exit', () => reject(new Error(`svc serve ended:\n${log}`)))
  })
  return { child, url }
}

function conform(revision, url) {
  const suite = join(folder, 'node_modules', '@modelcontextprotocol', 'conformance', 'dist', 'index.js')
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

function inspect(name, target) {
  console.log(`\n# inspector, ${name}`)
  const run = method => {
    const inspector = join(folder, 'node_modules', '.bin', 'mcp-inspector')
    const options = { cwd: folder, env, encoding: 'utf8', timeout: 60_000 }
    const { status, stderr } = spawnSync(inspector, ['--cli', ...target, '--method', ...method], options)
    return { status, stderr }
  }
  const results = INSPECTIONS.map(method => {
    const { status, stderr } = run(method)
    console.log(`${status === 0 ? '✓' : '✗'} ${method.join(' ')}${status === 0 ? '' : `: ${status} ${stderr.trim()}`}`)
    return status === 0
  })
  const unknown = run(['tools/call', '--tool-name', 'nobody']).status
  console.log(`${unknown === TOOL_NOT_FOUND ? '✓' : '✗'} an unknown tool exits ${unknown}`)
  return results.every(Boolean) && unknown === TOOL_NOT_FOUND
}

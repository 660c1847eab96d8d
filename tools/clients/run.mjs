// Starts a model server with the bundled model, runs the clients of this folder against it, and prints a table.
//
//   node tools/clients/run.mjs [--python PROGRAM] [CLIENT...]
//
// Needs `npm run build`, and the packages of README.md. Exits with 1 if a check fails.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, extname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const here = dirname(fileURLToPath(import.meta.url))
const root = join(here, '..', '..')
const fixtures = join(root, 'plugins', 'inference-onnx', 'test', 'fixtures')
const bundled = join(root, 'plugins', 'model-server', 'models', 'vox-tiny')
const LOG_LINES = 20
const START_MS = 120_000
/** Added to the template: the bundled weights never begin a thought by themselves. */
const BEGIN_THOUGHTS =
  "{%- if add_generation_prompt and enable_thinking is defined and enable_thinking %}{{- '<think>\\n' }}{%- endif %}"

const { values, positionals } = parseArgs({
  options: { python: { type: 'string', default: 'python3' } },
  allowPositionals: true
})
const scripts = readdirSync(here).filter(name => /^client_.*\.(py|mjs)$/.test(name))
const nameOf = script => script.replace(/^client_|\.(py|mjs)$/g, '')
const unknown = positionals.filter(name => !scripts.some(script => nameOf(script) === name))
if (unknown.length > 0) throw new Error(`no such client: ${unknown}; there are ${scripts.map(nameOf)}`)
const chosen = positionals.length === 0 ? scripts : scripts.filter(script => positionals.includes(nameOf(script)))

const project = mkdtempSync(join(tmpdir(), 'svc-clients-'))
const port = await freePort()
writeProject(project, port)
const logFile = join(project, 'server.log')
const log = openSync(logFile, 'w')
const server = spawn(process.execPath, [join(root, 'kernel', 'bin', 'svc.cjs'), 'serve', '--profile', 'model-server'], {
  cwd: project,
  stdio: ['ignore', log, log]
})
const results = []
try {
  await ready(`http://127.0.0.1:${port}`)
  for (const script of chosen) results.push(...(await runClient(script, `http://127.0.0.1:${port}`)))
} finally {
  server.kill()
  if (server.exitCode === null) await once(server, 'exit')
  if (results.length === 0 || results.some(({ ok }) => !ok)) process.stdout.write(`${lastLines(logFile)}\n`)
  rmSync(project, { recursive: true, force: true })
}
const failed = results.filter(({ ok }) => !ok)
for (const { client, check, problem } of failed) process.stdout.write(`${client}: ${check}: ${problem}\n`)
process.stdout.write(`\n${table(results)}\n`)
process.exitCode = failed.length === 0 ? 0 : 1

/** Writes the settings: the bundled model, the same weights with a template for tools and thoughts, and an embedder. */
function writeProject(folder, port) {
  const tools = join(folder, 'vox-tools')
  cpSync(bundled, tools, { recursive: true })
  const file = join(tools, 'tokenizer_config.json')
  const template = readFileSync(join(fixtures, 'templates', 'qwen3.jinja'), 'utf8') + BEGIN_THOUGHTS
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), chat_template: template }))
  const settings = [
    '[plugins.model-server]',
    `model = ${JSON.stringify(bundled)}`,
    `port = ${port}`,
    'temperature = 0',
    `embedding_model = ${JSON.stringify(join(fixtures, 'embeddings', 'bert'))}`,
    '[plugins.model-server.models]',
    `vox-tools = ${JSON.stringify(tools)}`
  ]
  writeFileSync(join(folder, 'svc.toml'), `${settings.join('\n')}\n`)
}

async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address()
  probe.close()
  await once(probe, 'close')
  return port
}

async function ready(url) {
  const until = performance.now() + START_MS
  for (;;) {
    const answer = await fetch(`${url}/ready`).catch(() => null)
    if (answer?.ok === true) return
    if (server.exitCode !== null) throw new Error(`the server exited with ${server.exitCode}`)
    if (performance.now() > until) throw new Error(`the server was not ready within ${START_MS / 1000} s`)
    await pause(200)
  }
}

/** Runs one client and returns its checks. A client that ends without a result counts as one that failed. */
async function runClient(script, url) {
  const program = extname(script) === '.py' ? values.python : process.execPath
  const env = { ...process.env, SVC_URL: url, PYTHONPATH: here, PYTHONUNBUFFERED: '1' }
  const child = spawn(program, [join(here, script)], { cwd: project, env, stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.on('data', chunk => {
    output += chunk
  })
  const [code] = await once(child, 'close')
  const lines = output.split('\n').filter(line => line.startsWith('{"client"'))
  const found = lines.map(line => JSON.parse(line))
  for (const { client, check, ok } of found) process.stdout.write(`${ok ? 'ok' : 'FAILED'} ${client} ${check}\n`)
  const ended = found.length > 0 && (code === 0 || found.some(({ ok }) => !ok))
  const lost = { client: nameOf(script), versions: {}, check: 'run', ok: false, problem: `it exited with ${code}` }
  return ended ? found : [...found, lost]
}

function table(all) {
  const clients = new Map()
  for (const each of all) clients.set(each.client, [...(clients.get(each.client) ?? []), each])
  const rows = [...clients].map(([client, checks]) => {
    const versions = Object.entries(checks[0].versions).map(([name, version]) => `${name} ${version}`)
    const list = checks.map(({ check, ok }) => `${check.replaceAll('_', ' ')}${ok ? '' : ' (failed)'}`)
    return `| ${client} | ${versions.join(', ')} | ${list.join(', ')} |`
  })
  return ['| client | tried with | checks |', '|---|---|---|', ...rows].join('\n')
}

function lastLines(file) {
  return readFileSync(file, 'utf8').trimEnd().split('\n').slice(-LOG_LINES).join('\n')
}

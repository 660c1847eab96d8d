/**
 * Startup time: `svc --help` minus `node -e 0`, `svc call` to a running server, and a kernel with 100 trivial plugins
 * minus an empty kernel.
 *
 * Measures the wall clock time of whole processes in alternation, and reports medians. Needs `npm run build`.
 *
 *   node --import tsx --conditions=svc-source bench/startup.ts [--json] [--rounds N]
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type Figure, figureOf, median, withRange } from './figures.ts'
import { isSmoke } from './smoke-mode.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const SVC = join(ROOT, 'kernel', 'bin', 'svc.cjs')
const PLUGINS = isSmoke ? 3 : 100

/** Program that opens the project in the working directory with only its local plugins, and closes it. */
const BOOT = `
const { readCatalog } = await import(${JSON.stringify(join(ROOT, 'kernel/dist/host/catalog.js'))})
const { openProject } = await import(${JSON.stringify(join(ROOT, 'kernel/dist/host/open-project.js'))})
const catalog = await readCatalog({ cwd: process.cwd(), env: {} })
const only = catalog.manifests.map(each => each.name).filter(name => name.startsWith('trivial'))
const project = await openProject({ catalog, only, watch: false, logLevel: 'error' })
if (project.kernel.current.units.size !== only.length) throw new Error('not all plugins are active')
await project.close()
`

function project(plugins: number): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'))
  writeFileSync(join(folder, 'svc.toml'), '[kernel]\nplugin_directories = ["plugins"]\n')
  mkdirSync(join(folder, 'plugins'))
  mkdirSync(join(folder, 'node_modules', '@svc'), { recursive: true })
  symlinkSync(join(ROOT, 'plugin-sdk'), join(folder, 'node_modules', '@svc', 'plugin-sdk'))
  for (let index = 0; index < plugins; index++) {
    const name = `trivial-${index}`
    const root = join(folder, 'plugins', name)
    mkdirSync(join(root, 'src'), { recursive: true })
    writeFileSync(
      join(root, 'package.json'),
      JSON.stringify({
        name: `svc-plugin-${name}`,
        version: '1.0.0',
        svc: { plugin: './dist/plugin.cjs', source: './src/plugin.ts' }
      })
    )
    writeFileSync(
      join(root, 'src', 'plugin.ts'),
      `import { defineOperation, definePlugin, t } from '@svc/plugin-sdk'
const run = defineOperation({ id: '${name}.run', summary: 'Return the input', input: t.object({ n: t.integer({ default: 1 }) }), output: t.object({ n: t.integer() }), effect: 'read' })
export default definePlugin({ name: '${name}', operations: [run], activate: ctx => ctx.implement(run, ({ n }) => ({ n })) })
`
    )
  }
  return folder
}

function time(argv: readonly string[], cwd: string): number {
  const started = performance.now()
  const { status, stderr } = spawnSync(process.execPath, argv, { cwd, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${argv.join(' ')}: ${stderr}`)
  return performance.now() - started
}

/** Starts `svc serve` on free ports; resolves when all plugins are active. */
async function serve(cwd: string): Promise<ChildProcess> {
  const ports = ['http.port=0', 'daemon.socket=127.0.0.1:0'].flatMap(setting => ['--set', `plugins.${setting}`])
  const server = spawn(
    process.execPath,
    [SVC, 'serve', '--json', '--only', 'daemon,cli,orchestrator-tools', ...ports],
    {
      cwd,
      stdio: ['ignore', 'ignore', 'pipe']
    }
  )
  return new Promise((resolve, reject) => {
    server.on('exit', code => reject(new Error(`svc serve ended with ${code}`)))
    createInterface({ input: server.stderr }).on('line', line => {
      if (line.includes('"generation 1"')) resolve(server)
    })
  })
}

const { values } = parseArgs({ options: { json: { type: 'boolean' }, rounds: { type: 'string', default: '15' } } })
const CALL = ['call', 'kernel.plugins.list', '--json']
const [empty, full, served] = [project(0), project(PLUGINS), project(0)]
let server: ChildProcess | undefined
try {
  for (let index = 0; index < PLUGINS; index++)
    time([SVC, 'plugins', 'build', join('plugins', `trivial-${index}`)], full)
  server = await serve(served)
  const boot = ['--input-type=module', '-e', BOOT]
  const runs: Record<string, () => number> = {
    node: () => time(['-e', '0'], empty),
    help: () => time([SVC, '--help'], empty),
    call: () => time([SVC, ...CALL], served),
    empty: () => time(boot, empty),
    full: () => time(boot, full)
  }
  const samples = new Map(Object.keys(runs).map(name => [name, [] as number[]]))
  for (let round = -1; round < Number(values.rounds); round++) {
    // The first round fills the plugin index and is not counted.
    for (const [name, run] of Object.entries(runs)) {
      const milliseconds = run()
      if (round >= 0) samples.get(name)?.push(milliseconds)
    }
  }
  const of = (name: string): number => median(samples.get(name) ?? [])
  const over = (name: string, base: string): Figure =>
    figureOf((samples.get(name) ?? []).map((value, round) => value - (samples.get(base)?.[round] ?? Number.NaN)))
  const results = {
    help_over_node_ms: over('help', 'node'),
    call_ms: figureOf(samples.get('call') ?? []),
    hundred_plugins_over_empty_ms: over('full', 'empty'),
    node_ms: of('node'),
    help_ms: of('help'),
    empty_kernel_ms: of('empty'),
    hundred_plugins_ms: of('full')
  }
  if (values.json) console.log(JSON.stringify({ benchmark: 'startup', node: process.version, results }))
  else
    for (const [name, value] of Object.entries(results))
      console.log(`${name.padEnd(32)} ${typeof value === 'number' ? value.toFixed(1) : withRange(value)}`)
} finally {
  if (server?.exitCode === null) {
    server.kill('SIGTERM')
    await once(server, 'exit')
  }
  rmSync(served, { recursive: true })
  rmSync(empty, { recursive: true })
  rmSync(full, { recursive: true })
}

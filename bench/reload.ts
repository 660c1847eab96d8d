/**
 * Time from saving a plugin's file to the first HTTP response of the new code, with all surfaces running and idle.
 *
 * The client polls continuously from the moment the file is written. Needs `npm run build`.
 *
 *   node --import tsx --conditions=svc-source bench/reload.ts [--json] [--reloads N]
 */
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

const source = (revision: number): string => `
import { defineOperation, definePlugin, t } from '@svc/plugin-sdk'
import { table } from './table.ts'
const revision = defineOperation({
  id: 'bench.revision', summary: 'x', input: t.object({}), output: t.object({ revision: t.integer(), rows: t.integer() }), effect: 'read',
  expose: { http: { method: 'GET', path: '/bench/revision' } }
})
export default definePlugin({
  name: 'bench',
  operations: [revision],
  activate: ctx => ctx.implement(revision, () => ({ revision: ${revision}, rows: table.length }))
})
`

const { values } = parseArgs({ options: { json: { type: 'boolean' }, reloads: { type: 'string', default: '60' } } })
const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'))
const plugin = join(folder, 'plugins', 'bench')
mkdirSync(join(plugin, 'src'), { recursive: true })
mkdirSync(join(folder, 'node_modules', '@svc'), { recursive: true })
symlinkSync(join(ROOT, 'plugin-sdk'), join(folder, 'node_modules', '@svc', 'plugin-sdk'))
writeFileSync(
  join(folder, 'svc.toml'),
  '[kernel]\nplugin_directories = ["plugins"]\n[plugins.model-server]\nenabled = false\n'
)
writeFileSync(
  join(plugin, 'package.json'),
  JSON.stringify({
    name: 'svc-plugin-bench',
    version: '1.0.0',
    svc: { plugin: './dist/plugin.cjs', source: './src/plugin.ts' }
  })
)
writeFileSync(
  join(plugin, 'src', 'table.ts'),
  'export const table: number[] = Array.from({ length: 2000 }, (_, index) => index)\n'
)
writeFileSync(join(plugin, 'src', 'plugin.ts'), source(0))

const child = spawn(
  process.execPath,
  [
    join(ROOT, 'kernel', 'bin', 'svc.cjs'),
    'serve',
    '--watch',
    '--json',
    '--set',
    'plugins.http.port=0',
    '--set',
    'plugins.daemon.socket=127.0.0.1:0'
  ],
  { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] }
)
const agent = new Agent({ keepAlive: true })
try {
  const url = await new Promise<string>((resolve, reject) => {
    let address = ''
    createInterface({ input: child.stderr }).on('line', line => {
      address = /main listens on (http:\/\/[^\s"]+)/.exec(line)?.[1] ?? address
      if (line.includes('"msg":"generation 1"')) resolve(address)
    })
    child.once('exit', code => reject(new Error(`svc serve ended with ${code}`)))
  })
  const samples: number[] = []
  for (let revision = 1; revision <= Number(values.reloads); revision++) {
    const started = performance.now()
    writeFileSync(join(plugin, 'src', 'plugin.ts'), source(revision))
    while ((await ask(`${url}/bench/revision`)) !== revision) await new Promise(resolve => setTimeout(resolve, 1))
    samples.push(performance.now() - started)
    // A user does not save again immediately.
    await new Promise(resolve => setTimeout(resolve, 60))
  }
  const sorted = samples.slice(5).sort((a, b) => a - b)
  const at = (quantile: number): number => sorted[Math.floor(sorted.length * quantile)] as number
  const results = { p50_ms: at(0.5), p95_ms: at(0.95), reloads: sorted.length }
  if (values.json) console.log(JSON.stringify({ benchmark: 'reload', node: process.version, results }))
  else
    console.log(
      `save to serving: p50 ${results.p50_ms.toFixed(1)} ms, p95 ${results.p95_ms.toFixed(1)} ms over ${results.reloads} reloads`
    )
} finally {
  agent.destroy()
  child.kill()
  rmSync(folder, { recursive: true, force: true })
}

function ask(url: string): Promise<number> {
  return new Promise((resolve, reject) => {
    get(url, { agent }, response => {
      let text = ''
      response.setEncoding('utf8').on('data', chunk => (text += chunk))
      response.on('end', () => resolve((JSON.parse(text) as { revision: number }).revision))
    }).on('error', reject)
  })
}

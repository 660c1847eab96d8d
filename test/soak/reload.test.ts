import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { makeProject, pluginPackage } from '../e2e/served-project.ts'

const RELOADS = 1_000
const BUDGET_BYTES = 2_048

/** Forgets a timer, a listener and a server on every reload, and holds a table that would be missed. */
const source = `
import { createServer } from 'node:http'
import { defineOperation, definePlugin, t } from '@svc/plugin-sdk'

const table = new Map(Array.from({ length: 2000 }, (_, index) => [index, { text: 'row ' + index }]))

const revision = defineOperation({
  id: 'soak.revision', summary: 'x', input: t.object({}), output: t.object({ revision: t.integer() }), effect: 'read',
  expose: { http: { method: 'GET', path: '/soak/revision' } }
})

export default definePlugin({
  name: 'soak',
  config: t.object({ size: t.integer({ default: 10 }) }),
  operations: [revision],
  activate(ctx) {
    setInterval(() => table.size, 1000)
    process.on('SIGUSR2', () => table.clear())
    createServer().listen(0, '127.0.0.1')
    ctx.background('idle', signal => new Promise(resolve => signal.addEventListener('abort', () => resolve())))
    ctx.implement(revision, () => ({ revision: REVISION }))
  }
})
`

t.test('a thousand reloads of careless code leave nothing on the heap', { timeout: 600_000 }, async t => {
  const folder = makeProject(t, {
    'plugins/soak/package.json': pluginPackage('soak'),
    'plugins/soak/src/plugin.ts': source.replaceAll('REVISION', '0')
  })
  const child = fileURLToPath(new URL('./reload-child.ts', import.meta.url))
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [
      '--expose-gc',
      `--import=${import.meta.resolve('tsx')}`,
      '--conditions=svc-source',
      child,
      folder,
      Buffer.from(source).toString('base64'),
      String(RELOADS)
    ],
    { env: { ...process.env, NODE_OPTIONS: '' }, maxBuffer: 10_000_000 }
  )
  const { reloads, perReload, resources } = JSON.parse(stdout.trim().split('\n').at(-1)!) as Record<string, number>
  t.equal(reloads, RELOADS)
  t.ok(perReload! <= BUDGET_BYTES, `${Math.round(perReload!)} bytes a reload`)
  t.ok(resources! < 40, `${resources} active resources`)
})

import { execFile } from 'node:child_process'
import { rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { pluginPackage, temporaryProject } from '../e2e/served-project.ts'

export interface SoakReport {
  readonly reloads: number
  /** Heap bytes that each reload left, over the last three quarters of the run. */
  readonly perReload: number
  /** Number of active resources of the process at the end. */
  readonly resources: number
}

/** Source of a plugin that leaves a timer, a listener and a server open on every reload, and has a large table. */
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

/** V8 flags for a steady heap: otherwise machine code grows and bytecode is flushed, which are not leaks. */
const STEADY = ['--no-opt', '--no-maglev', '--no-flush-bytecode']

/** Reloads the leaking plugin in a separate process, and reports its heap and resources. */
export async function soak(reloads: number): Promise<SoakReport> {
  const folder = temporaryProject({
    'plugins/soak/package.json': pluginPackage('soak'),
    'plugins/soak/src/plugin.ts': source.replaceAll('REVISION', '0')
  })
  try {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [
        '--expose-gc',
        ...STEADY,
        `--import=${import.meta.resolve('tsx')}`,
        '--conditions=svc-source',
        fileURLToPath(new URL('./reload-child.ts', import.meta.url)),
        folder,
        Buffer.from(source).toString('base64'),
        String(reloads)
      ],
      { env: { ...process.env, NODE_OPTIONS: '' }, maxBuffer: 10_000_000 }
    )
    return JSON.parse(stdout.trim().split('\n').at(-1) as string) as SoakReport
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

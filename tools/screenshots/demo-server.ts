import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'

const ROOT = join(import.meta.dirname, '..', '..')
const SVC = join(ROOT, 'kernel/bin/svc.cjs')
const HERE = import.meta.dirname
/** Time at which the demo starts, in every run. */
const STARTED = Date.parse('2026-03-02T09:00:00Z')
const MAX_START_MS = 180_000
/** Unusual ports, the same in every run: pictures show them. */
const PORTS = { http: 38_471, daemon: 38_472, model: 38_473, app: 38_474 }

export interface DemoServer {
  readonly url: string
  readonly appUrl: string
  readonly modelUrl: string
  /** Time of the server. */
  now(): number
  /** Returns an address that signs a browser in. */
  signIn(): string
  close(): Promise<void>
}

/** Starts svc in a project with an app, plugins, secrets and unfinished code. */
export async function startDemo(): Promise<DemoServer> {
  // The same folder in every run: pictures show it.
  const parent = join(realpathSync(tmpdir()), 'svc-demo')
  rmSync(parent, { recursive: true, force: true })
  const folder = join(parent, 'bookshop')
  writeProject(folder)
  const shift = STARTED - Date.now()
  const env = {
    ...process.env,
    HOME: parent,
    TZ: 'UTC',
    ACME_SHIPPING_KEY: '',
    SVC_CLOCK_SHIFT_MS: String(shift),
    NODE_OPTIONS: `--require ${join(HERE, 'shifted-clock.cjs')}`
  }
  const child = spawn(process.execPath, [SVC, 'serve', '--json'], {
    cwd: folder,
    env,
    stdio: ['ignore', 'ignore', 'pipe']
  })
  const ended = once(child, 'exit')
  const lines: string[] = []
  await new Promise<void>((resolve, reject) => {
    const waiting = [/main listens on/, /console: http/, /app listens on/, /model 'vox-tiny' is ready/]
    createInterface({ input: child.stderr }).on('line', line => {
      lines.push(line)
      const at = waiting.findIndex(pattern => pattern.test(line))
      if (at >= 0) waiting.splice(at, 1)
      if (waiting.length === 0) resolve()
    })
    setTimeout(
      () => reject(new Error(`svc serve: not ready after ${MAX_START_MS} ms\n${lines.slice(-20).join('\n')}`)),
      MAX_START_MS
    ).unref()
    void ended.then(() => reject(new Error(`svc serve: ended before it was ready\n${lines.slice(-20).join('\n')}`)))
  })
  return {
    url: `http://127.0.0.1:${PORTS.http}`,
    appUrl: `http://127.0.0.1:${PORTS.app}`,
    modelUrl: `http://127.0.0.1:${PORTS.model}`,
    now: () => Date.now() + shift,
    signIn() {
      const output = execFileSync(process.execPath, [SVC, 'dashboard', '--print', '--json'], { cwd: folder, env })
      return (JSON.parse(output.toString()) as { url: string }).url
    },
    async close() {
      child.kill('SIGTERM')
      await ended
      rmSync(parent, { recursive: true, force: true })
    }
  }
}

function writeProject(folder: string): void {
  for (const [path, content] of Object.entries(FILES)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content)
  }
  cpSync(join(HERE, 'bookshop.vox'), join(folder, 'bookshop.vox'))
  const modules = join(folder, 'node_modules/@svc')
  mkdirSync(modules, { recursive: true })
  for (const name of ['plugin-sdk', 'contracts']) symlinkSync(join(ROOT, name), join(modules, name))
}

const pluginPackage = (name: string) =>
  JSON.stringify({
    name: `svc-plugin-${name}`,
    version: '1.2.0',
    type: 'module',
    svc: { plugin: './dist/plugin.cjs', source: './src/plugin.ts' }
  })

const FILES: Readonly<Record<string, string>> = {
  'svc.toml': `kernel.plugin_directories = ["plugins"]

[plugins.http]
port = ${PORTS.http}

[plugins.daemon]
socket = "127.0.0.1:${PORTS.daemon}"

[plugins.model-server]
port = ${PORTS.model}

[orchestrator]
auto_continue_enabled = false

# No agent works on the tasks, so that they stay in the state that the picture shows.
[plugins.agent-fleet]
enabled = false

[plugins.warehouse]
enabled = false

[plugins.app-runtime]
program = "bookshop.vox"
port = ${PORTS.app}
`,
  'src/shipping.py': `# TODO: ask the carrier for the price
def price(weight):
    return 4.90


def label(order):
    raise NotImplementedError()
`,
  'src/labels.ts': `export function label(name: string, street: string, town: string): string {
  return [name, street, town].map(line => line.trim().toUpperCase()).join('\\n')
}
`,
  'src/returns.ts': `export function refund(order: string): number {
  // FIXME: partial refunds
  return 0
}
`,
  'plugins/warehouse/package.json': pluginPackage('warehouse'),
  'plugins/warehouse/src/plugin.ts': `import { definePlugin, service } from '@svc/plugin-sdk'
const stock = service<{ count(): number }>('warehouse.stock@1')
export default definePlugin({
  name: 'warehouse',
  summary: 'Knows the stock',
  provides: [stock],
  activate(ctx) {
    ctx.provide(stock, { count: () => 7 })
  }
})
`,
  'plugins/reports/package.json': pluginPackage('reports'),
  'plugins/reports/src/plugin.ts': `import { definePlugin, service } from '@svc/plugin-sdk'
const stock = service<{ count(): number }>('warehouse.stock@1')
export default definePlugin({ name: 'reports', summary: 'Writes a report of the stock', requires: { stock }, activate() {} })
`,
  'plugins/shipping/package.json': pluginPackage('shipping'),
  'plugins/shipping/src/plugin.ts': `import { databaseCollections, declaredSecrets } from '@svc/contracts'
import { definePlugin } from '@svc/plugin-sdk'

export default definePlugin({
  name: 'shipping',
  summary: 'Prints labels of parcels',
  requires: { collections: databaseCollections },
  async activate(ctx, { collections }) {
    ctx.contribute(declaredSecrets, {
      id: 'acme.shipping',
      env: 'ACME_SHIPPING_KEY',
      policy: 'required',
      description: 'Key of the carrier',
      remediation: 'Create a key in the portal of the carrier, and store it here.'
    })
    // What calls of hosted models in the last month would have left.
    const usage = collections.collection<any>('provider_usage', { index: 'date' })
    const models = [['openrouter', 'qwen/qwen3-coder', 0.021], ['anthropic', 'claude-haiku', 0.034], ['gemini', 'gemini-flash', 0.008]] as const
    for (let day = 0; day < 30; day++)
      for (const [at, [provider, model, cost]] of models.entries()) {
        const calls = 4 + ((day * 7 + at * 5) % 13)
        await usage.insert({
          user_id: 'global', provider, model, task_category: 'general', agent_id: null,
          date: new Date(Date.now() - day * 86_400_000).toISOString().slice(0, 10),
          provider_request_id: null, provider_reported_cost_usd: null, estimated_cost_usd: calls * cost,
          reconciled_cost_usd: null, cost_source: null, is_rate_limited: false, last_429: null, cool_down_until: null,
          calls, tokens_in: calls * 1_900, tokens_out: calls * 420, cost_usd: calls * cost
        })
      }
  }
})
`
}

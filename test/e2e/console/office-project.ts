import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Files, pluginPackage } from '../served-project.ts'

const APPROVAL = fileURLToPath(new URL('../../../examples/language/approval.vox', import.meta.url))

/** Routes around the workflow of the example: one starts it, one fails in the database. */
const ROUTES = `
@mutation
fn claim(person: str, amount: int) to Result[str] {
    approve(person, amount) with { detach: true }
}

@mutation
fn totals() to any {
    db.query("SELECT team, SUM(amount) AS total FROM expense GROUP BY team", [])
}
`

const STOCK = `import { definePlugin, service } from '@svc/plugin-sdk'
const stock = service<{ count(): number }>('warehouse.stock@1')
`

/** Files of a project in which something waits for a person, fails or is slow, everywhere that the console shows it. */
export function officeProject(appPort: number): Files {
  return {
    'svc.toml': `kernel.plugin_directories = ["plugins"]

[orchestrator]
auto_continue_enabled = false

# No agent works on the tasks, so that they stay in the state in which a test leaves them.
[plugins.agent-fleet]
enabled = false

[plugins.warehouse]
enabled = false

[plugins.app-runtime]
program = "office.vox"
port = ${appPort}
`,
    'office.vox': readFileSync(APPROVAL, 'utf8') + ROUTES,
    'plugins/warehouse/package.json': pluginPackage('warehouse'),
    'plugins/warehouse/src/plugin.ts': `${STOCK}
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
    'plugins/reports/src/plugin.ts': `${STOCK}
export default definePlugin({ name: 'reports', summary: 'Writes a report of the stock', requires: { stock }, activate() {} })
`,
    'plugins/indexer/package.json': pluginPackage('indexer'),
    'plugins/indexer/src/plugin.ts': `import { definePlugin } from '@svc/plugin-sdk'
function index() {
  const end = performance.now() + 40
  while (performance.now() < end) Math.sqrt(end)
}
export default definePlugin({
  name: 'indexer',
  summary: 'Indexes documents',
  activate(ctx) {
    const timer = setInterval(index, 100)
    ctx.effect('timer', () => clearInterval(timer))
  }
})
`
  }
}

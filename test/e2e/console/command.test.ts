import t from 'tap'
import { runSvc } from '../run-svc.ts'
import { makeProject, pluginPackage, serve } from '../served-project.ts'

const PLUGIN = `
import { defineOperation, definePlugin, t } from '@svc/plugin-sdk'
import { dashboardPages } from '@svc/contracts'
const list = defineOperation({ id: 'shop.list', summary: 'List orders', effect: 'read', input: t.object({}),
  output: t.object({ orders: t.array(t.string()) }) })
export default definePlugin({ name: 'shop', operations: [list], activate(ctx) {
  ctx.implement(list, () => ({ orders: ['one'] }))
  ctx.contribute(dashboardPages, { path: 'shop/wrong', title: 'Shop', section: 'run',
    view: { kind: 'table', operation: 'shop.list', rows: 'items', key: 'id' } })
} })
`
const SERVED = ['--only', 'http,dashboard,shop,cli,daemon']

interface Browser {
  readonly id: string
  isSignedIn(): Promise<boolean>
}

/** Signs in with an address that svc dashboard printed. */
async function signIn(printed: string): Promise<Browser> {
  const { origin, hash } = new URL(printed)
  const response = await fetch(`${origin}/ui/api/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin },
    body: JSON.stringify({ code: hash.replace('#code=', '') })
  })
  const { token, session } = (await response.json()) as { token: string; session: { id: string } }
  const cookie = response.headers.get('set-cookie')?.split(';', 1)[0] ?? ''
  const headers = { cookie, 'x-svc-token': token, 'sec-fetch-site': 'same-origin' }
  return {
    id: session.id,
    isSignedIn: async () => (await fetch(`${origin}/ui/api/session`, { headers })).status === 200
  }
}

t.test('svc dashboard signs in to the running server, lists sessions, and ends them', async t => {
  const folder = makeProject(t, {
    'svc.toml': 'kernel.plugin_directories = ["plugins"]\n',
    'plugins/shop/package.json': pluginPackage('shop'),
    'plugins/shop/src/plugin.ts': PLUGIN
  })
  const svc = (...argv: string[]) => runSvc(folder, argv)
  t.match(await svc('dashboard'), {
    code: 7,
    stderr: /no server of this project serves the console[\s\S]*DSH_NOT_SERVED[\s\S]*svc serve/
  })
  const server = await serve(t, folder, SERVED)
  t.match(await server.line(/console: /), `console: ${server.url}/ (sign in with: svc dashboard)`)
  const printed = await svc('dashboard')
  t.match(printed.stdout, new RegExp(`^${server.url}/#code=[0-9a-f]{16}\\.[\\w-]{43}\\n$`))
  t.match(printed.stderr, /60 seconds/)
  const owner = await signIn(printed.stdout.trim())
  const { url, role, expires } = JSON.parse((await svc('dashboard', '--json', '--role', 'viewer')).stdout)
  t.equal(role, 'viewer')
  t.ok(Date.parse(expires) > Date.now())
  const viewer = await signIn(url)
  t.notMatch(server.lines.join('\n'), new URL(url).hash.slice(6), 'no code is in the log')

  const { sessions } = JSON.parse((await svc('dashboard', 'sessions', '--json')).stdout)
  t.same(sessions.map(({ id }: { id: string }) => id).sort(), [owner.id, viewer.id].sort())
  t.match(await svc('dashboard', 'sessions', '--revoke', viewer.id), { code: 0, stdout: /ended/ })
  t.notOk(await viewer.isSignedIn())
  t.ok(await owner.isSignedIn())
  t.match(await svc('dashboard', 'sessions', '--revoke', viewer.id), { stderr: /DSH_SESSION_UNKNOWN/ })

  const why = await svc('plugins', 'why', 'shop')
  t.match(why.stdout, /the console leaves out dashboard\.pages "shop\/wrong" of shop: view\.rows: .* no field items/)
  t.match(await svc('dashboard', 'pages'), { stdout: /broken: dashboard\.pages shop\/wrong of shop/ })
  t.equal(await server.stop(), 0)
  t.match(await svc('dashboard'), { code: 7, stderr: /DSH_NOT_SERVED/ })
  t.match(await svc('dashboard', 'pages'), { stderr: /CLI_NO_DAEMON/ })
})

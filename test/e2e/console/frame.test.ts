import type { Frame } from 'playwright-core'
import t from 'tap'
import { makeProject, pluginPackage, serve } from '../served-project.ts'
import { launch, noBrowser, openConsole } from './browser.ts'

const PLUGIN = `
import { dashboardPages } from '@svc/contracts'
import { defineOperation, definePlugin, t } from '@svc/plugin-sdk'
const list = defineOperation({ id: 'shop.list', summary: 'List orders', effect: 'read', input: t.object({}),
  output: t.object({ orders: t.array(t.string()) }) })
export default definePlugin({ name: 'shop', operations: [list], activate(ctx) {
  ctx.implement(list, () => ({ orders: ['one'] }))
  ctx.contribute(dashboardPages, { path: 'shop/orders', title: 'Orders', section: 'run',
    view: { kind: 'module', entry: 'orders', uses: ['shop.list'] } })
} })
`
/** The text must not end the script element that contains it. */
const MODULE = `
export function mount(root: HTMLElement, api: any): () => void {
  const text = document.createElement('p')
  text.textContent = 'orders </script> <!-- '
  root.append(text)
  api.call('shop.list', {}).then((output: any) => { text.textContent += output.orders.join() })
  return () => text.remove()
}
`

/** Evaluates an expression in a frame; the name of the error if it throws. */
function attempt(frame: Frame, expression: string): Promise<unknown> {
  return frame.evaluate(`(async () => { try { return await (${expression}) } catch (error) { return error.name } })()`)
}

t.test('the page of an isolated plugin runs in a frame that reaches nothing', { skip: noBrowser }, async t => {
  const manifest = JSON.parse(pluginPackage('shop'))
  const folder = makeProject(t, {
    'svc.toml': 'kernel.plugin_directories = ["plugins"]\n[plugins.shop]\nisolation = "worker"\n',
    'plugins/shop/package.json': JSON.stringify({
      ...manifest,
      svc: { ...manifest.svc, pages: { orders: './page/orders.ts' } }
    }),
    'plugins/shop/src/plugin.ts': PLUGIN,
    'plugins/shop/page/orders.ts': MODULE
  })
  const server = await serve(t, folder, ['--only', 'http,dashboard,shop,cli,daemon'])
  const { page, open, problems } = await openConsole(await launch(t), server)
  await open('/ui/p/shop/orders')
  await page.frameLocator('iframe').getByText('orders </script> <!-- one').waitFor()
  t.same(problems, [])
  const frame = page.frames().find(each => each.url().includes('/ui/frame/shop/')) as Frame
  t.equal(await attempt(frame, 'origin'), 'null')
  t.equal(await attempt(frame, 'localStorage.length'), 'SecurityError')
  t.equal(await attempt(frame, 'parent.document.title'), 'SecurityError')
  t.equal(await attempt(frame, `fetch('${server.url}/health')`), 'TypeError')
  const socket = `new Promise(resolve => {
    const socket = new WebSocket('${server.url.replace('http', 'ws')}/ui/stream')
    socket.onopen = () => resolve('open')
    socket.onerror = () => resolve('refused')
  })`
  t.equal(await attempt(frame, socket), 'refused')
  await attempt(
    frame,
    `(() => {
      const other = document.createElement('script')
      other.textContent = 'window.other = 1'
      document.body.append(other)
    })()`
  )
  t.equal(await attempt(frame, 'window.other'), undefined, 'another script does not run')
})

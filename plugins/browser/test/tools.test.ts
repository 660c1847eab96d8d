import { type McpToolset, mcpToolset } from '@svc/contracts'
import mcp from '@svc/plugin-mcp'
import { definePlugin, type Plugin, ref } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import t, { type Test } from 'tap'
import browser from '#plugin'
import { missing, SANDBOX, servePages } from './world.ts'

const OWNER = { id: 'o', role: 'owner', scopes: ['*'] }

async function openToolset(t: Test): Promise<McpToolset> {
  let found: { readonly current: McpToolset } | undefined
  const probe = definePlugin({
    name: 'probe',
    requires: { toolset: ref(mcpToolset) },
    activate(_ctx, { toolset }) {
      found = toolset
    }
  })
  const kernel = await testKernel([browser, mcp, probe] as Plugin[], {
    settings: { browser: { sandbox: SANDBOX, timeout_ms: 60_000, max_pages: 1 } }
  })
  t.teardown(() => kernel.close())
  if (found === undefined) throw new Error('the probe was not activated')
  return found.current
}

t.test('the tools are one toolset, and only callers with their scope see them', async t => {
  const toolset = await openToolset(t)
  const names = (scopes: readonly string[]) =>
    toolset
      .tools({ id: 'x', role: 'user', scopes })
      .filter(each => each.toolsets.includes('browser'))
      .map(({ name }) => name.replace('svc_browser_', ''))
  t.same(names(['browser.use']), 'click close fill goto html open screenshot text wait_for'.split(' '))
  t.same(names([]), [])
})

t.test('a page is opened, filled, read and closed by tools', { skip: missing }, async t => {
  const toolset = await openToolset(t)
  const url = await servePages(t, {
    '/': '<input id="name"><button onclick="document.querySelector(\'p\').textContent = document.querySelector(\'#name\').value">Go</button><p></p>',
    '/long': `<p>${'x'.repeat(30_000)}</p>`
  })
  const call = async (name: string, args: object): Promise<any> => {
    const result = await toolset.call(`svc_browser_${name}`, args as Record<string, unknown>, { principal: OWNER })
    return name === 'screenshot' ? result : result?.structuredContent
  }
  const { data } = await call('open', { url })
  const { page } = data
  t.same(await call('fill', { page, target: '#name', text: 'Ada' }), { success: true, data: { ok: true } })
  await call('click', { page, target: 'text=Go' })
  t.match(await call('wait_for', { page, target: 'text=Ada' }), { success: true })
  t.same((await call('text', { page, target: 'p' })).data, { content: 'Ada', length: 3, truncated: false })
  t.match((await call('screenshot', { page })).content, [{ type: 'image', mimeType: 'image/png', data: /^iVBOR/ }])
  t.match(await call('open', { url }), { success: false, meta: { code: 'BRW_PAGE_LIMIT' }, remediation: /close/ })
  await call('goto', { page, url: `${url}long` })
  for (const name of ['text', 'html']) {
    const { content, length, truncated } = (await call(name, { page })).data
    t.same([content.length, truncated], [24_000, true], name)
    t.ok(length >= 30_000)
  }
  t.match(await call('goto', { page, url: 'file:///etc/passwd' }), { success: false, meta: { code: 'BRW_ADDRESS' } })
  t.match(await call('close', { page }), { success: true })
  t.match(await call('text', { page }), { success: false, meta: { code: 'BRW_PAGE_UNKNOWN' } })
})

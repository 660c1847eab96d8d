import dashboard from '@svc/plugin-dashboard'
import type { Plugin } from '@svc/plugin-sdk'
import t from 'tap'
import { openWorld } from './kit.ts'

t.test('the console accepts the pages, their operations and their fields', async t => {
  const { kernel } = await openWorld(t, { plugins: [dashboard as Plugin] })
  const { pages, broken } = (await kernel.callById('dashboard.pages', {})) as {
    pages: { path: string }[]
    broken: unknown[]
  }
  t.strictSame(broken, [])
  t.ok(pages.some(({ path }) => path === 'scholarly/submissions'))
  t.ok(pages.some(({ path }) => path === 'scholarly/jobs/:job_id'))
})

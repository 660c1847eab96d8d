import dashboard from '@svc/plugin-dashboard'
import database from '@svc/plugin-database'
import type { Plugin } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import t from 'tap'
import plugin from '#plugin'

t.test('the console accepts the pages, their operations and their fields', async t => {
  const kernel = await testKernel([database, dashboard, plugin] as Plugin[], {
    settings: { database: { path: 'store.db' } }
  })
  t.teardown(() => kernel.close())
  const { pages, broken } = (await kernel.callById('dashboard.pages', {})) as {
    pages: { path: string }[]
    broken: unknown[]
  }
  t.strictSame(broken, [])
  t.ok(pages.some(({ path }) => path === 'publication/publications'))
  t.ok(pages.some(({ path }) => path === 'publication/publications/:publication_id'))
})

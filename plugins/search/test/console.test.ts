import { type DashboardPage, dashboardPages } from '@svc/contracts'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import t from 'tap'
import { resultsOperation, storeMemory } from '#operations'
import { openSearch } from './open-search.ts'

t.test('the page searches with its filters, and explains each score', async t => {
  let pages: readonly DashboardPage[] = []
  const reader = definePlugin({
    name: 'reader',
    points: [dashboardPages],
    activate(ctx) {
      ctx.follow(dashboardPages, items => {
        pages = items
      })
    }
  }) as Plugin
  const { kernel } = await openSearch(t, { plugins: [reader] })
  t.same(
    pages.map(({ path, section }) => [path, section]),
    [
      ['search/results', 'build'],
      ['search/notes', 'build']
    ]
  )
  const shown = JSON.stringify(pages[0]?.view)
  for (const operation of ['search.results', 'search.state', 'search.index-state', 'search.index'])
    t.ok(shown.includes(`"operation":"${operation}"`), operation)
  t.same(await kernel.call(resultsOperation, {}), { rows: [] })
  await kernel.call(storeMemory, { key: 'zebra', body: `A zebra ${'has stripes '.repeat(100)}` })
  const { rows, note, because } = await kernel.call(resultsOperation, { query: 'zebra', corpus: 'memory' })
  t.match(rows, [
    { id: 'memory zebra', vector_score: null, explanation: /^memory_bm25: words [\d.]+; status current x1\.2; age/ }
  ])
  t.ok((rows[0]?.text.length ?? 0) <= 301)
  t.match(note, /^1 hit for factual lookup; quality/)
  t.match(because, /no word of code navigation/)
  t.same((await kernel.call(resultsOperation, { query: 'zebra', corpus: 'knowledge_graph' })).rows, [])
})

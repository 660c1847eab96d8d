import dashboard from '@svc/plugin-dashboard'
import type { Plugin } from '@svc/plugin-sdk'
import { test } from 'tap'
import { newsInbox } from '#root'
import { openNews } from './kit.ts'
import { Board, boardChannel } from './remote-board.ts'

test('the console accepts the pages, their operations and their fields', async t => {
  const news = await openNews(t, { plugins: [dashboard as Plugin] })
  const { pages, broken } = (await news.kernel.callById('dashboard.pages', {})) as {
    readonly pages: readonly { readonly path: string }[]
    readonly broken: readonly { readonly entry: string }[]
  }
  // This kernel does not read the modules of packages.
  t.strictSame(
    broken.map(({ entry }) => entry),
    ['news/items/:id']
  )
  t.ok(pages.some(({ path }) => path === 'news/items'))
})

test('each answer of an item in the inbox is a call that closes it', async t => {
  const board = new Board()
  const news = await openNews(t, { channels: [boardChannel(board, { canFind: false })] })
  for (const [id, index] of [
    ['exists', 0],
    ['missing', 1]
  ] as const) {
    await news.approved({ id, more: 'syndication:\n  rss: false\n  board: true' })
    board.faults.push('lose-answer')
    await news.publish(id, { channels: ['board'] })
    const { items } = await news.kernel.call(newsInbox, {})
    t.match(items, [{ title: `Was ${id} sent to board?`, kind: 'failure', link: `/ui/p/news/items/${id}` }])
    const answer = items[0]?.answers[index]
    const asked = answer?.ask?.includes('sent') === true ? { sent: 'post-1' } : {}
    t.match(await news.kernel.callById(String(answer?.operation), { ...answer?.input, ...asked }), {
      state: index === 0 ? 'sent' : 'ready'
    })
    t.same(await news.kernel.call(newsInbox, {}), { items: [] })
    t.match(await news.publications.get(id), { state: index === 0 ? 'published' : 'approved' })
  }
})

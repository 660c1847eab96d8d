import t from 'tap'
import { ChannelRun, openChannels, postWith } from './channel-run.ts'

t.test('hacker_news prepares the address and the texts for a person, and sends nothing', async t => {
  const { channel } = await openChannels(t, { settings: {} })
  const news = channel('hacker_news')
  t.equal(news.live, false)
  t.equal(await news.problem(), null)
  const post = postWith({}, { title: `${'Checks are fast & exact: '.repeat(5)}done` })
  const run = new ChannelRun()
  const receipt = await run.attempt(news, post)
  t.same(receipt.externalId, 'manual_assist:0123456789ab')
  const address = new URL(receipt.url ?? '')
  t.equal(`${address.origin}${address.pathname}`, 'https://news.ycombinator.com/submitlink')
  t.equal(address.searchParams.get('u'), 'https://example.org/news/release-2.html')
  const title = address.searchParams.get('t') ?? ''
  t.ok(title.length <= 80 && title.endsWith('...'), title)
  t.match(await news.preview(post), [
    { label: 'title', text: title, limit: 80 },
    { label: 'address to open', text: receipt.url ?? '' },
    { label: 'text for a first comment', text: 'Version 2 checks 1,000 files in 0.3 s.' }
  ])
  t.same([run.exchanges, run.checkpoints], [[], []])
})

t.test('hacker_news takes the title and the text of the item before those that are derived', async t => {
  const { channel } = await openChannels(t, { settings: {} })
  const texts = await channel('hn').preview(postWith({ title: 'Show HN: svc', text: 'I wrote it.' }))
  t.match(texts, [{ text: 'Show HN: svc' }, {}, { text: 'I wrote it.' }])
})

t.test('another mode of hacker_news than manual_assist is refused at the start', async t => {
  await t.rejects(openChannels(t, { settings: { hn_mode: 'automatic' } }), { message: /hn_mode/ })
})

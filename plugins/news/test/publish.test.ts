import type { ChannelContext, NewsChannel, NewsPost } from '@svc/contracts'
import { test } from 'tap'
import { openNews } from './kit.ts'

/** Channel that keeps what it receives. */
function recording(name: string): NewsChannel & { readonly sent: NewsPost[]; readonly contexts: ChannelContext[] } {
  const sent: NewsPost[] = []
  const contexts: ChannelContext[] = []
  return {
    name,
    sent,
    contexts,
    summary: 'Keeps what it receives',
    live: true,
    options: { type: 'object', additionalProperties: false, properties: {} },
    retry: 'standard',
    problem: async () => null,
    preview: async post => [
      { label: 'text', text: post.summary, length: post.summary.length, limit: 500, unit: 'characters' }
    ],
    async send(post, context) {
      sent.push(post)
      contexts.push(context)
      return { externalId: `${name}-${sent.length}` }
    }
  }
}

test('an approved item is sent once, however often it is published', async t => {
  const channel = recording('board')
  const news = await openNews(t, { channels: [channel] })
  await news.approved({ id: 'first', more: 'syndication:\n  board: true' })
  const once = await news.publish('first')
  t.match(once.channels, [
    { channel: 'board', outcome: 'Success', external_id: 'board-1' }
  ])
  const twice = await news.publish('first')
  t.match(twice.channels[0], { outcome: 'Success', external_id: 'board-1', decision_reasons: ['already_sent'] })
  t.equal(channel.sent.length, 1)
  t.match(channel.sent[0], { id: 'first', link: 'https://vox-lang.org/news/first.html', digest: once.digest })
  const attempts = await news.rows('SELECT channel, outcome_json FROM publication_attempts')
  t.equal(attempts.length, 1)
  t.match(JSON.parse(String(attempts[0]?.outcome_json)), { event: 'sent', external_id: 'board-1' })
})

import fc from 'fast-check'
import t from 'tap'
import { openChannels, postWith } from './channel-run.ts'

const OPTIONS: Readonly<Record<string, object>> = {
  reddit: { subreddit: 'programming' },
  youtube: { video: 'a.mp4', sha3_256: 'a'.repeat(64) },
  linkedin: { hashtags: ['TypeScript', 'Übung'] },
  forge: { repository: 'acme/tool', target: 'release', tag: 'v1' },
  open_collective: {},
  twitter: {},
  bluesky: {},
  mastodon: {},
  discord: {},
  hacker_news: {}
}

/** Texts of any characters, some of them longer than all limits. */
const text = fc
  .tuple(fc.string({ unit: 'grapheme', maxLength: 60 }), fc.constantFrom(1, 3, 40, 1_200))
  .map(([part, times]) => `x${part}`.repeat(times))

t.test('a link that is longer than the limit of a channel is refused, not sent or shortened', async t => {
  const { channel } = await openChannels(t, { settings: {} })
  const link = `https://example.org/${'x'.repeat(2_100)}`
  await t.rejects(channel('bluesky').preview(postWith({ card: false }, { link })), { code: 'text_limit_too_small' })
  await t.rejects(channel('discord').preview(postWith({}, { link })), { code: 'text_limit_too_small' })
  t.match(await channel('bluesky').preview(postWith({}, { link })), [{ limit: 300 }, {}, {}], 'the card has the link')
})

t.test('each channel keeps its limits for any text, and repeats itself', async t => {
  const { channel } = await openChannels(t, { settings: {} })
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...Object.keys(OPTIONS)),
      fc.record({ title: text, summary: text, body: text }),
      fc.constantFrom(
        { marginChars: 0, capFactor: 1 },
        { marginChars: -16, capFactor: 0.88 },
        { marginChars: 24, capFactor: 1.14 }
      ),
      async (name, words, adjust) => {
        const post = postWith(OPTIONS[name] ?? {}, { ...words, adjust })
        const texts = await channel(name).preview(post)
        const again = await channel(name).preview(post)
        return (
          texts.length > 0 &&
          texts.every(({ length, limit, text }) => length <= limit && text !== '') &&
          JSON.stringify(texts) === JSON.stringify(again)
        )
      }
    ),
    { numRuns: 80 }
  )
})

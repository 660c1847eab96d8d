import t from 'tap'
import { newsScan } from '#root'
import { openNews } from './kit.ts'

const SHA3 = 'a'.repeat(64)

const ACCEPTED = [
  'reddit: { subreddit: r/programming, kind: link, nsfw: false }',
  'reddit: { subreddit: u_ada, text: "Own text" }',
  `youtube: { video: media/demo.mp4, sha3_256: "${SHA3}", privacy: public, category_id: 27, tags: [a, b] }`,
  'linkedin: true',
  'linkedin: { hashtags: [TypeScript, Übung], visibility: CONNECTIONS, article: false }',
  'forge: { repository: acme/tool, target: release, tag: v2.0.0-rc.1, prerelease: true }',
  'github: { repository: acme/tool, target: issue, title: Release }',
  'forge: { repository: acme/tool, target: comment, issue: 7 }',
  'open_collective: true',
  'open_collective: { audience: NO_ONE, private: true }',
  'crates_io: { crate: tool, version: 2.0.0-beta.1+build }',
  'x: { thread: true, text: "Own text" }',
  'bluesky: { langs: [en, pt-BR], card: false }',
  'mastodon: { visibility: unlisted, language: en, spoiler_text: Release }',
  'discord: { thread_id: "199737254929760257", embed: true }',
  'hn: { title: "Show HN: A toolchain" }'
]

const REFUSED = [
  'reddit: true',
  'reddit: { subreddit: "../me" }',
  'reddit: { subreddit: programming, kind: image }',
  'reddit: { subreddit: programming, titel: x }',
  'youtube: { video: media/demo.mp4 }',
  `youtube: { video: media/demo.mp4, sha3_256: "${SHA3}", privacy: secret }`,
  `youtube: { video: media/demo.mp4, sha3_256: "${SHA3}", tags: ["a,b"] }`,
  'linkedin: { hashtags: ["#x"] }',
  'linkedin: { hashtags: ["a b"] }',
  'forge: { repository: tool, target: issue }',
  'forge: { repository: acme/.., target: issue }',
  'forge: { repository: acme/tool, target: issue, tag: v1 }',
  'forge: { repository: acme/tool, target: release }',
  'forge: { repository: acme/tool, target: comment }',
  'forge: { repository: acme/tool, target: discussion }',
  'open_collective: { audience: EVERYONE }',
  'crates_io: { crate: tool }',
  'crates_io: { crate: "../x", version: 2.0.0 }',
  'crates_io: { crate: tool, version: latest }',
  'twitter: { text: "  " }',
  'twitter: { threads: true }',
  'bluesky: { text: "" }',
  'bluesky: { langs: [English!] }',
  'mastodon: { text: "\\n" }',
  'mastodon: { visibility: secret }',
  'discord: { thread_id: "199737254929760257", thread_name: Both }',
  'discord: { text: " " }',
  'hacker_news: { title: " " }'
]

t.test('items have only options that their channels accept', async t => {
  const news = await openNews(t, { withoutDatabase: true })
  const write = (name: string, lines: readonly string[]): void => {
    for (const [n, line] of lines.entries()) news.write({ id: `${name}-${n}`, more: `syndication:\n  ${line}` })
  }
  write('accepted', ACCEPTED)
  write('refused', REFUSED)
  const { items, problems } = await news.kernel.call(newsScan, { prepare: false })
  t.same(
    problems.filter(({ file }) => file.includes('accepted')),
    []
  )
  t.equal(items.filter(({ id }) => id.startsWith('accepted')).length, ACCEPTED.length)
  const refused = new Set(problems.map(({ file }) => /refused-(\d+)/.exec(file)?.[1]))
  t.same(
    REFUSED.filter((_, n) => !refused.has(String(n))),
    []
  )
})

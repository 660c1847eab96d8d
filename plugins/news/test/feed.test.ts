import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { parseXml, type XmlElement } from '@rgrove/parse-xml'
import fc from 'fast-check'
import { test } from 'tap'
import { emptyFeed, entriesOf, type FeedEntry, FeedFile, htmlOf, withEntries } from '#feed'

const CHANNEL = { title: 'A & B', link: 'https://a.example/', description: 'News', self: 'https://a.example/feed.xml' }
const NOW = Date.UTC(2026, 4, 1)

function entry(id: string, day: number, more: Partial<FeedEntry> = {}): FeedEntry {
  return {
    id,
    title: `Title ${id}`,
    author: 'Ada',
    link: `https://a.example/news/${id}.html`,
    publishedAt: new Date(Date.UTC(2026, 2, day)).toISOString(),
    tags: ['one'],
    summary: 'Summary',
    html: '<p>Text</p>',
    ...more
  }
}

function guids(feed: string): readonly (string | null)[] {
  return entriesOf(feed).map(({ guid }) => guid)
}

function fields(feed: string, index: number): Readonly<Record<string, string>> {
  const channel = parseXml(feed).root?.children.find(each => (each as XmlElement).name === 'channel') as XmlElement
  const items = channel.children.filter(each => (each as XmlElement).name === 'item') as XmlElement[]
  const children = (items[index]?.children ?? []).filter(each => each.type === 'element') as XmlElement[]
  return Object.fromEntries(children.map(({ name, text }) => [name, text]))
}

test('entries are newest first, with a guid that is no link, and dates of RFC 822', async t => {
  const feed = withEntries(emptyFeed(CHANNEL), [entry('old', 1), entry('new', 9)], NOW)
  t.same(guids(feed), ['new', 'old'])
  t.match(fields(feed, 0), {
    title: 'Title new',
    link: 'https://a.example/news/new.html',
    pubDate: 'Mon, 09 Mar 2026 00:00:00 GMT',
    'dc:creator': 'Ada',
    category: 'one',
    'content:encoded': '<p>Text</p>'
  })
  t.match(feed, /<guid isPermaLink="false">new<\/guid>/)
  t.match(feed, /<lastBuildDate>Fri, 01 May 2026 00:00:00 GMT<\/lastBuildDate>/)
})

test('an entry with the same guid is replaced, and an unchanged feed stays as it is', async t => {
  const feed = withEntries(emptyFeed(CHANNEL), [entry('a', 1), entry('b', 2)], NOW)
  const changed = withEntries(feed, [entry('a', 1, { title: 'Other' })], NOW + 1_000)
  t.same(guids(changed), ['b', 'a'])
  t.equal(fields(changed, 1).title, 'Other')
  t.match(changed, /00:00:01 GMT<\/lastBuildDate>/)
  t.equal(withEntries(changed, [entry('a', 1, { title: 'Other' })], NOW + 9_000), changed)
})

test('what others wrote is kept: entries, comments, elements and namespaces', async t => {
  const other = `<item xmlns:x="urn:x"><title><![CDATA[A <b> & ]]></title><guid>https://b.example/1</guid>
      <pubDate>Thu, 05 Mar 2026 10:00:00 +0200</pubDate><x:note a='1'/></item>`
  const undated = '<item><title>Without a date</title></item>'
  const text = `<?xml version="1.0"?>\n<!-- by hand -->\n<rss version="2.0"><channel><title>T</title><link>https://b.example/</link>
    <description>D</description><!-- é😀 -->
    ${undated}
    <!-- between -->
    ${other}
    <ttl>5</ttl></channel></rss>\n`
  const feed = withEntries(text, [entry('before', 1), entry('after', 9)], NOW)
  t.same(guids(feed), ['after', 'https://b.example/1', 'before', null])
  for (const part of [other, undated, '<!-- by hand -->', '<!-- é😀 -->', '<!-- between -->', '<ttl>5</ttl>'])
    t.equal(feed.split(part).length, 2, part)
  t.match(feed, /<content:encoded xmlns:content="http:\/\/purl.org\/rss\/1.0\/modules\/content\/">/)
  t.doesNotThrow(() => parseXml(feed))
  const dense = '<rss version="2.0"><channel><title>T</title></channel></rss>'
  t.same(guids(withEntries(dense, [entry('a', 1)], NOW)), ['a'])
})

test('a file that is no RSS 2.0 feed is refused', async t => {
  for (const text of [
    '',
    'text',
    '<rss version="2.0"><channel>',
    '<feed xmlns="http://www.w3.org/2005/Atom"/>',
    '<rss version="0.91"><channel><title/></channel></rss>',
    '<rss version="2.0"></rss>',
    '<rss version="2.0"><channel/></rss>',
    '<rss version="2.0"><channel><title>&bomb;</title></channel></rss>',
    `<rss version="2.0"><channel>${'<a>'.repeat(100_000)}</channel></rss>`
  ]) {
    t.throws(() => withEntries(text, [entry('a', 1)], NOW), { code: 'NEWS_FEED_INVALID' }, text.slice(0, 60))
  }
})

test('any text survives a round trip, but for characters that XML cannot hold', async () => {
  const text = fc.string({ unit: 'binary', maxLength: 200 })
  fc.assert(
    fc.property(text, text, fc.array(text, { maxLength: 3 }), (title, summary, tags) => {
      const feed = withEntries(emptyFeed(CHANNEL), [entry('a', 1, { title, summary, tags, html: summary })], NOW)
      const found = fields(feed, 0)
      const kept = (value: string): string =>
        // biome-ignore lint/suspicious/noControlCharactersInRegex: the characters that XML 1.0 excludes
        value.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Cs}/gu, '').replace(/\r\n?/g, '\n')
      return (
        found.title === kept(title) && found.description === kept(summary) && found['content:encoded'] === kept(summary)
      )
    }),
    { numRuns: 200 }
  )
})

test('repeated updates in any order give one entry for each id', async () => {
  const ids = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c', 'd'), fc.integer({ min: 1, max: 28 })), {
    maxLength: 12
  })
  fc.assert(
    fc.property(ids, updates => {
      const feed = updates.reduce((text, [id, day]) => withEntries(text, [entry(id, day)], NOW), emptyFeed(CHANNEL))
      const days = new Map(updates)
      const expected = [...days].sort(([, a], [, b]) => b - a).map(([, day]) => Date.UTC(2026, 2, day))
      const found = entriesOf(feed)
      return (
        found.length === days.size &&
        found.every(({ publishedMs }, index) => publishedMs === expected[index]) &&
        (feed.match(/<lastBuildDate>/g) ?? []).length === (updates.length > 0 ? 1 : 0)
      )
    }),
    { numRuns: 60 }
  )
})

test('HTML of a text contains no scripts, raw HTML and relative addresses', async t => {
  const html = htmlOf(
    '# T\n\n<script>alert(1)</script> <b onclick="x">b</b> [j](javascript:alert(1)) [d](data:text/html,x) ' +
      '[r](../a.html) ![i](pic.png "t") **bold**\n\n| a |\n|---|\n| b |',
    'https://a.example/news/x.html'
  )
  t.notMatch(html, /<script|<b |href="javascript|href="data/)
  t.match(html, /href="https:\/\/a.example\/a.html"/)
  t.match(html, /src="https:\/\/a.example\/news\/pic.png"/)
  t.match(html, /<strong>bold<\/strong>/)
  t.match(html, /<td>b<\/td>/)
  t.equal(htmlOf('a'.repeat(300_000), 'https://a.example/'), null)
})

const SETTINGS = {
  rss_feed_path: 'site/src/feed.xml',
  rss_title: 'News',
  rss_description: 'News',
  site_base_url: 'https://a.example'
}

test('updates at the same time lose no entry, and take over the lock of a process that ended', async t => {
  const root = t.testdir()
  const folder = join(root, 'site/src')
  mkdirSync(folder, { recursive: true })
  writeFileSync(
    join(folder, 'feed.xml.lock'),
    JSON.stringify({ host: hostname(), pid: 2 ** 22 + 1, start: null, at_ms: 1 })
  )
  const files = [1, 2, 3].map(() => new FeedFile(root, () => SETTINGS))
  await Promise.all(files.flatMap((file, at) => [1, 2, 3].map(day => file.update([entry(`${at}-${day}`, day)]))))
  t.equal((await files[0]?.read())?.length, 9)
  t.same(readdirSync(folder), ['feed.xml'])
})

test('an update keeps the permissions of the file, and a failed one the file', async t => {
  const root = t.testdir()
  const feed = new FeedFile(root, () => SETTINGS)
  const path = join(root, SETTINGS.rss_feed_path)
  t.equal(await feed.read(), null)
  await feed.update([entry('a', 1)])
  chmodSync(path, 0o640)
  await feed.update([entry('b', 2)])
  t.equal(statSync(path).mode & 0o777, 0o640)
  const text = readFileSync(path, 'utf8')
  // A folder where the draft would be makes the write fail.
  mkdirSync(`${path}.${process.pid}.draft/x`, { recursive: true })
  await t.rejects(feed.update([entry('c', 3)]), { code: 'NEWS_FEED_INVALID' })
  t.equal(readFileSync(path, 'utf8'), text)
})

/** The feed that `tools/validate-feed.rb` validated; its output is in `fixtures/feed-validation.txt`. */
test('the feed is the one that a validator of RSS found valid', async t => {
  const entries = [
    entry('release-1.0', 9, { title: 'Release 1.0: “fast” & <small> 🚀', tags: ['release', 'R&D'] }),
    entry('umlaut', 2, {
      title: 'Ümlaut',
      summary: 'A ]]> b \u0001 c',
      html: htmlOf('**b** `]]>` <script>', CHANNEL.link)
    }),
    entry('long', 5, { html: null, tags: [] })
  ]
  const feed = withEntries(emptyFeed(CHANNEL), entries, NOW)
  const file = join(import.meta.dirname, 'fixtures', 'feed.xml')
  if (process.env.UPDATE_FEED_FIXTURE === '1') writeFileSync(file, feed)
  t.equal(feed, readFileSync(file, 'utf8'))
  t.match(
    readFileSync(join(import.meta.dirname, 'fixtures', 'feed-validation.txt'), 'utf8'),
    /feed\.xml: valid rss 2\.0/
  )
})

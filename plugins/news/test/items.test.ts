import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { test } from 'tap'
import { firstParagraph, instantOf, readItem, scanItems } from '#items'
import { itemText } from './kit.ts'

const CHANNELS = [
  {
    name: 'board',
    aliases: ['wall'],
    options: { type: 'object', additionalProperties: false, properties: { tone: { enum: ['calm', 'loud'] } } }
  }
]

function problemsOf(text: string) {
  return readItem(text, 'docs/news/a.md', CHANNELS).problems
}

test('an item has the fields of its front matter, and its first paragraph as the summary', async t => {
  const { item } = readItem(
    itemText({
      id: 'v1.0_a-b',
      tags: ['one', 'two', 'one'],
      more: [
        'topic_pack: infra_release',
        'draft: true',
        'template: security_advisory',
        'values: { affected: "1.0", fixed_in: "1.1" }',
        'syndication:',
        '  wall: { tone: calm }',
        '  dry_run: true',
        '  distribution_policy:',
        '    dry_run: true',
        '    channels:',
        '      board: { worthiness_floor: 0.9, retry: patient, template: discord_announcement }'
      ].join('\n'),
      body: '# Heading\n\n![i](a.png) A *first* [link](https://a.example) `code`\nnext &amp; last.\n\nSecond.'
    }),
    'docs/news/a.md',
    CHANNELS
  )
  t.match(item, {
    id: 'v1.0_a-b',
    author: 'Ada Lovelace',
    publishedAt: '2026-03-01T09:00:00.000Z',
    tags: ['one', 'two'],
    topicPack: 'infra_release',
    draft: true,
    template: 'security_advisory',
    dryRun: true,
    summary: 'A first link code next & last.',
    channels: new Map([['board', { tone: 'calm' }]]),
    policy: { dryRun: true, channels: new Map([['board', { worthinessFloor: 0.9, retry: 'patient' }]]) }
  })
})

test('each problem has its line and a next step', async t => {
  const cases: readonly (readonly [text: string, line: number, message: RegExp, hint: RegExp])[] = [
    ['no front matter', 1, /does not begin with front matter/, /---/],
    ['---\nid: a\n', 1, /no closing line --- within 64 KiB/, /---/],
    [`---\nid: ${'a'.repeat(70_000)}\n---\nText`, 1, /no closing line --- within 64 KiB/, /---/],
    ['---\n- a\n---\nText', 2, /not a map of fields/, /id/],
    ['---\nid: a\nid: b\n---\nText', 3, /Map keys must be unique/, /YAML/],
    ['---\nx: &a [1]\ny: *a\n---\nText', 2, /anchors are not allowed/, /write the value out/],
    ['---\nid: !!js/function x\n---\nText', 2, /Unresolved tag/, /YAML/],
    [itemText({ id: '../a' }), 2, /id: "\.\.\/a" is no valid id/, /letters/],
    [itemText({ id: 'a\\b' }), 2, /no valid id/, /letters/],
    [itemText({ id: 'a' }).replace('2026-03-01T09:00:00Z', '2026-02-30'), 5, /published_at: .* is no date/, /2026/],
    [itemText({ id: 'a', title: ' ' }), 3, /title: is missing|title/, /title/],
    [itemText({ id: 'a', more: 'tags: one' }), 6, /tags: must be a list/, /\[one, two\]/],
    [itemText({ id: 'a', more: 'topic_pack: bench' }), 6, /topic_pack: "bench" is unknown/, /benchmark|one of/],
    [itemText({ id: 'a', more: 'syndication:\n  boart: true' }), 7, /syndication\.boart: is unknown/, /board/],
    [itemText({ id: 'a', more: 'syndication:\n  board: 3' }), 7, /must be true, false/, /board: true/],
    [itemText({ id: 'a', more: 'syndication:\n  board: { tone: x }' }), 7, /tone/, /options/],
    [itemText({ id: 'a', more: 'syndication:\n  board: true\n  wall: true' }), 8, /same as board/, /remove/],
    [
      itemText({
        id: 'a',
        more: 'syndication:\n  distribution_policy:\n    channels:\n      board: {}\n      wall: { enabled: false }'
      }),
      10,
      /channels\.wall: is the same as board/,
      /remove/
    ],
    [itemText({ id: 'a', more: 'template: security_advisory' }), 6, /needs values for affected, fixed_in/, /values/],
    [itemText({ id: 'a', more: 'values: { title: x }' }), 6, /values\.title: is set by svc/, /another name/],
    [itemText({ id: 'a', body: ' ' }), 2, /the item has no text/, /below/]
  ]
  for (const [text, line, message, hint] of cases) {
    const [problem, ...more] = problemsOf(text)
    t.match(problem, { code: 'NEWS_ITEM_INVALID', file: 'docs/news/a.md', line, message, hint }, text.slice(0, 80))
    t.equal(more.length, 0, text.slice(0, 80))
  }
})

test('any text gives an item or a problem with a line of the file', async () => {
  const line = fc.oneof(
    fc.constantFrom(
      '---',
      'id: a',
      'title: "x"',
      'author: x',
      'published_at: 2026-01-01',
      'syndication:',
      '  rss: 1',
      '[[[['
    ),
    fc.string({ unit: 'binary', maxLength: 20 })
  )
  fc.assert(
    fc.property(fc.array(line, { maxLength: 12 }), lines => {
      const text = lines.join('\n')
      const { item, problems } = readItem(text, 'a.md', CHANNELS)
      const last = text.split('\n').length
      return item === null
        ? problems.length > 0 && problems.every(each => each.line >= 1 && each.line <= last && each.hint !== '')
        : problems.length === 0
    }),
    { numRuns: 80 }
  )
})

test('front matter that would take a parser long, or end the process, is a problem', async t => {
  for (const part of ['[', '{', 'a: {', '- ', '? ', '- - ', '"" ', 'a: b\n', '&a ', '#\n']) {
    const { problems } = readItem(`---\n${part.repeat(30_000 / part.length)}\n---\nText`, 'a.md', CHANNELS)
    t.match(problems, [{ code: 'NEWS_ITEM_INVALID' }], part)
    t.ok(problems.length <= 20, part)
  }
  const keys = Array.from({ length: 500 }, (_, at) => `key${at}: 1`).join('\n')
  t.equal(readItem(`---\n${keys}\n---\nText`, 'a.md', CHANNELS).problems.length, 20)
})

test('dates are read in UTC, and days that do not exist are refused', async t => {
  t.equal(instantOf('2026-03-01'), '2026-03-01T00:00:00.000Z')
  t.equal(instantOf('2026-03-01T10:30:00+02:00'), '2026-03-01T08:30:00.000Z')
  for (const text of [
    '2026-02-29',
    '2026-13-01',
    '2026-03-01T25:00Z',
    '2026-03-01T10:00',
    '1.3.2026',
    '',
    '2026-03-01T10:00:00+99:00'
  ])
    t.equal(instantOf(text), null, text)
  fc.assert(
    fc.property(fc.date({ min: new Date(0), max: new Date('2200-01-01'), noInvalidDate: true }), date => {
      const text = date.toISOString().replace(/\.\d+Z$/, 'Z')
      return instantOf(text) === new Date(text).toISOString()
    })
  )
})

test('the first paragraph has no Markdown and no raw HTML', async t => {
  t.equal(firstParagraph('# T\n\n> quote\n\n- list\n\n**A** b'), 'A b')
  t.equal(firstParagraph('a <b>c</b>\\\nd'), 'a <b>c</b> d')
  t.equal(firstParagraph(''), '')
})

test('a scan reads folders, finds ids that occur twice, and refuses links out of the project', async t => {
  const root = t.testdir({ project: { docs: { news: { sub: {} } } }, outside: {} })
  const project = join(root, 'project')
  const news = join(project, 'docs/news')
  writeFileSync(join(news, 'a.md'), itemText({ id: 'a' }))
  writeFileSync(join(news, 'sub/b.markdown'), itemText({ id: 'b' }))
  writeFileSync(join(news, 'sub/c.md'), itemText({ id: 'A' }))
  writeFileSync(join(news, 'notes.txt'), 'text')
  writeFileSync(join(news, 'binary.md'), Buffer.from([0, 1, 2, 255]))
  writeFileSync(join(root, 'outside/d.md'), itemText({ id: 'd' }))
  symlinkSync(join(root, 'outside/d.md'), join(news, 'd.md'))
  symlinkSync(join(root, 'outside'), join(news, 'linked'))
  mkdirSync(join(news, '.hidden'))
  writeFileSync(join(news, '.hidden/e.md'), itemText({ id: 'e' }))
  const options = { projectRoot: project, folder: 'docs/news', channels: [], signal: new AbortController().signal }
  const all = await scanItems({ ...options, recursive: true })
  t.same(
    all.items.map(({ id }) => id),
    ['b']
  )
  t.match(all.problems.map(({ code, file }) => `${code} ${file}`).sort(), [
    'NEWS_ID_DUPLICATE docs/news/a.md',
    'NEWS_ID_DUPLICATE docs/news/sub/c.md',
    'NEWS_ITEM_INVALID docs/news/binary.md',
    'NEWS_ITEM_INVALID docs/news/d.md'
  ])
  const flat = await scanItems({ ...options, recursive: false })
  t.same(
    flat.items.map(({ id }) => id),
    ['a']
  )
  t.same(await scanItems({ ...options, folder: 'docs/none', recursive: true }), { items: [], problems: [], files: 0 })
  symlinkSync(join(root, 'outside'), join(project, 'away'))
  await t.rejects(scanItems({ ...options, folder: 'away', recursive: true }), { code: 'NEWS_FOLDER_REFUSED' })
})

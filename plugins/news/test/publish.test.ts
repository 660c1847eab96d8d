import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'tap'
import { newsFeed, newsInbox, newsItems, newsPreview, newsPublish, newsScan, newsStatus, sideBySide } from '#root'
import { openNews } from './kit.ts'
import { Board, boardChannel } from './remote-board.ts'

const TO_BOARD = 'syndication:\n  rss: false\n  board: true'

test('an approved item is sent once, however often it is published', async t => {
  const board = new Board()
  const news = await openNews(t, { channels: [boardChannel(board, { canFind: true })] })
  await news.approved({ id: 'first', more: TO_BOARD })
  const once = await news.publish('first')
  t.match(
    new Map(once.channels.map(each => [each.channel, each])),
    new Map([
      ['rss', { outcome: 'Disabled', decision_reasons: ['excluded_by_item'] }],
      ['board', { outcome: 'Success', external_id: 'post-1', url: 'https://board.example/post-1' }]
    ] as never)
  )
  const twice = await news.publish('first', { channels: ['board'] })
  t.match(twice.channels, [{ outcome: 'Success', external_id: 'post-1', decision_reasons: ['already_sent'] }])
  t.equal(board.posts.length, 1)
  const attempts = await news.rows('SELECT channel, outcome_json FROM publication_attempts')
  t.match(
    attempts.map(({ outcome_json }) => JSON.parse(String(outcome_json))),
    [
      { event: 'started', attempt: 1 },
      { event: 'sent', external_id: 'post-1' }
    ]
  )
  t.match(await news.publications.get('first'), { state: 'published' })
  t.match(await news.rows('SELECT value, source FROM publication_external_links'), [
    { value: 'https://board.example/post-1', source: 'board' }
  ])
})

test('two requests at the same time send a post once', async t => {
  const board = new Board()
  const news = await openNews(t, { channels: [boardChannel(board, { canFind: true })] })
  await news.approved({ id: 'race', more: TO_BOARD })
  const results = await Promise.all(Array.from({ length: 6 }, () => news.publish('race', { channels: ['board'] })))
  t.equal(board.posts.length, 1)
  for (const { channels } of results) t.match(channels[0], { outcome: /^(Success|Failed)$/ })
  t.ok(results.some(({ channels }) => channels[0]?.outcome === 'Success'))
})

test('the gate, its reasons and a dry run', async t => {
  const board = new Board()
  const news = await openNews(t, { channels: [boardChannel(board, { canFind: true })], publication: { armed: false } })
  news.write({ id: 'gated', more: TO_BOARD })
  t.match(await news.kernel.call(newsPublish, { id: 'gated', channels: ['board'] }), {
    dry_run: true,
    dry_run_by: ['the call'],
    note: 'dry run, nothing was sent; requested by the call',
    ok: true,
    gate_codes: ['dry_run', 'missing_dual_approval', 'publish_not_armed'],
    channels: [{ outcome: 'DryRun', decision_reasons: ['dry_run', 'missing_dual_approval', 'publish_not_armed'] }]
  })
  await news.approve('gated', ['ada'])
  t.match(await news.publish('gated', { channels: ['board'] }), {
    ok: false,
    channels: [{ outcome: 'Failed', code: 'missing_dual_approval', failure_class: 'disabled', retryable: false }]
  })
  await news.approve('gated')
  t.match(await news.publish('gated', { channels: ['board'] }), {
    channels: [{ outcome: 'Failed', code: 'publish_not_armed' }]
  })
  t.equal(board.posts.length, 0)
})

test('an item does not replace another kind of publication, and a refused one does not end a scan', async t => {
  const news = await openNews(t)
  await news.publications.prepare({
    ...{ publication_id: 'study', content_type: 'article', source_ref: null, title: 'Study', author: 'Ada' },
    ...{ abstract_text: null, body_markdown: 'Text', citations_json: null, metadata_json: null }
  })
  news.write({ id: 'study' })
  news.write({ id: 'deep', more: `worthiness: ${'{ a: '.repeat(40)}1${' }'.repeat(40)}` })
  news.write({ id: 'fine' })
  const { ok, problems } = await news.kernel.call(newsScan, {})
  t.notOk(ok)
  t.same(problems.map(({ file, code }) => `${code} ${file}`).sort(), [
    'NEWS_ID_DUPLICATE docs/news/study.md',
    'NEWS_ITEM_INVALID docs/news/deep.md'
  ])
  t.match(await news.publications.get('study'), { content_type: 'article', body_markdown: 'Text' })
  t.ok(await news.publications.find('fine'))
  await t.rejects(news.publish('study'), { code: 'NEWS_ID_DUPLICATE', hint: 'give the item another id' })
})

test('a dry run names the flags that request it', async t => {
  const news = await openNews(t, { publication: { dry_run: true } })
  await news.approved({ id: 'one' })
  t.match(await news.publish('one'), { dry_run_by: ['[plugins.publication] dry_run'] })
  const other = await openNews(t, { settings: { dry_run: true } })
  await other.approved({ id: 'one', more: 'syndication:\n  dry_run: true\n  distribution_policy: { dry_run: true }' })
  t.match(await other.publish('one'), {
    dry_run_by: ['syndication.dry_run', 'distribution_policy.dry_run', '[news] dry_run']
  })
})

test('a changed text is sent only on request, and never while an earlier outcome is open', async t => {
  const board = new Board()
  const news = await openNews(t, { channels: [boardChannel(board, { canFind: false })] })
  await news.approved({ id: 'item', more: TO_BOARD })
  await news.publish('item')
  await news.approved({ id: 'item', more: TO_BOARD, body: 'Changed text.' })
  t.match((await news.publish('item', { channels: ['board'] })).channels, [
    { outcome: 'Disabled', decision_reasons: ['already_published'] }
  ])
  t.equal(board.posts.length, 1)
  board.faults.push('lose-answer')
  t.match((await news.publish('item', { channels: ['board'], again: true })).channels, [
    { outcome: 'Failed', code: 'outcome_unknown' }
  ])
  t.equal(board.posts.length, 2)
  await news.approved({ id: 'item', more: TO_BOARD, body: 'Changed again.' })
  t.match((await news.publish('item', { channels: ['board'], again: true })).channels, [{ code: 'outcome_unknown' }])
  t.equal(board.posts.length, 2)
  const { items } = await news.kernel.call(newsInbox, {})
  t.match(items, [{ title: 'Was item sent to board?', answers: [{ ask: ['sent'] }, { input: { not_sent: true } }] }])
  await t.rejects(news.kernel.callById('news.resolve', { id: 'item', channel: 'board' }), {
    code: 'NEWS_RESOLVE_REFUSED'
  })
  await news.kernel.callById('news.resolve', { id: 'item', channel: 'board', sent: 'post-2' })
  t.match((await news.publish('item', { channels: ['board'], again: true })).channels, [{ outcome: 'Success' }])
  t.equal(board.posts.length, 3)
  await t.rejects(news.kernel.callById('news.resolve', { id: 'item', channel: 'board', sent: 'post-2' }), {
    code: 'NEWS_RESOLVE_REFUSED',
    hint: 'svc news status item'
  })
  const { posts, events } = await news.kernel.call(newsStatus, { id: 'item' })
  t.equal(posts.filter(({ state }) => state === 'sent').length, 3)
  t.ok(events.some(({ event }) => event === 'resolved_sent'))
})

test('an approval that is revoked directly before an attempt prevents it', async t => {
  const board = new Board()
  const channel = boardChannel(board, { canFind: true })
  const news = await openNews(t, {
    channels: [
      {
        ...channel,
        // Runs after the decision and before the attempt.
        async problem() {
          await news.store.execute("DELETE FROM publication_approvals WHERE approver = 'ada'")
          return null
        }
      }
    ]
  })
  await news.approved({ id: 'item', more: TO_BOARD })
  t.match((await news.publish('item', { channels: ['board'] })).channels, [
    { outcome: 'Failed', code: 'missing_dual_approval', failure_class: 'disabled' }
  ])
  t.equal(board.posts.length, 0)
  await t.rejects(news.kernel.callById('news.resolve', { id: 'item', channel: 'board', not_sent: true }), {
    code: 'NEWS_RESOLVE_REFUSED'
  })
})

test('failed attempts are repeated as the channel says, and refused ones are not', async t => {
  const board = new Board()
  const news = await openNews(t, { channels: [boardChannel(board, { canFind: true })] })
  await news.approved({ id: 'limited', more: TO_BOARD })
  board.faults.push('limit')
  t.match((await news.publish('limited', { channels: ['board'] })).channels, [{ outcome: 'Success' }])
  await news.approved({ id: 'refused', more: TO_BOARD })
  board.faults.push('refuse')
  t.match((await news.publish('refused', { channels: ['board'] })).channels, [
    { outcome: 'Failed', code: 'http_400', retryable: false, failure_class: 'fatal' }
  ])
  t.match(await news.publications.get('refused'), { state: 'publish_failed' })
  t.match((await news.publish('refused', { channels: ['board'] })).channels, [{ outcome: 'Success' }])
  t.match(await news.publications.get('refused'), { state: 'published' })
  t.equal(board.posts.length, 2)
})

test('policies of items: channels, tags, and what the reasons say', async t => {
  const board = new Board()
  const news = await openNews(t, { channels: [boardChannel(board, { canFind: true })] })
  const reasons = async (id: string, policy: string, more = ''): Promise<unknown> => {
    const text = `syndication:\n  rss: false\n  board: true\n  distribution_policy:\n    channels:\n      board: ${policy}${more}`
    await news.approved({ id, tags: ['Release', 'infra'], more: text })
    const { channels } = await news.publish(id, { channels: ['board'] })
    return [channels[0]?.outcome, ...(channels[0]?.decision_reasons ?? [])]
  }
  t.same(await reasons('a', '{ enabled: false }'), ['Disabled', 'policy_disabled'])
  t.same(await reasons('b', '{ include_tags: [other] }'), ['Disabled', 'topic_filtered_out'])
  t.same(await reasons('c', '{ exclude_tags: [INFRA] }'), ['Disabled', 'topic_excluded'])
  t.same(await reasons('d', '{ include_tags: [release, x, y], min_topic_score: 0.5 }'), [
    'Disabled',
    'topic_score_below_min'
  ])
  t.same(await reasons('e', '{ include_tags: [release], template_profile: brief }'), [
    'Success',
    'template_profile_inert'
  ])
  t.equal(board.posts.length, 1)
})

test('channels of a topic pack need no mention, unless they have required options', async t => {
  const board = new Board()
  const mastodon = boardChannel(board, { name: 'wall', canFind: true })
  const news = await openNews(t, { channels: [mastodon] })
  await news.approved({ id: 'packed', more: 'topic_pack: infra_release\nsyndication:\n  rss: false\n  discord: false' })
  const { channels } = await news.publish('packed')
  const found = new Map(channels.map(each => [each.channel, [each.outcome, ...each.decision_reasons]]))
  t.same(found.get('bluesky'), ['Failed', 'channel_problem'], 'requested by the pack, but without a token')
  t.same(found.get('discord'), ['Disabled', 'excluded_by_item'])
  t.match((await news.publish('packed', { channels: ['wall'] })).channels, [
    { channel: 'wall', outcome: 'Disabled', decision_reasons: ['not_requested'] }
  ])
  t.equal(board.posts.length, 0)
})

test('the rss channel writes the feed, which can be shown and restored', async t => {
  const news = await openNews(t, { settings: { site_base_url: 'https://a.example/' } })
  await news.approved({ id: 'one', title: 'One & only' })
  t.match((await news.publish('one')).channels, [
    { channel: 'rss', outcome: 'Success', external_id: 'one', url: 'https://a.example/news/one.html' }
  ])
  const file = join(news.kernel.root, 'docs/src/feed.xml')
  t.match(readFileSync(file, 'utf8'), /<title>One &amp; only<\/title>/)
  t.match(await news.kernel.call(newsFeed, {}), { entries: [{ guid: 'one', title: 'One & only' }], missing: [] })
  writeFileSync(file, '<rss version="2.0"><channel><title>T</title></channel></rss>')
  t.match(await news.kernel.call(newsFeed, {}), { entries: [], missing: ['one'] })
  t.match(await news.kernel.call(newsFeed, { restore: true }), { entries: [{ guid: 'one' }], restored: ['one'] })
  writeFileSync(`${file}.123.draft`, 'of a killed process')
  await news.approved({ id: 'two' })
  await news.publish('two')
  t.same(readdirSync(dirname(file)), ['feed.xml'], 'neither a lock nor a draft is left')
  writeFileSync(file, 'no feed')
  await t.rejects(news.kernel.call(newsFeed, {}), { code: 'NEWS_FEED_INVALID' })
})

test('feed files and news folders outside the project are refused', async t => {
  const outside = await openNews(t, { settings: { rss_feed_path: '../feed.xml' } })
  await outside.approved({ id: 'one' })
  t.match((await outside.publish('one')).channels, [{ outcome: 'Failed', code: 'not_configured' }])
  const linked = await openNews(t, { settings: { rss_feed_path: 'out/feed.xml' } })
  symlinkSync(outside.kernel.root, join(linked.kernel.root, 'out'))
  await linked.approved({ id: 'one' })
  t.match((await linked.publish('one')).channels, [{ outcome: 'Failed', message: /leads out of the project/ }])
  const folder = await openNews(t, { settings: { news_dir: '../..' } })
  await t.rejects(folder.kernel.call(newsScan, {}), { code: 'NEWS_FOLDER_REFUSED' })
})

test('without a database, items can be previewed and dry runs name the reason', async t => {
  const board = new Board()
  const news = await openNews(t, { channels: [boardChannel(board, { canFind: true })], withoutDatabase: true })
  news.write({ id: 'one', more: TO_BOARD })
  t.match(await news.kernel.call(newsItems, {}), { items: [{ id: 'one', status: 'ready', channels: ['board'] }] })
  t.match(await news.kernel.call(newsPreview, { id: 'one' }), {
    channels: [{ channel: 'board', problem: null, texts: [{ text: 'First paragraph of one.' }] }]
  })
  t.match(await news.kernel.call(newsPublish, { id: 'one' }), { gate_codes: ['dry_run', 'missing_db'] })
  t.match((await news.publish('one', { channels: ['board'] })).channels, [{ outcome: 'Failed', code: 'missing_db' }])
  await t.rejects(news.kernel.call(newsStatus, {}), { code: 'NEWS_DATABASE_MISSING' })
  t.equal(board.posts.length, 0)
})

test('unknown items and channels are errors that suggest a name', async t => {
  const news = await openNews(t, {})
  news.write({ id: 'release-1' })
  await t.rejects(news.kernel.call(newsPreview, { id: 'release-2' }), {
    code: 'NEWS_UNKNOWN',
    hint: 'did you mean release-1?'
  })
  t.match(await news.kernel.call(newsPreview, { id: 'release-1', channels: ['mastodon'] }), {
    channels: [{ channel: 'mastodon', problem: 'the item does not request this channel', texts: [] }]
  })
  await t.rejects(news.kernel.call(newsPreview, { id: 'release-1', channels: ['rsss'] }), {
    code: 'NEWS_CHANNEL_UNKNOWN',
    hint: 'did you mean rss?'
  })
  news.write({ id: 'broken', more: 'authr: x' })
  await t.rejects(news.kernel.call(newsPreview, { id: 'broken' }), {
    code: 'NEWS_ITEM_INVALID',
    message: /^docs\/news\/broken\.md:6: authr: is unknown/,
    hint: 'did you mean author?'
  })
})

test('previews are side by side as the width allows, and cannot control the terminal', async t => {
  const text = { label: 'text', text: 'wörld 日本 \u001b[2J wide', length: 5, limit: 9, unit: 'characters' }
  const previews = ['one', 'two', 'three'].map(channel => ({ channel, summary: '', problem: null, texts: [text] }))
  const wide = sideBySide(previews, 110).split('\n')
  t.match(wide[0], /^one +two +three$/)
  t.match(sideBySide(previews, 70).split('\n')[0], /^one +two$/)
  t.notMatch(wide.join(''), '\u001b')
  t.ok(wide.every(line => [...line].length <= 110))
  const narrow = sideBySide(previews, 20).split('\n')
  t.match(narrow[0], /^one$/)
  t.ok(narrow.every(line => [...line].length <= 20))
  const turned = { ...text, text: 'a \u202egnp.exe' }
  t.match(sideBySide([{ channel: 'one', summary: '', problem: null, texts: [turned] }], 60), 'a \ufffdgnp.exe')
})

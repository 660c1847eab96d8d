import fc from 'fast-check'
import { test } from 'tap'
import { readItem } from '#items'
import { attemptKeyOf, contentOf, floorsOf, parseFloors, postOf, retryRules } from '#publishing'
import { adjustedCap, adjustedMargin, fillTemplate, TEMPLATE_PROFILES, TOPIC_PACKS } from '#templates'
import { itemText } from './kit.ts'

const SETTINGS = { site_base_url: 'https://a.example', template_profiles: true } as never

function itemOf(more: string) {
  const channel = { name: 'board', options: { type: 'object' } }
  const { item, problems } = readItem(itemText({ id: 'a', more }), 'docs/news/a.md', [channel])
  if (item === null) throw new Error(problems[0]?.message)
  return item
}

test('floors are parsed, and an entry that is no floor is an error instead of ignored', async t => {
  t.same(
    [...parseFloors(' twitter = .9, bluesky=1 ,,')],
    [
      ['twitter', 0.9],
      ['bluesky', 1]
    ]
  )
  for (const text of [
    'twitter',
    'twitter=',
    'twitter=x',
    'twitter=1.1',
    'twitter=-1',
    '=.9',
    'a=.1=.2',
    'Twitter=.5',
    'a=1e-1'
  ])
    t.throws(() => parseFloors(text), { code: 'NEWS_SETTINGS_INVALID', at: { path: /floors/ } }, text)
})

test('a floor counts for a channel under each of its names, and one for an unknown channel is an error', async t => {
  const channels = [{ name: 'twitter', aliases: ['x'] }, { name: 'forge', aliases: ['github'] }, { name: 'rss' }]
  const floors = floorsOf('x=.9, twitter=.8, github=.7, github=.6', channels)
  t.same(
    [...floors],
    [
      ['twitter', 0.9],
      ['forge', 0.7]
    ]
  )
  t.throws(() => floorsOf('twiter=.9', channels), { code: 'NEWS_SETTINGS_INVALID', hint: 'did you mean twitter?' })
})

test('delays double up to a minute, twice as long if patient, and a service may ask for more', async t => {
  const delays = (retry: 'aggressive' | 'standard' | 'minimal', policy: 'patient' | null) => {
    const rules = retryRules({ retry }, policy)
    return [rules.attempts, ...[1, 2, 3, 9].map(attempt => rules.delay(attempt, { failureClass: 'transient' }))]
  }
  t.same(delays('aggressive', null), [5, 400, 800, 1_600, 60_000])
  t.same(delays('standard', null), [3, 800, 1_600, 3_200, 60_000])
  t.same(delays('minimal', null), [2, 1_200, 2_400, 4_800, 60_000])
  t.same(delays('standard', 'patient'), [3, 1_600, 3_200, 6_400, 60_000])
  const rules = retryRules({ retry: 'standard' }, 'aggressive')
  t.equal(rules.attempts, 5)
  t.equal(rules.delay(1, { failureClass: 'rate_limit', retryAfterMs: 120_000 }), 120_000)
  t.equal(rules.delay(1, { failureClass: 'rate_limit' }), 60_000)
})

test('template profiles change margins and caps within their bounds', async t => {
  const { brief, roomy } = TEMPLATE_PROFILES
  t.same([adjustedMargin(20, brief), adjustedMargin(20, roomy), adjustedMargin(2, brief)], [4, 44, 2])
  t.equal(adjustedCap(280, brief, 280), 246)
  t.equal(adjustedCap(130, brief, 280), 120)
  t.equal(adjustedCap(100, brief, 280), 100)
  t.equal(adjustedCap(700, roomy, 40_000), 798)
  t.equal(adjustedCap(10_000, roomy, 40_000), 10_900)
  t.equal(adjustedCap(280, roomy, 280), 280)
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 50_000 }),
      fc.constantFrom(...Object.values(TEMPLATE_PROFILES)),
      (cap, adjust) => {
        const adjusted = adjustedCap(cap, adjust, 40_000)
        return adjusted <= 40_000 && adjusted >= Math.min(cap, 120, 40_000) && adjusted <= cap + 900
      }
    )
  )
})

test('a profile applies only with the setting', async t => {
  const item = itemOf('syndication:\n  distribution_policy:\n    channels:\n      board: { template_profile: compact }')
  t.same(postOf(item, 'board', {}, 'd', SETTINGS).adjust, { marginChars: -16, capFactor: 0.88 })
  const off = { site_base_url: 'https://a.example', template_profiles: false } as never
  t.same(postOf(item, 'board', {}, 'd', off).adjust, { marginChars: 0, capFactor: 1 })
})

test('templates are filled in one pass, so that a value is no template', async t => {
  t.equal(fillTemplate('{{a}} {{ b }} {{c}}', { a: '{{b}}', b: '$&' }), '{{b}} $& {{c}}')
  const item = itemOf('template: security_advisory\nvalues: { affected: "< 1.2", fixed_in: "1.2" }')
  t.equal(
    postOf(item, 'board', {}, 'd', SETTINGS).summary,
    'Security advisory: Title of a. Affected: < 1.2. Fixed in: 1.2. First paragraph of a.'
  )
})

test('the digest covers everything that channels receive', async t => {
  const base = contentOf(itemOf('tags: [one]'), SETTINGS)
  const changes = [
    'tags: [two]',
    'tags: [one]\nsummary: Other',
    'tags: [one]\nsyndication:\n  board: true',
    'tags: [one]\ntemplate: release',
    'tags: [one]\ntopic_pack: benchmark',
    'tags: [one]\nsyndication:\n  distribution_policy:\n    channels:\n      board: { template_profile: brief }'
  ].map(more => JSON.stringify(contentOf(itemOf(more), SETTINGS)))
  t.equal(new Set([JSON.stringify(base), ...changes]).size, changes.length + 1)
  t.not(
    JSON.stringify(contentOf(itemOf('tags: [one]'), { site_base_url: 'https://b.example' } as never)),
    JSON.stringify(base)
  )
  t.match(attemptKeyOf('d'.repeat(64), 'board'), /^[0-9a-f]{32}$/)
  t.not(attemptKeyOf('d', 'board'), attemptKeyOf('d', 'wall'))
})

test('the floors of topic packs are scores, and their channels have names', async t => {
  for (const [name, { channels, floors }] of Object.entries(TOPIC_PACKS)) {
    t.ok(channels.includes('rss' as never), name)
    for (const floor of Object.values(floors)) t.ok(floor >= 0.85 && floor <= 1, name)
  }
})

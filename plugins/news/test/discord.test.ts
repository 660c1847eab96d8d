import t from 'tap'
import { ChannelRun, type FailureMatch, openChannels, postWith } from './channel-run.ts'
import { openDiscord, WEBHOOK_PATH, WEBHOOK_TOKEN } from './discord-server.ts'
import type { ServiceAnswer } from './service-server.ts'

const EXECUTE = ['POST', WEBHOOK_PATH] as const

t.test('discord sends title, summary and link as text that notifies no one and is not Markdown', async t => {
  const { service, discord } = await openDiscord(t)
  const post = postWith({}, { title: 'svc_2 *now*', summary: '@everyone <#1> # see https://example.org/a_b_c' })
  t.same(await new ChannelRun().attempt(discord, post), { externalId: '1100000000000000000' })
  t.same(service.requests(...EXECUTE)[0]?.json(), {
    content:
      '**svc\\_2 \\*now\\***\n@everyone \\<\\#1\\> \\# see https://example.org/a_b_c\n\nhttps://example.org/news/release-2.html',
    allowed_mentions: { parse: [] }
  })
})

t.test('discord sends an embed, a text, a name and a thread where the item names them', async t => {
  const { messages, discord } = await openDiscord(t)
  const options = { embed: true, text: '**Hello**', username: 'News', thread_id: '199737254929760257' }
  await new ChannelRun().attempt(discord, postWith(options))
  t.match(messages, [
    {
      content: '**Hello**',
      username: 'News',
      thread: '199737254929760257',
      allowed_mentions: { parse: [] },
      embeds: [
        {
          title: 'svc 2 is released',
          url: 'https://example.org/news/release-2.html',
          description: 'Version 2 checks 1,000 files in 0.3 s.',
          timestamp: '2026-03-01T09:00:00.000Z',
          author: { name: 'Ada Lovelace' }
        }
      ]
    }
  ])
})

t.test('discord begins a thread in a forum channel', async t => {
  const { messages, discord } = await openDiscord(t)
  await new ChannelRun().attempt(discord, postWith({ thread_name: 'Release 2' }))
  t.match(messages, [{ thread_name: 'Release 2', thread: null }])
})

t.test('discord keeps the limits of messages and embeds, escapes included', async t => {
  const { messages, discord } = await openDiscord(t)
  const long = { title: '*'.repeat(500), author: 'a'.repeat(500), summary: '_😀 '.repeat(2_000) }
  await new ChannelRun().attempt(discord, postWith({}, long))
  await new ChannelRun().attempt(discord, postWith({ embed: true }, long))
  t.equal(messages.length, 2)
  t.match(messages[0].content, /\.\.\.\n\nhttps:\/\/example\.org\/news\/release-2\.html$/)
  t.ok([...messages[0].content].length > 1_900)
  const texts = await discord.preview(postWith({ embed: true, text: 'x'.repeat(3_000) }, long))
  t.same(
    texts.map(({ label, limit }) => [label, limit]),
    [
      ['text', 2_000],
      ['title of the embed', 256],
      ['text of the embed', 4_096]
    ]
  )
  t.ok(texts.every(({ length, limit }) => length <= limit))
})

t.test('discord leaves the outcome of a lost answer to a person, and does not send again', async t => {
  const { service, messages, discord } = await openDiscord(t)
  service.fail(...EXECUTE, 'cut-after')
  const run = new ChannelRun()
  await t.rejects(run.attempt(discord, postWith({})), { code: 'network', outcomeUnknown: true })
  await t.rejects(run.attempt(discord, postWith({})), { code: 'outcome_unknown', failureClass: 'fatal' })
  t.equal(messages.length, 1)
  t.equal(service.requests(...EXECUTE).length, 1)
})

t.test('discord sends a message whose earlier attempt ended before anything was sent', async t => {
  const { messages, discord } = await openDiscord(t)
  const run = new ChannelRun()
  run.endsAfter = 0
  await t.rejects(run.attempt(discord, postWith({})), { message: 'the process ended' })
  t.equal(messages.length, 0)
  run.endsAfter = Number.POSITIVE_INFINITY
  await run.attempt(discord, postWith({}))
  t.equal(messages.length, 1)
})

t.test('discord knows a message whose id was saved before the process ended', async t => {
  const { messages, discord } = await openDiscord(t)
  const run = new ChannelRun()
  await run.attempt(discord, postWith({}))
  run.mayExist = true
  t.same(await run.attempt(discord, postWith({})), { externalId: '1100000000000000000' })
  t.equal(messages.length, 1)
})

t.test('discord keeps the address of the webhook out of records and errors', async t => {
  const { service, discord } = await openDiscord(t)
  const run = new ChannelRun()
  service.fail(...EXECUTE, { status: 500 })
  const error = await run.attempt(discord, postWith({})).catch(error => error)
  t.match(run.exchanges, [{ url: /\/api\/webhooks\/223704706495545344\/TOKEN$/, http_status: 500 }])
  t.notOk(JSON.stringify([run.exchanges, run.checkpoints, error, error.message, error.stack]).includes(WEBHOOK_TOKEN))
})

t.test('discord maps answers of the API to classes', async t => {
  const { service, messages, discord } = await openDiscord(t)
  const cases: [ServiceAnswer, FailureMatch][] = [
    [
      { status: 400, body: { code: 50_035 } },
      { code: 'discord_message_refused', failureClass: 'fatal' }
    ],
    [{ status: 401 }, { code: 'http_401', failureClass: 'auth' }],
    [{ status: 403 }, { code: 'http_403', failureClass: 'auth' }],
    [
      { status: 404, body: { code: 10_015 } },
      { code: 'webhook_unknown', failureClass: 'auth' }
    ],
    [{ status: 409 }, { code: 'http_409', failureClass: 'fatal' }],
    [{ status: 422 }, { code: 'http_422', failureClass: 'fatal' }],
    [
      { status: 429, headers: { 'retry-after': '1' }, body: { retry_after: 0.65, global: false } },
      { code: 'http_429', failureClass: 'rate_limit', retryAfterMs: 650 }
    ],
    [
      { status: 429, headers: { 'retry-after': '1200' }, body: '<html>' },
      { code: 'http_429', failureClass: 'rate_limit', retryAfterMs: 1_200_000 }
    ],
    [{ status: 503 }, { code: 'http_503', failureClass: 'transient', outcomeUnknown: true }],
    [
      { status: 200, body: { id: '<b>' } },
      { code: 'outcome_unknown', failureClass: 'fatal' }
    ]
  ]
  for (const [answer, failure] of cases) {
    service.fail(...EXECUTE, answer)
    await t.rejects(new ChannelRun().attempt(discord, postWith({})), failure, JSON.stringify(answer))
  }
  service.fail(...EXECUTE, 'silent')
  await t.rejects(new ChannelRun().attempt(discord, postWith({}), { silenceMs: 50 }), { code: 'timeout' })
  t.equal(messages.length, 0)
})

t.test('discord needs a valid webhook, and does not repeat a wrong one', async t => {
  const without = await openChannels(t, { settings: {} })
  t.match(await without.channel('discord').problem(), { message: /SVC_SOCIAL_DISCORD_WEBHOOK is not set/ })
  for (const wrong of [
    'secret-text',
    'https://discord.com/channels/1/2',
    'https://discord.com/api/webhooks/1/secret'
  ]) {
    const { channel } = await openChannels(t, { settings: { discord_webhook: wrong } })
    const error = await new ChannelRun().attempt(channel('discord'), postWith({})).catch(error => error)
    t.match(error, { code: 'webhook_invalid', failureClass: 'config' })
    t.notOk(error.message.includes('secret'))
  }
  const plain = await openChannels(t, { settings: { discord_webhook: `http://discord.com${WEBHOOK_PATH}` } })
  await t.rejects(new ChannelRun().attempt(plain.channel('discord'), postWith({})), { code: 'url_refused' })
})

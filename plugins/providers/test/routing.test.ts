import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { modelAnswered, modelRequest } from '@svc/contracts'
import { definePlugin, SvcError } from '@svc/plugin-sdk'
import t, { type Test } from 'tap'
import { fakeServer } from '../../inference-client/test/fake-server.ts'
import { NOWHERE, openWorld } from './open-providers.ts'
import { failing, gemini, openAi, providerServer, silent } from './provider-servers.ts'

const TODAY = () => new Date().toISOString().slice(0, 10)

async function hosted(t: Test, settings: object = {}, local?: string) {
  const [groq, cerebras] = await Promise.all([providerServer(t, openAi('groq')), providerServer(t, openAi('cerebras'))])
  const world = await openWorld(t, {
    ...(local === undefined ? {} : { local }),
    settings: {
      groq_api_key: 'g',
      groq_url: groq.url,
      cerebras_api_key: 'c',
      cerebras_url: cerebras.url,
      ...settings
    }
  })
  return { groq, cerebras, world }
}

t.test('without keys, the local server answers as without the plugin, and its calls are counted', async t => {
  const { url } = await fakeServer(t)
  const world = await openWorld(t, { local: url })
  const { done } = await world.ask()
  t.match(done, { model: 'toy', provider: undefined, costUsd: undefined })
  t.match(await world.call('usage'), { usage: [{ provider: 'ollama', model: '*', calls: 1, cost_usd: 0 }] })
  t.match(await world.call('active'), {
    model: 'toy',
    provider: 'ollama',
    rule: 'local',
    selected: null,
    warning: null
  })
})

t.test('without keys and without a local server, the error is that of the local server', async t => {
  const world = await openWorld(t)
  t.match((await world.call('list')).note, /^No model is usable: start a local server .* set the key of a provider/)
  t.match(await world.call('active'), {
    rule: 'local',
    warning: /^no local model server answers: start a local server/
  })
  t.match((await world.call('usage')).note, /No model has been called today/)
  await t.rejects(world.ask(), { code: 'ICL_UNREACHABLE', message: /no model server is reachable/ })
  t.equal(await world.client.endpoint().catch(error => error.code), 'ICL_UNREACHABLE')
})

t.test('the list shows all models of the local server', async t => {
  const { url } = await fakeServer(t, { models: ['toy:latest', 'other'] })
  const world = await openWorld(t, { local: url })
  const { models, note } = await world.call('list')
  t.same(
    models.map(({ name, usable }: any) => [name, usable]),
    [
      ['toy', true],
      ['other', true]
    ]
  )
  t.equal(note, '')
})

t.test('a model without a key is an error that names the variable', async t => {
  const world = await openWorld(t)
  const message = 'MISTRAL_API_KEY is not set (required for Mistral models)'
  await t.rejects(world.ask({ model: 'mistral/codestral-latest' }), { code: 'ICL_UNAUTHORIZED', message })
})

t.test('the local server answers first if the profile includes it, else a hosted provider', async t => {
  const { url } = await fakeServer(t)
  const { world, groq } = await hosted(t, {}, url)
  t.equal((await world.ask()).done.provider, undefined)
  t.equal(groq.seen.length, 0)
  for (const profile of ['cloud_compatible', 'cloud_openai_compatible', 'mobile_litert']) {
    const other = await hosted(t, { profile, allowed: ['groq'] }, url)
    t.equal((await other.world.ask()).done.provider, 'groq', profile)
  }
})

t.test('an unreachable local server is replaced by a hosted model, with endpoint and models', async t => {
  const { world } = await hosted(t, { allowed: ['groq', 'ollama'] })
  const { done } = await world.ask({ purpose: { category: 'codegen' } })
  t.equal(done.provider, 'groq')
  t.match(await world.client.endpoint(), { api: 'openai', setting: 'GROQ_API_KEY' })
  const names = (await world.client.models()).map(({ name }) => name)
  t.ok(names.includes('groq/openai/gpt-oss-20b'))
  t.notOk(names.some(name => name.startsWith('anthropic/')))
})

t.test('a local server without the default model is passed over, if a hosted model can answer', async t => {
  const { url } = await fakeServer(t, { models: ['other', 'third'] })
  const { world } = await hosted(t, {}, url)
  t.ok((await world.ask()).done.provider)
  t.equal((await world.ask({ model: 'other' })).done.provider, undefined)
  const alone = await openWorld(t, { local: url })
  await t.rejects(alone.ask(), { code: 'ICL_MODEL_UNKNOWN' })
})

t.test('a local server that fails before its answer begins is replaced', async t => {
  const { url } = await fakeServer(t, {
    chat: (_, response) => void response.writeHead(503).end(JSON.stringify({ error: 'loading' }))
  })
  const { world } = await hosted(t, {}, url)
  t.ok((await world.ask()).done.provider)
})

for (const status of [429, 500, 503]) {
  t.test(`after HTTP ${status} another provider answers, and the model cools down`, async t => {
    const { world, groq, cerebras } = await hosted(t, { profile: 'cloud_compatible' })
    groq.reply = failing(status, { message: 'no' }, { 'retry-after': '30' })
    cerebras.reply = failing(status, { message: 'no' })
    await t.rejects(world.ask({ model: 'groq/openai/gpt-oss-20b' }), { code: /^ICL_(BUSY|REFUSED)$/ })
    cerebras.reply = openAi('cerebras')
    const limited = (await world.call('usage')).usage.filter(({ limited }: any) => limited)
    t.match(limited, [{ provider: 'groq', model: 'openai/gpt-oss-20b', last_429: status === 429 ? Number : null }])
    const error = await world.ask({ model: 'groq/openai/gpt-oss-20b' }).catch(error => error)
    t.match(error, { code: 'ICL_BUSY', message: /cools down/ })
    t.ok(error.data.retryAfterMs > 0 && error.data.retryAfterMs <= 30_000)
    t.equal(groq.seen.length, 1)
    t.equal((await world.ask()).text.length > 0, true)
  })
}

t.test('each fallback is tried once, and the last error is reported', async t => {
  const { world, groq, cerebras } = await hosted(t, { profile: 'cloud_compatible' })
  groq.reply = failing(500, { message: 'broken' })
  cerebras.reply = failing(500, { message: 'broken' })
  await t.rejects(world.ask(), { code: 'ICL_REFUSED', message: /500/ })
  t.equal(groq.seen.length + cerebras.seen.length, 2)
})

t.test('Gemini on OpenRouter falls back to Google', async t => {
  const [router, google] = await Promise.all([
    providerServer(t, failing(429, { message: 'slow down' })),
    providerServer(t, gemini([{ text: 'direct' }]))
  ])
  const world = await openWorld(t, {
    settings: {
      profile: 'cloud_compatible',
      openrouter_api_key: 'o',
      openrouter_url: router.url,
      google_api_key: 'g',
      google_url: google.url,
      catalog_url: `${NOWHERE}/models`
    }
  })
  await world.call('set', { model: 'openrouter/google/gemini-2.5-flash' })
  const { text, done } = await world.ask()
  t.equal(text, 'direct')
  t.equal(done.provider, 'google')
})

t.test('a slow first token moves the request on', async t => {
  const { world, groq, cerebras } = await hosted(t, { profile: 'cloud_compatible', first_token_timeout_ms: 500 })
  groq.reply = silent
  cerebras.reply = silent
  await t.rejects(world.ask(), { code: 'ICL_UNREACHABLE', message: /no answer began within 500 ms/ })
  while (groq.left + cerebras.left < 2) await new Promise(resolve => setTimeout(resolve, 5))
})

t.test('a half-open stream ends the request', async t => {
  const { world, groq } = await hosted(t, { profile: 'cloud_compatible', idle_timeout_ms: 50 })
  groq.reply = openAi('half', { end: false })
  const events: string[] = []
  const read = async () => {
    const model = 'groq/openai/gpt-oss-20b'
    for await (const event of world.client.chat({ model, messages: [{ role: 'user', content: 'hi' }] }))
      events.push(event.type)
  }
  await t.rejects(read(), { code: 'ICL_BROKEN_OFF', message: /did not continue within 50 ms/ })
  t.same(events, ['text'])
  while (groq.left === 0) await new Promise(resolve => setTimeout(resolve, 5))
})

t.test('a consumer that stops reading ends the request at the provider', async t => {
  const { world, groq } = await hosted(t, { profile: 'cloud_compatible' })
  groq.reply = openAi('endless', { end: false })
  const model = 'groq/openai/gpt-oss-20b'
  for await (const event of world.client.chat({ model, messages: [{ role: 'user', content: 'hi' }] })) {
    if (event.type === 'text') break
  }
  while (groq.left === 0) await new Promise(resolve => setTimeout(resolve, 5))
  const controller = new AbortController()
  const pending = world.ask({ model, signal: controller.signal })
  while (groq.seen.length < 2) await new Promise(resolve => setTimeout(resolve, 5))
  controller.abort(new Error('enough'))
  await t.rejects(pending, { message: 'enough' })
})

t.test('quotas: a model without calls left is passed over, and a request that names it is refused', async t => {
  const limits = JSON.stringify({ 'groq/*': 1, 'cerebras/*': 0, 'bad/x': -1, nonsense: 1 })
  const { world } = await hosted(t, { profile: 'cloud_compatible', daily_limits_json: limits })
  t.equal((await world.ask()).done.provider, 'groq')
  const message = 'all providers exhausted or unavailable: groq, cerebras'
  await t.rejects(world.ask(), { code: 'ICL_BUSY', message })
  await t.rejects(world.ask({ model: 'groq/openai/gpt-oss-20b' }), {
    code: 'ICL_BUSY',
    message: /no calls left today/
  })
  const { providers, best_provider } = await world.call('usage')
  t.match(
    providers.find(({ provider }: any) => provider === 'groq'),
    { calls: 1, remaining: 0 }
  )
  t.equal(best_provider, null)
})

t.test('rate_limit_rpd of models.toml is a daily limit, unless the settings have one for the model', async t => {
  const groq = await providerServer(t, openAi('groq'))
  const row = (id: string) =>
    `[[models]]\nid = "${id}"\nprovider_type = "groq"\ncapabilities = { rate_limit_rpd = 1 }\n`
  const world = await openWorld(t, {
    settings: {
      profile: 'cloud_compatible',
      groq_api_key: 'g',
      groq_url: groq.url,
      daily_limits_json: '{"groq/*": 5, "groq/free": 2}'
    },
    files: { 'models.toml': `${row('small')}${row('free')}` }
  })
  const left = async () => {
    const { models } = await world.call('list', { provider: 'groq', all: true })
    const remaining = (id: string) => models.find((each: any) => each.id === id).remaining
    return [remaining('small'), remaining('free'), remaining('openai/gpt-oss-20b')]
  }
  t.same(await left(), [1, 2, 5])
  await world.ask({ model: 'groq/small' })
  t.same(await left(), [0, 2, 4])
  await t.rejects(world.ask({ model: 'groq/small' }), { code: 'ICL_BUSY', message: /no calls left today/ })
  await world.ask({ model: 'groq/free' })
  await world.ask({ model: 'groq/free' })
  t.same(await left(), [0, 0, 2])
  const { models } = await world.call('list', { provider: 'groq' })
  t.notOk(models.some(({ id }: any) => id === 'small' || id === 'free'))
})

t.test('usage rows have the documented fields, and survive the plugin', async t => {
  const { world } = await hosted(t, { profile: 'cloud_compatible', allowed: ['groq'] })
  await world.ask({ purpose: { category: 'CodeGen', agent: 'A-1' } })
  await world.ask({ purpose: { category: 'codegen', agent: 'A-1' } })
  await world.call('usage')
  const { rows } = await world.store.query('SELECT _data FROM provider_usage')
  t.equal(rows.length, 1)
  const row = JSON.parse(String(rows[0]?.[0]))
  t.match(row, {
    user_id: 'global',
    provider: 'groq',
    date: TODAY(),
    task_category: 'codegen',
    agent_id: 'A-1',
    calls: 2,
    tokens_in: 2_000,
    tokens_out: 200,
    provider_request_id: 'chatcmpl-1',
    provider_reported_cost_usd: null,
    reconciled_cost_usd: null,
    cost_source: 'estimate',
    is_rate_limited: false,
    last_429: null
  })
  t.equal(row.cost_usd, row.estimated_cost_usd)
  t.ok(row.cost_usd > 0)
})

t.test('sessions keep their model; a selected model has priority, for one session or for all', async t => {
  const { url } = await fakeServer(t)
  const { world } = await hosted(t, {}, url)
  const one = { purpose: { session: 's1' } }
  await world.call('set', { model: 'groq/openai/gpt-oss-20b', session_id: 's1' })
  t.equal((await world.ask(one)).done.model, 'openai/gpt-oss-20b')
  t.equal((await world.ask({ purpose: { session: 's2' } })).done.provider, undefined)
  t.match(await world.call('active', { session_id: 's1' }), { rule: 'selected', selected_for: 'session' })
  await world.call('set', { model: 'cerebras/gpt-oss-120b' })
  t.equal((await world.ask()).done.provider, 'cerebras')
  t.equal((await world.ask(one)).done.provider, 'groq')
  t.match(await world.call('set', { session_id: 's1' }), { model: null, previous: 'groq/openai/gpt-oss-20b' })
  t.equal((await world.ask(one)).done.provider, 'cerebras')
  await world.call('set')
  t.equal((await world.ask(one)).done.provider, undefined, 'without a selection, each request is chosen again')
})

t.test('a selection of an unknown or refused model is an error, and changes nothing', async t => {
  const { world } = await hosted(t, { profile: 'cloud_compatible' })
  await t.rejects(world.call('set', { model: 'gpt-oss-120c' }), {
    code: 'PRV_MODEL_UNKNOWN',
    data: { similar: 'gpt-oss-120b' },
    hint: /^did you mean "gpt-oss-120b"\?/
  })
  await t.rejects(world.call('set', { model: 'anthropic/claude-opus-4-5' }), {
    code: 'PRV_MODEL_REFUSED',
    message: /ANTHROPIC_API_KEY is not set/
  })
  t.match(await world.call('active'), { selected: null })
})

t.test('a session that has spent its budget uses only free models', async t => {
  const { world } = await hosted(t, { profile: 'cloud_compatible', session_max_cost_usd: 1 })
  const purpose = { session: 'rich' }
  t.ok((await world.ask({ purpose })).text)
  await world.store.execute(
    `INSERT INTO cost_records (agent_id, session_id, provider, model, cost_usd) VALUES ('1', 'rich', 'groq', 'm', 1.5)`
  )
  await t.rejects(world.ask({ purpose }), { code: 'ICL_BUSY' })
  t.ok((await world.ask({ purpose: { session: 'other' } })).text)
})

t.test('hooks see requests to hosted models once, with their model, and may change or reject them', async t => {
  const seen: string[] = []
  const taps = definePlugin({
    name: 'taps',
    requires: {},
    activate(ctx) {
      ctx.on(modelRequest, request => {
        if (request.messages[0]?.content === 'secret') throw new SvcError('HOUSE_RULE', 'not allowed')
        seen.push(request.model)
        return { ...request, messages: [{ role: 'user', content: 'redacted' }] }
      })
      ctx.on(modelAnswered, ({ text }) => void seen.push(text))
    }
  })
  const groq = await providerServer(t, openAi('groq'))
  const settings = { profile: 'cloud_compatible', groq_api_key: 'g', groq_url: groq.url }
  const world = await openWorld(t, { settings, plugins: [taps] })
  await world.ask({ model: 'groq/openai/gpt-oss-20b' })
  t.same(seen, ['openai/gpt-oss-20b', 'groq'])
  t.equal(groq.seen[0]?.body.messages[0].content, 'redacted')
  await t.rejects(world.ask({ messages: [{ role: 'user', content: 'secret' }] }), { code: 'HOUSE_RULE' })
  t.equal(groq.seen.length, 1)
  t.notOk((await world.call('usage')).providers.some(({ limited }: any) => limited))
})

t.test('suggest explains the choice for a kind of task', async t => {
  const { world } = await hosted(t, { profile: 'cloud_compatible' })
  const code = await world.call('suggest', { task: 'codegen', complexity: 9, tools: true })
  t.match(code, { rule: 'score', provider: /groq|cerebras/, best_provider: 'groq' })
  t.ok(code.alternatives.every(({ name }: any) => /gpt-oss/.test(name)))
  t.equal(code.alternatives[0].name, code.model)
})

t.test('the live list of OpenRouter adds models and prices, once an hour, and is cached', async t => {
  const catalog = await providerServer(t, (_, response) => {
    const row = (id: string, prompt: string) => ({
      id,
      canonical_slug: `${id}-2026`,
      context_length: 64_000,
      architecture: { input_modalities: ['text', 'image'], output_modalities: ['text'] },
      pricing: { prompt, completion: '0.000002', input_cache_read: '0.0000001' },
      top_provider: { max_completion_tokens: 4_000, is_moderated: true },
      supported_parameters: ['tools', 'response_format']
    })
    const data = [row('new/coder', '0.000001'), row('openrouter/auto', '-1'), { id: 7 }, null]
    response.end(JSON.stringify({ data }))
  })
  const settings = { openrouter_api_key: 'o', catalog_url: `${catalog.url}/models`, profile: 'cloud_compatible' }
  const world = await openWorld(t, { settings })
  const { models, catalog_at } = await world.call('list', { provider: 'openrouter' })
  t.ok(catalog_at)
  t.match(
    models.find(({ id }: any) => id === 'new/coder'),
    {
      name: 'openrouter/new/coder',
      canonical_slug: 'new/coder-2026',
      cost_per_1k_input: 0.001,
      cost_per_1k_output: 0.002,
      pricing_source: 'open_router',
      price_as_of: catalog_at.slice(0, 10),
      price_source: 'https://openrouter.ai/models',
      max_tokens: 4_000,
      supports_prompt_caching: true,
      capabilities: { max_context: 64_000, supports_vision: true, supports_json: true, is_moderated: true }
    }
  )
  t.notOk(
    models.some(({ id }: any) => id === 'google/gemini-2.5-flash'),
    'a built-in model that the live list lacks is gone'
  )
  await world.call('list')
  t.equal(catalog.seen.length, 1)
  await access(join(t.testdirName, 'catalog.json'))
  catalog.reply = failing(500, 'down')
  const after = await world.call('list', { refresh: true, provider: 'openrouter' })
  t.equal(catalog.seen.length, 2)
  t.match(after.problems, [/was not loaded: the response is HTTP 500/])
  t.ok(after.models.some(({ id }: any) => id === 'new/coder'))
})

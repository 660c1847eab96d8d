import { join } from 'node:path'
import { builtInSkills } from '@svc/contracts'
import { definePlugin, type Plugin } from '@svc/plugin-sdk'
import { type TestKernel, testKernel } from '@svc/plugin-sdk/testing'
import t, { type Test } from 'tap'
import openclaw from '#plugin'
import { gatewayCallHandler, importHandler, OpenClawGateway } from '#root'
import { type FakeGateway, type FakeOptions, fakeGateway, sendJson } from './fake-gateway.ts'
import { DEFAULTS, TOKEN } from './open-gateway.ts'

const WEATHER = { name: 'weather', version: '1.0.0', description: 'Shows the <b>sky</b>', skill_md: '# Weather' }
const NOTES = { name: 'team/notes', version: '2.0.0', description: 'Keeps notes', skill_md: '# Notes' }

const HTTP: NonNullable<FakeOptions['http']> = {
  '/v1/skills': sendJson({ skills: [WEATHER, NOTES] }),
  '/v1/skills/weather': sendJson(WEATHER),
  '/v1/skills/weather/skill.md': (_, response) => void response.end('# Weather\n\n```sh\nls\n```'),
  '/v1/skills/team/notes': sendJson(NOTES)
}

async function start(
  t: Test,
  options: FakeOptions = { http: HTTP },
  settings: object = {},
  others: readonly Plugin[] = []
): Promise<{ readonly kernel: TestKernel; readonly fake: FakeGateway }> {
  const fake = await fakeGateway(t, options)
  const own = { url: fake.url, ws_url: fake.wsUrl, token: TOKEN, challenge_timeout_ms: 50, ...settings }
  const kernel = await testKernel([openclaw as Plugin, ...others], { settings: { openclaw: own } })
  t.teardown(() => kernel.close())
  return { kernel, fake }
}

t.test('skills of the gateway are listed and searched by name and description', async t => {
  const { kernel } = await start(t)
  const search = async (query: string): Promise<unknown> => {
    const { skills } = (await kernel.callById('skills.searchRemote', { query })) as { skills: { name: string }[] }
    return skills.map(each => each.name)
  }
  t.match(await kernel.callById('skills.remote', {}), { skills: [{ name: 'weather' }, { name: 'team/notes' }] })
  t.same(await search('WEATHER'), ['weather'])
  t.same(await search('keeps'), ['team/notes'])
  t.same(await search('nothing'), [])
})

t.test('a search asks the configured URL of the catalogue, and the list if that has no search', async t => {
  let status = 200
  const { kernel, fake } = await start(t, { http: HTTP })
  const catalogue = await fakeGateway(t, {
    http: {
      '/find?lang=en&q=sky+%26+sun': (_, response) =>
        void response.writeHead(status).end(status === 200 ? JSON.stringify([NOTES]) : '')
    }
  })
  const search = async (settings: object): Promise<unknown> => {
    const other = await start(t, { http: HTTP }, settings)
    const { skills } = (await other.kernel.callById('skills.searchRemote', { query: 'sky & sun' })) as any
    return skills.map((each: { name: string }) => each.name)
  }
  const settings = { catalog_search_url: `${catalogue.url}/find?lang=en` }
  t.same(await search(settings), ['team/notes'])
  t.equal(catalogue.seen.at(-1)?.url, '/find?lang=en&q=sky+%26+sun')
  status = 404
  t.same(await search(settings), [], 'the listed skills do not contain the text')
  status = 500
  await t.rejects(search(settings), { code: 'SKG_REFUSED' })
  await kernel.callById('skills.searchRemote', { query: 'x' })
  t.notOk(
    fake.seen.some(({ url }) => url.includes('search')),
    'a guessed search URL is not asked'
  )
})

t.test('the token of an import is a secret: it is masked in logs and errors', async t => {
  let say = (_: string): void => {}
  const speaker = definePlugin({
    name: 'speaker',
    activate(ctx) {
      say = text => ctx.log.info(text)
    }
  })
  const { kernel } = await start(t, { http: HTTP }, {}, [speaker as Plugin])
  const other = await fakeGateway(t, {
    http: {
      '/v1/skills/weather': ({ authorization }, response) =>
        void response.writeHead(403).end(JSON.stringify({ error: `no access with ${authorization}` }))
    }
  })
  const input = { slug: 'weather', gateway: other.url, token: 'tok-5b1f3c77' }
  const error: Error = await kernel.callById('skills.import', input).then(
    () => new Error('accepted'),
    reason => reason
  )
  t.equal(other.seen.at(-1)?.authorization, 'Bearer tok-5b1f3c77')
  say('the caller wrote tok-5b1f3c77')
  t.ok(kernel.log.some(({ message }) => message.startsWith('the caller wrote')))
  t.notMatch(`${error.message}${JSON.stringify([error, kernel.log])}`, 'tok-5b1f3c77')
})

t.test('a skill is imported, approved in the inbox, shown, run, blocked and removed', async t => {
  const { kernel } = await start(t)
  const items = async (): Promise<any[]> => ((await kernel.callById('skills.inbox', {})) as { items: any[] }).items
  const shown = await kernel.callById('skills.import', { slug: 'weather' })
  t.match(shown, { installed: false, approval: null, trust: 'community', text: /^# Weather/ })
  t.same(await items(), [], 'a skill that is only shown waits for nothing')
  const installed = await kernel.callById('skills.import', { slug: 'weather', install: true })
  t.match(installed, { installed: true, approval: 'pending', kind: 'document' })
  await t.rejects(kernel.callById('skills.run', { slug: 'weather' }), { code: 'SKG_NOT_APPROVED' })
  const [item] = await items()
  t.match(item, { kind: 'approval', title: 'Approve the skill weather 1.0.0', body: /\n {4}# Weather\n/ })
  t.match(await kernel.callById('skills.approvals', {}), { approvals: [{ slug: 'weather', approval_id: item.id }] })
  const approve = item.answers.find((each: { label: string }) => each.label === 'Approve')
  t.match(await kernel.callById(approve.operation, approve.input), { slug: 'weather', approval: 'approved' })
  t.same(await items(), [])
  t.match(await kernel.callById('skills.run', { slug: 'weather' }), {
    output: /^# Weather/,
    isolation: 'none',
    healthy: true
  })
  t.match(await kernel.callById('skills.show', { slug: 'weather' }), { skill: { approval: 'approved' }, text: /^# W/ })
  t.match(await kernel.callById('skills.trust', { slug: 'weather', trust: 'untrusted' }), { approval: 'pending' })
  await t.rejects(kernel.callById('skills.run', { slug: 'weather' }), { code: 'SKG_UNTRUSTED' })
  await kernel.callById('skills.remove', { slug: 'weather' })
  t.same(await kernel.callById('skills.installed', {}), { skills: [] })
  t.equal(kernel.changes('openclaw.skills'), 4)
})

t.test('a skill whose text is too long for the inbox is approved on its page', async t => {
  const long = { ...NOTES, skill_md: 'x'.repeat(4_001) }
  const { kernel } = await start(t, { http: { ...HTTP, '/v1/skills/team/notes': sendJson(long) } })
  await kernel.callById('skills.import', { slug: 'team/notes', install: true })
  const { items } = (await kernel.callById('skills.inbox', {})) as { items: any[] }
  t.match(items, [{ body: /open the skill to read all 4001 characters/, link: '/ui/p/openclaw/skills/team%2Fnotes' }])
  t.same(
    items[0].answers.map((each: { label: string }) => each.label),
    ['Deny']
  )
})

t.test('a skill of another gateway is untrusted, and that gateway receives only its token', async t => {
  const { kernel, fake } = await start(t)
  const other = await fakeGateway(t, { http: HTTP })
  const input = { slug: 'team/notes', install: true, gateway: other.url, token: 'other-token' }
  t.match(await kernel.callById('skills.import', input), { trust: 'untrusted', source: other.url })
  t.notOk(fake.seen.some(each => each.url.startsWith('/v1/')))
  t.ok(other.seen.every(each => each.url.startsWith('/.well-known') || each.authorization === 'Bearer other-token'))
  const { items } = (await kernel.callById('skills.inbox', {})) as { items: any[] }
  const [{ id, answers }] = items
  t.same(
    answers.map((each: { label: string }) => each.label),
    ['Trust its source', 'Deny']
  )
  await t.rejects(kernel.callById('skills.approve', { id }), { code: 'SKG_UNTRUSTED' })
  await kernel.callById(answers[0].operation, answers[0].input)
  t.match(await kernel.callById('skills.approve', { id }), { approval: 'approved' })
  await kernel.callById('skills.import', { slug: 'weather', gateway: other.url })
  t.equal(other.seen.at(-1)?.authorization, undefined, 'the token of the settings is not sent elsewhere')
})

t.test('built-in skills of plugins are trusted, and precede installed ones', async t => {
  const guide = definePlugin({
    name: 'guide',
    activate(ctx) {
      const skill = { slug: 'weather', version: '9', description: 'Says hello', text: '# Hello' }
      ctx.contribute(builtInSkills, { ...skill, run: async (input: string) => `hello ${input}` })
    }
  })
  const { kernel } = await start(t, { http: HTTP }, {}, [guide as Plugin])
  await kernel.callById('skills.import', { slug: 'weather', install: true })
  t.match(await kernel.callById('skills.installed', {}), {
    skills: [{ slug: 'weather', trust: 'trusted', version: '9' }]
  })
  t.match(await kernel.callById('skills.run', { slug: 'weather', command: 'you' }), {
    isolation: 'process',
    output: 'hello you'
  })
})

t.test('subscriptions, notifications and calls reach the gateway', async t => {
  const { kernel } = await start(t, {
    http: HTTP,
    reply: frame =>
      frame.method === 'subscriptions.list'
        ? { payload: { subscriptions: [{ domain: 'builds', count: 2 }] } }
        : { payload: { method: frame.method, params: frame.params } }
  })
  t.same(await kernel.callById('skills.subscriptions', {}), { subscriptions: [{ domain: 'builds', count: 2 }] })
  const domain = 'builds'
  const call = async (id: string, input: object): Promise<unknown> =>
    ((await kernel.callById(id, input)) as { payload: unknown }).payload
  t.same(await call('skills.subscribe', { domain }), { method: 'subscriptions.subscribe', params: { domain } })
  t.same(await call('skills.unsubscribe', { domain }), { method: 'subscriptions.unsubscribe', params: { domain } })
  const message = { domain, description: 'green' }
  t.same(await call('skills.notify', message), { method: 'subscriptions.notify', params: message })
  const any = { method: 'status', params_json: '{"deep":true}' }
  t.same(await call('skills.gatewayCall', any), { method: 'status', params: { deep: true } })
  for (const params_json of ['{', '', '{"a":1,"a":2}'])
    await t.rejects(kernel.callById('skills.gatewayCall', { method: 'status', params_json }), {
      code: 'SKG_PARAMS_INVALID'
    })
})

t.test(
  'the doctor reports 21 facts, starts nothing unless requested, and names the reason of a failed start',
  async t => {
    const { kernel, fake } = await start(t, { http: HTTP }, { sidecar_expected_version: '9.9' })
    const found = (await kernel.callById('skills.doctor', {})) as Record<string, unknown>
    t.same(Object.keys(found).sort(), [
      'catalog_list_url',
      'catalog_search_url',
      'discovery_source',
      'http_gateway_url',
      'http_ok',
      'http_status',
      'ready',
      'sidecar_auto_start_attempted',
      'sidecar_binary',
      'sidecar_expected_version',
      'sidecar_pid',
      'sidecar_running_prior',
      'sidecar_spawn_error',
      'sidecar_start_attempts',
      'sidecar_started',
      'sidecar_state_file',
      'sidecar_version',
      'sidecar_version_match',
      'token_configured',
      'ws_gateway_url',
      'ws_ok'
    ])
    t.match(found, {
      ready: true,
      http_ok: true,
      http_status: 200,
      ws_ok: true,
      token_configured: true,
      sidecar_auto_start_attempted: false,
      sidecar_version_match: false,
      sidecar_state_file: join(kernel.root, '.vox/process-supervision/openclaw-gateway.state.json')
    })
    t.notMatch(JSON.stringify(found), TOKEN)
    await fake.close()
    t.match(await kernel.callById('skills.health', {}), {
      ready: false,
      http_ok: false,
      http_status: null,
      ws_ok: false
    })
    t.match(await kernel.callById('skills.doctor', { auto_start: true }), {
      ready: false,
      sidecar_auto_start_attempted: true,
      sidecar_started: false,
      sidecar_spawn_error: /openclaw-gateway is not installed/
    })
  }
)

t.test('a gateway with any HTTP status is reachable, and a slow one is not', async t => {
  const options: FakeOptions = { http: { '/v1/skills': (_, response) => void response.writeHead(503).end() } }
  const { kernel } = await start(t, options)
  t.match(await kernel.callById('skills.health', {}), { ready: true, http_ok: true, http_status: 503 })
  options.http = { '/v1/skills': () => undefined }
  options.hello = 'silence'
  t.match(await kernel.callById('skills.health', {}), { ready: false, http_ok: false, http_status: null, ws_ok: false })
})

t.test('a disabled sidecar is reported, and not started', async t => {
  const { kernel, fake } = await start(t, {}, { sidecar_disabled: true })
  await fake.close()
  t.match(await kernel.callById('skills.sidecarStatus', {}), { running: false, disabled: true })
  await t.rejects(kernel.callById('skills.sidecarStart', {}), { code: 'SKG_SIDECAR_DISABLED' })
  t.match(await kernel.callById('skills.doctor', { auto_start: true }), { sidecar_auto_start_attempted: false })
  t.same(await kernel.callById('skills.sidecarStop', {}), { stopped: false, pid: null })
})

t.test('errors of the gateway keep their codes, and a damaged store names its file', async t => {
  const { kernel, fake } = await start(t)
  await t.rejects(kernel.callById('skills.import', { slug: 'missing' }), { code: 'SKG_SKILL_UNKNOWN' })
  await t.rejects(kernel.callById('skills.import', { slug: '../up', install: true }), { code: 'SKG_SKILL_INVALID' })
  await kernel.callById('skills.import', { slug: 'weather', install: true })
  await fake.close()
  await t.rejects(kernel.callById('skills.remote', {}), { code: 'SKG_UNREACHABLE' })
  t.match(await kernel.callById('skills.installed', {}), { skills: [{ slug: 'weather' }] }, 'installed skills stay')
  const { items } = (await kernel.callById('skills.inbox', {})) as { items: unknown[] }
  t.equal(items.length, 1)
})

t.test(
  'models, web pages and programs on the network can neither choose a gateway nor run unapproved skills',
  async t => {
    const fake = await fakeGateway(t, { http: HTTP })
    const settings = { ...DEFAULTS, url: fake.url, ws_url: fake.wsUrl }
    const gateway = new OpenClawGateway(settings, '1.2.3')
    t.teardown(() => gateway.close())
    const unused = (): never => {
      throw new Error('not reached')
    }
    const parts = { settings, version: '1', gateway, store: unused, runner: unused, builtIns: unused, changed: unused }
    for (const surface of ['mcp', 'http', 'console', 'a2a']) {
      const call = { surface, signal: new AbortController().signal } as any
      const method = { method: 'execute.skill', params_json: '{}' }
      await t.rejects(async () => gatewayCallHandler(gateway)(method, call), { code: 'SKG_METHOD_REFUSED' })
      for (const choice of [{ gateway: 'http://127.0.0.1:1' }, { token: 'other' }])
        await t.rejects(async () => importHandler(parts)({ slug: 'weather', install: false, ...choice }, call), {
          code: 'SKG_GATEWAY_FIXED'
        })
      t.match(await importHandler(parts)({ slug: 'weather', install: false }, call), {
        slug: 'weather',
        installed: false
      })
    }
    t.equal(fake.frames.length, 0)
  }
)

import t from 'tap'
import { encodedSlug } from '#root'
import { sendJson } from './fake-gateway.ts'
import { openGateway, TOKEN } from './open-gateway.ts'

const WEATHER = { name: 'weather', version: '1.0.0', description: 'Shows it' }

for (const [shape, list] of Object.entries({
  list: (all: object[]) => all,
  object: (all: object[]) => ({ skills: all })
})) {
  t.test(`skills are listed from a response that is a ${shape}`, async t => {
    const { gateway, fake } = await openGateway(t, {
      http: { '/v1/skills': sendJson(list([WEATHER, { slug: 'team/plain' }])) }
    })
    t.same(await gateway.skills(), [WEATHER, { name: 'team/plain', version: '0.0.0', description: '' }])
    t.match(fake.seen.at(-1), { method: 'GET', authorization: `Bearer ${TOKEN}` })
  })
}

t.test('skills are listed at the configured URL', async t => {
  const { fake } = await openGateway(t, { http: { '/other?all=1': sendJson([WEATHER]) } })
  const { gateway } = await openGateway(t, {}, { catalog_list_url: `${fake.url}/other?all=1` })
  t.same(await gateway.skills(), [WEATHER])
})

t.test('a skill has all fields of the gateway', async t => {
  const skill = {
    ...WEATHER,
    id: 'w',
    namespace: 'team',
    content_hash: 'h',
    author: 'me',
    metadata: { a: 1 },
    body: '# W'
  }
  const { gateway } = await openGateway(t, {
    http: { '/v1/skills/team/w%20%C3%BC': sendJson(skill), '/v1/skills/plain': sendJson({ name: 'plain' }) }
  })
  t.same(await gateway.skill('team/w ü'), {
    ...WEATHER,
    id: 'w',
    namespace: 'team',
    contentHash: 'h',
    author: 'me',
    metadata: { a: 1 },
    text: '# W'
  })
  t.match(await gateway.skill('plain'), { id: 'plain', namespace: 'openclaw', version: '0.0.0', text: null })
  await t.rejects(gateway.skill('missing'), { code: 'SKG_SKILL_UNKNOWN', message: /missing/ })
})

t.test('slugs cannot leave the path', async t => {
  t.equal(encodedSlug("a-b._~/c d!'()*?#%"), 'a-b._~/c%20d%21%27%28%29%2A%3F%23%25')
  const { gateway, fake } = await openGateway(t)
  for (const slug of ['', '..', 'a/../b', '/a', 'a//b', './a', '\ud800']) {
    await t.rejects(gateway.skill(slug), { code: 'SKG_SKILL_INVALID' }, JSON.stringify(slug))
  }
  t.same(fake.seen, [])
})

t.test('the text of a skill is read from plain text, JSON, or the skill', async t => {
  const { gateway } = await openGateway(t, {
    http: {
      '/v1/skills/plain/skill.md': (_, response) => void response.end('# Plain'),
      '/v1/skills/json/skill.md': sendJson({ skill_md: '# JSON' }),
      '/v1/skills/body/skill.md': sendJson({ body: '# Body' }),
      '/v1/skills/whole': sendJson({ name: 'whole', skill_md: '# Whole' }),
      '/v1/skills/failing/skill.md': (_, response) => void response.writeHead(500).end(),
      '/v1/skills/failing': sendJson({ name: 'failing', body: '# After all' }),
      '/v1/skills/mute': sendJson({ name: 'mute' })
    }
  })
  t.equal(await gateway.skillText('plain'), '# Plain')
  t.equal(await gateway.skillText('json'), '# JSON')
  t.equal(await gateway.skillText('body'), '# Body')
  t.equal(await gateway.skillText('whole'), '# Whole')
  t.equal(await gateway.skillText('failing'), '# After all')
  await t.rejects(gateway.skillText('mute'), { code: 'SKG_ANSWER_INVALID' })
  await t.rejects(gateway.skillText('nowhere'), { code: 'SKG_SKILL_UNKNOWN' })
})

t.test('a skill is published', async t => {
  const { gateway, fake } = await openGateway(t, {
    http: { '/v1/skills': sendJson({ slug: 'me/w', url: 'http://x/w', revision: 'r1' }) }
  })
  const published = await gateway.publish({ ...WEATHER, text: '# W' })
  t.same(published, { slug: 'me/w', url: 'http://x/w', revision: 'r1' })
  t.match(fake.seen.at(-1), { method: 'POST', body: { ...WEATHER, skill_md: '# W' } })
})

t.test('errors contain the message of the gateway, and never the token', async t => {
  const { gateway } = await openGateway(t, {
    http: {
      '/v1/skills': ({ authorization = '' }, response) => void response.writeHead(401).end(`who is ${authorization}?`),
      '/v1/skills/busy': ({ authorization = '' }, response) =>
        void response.writeHead(429).end(`slowly, ${authorization}`),
      '/v1/skills/odd': (_, response) => void response.end('<html>')
    }
  })
  await t.rejects(gateway.skills(), {
    code: 'SKG_UNAUTHORIZED',
    message: /returned HTTP status 401: who is Bearer \*\*\*\?/
  })
  await t.rejects(gateway.skill('busy'), { code: 'SKG_REFUSED', message: /429: slowly, Bearer \*\*\*$/ })
  await t.rejects(gateway.skill('odd'), { code: 'SKG_ANSWER_INVALID', message: /odd returned invalid JSON/ })
})

t.test('the error of a missing or slow gateway names its address', async t => {
  const { fake } = await openGateway(t)
  await fake.close()
  const { gateway: lost } = await openGateway(t, {}, { url: fake.url })
  await t.rejects(lost.skills(), { code: 'SKG_UNREACHABLE', message: `${fake.url}/v1/skills: connection refused` })
  const { gateway: slow } = await openGateway(
    t,
    { http: { '/v1/skills': () => undefined } },
    { request_timeout_ms: 20 }
  )
  await t.rejects(slow.skills(), { code: 'SKG_TIMEOUT', message: /took longer than 20 ms/ })
})

t.test('a caller can abort a request', async t => {
  let asked: () => void = () => undefined
  const begun = new Promise<void>(resolve => {
    asked = resolve
  })
  const { gateway } = await openGateway(t, { http: { '/v1/skills': () => asked() } })
  const controller = new AbortController()
  const answer = gateway.skills(controller.signal)
  await begun
  controller.abort(new Error('enough'))
  await t.rejects(answer, { message: 'enough' })
})

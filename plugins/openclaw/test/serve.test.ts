import { once } from 'node:events'
import { createServer, request as sendRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { GatewaySkill } from '@svc/contracts'
import t, { type Test } from 'tap'
import { newRecord, OpenClawGateway, SkillStore, skillRoutes } from '#root'
import { DEFAULTS, TOKEN } from './open-gateway.ts'

async function serve(t: Test, token?: string): Promise<{ readonly url: string; readonly store: SkillStore }> {
  const store = new SkillStore(join(t.testdir({}), 'skills'))
  const server = createServer(skillRoutes(store, token))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, store }
}

async function install(store: SkillStore, slug: string, approval?: 'approved' | 'denied'): Promise<void> {
  const skill: GatewaySkill = {
    id: slug,
    namespace: 'team',
    name: slug,
    version: '1.0.0',
    description: `The ${slug}`,
    contentHash: null,
    author: 'me',
    metadata: { kind: 'tool', secrets: ['A_KEY'] },
    text: null
  }
  const origin = { source: 'http://gateway.test', trust: 'community', now: 1 } as const
  const record = await store.install(newRecord(slug, skill, `# ${slug}`, origin), `# ${slug}`)
  if (approval !== undefined) await store.decide(record.approval_id, approval, 2)
}

t.test('the client of a gateway reads approved skills, and no others', async t => {
  const { url, store } = await serve(t, TOKEN)
  await install(store, 'team/good', 'approved')
  await install(store, 'pending')
  await install(store, 'denied', 'denied')
  await install(store, 'blocked', 'approved')
  await store.trust('blocked', 'untrusted')
  const gateway = new OpenClawGateway({ ...DEFAULTS, url, token: TOKEN }, '1.2.3')
  t.teardown(() => gateway.close())
  t.match(await gateway.endpoints(), { discovery_source: /^well-known:/, catalog_list_url: `${url}/v1/skills` })
  t.same(await gateway.skills(), [{ name: 'team/good', version: '1.0.0', description: 'The team/good' }])
  t.match(await gateway.skill('team/good'), {
    namespace: 'team',
    author: 'me',
    metadata: { kind: 'tool', secrets: ['A_KEY'] }
  })
  t.equal(await gateway.skillText('team/good'), '# team/good')
  for (const slug of ['pending', 'denied', 'blocked', 'missing'])
    await t.rejects(gateway.skill(slug), { code: 'SKG_SKILL_UNKNOWN' }, slug)
  const headers = { authorization: `Bearer ${TOKEN}` }
  const found = await fetch(`${url}/v1/skills/search?q=GOOD`, { headers })
  t.match(await found.json(), { skills: [{ name: 'team/good' }] })
  for (const path of ['/', '/v1', '/v1/skills/%E0%A4%A', '/v1/skills/..%2f..%2fetc%2fpasswd'])
    t.equal((await fetch(`${url}${path}`, { headers })).status, 404, path)
})

t.test('requests without the token, of web pages, for other hosts and that write are refused', async t => {
  const { url, store } = await serve(t, TOKEN)
  await install(store, 'good', 'approved')
  const authorization = `Bearer ${TOKEN}`
  const send = async (headers: Record<string, string>, method = 'GET'): Promise<number> => {
    const request = sendRequest(`${url}/v1/skills/good`, { method, headers, agent: false })
    request.end()
    const [response] = await once(request, 'response')
    await text(response)
    return response.statusCode
  }
  t.equal(await send({ authorization }), 200)
  t.equal(await send({ authorization }, 'HEAD'), 200)
  t.equal(await send({}), 401)
  t.equal(await send({ authorization: `Bearer ${TOKEN}x` }), 401)
  t.equal(await send({ authorization, origin: 'http://page.test' }), 403)
  t.equal(await send({ authorization, host: 'rebound.test' }), 403)
  t.equal(await send({ authorization }, 'POST'), 405)
})

import { randomUUID } from 'node:crypto'
import t from 'tap'
import { openWorld } from './open-world.ts'

const TOKEN = 'a-token-with-more-than-22-characters'
const send = { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'say hello' }] } }

t.test('with a token of the main listener, both bindings need it, and the card does not', async t => {
  const world = await openWorld(t, { others: { http: { port: 0, token: TOKEN, drain_ms: 500 } } })
  const bearer = { authorization: `Bearer ${TOKEN}` }
  t.equal((await world.rpc('SendMessage', send)).status, 401)
  t.equal((await world.rest('POST', '/message:send', send)).status, 401)
  t.equal((await world.rest('GET', '/extendedAgentCard')).status, 401)
  t.equal((await world.rest('GET', '/tasks', undefined, { authorization: 'Bearer wrong' })).status, 401)
  t.equal((await fetch(`${world.url}/.well-known/agent-card.json`)).status, 200)
  t.match((await world.rpc('SendMessage', send, bearer)).body, {
    result: { task: { status: { state: 'TASK_STATE_COMPLETED' } } }
  })
  t.match((await world.rest('GET', '/extendedAgentCard', undefined, bearer)).body, { name: 'svc' })
})

t.test('AUTH-SCOPE-001: without a token, a caller through a proxy has no rights', async t => {
  const world = await openWorld(t)
  const proxied = { 'x-forwarded-for': '203.0.113.9' }
  t.match(await world.rpc('SendMessage', send, proxied), { status: 403, body: { error: { message: /a2a\.send/ } } })
  t.match(await world.rest('GET', '/tasks', undefined, proxied), { status: 403 })
  t.match(await world.rest('GET', '/extendedAgentCard', undefined, proxied), { status: 403 })
  t.match(await world.rest('GET', `/tasks/${randomUUID()}:subscribe`, undefined, proxied), { status: 403 })
  t.match(await world.rest('GET', '/tasks/x/pushNotificationConfigs', undefined, proxied), { status: 403 })
  t.equal(world.orchestrator.tasks().length, 0)
})

t.test('the configured public URL is in both cards', async t => {
  const world = await openWorld(t, { settings: { public_url: 'https://svc.example.org/base/' } })
  const expected = { supportedInterfaces: [{ url: 'https://svc.example.org/base/a2a/v1' }] }
  t.match(await (await fetch(`${world.url}/.well-known/agent-card.json`)).json(), expected)
  t.match((await world.rest('GET', '/extendedAgentCard')).body, expected)
})

t.test('the server is off by default', async t => {
  const { default: plugin } = await import('#plugin')
  t.equal(plugin.enabledByDefault, false)
})

t.test('settings that cannot be used are errors that name them', async t => {
  await t.rejects(openWorld(t, { settings: { push_ca_file: 'missing.pem' } }), {
    code: 'A2S_SETTINGS_INVALID',
    at: { path: 'plugins.a2a-server.push_ca_file' }
  })
  await t.rejects(openWorld(t, { settings: { listener: 'mesh' } }), {
    code: 'A2S_SETTINGS_INVALID',
    at: { path: 'plugins.a2a-server.listener' }
  })
})

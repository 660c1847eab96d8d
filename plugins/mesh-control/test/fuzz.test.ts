import fc from 'fast-check'
import t from 'tap'
import { allRoutes } from './contract-files.ts'
import { message, nodeReport, openWorld } from './world.ts'

/** A valid body of each route, in which the property test replaces fields. */
const VALID: Readonly<Record<string, object>> = {
  '/join': nodeReport('n1'),
  '/heartbeat': nodeReport('n1'),
  '/leave': { id: 'n9' },
  '/bootstrap/exchange': { bootstrap_token: 'x' },
  '/a2a/deliver': message('7', {
    idempotency_key: 'k',
    priority: 1,
    delay_ms: 0,
    max_attempts: 3,
    privacy_class: 'private'
  }),
  '/a2a/inbox': { receiver_agent_id: '7', claimer_node_id: 'n1', max_messages: 2, before_message_id: 9, wait_ms: 0 },
  '/a2a/ack': { receiver_agent_id: '7', message_id: 1, fence: 1 },
  '/a2a/lease-renew': { receiver_agent_id: '7', message_id: 1, claimer_node_id: 'n1', fence: 1 },
  '/x/a2a/extend': { receiver_agent_id: '7', message_id: 1, claimer_node_id: 'n1', fence: 1, lease_ms: 1_000 },
  '/x/a2a/nack': { receiver_agent_id: '7', message_id: 1, fence: 1, delay_ms: 1, error: 'e' },
  '/x/a2a/dead': { receiver_agent_id: '7', max_messages: 1 },
  '/x/a2a/revive': { receiver_agent_id: '7', message_ids: [1] },
  '/exec/lease/grant': { claimer_node_id: 'n1', scope_key: 'k' },
  '/exec/lease/renew': { claimer_node_id: 'n1', lease_id: '1' },
  '/exec/lease/release': { claimer_node_id: 'n1', lease_id: '1' },
  '/admin/exec-lease/revoke': { lease_id: '1' },
  '/admin/quarantine': { node_id: 'n1', quarantined: false },
  '/admin/maintenance': { node_id: 'n1', maintenance: false, maintenance_until_unix_ms: 1, maintenance_for_ms: 1 },
  '/x/pair': { expires_for_ms: 1_000 },
  '/x/views': {
    node_id: 'n1',
    repository_id: 'r',
    store_id: 's',
    mailbox: '1',
    host: 'h',
    pid: 1,
    agents: 1,
    open: { Queued: 0, InProgress: 0, Blocked: 0, BlockedOnApproval: 0, Doubted: 0 },
    ended: { completed: 0, failed: 0, cancelled: 0 },
    tasks: []
  }
}

const hostile = fc.oneof(
  fc.jsonValue(),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom(
    Number.MAX_SAFE_INTEGER,
    -1,
    1e300,
    0.5,
    '9'.repeat(400),
    '\u0000',
    '\ud800',
    '__proto__',
    "'; drop table coord_items; --",
    'x'.repeat(3_000),
    null,
    [],
    {},
    { $gt: '' }
  )
)

t.test('no body makes a route fail: each is done or refused', async t => {
  const { post, get } = await openWorld(t)
  const routes = allRoutes().filter(({ method }) => method === 'POST')
  t.same(routes.map(({ path }) => path).sort(), Object.keys(VALID).sort(), 'every route takes part')
  const refused = async (path: string, body: unknown): Promise<void> => {
    // Waiting would only take time.
    const { wait_ms: _wait, ...sent } = body as { readonly wait_ms?: unknown }
    const { status, text } = await post(path, Array.isArray(body) || typeof body !== 'object' ? body : sent)
    if (status >= 500 && !(status === 503 && text.includes('mesh token')))
      throw new Error(`${path} answered ${status} ${text} to ${JSON.stringify(body)}`)
    if (status >= 400 && !text.startsWith('mesh: ')) throw new Error(`${path}: ${text}`)
  }
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...Object.entries(VALID)),
      fc.dictionary(fc.string({ maxLength: 8 }), hostile, { maxKeys: 2 }),
      fc.nat(),
      hostile,
      async ([path, valid], more, at, value) => {
        const fields = Object.keys(valid)
        const field = fields[at % fields.length] as string
        await refused(path, { ...more, ...valid, [field]: value })
      }
    ),
    { numRuns: 600 }
  )
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...Object.keys(VALID)), fc.jsonValue(), (path, body) => refused(path, body ?? {})),
    { numRuns: 100 }
  )
  const list = await get('/nodes')
  t.equal(list.status, 200)
  for (const node of list.json?.nodes ?? []) t.type(node.last_seen_unix_ms, 'number')
  t.equal((await post('/a2a/inbox', { receiver_agent_id: '7' })).status, 200, 'what was stored can be read')
})

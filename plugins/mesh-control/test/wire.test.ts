import { connect } from 'node:net'
import { meshPublicKey, signResult } from '@svc/contracts/mesh-signature'
import {
  noPostgres,
  PostgresCoordination,
  PostgresServer,
  parseServerAddress
} from '@svc/plugin-coordination-postgres/testing'
import type { Logger } from '@svc/plugin-sdk'
import { SignJWT } from 'jose'
import t, { type Test } from 'tap'
import {
  ADMIN_TOKEN,
  type CallOptions,
  MESH_TOKEN,
  message,
  nodeReport,
  openWorld,
  type Reply,
  SUBMITTER_TOKEN,
  TOKENS,
  WORKER_TOKEN,
  type World,
  type WorldOptions
} from './world.ts'

const PRIVATE = new Uint8Array(32).fill(3)
const PUBLIC = Buffer.from(meshPublicKey(PRIVATE)).toString('hex')

interface Row {
  readonly name: string
  readonly method?: 'GET' | 'POST'
  readonly path: string
  readonly body?: unknown
  readonly options?: CallOptions
  readonly status: number
  /** Expected in the plain text of a refusal. */
  readonly text?: RegExp
}

const big = 'x'.repeat(2_049)
const report = nodeReport('n1')
const lease = (more: object = {}) => ({ claimer_node_id: 'n1', scope_key: 'task:r:1', ...more })

/** Every status of every route, in a scope `s1` with the nodes n1 (active), n2 (in quarantine) and n3 (in maintenance). */
function rows(known: { readonly lease: string; readonly message: number; readonly other: number }): Row[] {
  const { lease: held, message: claimed, other } = known
  const renew = (more: object = {}) => ({ receiver_agent_id: '7', message_id: claimed, claimer_node_id: 'n1', ...more })
  return [
    { name: 'list', method: 'GET', path: '/nodes', status: 200 },
    { name: 'list changes', method: 'GET', path: '/nodes?since=0', status: 200 },
    { name: 'list with a wrong version', method: 'GET', path: '/nodes?since=x', status: 400, text: /since/ },
    { name: 'join', path: '/join', body: { ...report, scope_id: 's1' }, status: 200 },
    { name: 'join another scope', path: '/join', body: { ...report, scope_id: 's2' }, status: 403, text: /scope/ },
    { name: 'join without scope', path: '/join', body: report, status: 403 },
    { name: 'join without id', path: '/join', body: { ...report, id: undefined }, status: 400, text: /id is missing/ },
    { name: 'join with a number as id', path: '/join', body: { ...report, id: 3 }, status: 400, text: /id/ },
    { name: 'join without capabilities', path: '/join', body: { ...report, capabilities: undefined }, status: 400 },
    { name: 'join with a control character', path: '/join', body: { ...report, id: 'a\u0000' }, status: 400 },
    { name: 'join with a list', path: '/join', body: [], status: 400 },
    { name: 'heartbeat', path: '/heartbeat', body: { ...report, scope_id: 's1' }, status: 200 },
    { name: 'heartbeat of another scope', path: '/heartbeat', body: { ...report, scope_id: 'x' }, status: 403 },
    { name: 'heartbeat with a wrong count', path: '/heartbeat', body: { ...report, gpu_total_count: -1 }, status: 400 },
    { name: 'leave', path: '/leave', body: { id: 'n-leaves' }, status: 204 },
    { name: 'leave unknown', path: '/leave', body: { id: 'nobody' }, status: 404 },
    { name: 'leave without id', path: '/leave', body: {}, status: 400 },
    { name: 'deliver', path: '/a2a/deliver', body: message('8'), status: 200 },
    { name: 'deliver to a name', path: '/a2a/deliver', body: message('eight'), status: 400, text: /receiver_agent_id/ },
    {
      name: 'deliver from a name',
      path: '/a2a/deliver',
      body: message('8', { sender_agent_id: '-1' }),
      status: 400,
      text: /sender_agent_id/
    },
    { name: 'deliver from a number', path: '/a2a/deliver', body: message('8', { sender_agent_id: 1 }), status: 400 },
    {
      name: 'deliver an object',
      path: '/a2a/deliver',
      body: message('8', { payload: {} }),
      status: 400,
      text: /payload/
    },
    { name: 'deliver priority 256', path: '/a2a/deliver', body: message('8', { priority: 256 }), status: 400 },
    {
      name: 'deliver one half of a signature',
      path: '/a2a/deliver',
      body: message('8', { message_type: 'job_result', payload_blake3_hex: 'ab' }),
      status: 400,
      text: /together/
    },
    {
      name: 'deliver a signed submit',
      path: '/a2a/deliver',
      body: message('8', signResult('{"a":1}', PRIVATE)),
      status: 400,
      text: /job_result/
    },
    {
      name: 'deliver a signed result',
      path: '/a2a/deliver',
      body: message('8', { message_type: 'job_result', ...signResult('{"a":1}', PRIVATE) }),
      status: 200
    },
    {
      name: 'deliver a signed failure',
      path: '/a2a/deliver',
      body: message('8', { message_type: 'job_fail', ...signResult('{"a":1}', PRIVATE) }),
      status: 200
    },
    {
      name: 'deliver another digest',
      path: '/a2a/deliver',
      body: message('8', { message_type: 'job_result', ...signResult('{}', PRIVATE) }),
      status: 400,
      text: /digest/
    },
    {
      name: 'deliver another signature',
      path: '/a2a/deliver',
      body: message('8', { message_type: 'job_result', ...signResult('{"a":1}', new Uint8Array(32).fill(9)) }),
      status: 400,
      text: /verify/
    },
    {
      name: 'deliver an unsigned result',
      path: '/a2a/deliver',
      body: message('8', { message_type: 'job_result' }),
      status: 200
    },
    { name: 'read', path: '/a2a/inbox', body: { receiver_agent_id: '8' }, status: 200 },
    {
      name: 'read with a limit beyond the range',
      path: '/a2a/inbox',
      body: { receiver_agent_id: '8', max_messages: 9_999 },
      status: 200
    },
    {
      name: 'read a name',
      path: '/a2a/inbox',
      body: { receiver_agent_id: 'x' },
      status: 400,
      text: /receiver_agent_id/
    },
    {
      name: 'read for too long',
      path: '/a2a/inbox',
      body: { receiver_agent_id: '8', wait_ms: 25_001 },
      status: 400,
      text: /wait_ms/
    },
    { name: 'claim', path: '/a2a/inbox', body: { receiver_agent_id: '9', claimer_node_id: 'n1' }, status: 200 },
    {
      name: 'claim by an unknown node',
      path: '/a2a/inbox',
      body: { receiver_agent_id: '9', claimer_node_id: 'no' },
      status: 403,
      text: /joined/
    },
    {
      name: 'claim in quarantine',
      path: '/a2a/inbox',
      body: { receiver_agent_id: '8', claimer_node_id: 'n2' },
      status: 200
    },
    { name: 'renew a message', path: '/a2a/lease-renew', body: renew(), status: 204 },
    {
      name: 'renew a message by an unknown node',
      path: '/a2a/lease-renew',
      body: renew({ claimer_node_id: 'no' }),
      status: 403
    },
    {
      name: 'renew a message in quarantine',
      path: '/a2a/lease-renew',
      body: renew({ claimer_node_id: 'n2' }),
      status: 403,
      text: /quarantine/
    },
    {
      name: 'renew a message in maintenance',
      path: '/a2a/lease-renew',
      body: renew({ claimer_node_id: 'n3' }),
      status: 403,
      text: /maintenance/
    },
    { name: 'renew an unknown message', path: '/a2a/lease-renew', body: renew({ message_id: 999_999 }), status: 404 },
    {
      name: 'renew in another mailbox',
      path: '/a2a/lease-renew',
      body: renew({ receiver_agent_id: '8' }),
      status: 404
    },
    {
      name: 'renew a message of another node',
      path: '/a2a/lease-renew',
      body: renew({ claimer_node_id: 'n4' }),
      status: 409
    },
    { name: 'renew with an old fence', path: '/a2a/lease-renew', body: renew({ fence: 0 }), status: 409 },
    { name: 'renew a text', path: '/a2a/lease-renew', body: renew({ message_id: String(claimed) }), status: 400 },
    {
      name: 'ack with an old fence',
      path: '/a2a/ack',
      body: { receiver_agent_id: '7', message_id: claimed, fence: 0 },
      status: 409
    },
    {
      name: 'ack in another mailbox',
      path: '/a2a/ack',
      body: { receiver_agent_id: '8', message_id: claimed },
      status: 404
    },
    { name: 'ack', path: '/a2a/ack', body: { receiver_agent_id: '7', message_id: claimed }, status: 204 },
    { name: 'ack again', path: '/a2a/ack', body: { receiver_agent_id: '7', message_id: claimed }, status: 404 },
    { name: 'ack nothing', path: '/a2a/ack', body: { receiver_agent_id: '7' }, status: 400, text: /message_id/ },
    { name: 'ack unclaimed', path: '/a2a/ack', body: { receiver_agent_id: '6', message_id: other }, status: 204 },
    { name: 'grant', path: '/exec/lease/grant', body: lease(), status: 200 },
    { name: 'grant again', path: '/exec/lease/grant', body: lease(), status: 200 },
    {
      name: 'grant an empty key',
      path: '/exec/lease/grant',
      body: lease({ scope_key: '  ' }),
      status: 400,
      text: /scope_key/
    },
    { name: 'grant a long key', path: '/exec/lease/grant', body: lease({ scope_key: big }), status: 400, text: /2048/ },
    { name: 'grant a number', path: '/exec/lease/grant', body: lease({ scope_key: 1 }), status: 400 },
    {
      name: 'grant to an unknown node',
      path: '/exec/lease/grant',
      body: lease({ claimer_node_id: 'no' }),
      status: 403
    },
    { name: 'grant in quarantine', path: '/exec/lease/grant', body: lease({ claimer_node_id: 'n2' }), status: 403 },
    { name: 'grant in maintenance', path: '/exec/lease/grant', body: lease({ claimer_node_id: 'n3' }), status: 403 },
    { name: 'grant a held key', path: '/exec/lease/grant', body: lease({ claimer_node_id: 'n4' }), status: 409 },
    { name: 'renew', path: '/exec/lease/renew', body: { lease_id: held, claimer_node_id: 'n1' }, status: 204 },
    {
      name: 'renew a word',
      path: '/exec/lease/renew',
      body: { lease_id: 'x', claimer_node_id: 'n1' },
      status: 400,
      text: /lease_id/
    },
    {
      name: 'renew 17 digits',
      path: '/exec/lease/renew',
      body: { lease_id: '9'.repeat(17), claimer_node_id: 'n1' },
      status: 400
    },
    {
      name: 'renew by an unknown node',
      path: '/exec/lease/renew',
      body: { lease_id: held, claimer_node_id: 'no' },
      status: 403
    },
    {
      name: 'renew in maintenance',
      path: '/exec/lease/renew',
      body: { lease_id: held, claimer_node_id: 'n3' },
      status: 403
    },
    {
      name: 'renew an unknown lease',
      path: '/exec/lease/renew',
      body: { lease_id: '999999', claimer_node_id: 'n1' },
      status: 404
    },
    {
      name: 'renew by another node',
      path: '/exec/lease/renew',
      body: { lease_id: held, claimer_node_id: 'n4' },
      status: 409
    },
    { name: 'list leases', method: 'GET', path: '/exec/leases', options: { token: ADMIN_TOKEN }, status: 200 },
    {
      name: 'release by an unknown node',
      path: '/exec/lease/release',
      body: { lease_id: held, claimer_node_id: 'no' },
      status: 403
    },
    {
      name: 'release by another node',
      path: '/exec/lease/release',
      body: { lease_id: held, claimer_node_id: 'n4' },
      status: 409
    },
    {
      name: 'release by another node in maintenance',
      path: '/exec/lease/release',
      body: { lease_id: held, claimer_node_id: 'n3' },
      status: 409
    },
    { name: 'release without a lease', path: '/exec/lease/release', body: { claimer_node_id: 'n1' }, status: 400 },
    { name: 'release', path: '/exec/lease/release', body: { lease_id: held, claimer_node_id: 'n1' }, status: 204 },
    {
      name: 'release again',
      path: '/exec/lease/release',
      body: { lease_id: held, claimer_node_id: 'n1' },
      status: 404
    },
    { name: 'revoke an unknown lease', path: '/admin/exec-lease/revoke', body: { lease_id: '999999' }, status: 404 },
    { name: 'revoke a word', path: '/admin/exec-lease/revoke', body: { lease_id: 'x' }, status: 400 },
    {
      name: 'revoke as a worker',
      path: '/admin/exec-lease/revoke',
      body: { lease_id: '999999' },
      options: { token: WORKER_TOKEN },
      status: 403,
      text: /worker/
    },
    { name: 'quarantine', path: '/admin/quarantine', body: { node_id: 'n2', quarantined: true }, status: 204 },
    {
      name: 'quarantine an unknown node',
      path: '/admin/quarantine',
      body: { node_id: 'no', quarantined: true },
      status: 404
    },
    {
      name: 'quarantine with a text',
      path: '/admin/quarantine',
      body: { node_id: 'n2', quarantined: 'yes' },
      status: 400
    },
    {
      name: 'quarantine as a worker',
      path: '/admin/quarantine',
      body: { node_id: 'n2', quarantined: true },
      options: { token: WORKER_TOKEN },
      status: 403
    },
    {
      name: 'maintenance',
      path: '/admin/maintenance',
      body: { node_id: 'n3', maintenance: true, maintenance_for_ms: 604_800_000 },
      status: 204
    },
    {
      name: 'maintenance of eight days',
      path: '/admin/maintenance',
      body: { node_id: 'n3', maintenance: true, maintenance_for_ms: 604_800_001 },
      status: 400,
      text: /maintenance_for_ms/
    },
    {
      name: 'maintenance of an unknown node',
      path: '/admin/maintenance',
      body: { node_id: 'no', maintenance: true },
      status: 404
    },
    {
      name: 'maintenance as a submitter',
      path: '/admin/maintenance',
      body: { node_id: 'n3', maintenance: true },
      options: { token: SUBMITTER_TOKEN },
      status: 403
    },
    { name: 'an unknown path', method: 'GET', path: '/nothing', status: 404 },
    { name: 'another method', method: 'GET', path: '/join', status: 405 },
    { name: 'no JSON', path: '/join', body: '{"id":', status: 400 },
    { name: 'a repeated key', path: '/join', body: '{"id":"a","id":"b"}', status: 400, text: /twice/ },
    {
      name: 'a form',
      path: '/join',
      body: 'id=3',
      options: { headers: { 'content-type': 'application/x-www-form-urlencoded' } },
      status: 415
    },
    {
      name: 'too large',
      path: '/a2a/deliver',
      body: message('8', { payload: 'x'.repeat(5_000) }),
      status: 413,
      text: /4096/
    },
    {
      name: 'another origin',
      method: 'GET',
      path: '/nodes',
      options: { headers: { origin: 'http://evil.example' } },
      status: 403,
      text: /web pages/
    },
    { name: 'the same origin', method: 'GET', path: '/nodes', options: { headers: { origin: 'null' } }, status: 403 },
    {
      name: 'no token',
      method: 'GET',
      path: '/nodes',
      options: { token: null },
      status: 401,
      text: /^mesh: unauthorized$/
    },
    {
      name: 'a wrong token',
      method: 'GET',
      path: '/nodes',
      options: { token: 'wrong-token-0123456789abcdef' },
      status: 401,
      text: /^mesh: unauthorized$/
    }
  ]
}

async function send(
  { get, post }: World,
  { method = 'POST', path, body, options = {} }: Row,
  base?: string
): Promise<Reply> {
  const given = { token: MESH_TOKEN, ...options, ...(base === undefined ? {} : { base }) }
  return method === 'GET' ? get(path, given) : post(path, body, given)
}

/** Opens the scope s1 with its nodes, a lease of n1, a message for 7 that n1 claimed, and one for 6. */
async function prepared(t: Test, base: string, options: WorldOptions = {}) {
  const world = await openWorld(t, {
    ...options,
    mesh: { scope_id: 's1', ...TOKENS },
    control: { worker_result_verify_key: PUBLIC, http_max_body_bytes: 4_096 }
  })
  const given = { token: MESH_TOKEN, base }
  for (const id of ['n1', 'n2', 'n3', 'n4', 'n-leaves'])
    t.equal((await world.post('/join', { ...nodeReport(id), scope_id: 's1' }, given)).status, 200)
  await world.post('/admin/quarantine', { node_id: 'n2', quarantined: true }, given)
  await world.post('/admin/maintenance', { node_id: 'n3', maintenance: true }, given)
  const granted = await world.post('/exec/lease/grant', lease(), given)
  await world.post('/a2a/deliver', message('7'), given)
  const claimed = await world.post('/a2a/inbox', { receiver_agent_id: '7', claimer_node_id: 'n1' }, given)
  const other = await world.post('/a2a/deliver', message('6'), given)
  const known = {
    lease: granted.json?.lease_id as string,
    message: claimed.json?.messages[0].id as number,
    other: other.json?.message_id as number
  }
  return { world, known }
}

async function checkRows(t: Test, base: string, options: WorldOptions = {}): Promise<void> {
  const { world, known } = await prepared(t, base, options)
  for (const row of rows(known)) {
    const reply = await send(world, row, base)
    t.equal(reply.status, row.status, `${row.name}: ${row.status}, body ${reply.text.slice(0, 120)}`)
    if (row.status >= 400) {
      t.match(reply.text, /^mesh: \S/, row.name)
      t.match(reply.headers.get('content-type'), /^text\/plain/, row.name)
    }
    if (row.text !== undefined) t.match(reply.text, row.text, row.name)
    if (row.status === 204) t.equal(reply.text, '', row.name)
    t.ok(reply.headers.get('x-request-id'), row.name)
    t.match(reply.headers.get('x-populi-feature'), /jwt-bearer-v1/, row.name)
  }
}

for (const base of ['/v1/mesh', '/v1/populi'])
  t.test(`every route answers each status of its contract below ${base}`, async t => checkRows(t, base))

t.test('every route answers each status of its contract with PostgreSQL', { skip: noPostgres }, async t => {
  const server = await PostgresServer.start({ fsync: 'off' })
  t.teardown(() => server.remove())
  const address = parseServerAddress({ url: await server.createDatabase(), folder: '/' })
  const log = { debug() {}, info() {}, warn() {}, error() {} } as unknown as Logger
  const backend = new PostgresCoordination({ address, connections: 4, fanout: null, log })
  t.teardown(() => backend.close())
  await checkRows(t, '/v1/mesh', { backend })
})

t.test('each role may call exactly its routes', async t => {
  const { world } = await prepared(t, '/v1/mesh')
  const routes: readonly [string, 'GET' | 'POST', 'worker' | 'deliver' | 'admin'][] = [
    ['/nodes', 'GET', 'worker'],
    ['/join', 'POST', 'worker'],
    ['/heartbeat', 'POST', 'worker'],
    ['/leave', 'POST', 'worker'],
    ['/a2a/deliver', 'POST', 'deliver'],
    ['/a2a/inbox', 'POST', 'worker'],
    ['/a2a/ack', 'POST', 'worker'],
    ['/a2a/lease-renew', 'POST', 'worker'],
    ['/exec/lease/grant', 'POST', 'worker'],
    ['/exec/lease/renew', 'POST', 'worker'],
    ['/exec/lease/release', 'POST', 'worker'],
    ['/exec/leases', 'GET', 'admin'],
    ['/admin/exec-lease/revoke', 'POST', 'admin'],
    ['/admin/quarantine', 'POST', 'admin'],
    ['/admin/maintenance', 'POST', 'admin'],
    ['/x/a2a/extend', 'POST', 'worker'],
    ['/x/a2a/nack', 'POST', 'worker'],
    ['/x/a2a/dead', 'POST', 'worker'],
    ['/x/a2a/revive', 'POST', 'admin'],
    ['/x/pair', 'POST', 'admin']
  ]
  const may = {
    worker: new Set(['worker']),
    submitter: new Set(['deliver']),
    mesh: new Set(['worker', 'deliver', 'admin']),
    admin: new Set(['worker', 'deliver', 'admin'])
  }
  const tokens = { mesh: MESH_TOKEN, worker: WORKER_TOKEN, submitter: SUBMITTER_TOKEN, admin: ADMIN_TOKEN }
  for (const role of ['mesh', 'worker', 'submitter', 'admin'] as const) {
    for (const [path, method, access] of routes) {
      // A body that no route accepts: an allowed caller gets 400, and nothing changes.
      const { status } = await send(world, {
        name: '',
        method,
        path,
        body: [],
        options: { token: tokens[role] },
        status: 0
      })
      const expected = may[role].has(access) ? (method === 'GET' ? 200 : path === '/x/pair' ? 400 : 400) : 403
      t.equal(status, expected, `${role} ${path}`)
    }
  }
})

t.test('a JWT is accepted once, until it expires, with a role, an id and the right secret and algorithm', async t => {
  const SECRET = 'jwt-secret-0123456789abcdefghijklmnop'
  const { get, post } = await openWorld(t, { control: { jwt_hmac_secret: SECRET } })
  const sign = (claims: object, { secret = SECRET, alg = 'HS256' } = {}) =>
    new SignJWT({ ...claims }).setProtectedHeader({ alg }).sign(new TextEncoder().encode(secret))
  const now = Math.floor(Date.now() / 1_000)
  const good = (jti: string, more: object = {}) => ({ role: 'Worker', jti, exp: now + 300, ...more })
  const nodes = async (token: string) => (await get('/nodes', { token })).status
  const once = await sign(good('a'))
  t.equal(await nodes(once), 200)
  t.equal(await nodes(once), 401, 'a replay')
  t.equal(await nodes(await sign(good('a', { exp: now + 400 }))), 401, 'the id of a used token')
  t.equal(await nodes(await sign(good('b', { exp: now - 55 }))), 200, 'within the leeway')
  t.equal(await nodes(await sign(good('c', { exp: now - 3_600 }))), 401, 'a clock that is one hour late')
  t.equal(await nodes(await sign(good('d', { nbf: now + 3_600 }))), 401, 'not yet valid')
  t.equal(await nodes(await sign(good('e', { role: 'owner' }))), 401)
  t.equal(await nodes(await sign(good('f', { role: undefined }))), 401)
  t.equal(await nodes(await sign(good('', {}))), 401)
  t.equal(await nodes(await sign(good('g', { jti: 5 }))), 401)
  t.equal(await nodes(await sign(good('h', { exp: undefined }))), 401)
  t.equal(await nodes(await sign(good('i'), { secret: 'another-secret-0123456789abcdefghijk' })), 401)
  t.equal(await nodes(await sign(good('j'), { alg: 'HS512' })), 401)
  const none = [{ alg: 'none' }, good('k')].map(each => Buffer.from(JSON.stringify(each)).toString('base64url'))
  t.equal(await nodes(`${none.join('.')}.`), 401, 'no signature')
  t.equal(await nodes(`${none.join('.')}.AAAA`), 401)
  t.equal((await post('/a2a/deliver', message('1'), { token: await sign(good('l')) })).status, 403, 'a wrong role')
  t.equal(
    (await post('/a2a/deliver', message('1'), { token: await sign(good('m', { role: 'SUBMITTER' })) })).status,
    200
  )
  t.equal((await get('/nodes')).status, 401, 'without a token')
})

t.test('two requests with one JWT at the same time: one is accepted', async t => {
  const SECRET = 'jwt-secret-0123456789abcdefghijklmnop'
  const { get } = await openWorld(t, { control: { jwt_hmac_secret: SECRET } })
  const token = await new SignJWT({ role: 'mesh' })
    .setProtectedHeader({ alg: 'HS256' })
    .setJti('same')
    .setExpirationTime('5m')
    .sign(new TextEncoder().encode(SECRET))
  const replies = await Promise.all(Array.from({ length: 8 }, () => get('/nodes', { token })))
  t.same(replies.map(({ status }) => status).sort(), [200, 401, 401, 401, 401, 401, 401, 401])
})

t.test('without a token every caller of this machine is accepted, and other hosts are not', async t => {
  const { get, port } = await openWorld(t)
  t.equal((await get('/nodes')).status, 200)
  t.match(
    await raw(port, 'host: evil.example'),
    /^HTTP\/1\.1 403[\s\S]*mesh: this control plane does not serve that host/
  )
  t.match(await raw(port, 'host: 127.0.0.1'), /^HTTP\/1\.1 200/)
  t.match(await raw(port, 'host: localhost:1'), /^HTTP\/1\.1 200/)
  t.match(await raw(port, 'x-no: host'), /^HTTP\/1\.1 403/)
})

/** Sends GET /nodes with one header line. Returns the whole response. */
function raw(port: number, header: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    let received = ''
    socket.setEncoding('utf8').on('data', chunk => {
      received += chunk
    })
    socket.on('error', reject).on('close', () => resolve(received))
    socket.write(`GET /v1/mesh/nodes HTTP/1.1\r\n${header}\r\nconnection: close\r\n\r\n`)
  })
}

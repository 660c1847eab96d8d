import {
  deliverBody,
  isInMaintenance,
  nodeRecord,
  normalizeControlUrl,
  normalizeControlUrls,
  parseMeshKey,
  remoteTaskEnvelope,
  taskScopeKey
} from '@svc/contracts'
import { meshPublicKey, parseMeshPublicKey, signResult, verifyResult } from '@svc/contracts/mesh-signature'
import { schemaCheck } from '@svc/plugin-sdk/check'
import fc from 'fast-check'
import t from 'tap'

const PRIVATE = new Uint8Array(32).fill(7)
const PUBLIC = meshPublicKey(PRIVATE)

t.test('a control URL gets a scheme and loses trailing slashes', async t => {
  t.equal(normalizeControlUrl(' 10.0.0.1:9847/ '), 'http://10.0.0.1:9847')
  t.equal(normalizeControlUrl('https://mesh.example.org/base//'), 'https://mesh.example.org/base')
  t.equal(normalizeControlUrl('http://[::1]:9847'), 'http://[::1]:9847')
  t.same(normalizeControlUrls('a:1, http://a:1/ ,b:2,'), ['http://a:1', 'http://b:2'])
})

t.test('a control URL with an address to listen on, credentials or another scheme is refused', async t => {
  const wrong = [
    '0.0.0.0:9847',
    'http://0:9847',
    'http://0x0.0.0.0',
    'http://[::]:9847',
    'http://[0:0::0]:9847',
    'http://[::ffff:0.0.0.0]:9847',
    'ftp://host',
    'http://user:secret@host:9847',
    'http://host:9847/?token=secret',
    'http://host:9847/#part',
    '',
    'http://'
  ]
  for (const url of wrong) t.throws(() => normalizeControlUrl(url), { code: 'MSH_URL_INVALID' }, url)
  try {
    normalizeControlUrl('http://user:secret@host:9847')
  } catch (error) {
    t.notMatch(JSON.stringify(error) + String(error), /secret/)
  }
})

t.test('a signed result verifies with the public key, and with no other payload, key or digest', async t => {
  const signed = signResult('{"ok":true}', PRIVATE)
  t.equal(verifyResult('{"ok":true}', signed, PUBLIC), 'ok')
  t.equal(verifyResult('{"ok":false}', signed, PUBLIC), 'digest')
  const other = meshPublicKey(new Uint8Array(32).fill(8))
  t.equal(verifyResult('{"ok":true}', signed, other), 'signature')
  const upper = { ...signed, payload_blake3_hex: signed.payload_blake3_hex.toUpperCase() }
  t.equal(verifyResult('{"ok":true}', upper, PUBLIC), 'digest')
})

t.test('malformed signatures are refused and never throw', async t => {
  const signed = signResult('x', PRIVATE)
  const check = (text: string) => verifyResult('x', { ...signed, worker_ed25519_sig_b64: text }, PUBLIC)
  t.equal(check(signed.worker_ed25519_sig_b64), 'ok')
  fc.assert(fc.property(fc.oneof(fc.string(), fc.base64String()), text => check(text) === 'signature'))
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 63 }), fc.integer({ min: 1, max: 255 }), (at, flip) => {
      const bytes = Buffer.from(signed.worker_ed25519_sig_b64, 'base64')
      bytes[at] = (bytes[at] as number) ^ flip
      return check(bytes.toString('base64')) === 'signature'
    }),
    { numRuns: 25 }
  )
})

t.test('a key is 64 hex digits or standard base64 of 32 bytes', async t => {
  const hex = Buffer.from(PUBLIC).toString('hex')
  t.same(parseMeshPublicKey(hex, 'KEY'), PUBLIC)
  t.same(parseMeshPublicKey(hex.toUpperCase(), 'KEY'), PUBLIC)
  t.same(parseMeshPublicKey(Buffer.from(PUBLIC).toString('base64'), 'KEY'), PUBLIC)
  for (const text of ['', 'zz', hex.slice(2), `${hex}00`, Buffer.alloc(31).toString('base64')])
    t.throws(() => parseMeshKey(text, 'KEY'), { code: 'MSH_KEY_INVALID' })
  t.throws(() => parseMeshPublicKey('00'.repeat(32), 'KEY'), { code: 'MSH_KEY_INVALID' }, 'a point of small order')
  t.throws(() => parseMeshPublicKey(`01${'00'.repeat(31)}`, 'KEY'), { code: 'MSH_KEY_INVALID' }, 'the identity')
  t.throws(() => parseMeshPublicKey('ff'.repeat(32), 'KEY'), { code: 'MSH_KEY_INVALID' })
})

t.test('unknown fields of a record and of its capabilities are accepted, wrong types are not', async t => {
  const check = schemaCheck(nodeRecord)
  const record = {
    id: 'n',
    capabilities: { labels: ['a'], teleport: true },
    version: '1',
    last_seen_unix_ms: 1,
    more: {}
  }
  t.equal(check(record).ok, true)
  t.equal(check({ ...record, gpu_total_count: -1 }).ok, false)
  t.equal(check({ ...record, maintenance: 'yes' }).ok, false)
  t.equal(check({ ...record, id: 'a\u0000b' }).ok, false)
  t.equal(check({ ...record, capabilities: undefined }).ok, false)
  t.equal(schemaCheck(deliverBody)({ sender_agent_id: '1', receiver_agent_id: '2', message_type: 'm' }).ok, false)
  t.equal(schemaCheck(remoteTaskEnvelope)({ idempotency_key: '', task_id: 1 }).ok, false)
})

t.test('timed maintenance ends by itself', async t => {
  t.equal(isInMaintenance({ maintenance: true }, 5), true)
  t.equal(isInMaintenance({ maintenance: true, maintenance_until_unix_ms: 5 }, 5), false)
  t.equal(isInMaintenance({ maintenance_until_unix_ms: 50 }, 5), false)
  t.equal(taskScopeKey('repo', 4), 'task:repo:4')
})

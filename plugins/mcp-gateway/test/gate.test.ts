import assert from 'node:assert/strict'
import { TokenBuckets } from '@svc/contracts'
import fc from 'fast-check'
import t from 'tap'
import { clientKey, Gate } from '#gate'

t.test('a bucket allows one burst and then the rate, for any sequence of times', t => {
  const step = fc.record({ client: fc.constantFrom('a', 'b'), wait: fc.nat({ max: 90_000 }) })
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 20 }), fc.array(step, { maxLength: 200 }), (perMinute, steps) => {
      let now = 0
      const buckets = new TokenBuckets(perMinute, () => now)
      const given = new Map<string, number[]>()
      for (const { client, wait } of steps) {
        now += wait
        const taken = given.get(client) ?? []
        given.set(client, taken)
        const until = buckets.take(client)
        if (until === 0) taken.push(now)
        else {
          assert.ok(until > 0 && until <= 60_000 / perMinute)
          const before = now
          now += until + 1
          assert.equal(buckets.take(client), 0, 'a token is available after the announced wait')
          taken.push(now)
          assert.ok(now > before)
        }
      }
      // In any interval, a client gets at most the burst plus the refill.
      for (const taken of given.values()) {
        for (let from = 0; from < taken.length; from++) {
          for (let to = from; to < taken.length; to++) {
            const span = (taken[to] as number) - (taken[from] as number)
            assert.ok(to - from + 1 <= perMinute + (span * perMinute) / 60_000 + 1e-6)
          }
        }
      }
    }),
    { numRuns: 100 }
  )
  t.pass()
  t.end()
})

t.test('the number of remembered clients is limited', t => {
  let now = 0
  const buckets = new TokenBuckets(1, () => now, 100)
  for (let client = 0; client < 1_000; client++) buckets.take(`${client}`)
  t.equal(buckets.clients, 100)
  t.ok(buckets.take('999') > 0, 'the newest clients are kept')
  now = 60_000
  buckets.take('new')
  t.equal(buckets.clients, 1, 'clients with a full bucket are dropped first')
  t.end()
})

t.test('clients are distinguished by their address', t => {
  const key = (remoteAddress: string | undefined, forwarded?: string, trust = false): string =>
    clientKey(
      { socket: { remoteAddress }, headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded } } as never,
      trust
    )
  t.equal(key('203.0.113.9'), '203.0.113.9')
  t.equal(key('::ffff:203.0.113.9'), '203.0.113.9')
  t.equal(key('2001:db8:0:1::5'), '2001:db8:0:1::/64')
  t.equal(key('2001:DB8::1:aaaa:bbbb:cccc:dddd'), key('2001:db8:0:1::'))
  t.equal(key('::1'), '0:0:0:0::/64')
  t.equal(key('fe80::1%eth0'), 'fe80:0:0:0::/64')
  t.equal(key('203.0.113.9', '198.51.100.1', false), '203.0.113.9')
  t.equal(key('203.0.113.9', ' 198.51.100.1 , 10.0.0.1', true), '198.51.100.1')
  t.equal(key('203.0.113.9', '198.51.100.1:5123', true), '198.51.100.1')
  t.equal(key('203.0.113.9', '[2001:db8::1]:5123', true), '2001:db8:0:0::/64')
  for (const nonsense of [
    '',
    'unknown',
    '1.2.3',
    '[::1',
    '300.1.1.1',
    '1.2.3.4, '.repeat(3).trim().replace('1.2.3.4', 'x')
  ]) {
    t.equal(key('203.0.113.9', nonsense, true), '203.0.113.9', nonsense)
  }
  t.equal(key(undefined), '')
  t.end()
})

t.test('an Authorization header selects one role or none', t => {
  const role = (authorization?: string, settings: object = { bearer_token: 'w', read_bearer_token: 'r' }) => {
    const gate = new Gate({ host: '127.0.0.1', allowed_origins: [], ...settings } as never, new TokenBuckets(60))
    const request = { headers: { host: 'localhost', authorization }, socket: { remoteAddress: '127.0.0.1' } }
    const verdict = gate.check(request as never, 'tools')
    return verdict.refusal === null ? verdict.role : null
  }
  t.same(
    ['Bearer w', 'bearer  r', 'BEARER w ', 'Bearer x', 'Bearer', 'Basic w', 'w', undefined, 'Bearer w r'].map(each =>
      role(each)
    ),
    ['write', 'read', 'write', null, null, null, null, null, null]
  )
  t.equal(role(undefined, {}), 'write', 'without tokens every caller has all rights')
  t.equal(role('Bearer undefined', { read_bearer_token: 'r' }), null)
  t.equal(role('Bearer r', { read_bearer_token: 'r' }), 'read')
  t.end()
})

t.test('a token in a websocket message is a guess like one in a header', t => {
  const settings = { host: '127.0.0.1', allowed_origins: [], bearer_token: 'w' }
  const gate = new Gate(settings as never, new TokenBuckets(1, () => 0))
  t.match(gate.roleOfToken('wrong', '127.0.0.1'), { status: 401 })
  t.match(gate.roleOfToken('wrong', '127.0.0.1'), { status: 429 })
  t.match(gate.roleOfToken('w', '127.0.0.1'), { status: 429 })
  t.equal(gate.roleOfToken('w', '127.0.0.2'), 'write')
  t.end()
})

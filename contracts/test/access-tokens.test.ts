import { AccessTokens, clientKeyOf, hostName, isLoopback, TokenBuckets } from '@svc/contracts'
import t from 'tap'

const LONG = 'x'.repeat(22)

t.test('a short token is not compared while a client is over its limit; other clients are not affected', t => {
  let now = 0
  const tokens = new AccessTokens(['pin', LONG], new TokenBuckets(60, () => now))
  for (let guess = 0; guess < 60; guess += 1)
    t.same(tokens.check(`wrong ${guess}`, '127.0.0.1'), { index: null, waitMs: 0 }, `guess ${guess}`)
  t.match(tokens.check('wrong', '127.0.0.1'), { index: null, waitMs: 1_000 })
  t.match(tokens.check('pin', '127.0.0.1'), { index: null, waitMs: 1_000 }, 'the right token is not compared')
  t.match(tokens.check('pin', '::ffff:127.0.0.1'), { index: null, waitMs: 1_000 }, 'the same address')
  t.same(tokens.check(LONG, '127.0.0.1'), { index: 1, waitMs: 0 }, 'a long token is always compared')
  t.same(tokens.check('pin', '127.0.0.2'), { index: 0, waitMs: 0 })
  now += 1_000
  t.same(tokens.check('pin', '127.0.0.1'), { index: 0, waitMs: 0 }, 'a second later one guess is allowed')
  t.same(tokens.check('pin', '127.0.0.1'), { index: 0, waitMs: 0 }, 'a right token is no guess')
  t.end()
})

t.test('addresses of one IPv6 network share a limit', t => {
  t.equal(clientKeyOf('2001:db8:1:2::1'), clientKeyOf('2001:db8:1:2:ffff::9'))
  t.not(clientKeyOf('2001:db8:1:2::1'), clientKeyOf('2001:db8:1:3::1'))
  t.equal(clientKeyOf(clientKeyOf('2001:db8::1')), clientKeyOf('2001:db8::1'))
  t.end()
})

t.test('only addresses of this machine and localhost are loopback', t => {
  for (const host of ['localhost', 'LOCALHOST', '127.0.0.1', '127.8.9.10', '::1', '[::1]', '::ffff:127.0.0.1'])
    t.equal(isLoopback(host), true, host)
  for (const host of [
    '127.999.999.999',
    '127.1',
    '127.0.0.1.evil.example',
    '127.0.0.1:80',
    'localhost.evil.example',
    '126.0.0.1',
    '[127.0.0.1',
    '0.0.0.0',
    '::',
    '[::2]',
    ''
  ])
    t.equal(isLoopback(host), false, host)
  t.end()
})

t.test('the host of a Host header has no port', t => {
  t.same(['A.example:80', 'a.example', '[::1]:3847', '[::1]'].map(hostName), [
    'a.example',
    'a.example',
    '[::1]',
    '[::1]'
  ])
  t.end()
})

import { inspect } from 'node:util'
import { isSvcError } from '@svc/plugin-sdk'
import fc from 'fast-check'
import t from 'tap'
import { type AddressOptions, parseServerAddress } from '#root'

const parse = (url: string, options: Partial<AddressOptions> = {}) =>
  parseServerAddress({ url, folder: '/nowhere', ...options })

t.test('reads hosts, user, password and database', async t => {
  const address = parse('postgres://ann%40x:p%3A%2F@db1:5433,[::1],10.0.0.2:5434/mesh?sslmode=require')
  t.same(address.hosts, [
    { host: 'db1', port: 5433 },
    { host: '::1', port: 5432 },
    { host: '10.0.0.2', port: 5434 }
  ])
  t.match(address, { user: 'ann@x', password: 'p:/', database: 'mesh' })
  t.equal(address.location, 'postgres://db1:5433,[::1]:5432,10.0.0.2:5434/mesh')
})

t.test('uses defaults, and a password of the settings', async t => {
  t.match(parse('postgresql://ann@localhost'), { database: 'ann', password: null, hosts: [{ port: 5432 }] })
  t.equal(parse('postgres://ann@localhost/m', { password: 'x' }).password, 'x')
  t.match(parse('postgres://ann@:5433/m?host=%2Fvar%2Frun%2Fpostgresql'), {
    hosts: [{ host: '/var/run/postgresql', port: 5433 }]
  })
})

t.test('encrypts and verifies unless the server is on this machine', async t => {
  t.equal(parse('postgres://a@127.0.0.1/m').tls('127.0.0.1'), false)
  t.equal(parse('postgres://a@/m?host=/run').tls('/run'), false)
  t.match(parse('postgres://a@db/m').tls('db'), { rejectUnauthorized: true })
  t.match(parse('postgres://a@127.0.0.1/m?sslmode=verify-full').tls('127.0.0.1'), { rejectUnauthorized: true })
  t.match(parse('postgres://a@db/m?sslmode=require').tls('db'), { rejectUnauthorized: false })
  t.equal(parse('postgres://a@db/m?sslmode=disable').tls('db'), false)
  const chain = parse('postgres://a@db/m?sslmode=verify-ca').tls('db')
  t.ok(chain !== false && chain.rejectUnauthorized === true && chain.checkServerIdentity !== undefined)
})

for (const [problem, url, options] of [
  ['another scheme', 'mysql://a@db/m'],
  ['no user', 'postgres://db/m'],
  ['no host', 'postgres://a@/m'],
  ['a port that is too high', 'postgres://a@db:70000/m'],
  ['a host with two ports', 'postgres://a@db:1:2/m'],
  ['an unknown parameter', 'postgres://a@db/m?target_session_attrs=any'],
  ['a parameter twice', 'postgres://a@db/m?sslmode=require&sslmode=disable'],
  ['encryption that depends on the server', 'postgres://a@db/m?sslmode=prefer'],
  ['an unknown sslmode', 'postgres://a@db/m?sslmode=yes'],
  ['a percent sign that encodes nothing', 'postgres://a:%zz@db/m'],
  ['two hosts', 'postgres://a@db/m?host=/run'],
  ['two passwords', 'postgres://a:b@db/m', { password: 'c' }],
  ['a certificate without its key', 'postgres://a@db/m?sslcert=x.pem'],
  ['a folder below the database', 'postgres://a@db/m/n'],
  ['too many hosts', `postgres://a@${Array.from({ length: 17 }, () => 'db').join(',')}/m`]
] as const)
  t.test(`refuses a URL with ${problem}`, async t => {
    t.throws(() => parse(url, options), { code: 'CPG_URL_INVALID', at: { path: 'coordination.url' } })
  })

t.test('names a certificate file that cannot be read', async t => {
  const options = { caFile: 'ca.pem', folder: '/nowhere' }
  t.throws(() => parse('postgres://a@db/m', options), { code: 'CPG_CA_UNREADABLE', message: /\/nowhere\/ca\.pem/ })
})

t.test('no error shows the password', async () => {
  const secret = fc.stringMatching(/^[a-z0-9]{12,20}$/)
  fc.assert(
    fc.property(secret, fc.string({ maxLength: 40 }), fc.string({ maxLength: 40 }), (password, before, after) => {
      try {
        parse(`postgres://${before}:${password}@${after}`)
      } catch (error) {
        if (!isSvcError(error)) throw error
        if (inspect(error, { depth: 10, showHidden: true }).includes(password)) throw new Error('the password is shown')
      }
    })
  )
})

t.test('a password with an unescaped question mark is not shown as the name of a parameter', async t => {
  try {
    parse('postgres://me@corp:pa?ss-word@db/m')
    t.fail('it must be refused')
  } catch (error) {
    t.match(error, { code: 'CPG_URL_INVALID', message: /unknown parameter/ })
    t.notMatch(inspect(error, { depth: 10, showHidden: true }), /ss-word/)
  }
})

t.test('any text is a valid URL or a typed error', async () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.string().map(rest => `postgres://${rest}`)
      ),
      url => {
        try {
          const { hosts, user } = parse(url)
          return hosts.length > 0 && user !== ''
        } catch (error) {
          return isSvcError(error, 'CPG_URL_INVALID') || isSvcError(error, 'CPG_CA_UNREADABLE')
        }
      }
    )
  )
})

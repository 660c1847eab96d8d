import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type KernelLogger, MaskedSecrets } from '@svc/kernel/testing'
import { SvcError, t as s } from '@svc/plugin-sdk'
import { secretsIn } from '@svc/plugin-sdk/check'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { withoutColour } from '#cli'
import { createLogger } from '#host'

async function logged(
  t: Test,
  write: (log: KernelLogger) => void,
  format: 'json' | 'pretty' = 'json'
): Promise<string> {
  const file = join(t.testdir({}), 'log')
  const descriptor = openSync(file, 'a')
  t.teardown(() => closeSync(descriptor))
  const log = await createLogger({ level: 'debug', format, descriptor })
  write(log)
  log.flush()
  return readFileSync(file, 'utf8')
}
const parsed = (text: string): Record<string, any>[] =>
  text
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))

t.test('a line has time, level, plugin and message', async t => {
  const [first, second] = parsed(
    await logged(t, log => {
      log.info('hello', { n: 1 })
      log.forPlugin('web').warn('careful')
    })
  )
  t.match(first, { level: 30, time: /^\d{4}-.*Z$/, msg: 'hello', n: 1 })
  t.notOk(first && 'plugin' in first)
  t.match(second, { level: 40, plugin: 'web', msg: 'careful' })
})

t.test('a plugin cannot override the fields of the log', async t => {
  const text = await logged(t, log =>
    log.forPlugin('web').info('hello', { plugin: 'bank', level: 60, time: 'never', msg: 'other', 'a\nb': 1 })
  )
  const [line] = parsed(text)
  t.match(line, { plugin: 'web', level: 30, msg: 'hello', plugin_: 'bank', level_: 60, time_: 'never', msg_: 'other' })
  t.equal(text.trim().split('\n').length, 1)
})

t.test('setLevel applies to existing loggers', async t => {
  const lines = parsed(
    await logged(t, log => {
      const web = log.forPlugin('web')
      web.debug('one')
      log.setLevel('warn')
      web.info('two')
      log.forPlugin('other').info('three')
      web.warn('four')
    })
  )
  t.same(
    lines.map(line => line.msg),
    ['one', 'four']
  )
})

t.test('errors in any field are logged with their causes and without data', async t => {
  const root = new SvcError('DB_BROKEN', 'no table', { hint: 'migrate', data: { input: 'private' }, plugin: 'db' })
  const loop = new Error('loop')
  loop.cause = loop
  const [line] = parsed(
    await logged(t, log =>
      log.error('it failed', {
        error: new Error('outer', { cause: root }),
        more: { inner: new AggregateError([root, 'text'], 'many') },
        loop,
        compiler: Object.assign(new Error('1 error: no bracket'), { errors: [{ text: 'no bracket' }] })
      })
    )
  )
  t.match(line, {
    error: {
      message: 'outer',
      stack: /log\.test/,
      cause: { code: 'DB_BROKEN', message: 'no table', hint: 'migrate', plugin: 'db' }
    },
    more: { inner: { message: 'many', errors: [{ code: 'DB_BROKEN' }, 'text'] } },
    loop: { message: 'loop' },
    compiler: { message: '1 error: no bracket', errors: undefined }
  })
  t.notMatch(JSON.stringify(line), /private/)
})

t.test(
  'masks fields that are named like secrets at any depth, except booleans; similar names are not masked',
  async t => {
    const [line] = parsed(
      await logged(t, log =>
        log.info('x', {
          Authorization: 'Bearer abc',
          headers: { cookie: 'abc', 'set-cookie': ['abc'], 'x-api-key': 'abc', accept: 'json' },
          deep: [{ deeper: { access_token: 'abc', clientSecret: 'abc', client_secret: 'abc', apiKey: 'abc' } }],
          credentials: { user: 'abc' },
          password: 1234,
          pin: { secret: 12345678901n, 'api-key': [17] },
          token: true,
          max_tokens: 5,
          tokens: 'three'
        })
      )
    )
    const text = JSON.stringify(line)
    t.equal(text.split('abc').length - 1, 1, text)
    t.equal(line?.deep[0].deeper.clientSecret, 'abc', 'this camelCase name is not recognised')
    t.match(line, { password: '***', pin: { secret: '***', 'api-key': '***' }, token: true })
    t.match(line, { max_tokens: 5, tokens: 'three', headers: { accept: 'json' }, credentials: '***' })
  }
)

t.test('for any fields: no line contains a known secret', async t => {
  const secrets = fc.string({ minLength: 6, maxLength: 30, unit: 'binary' }).filter(text => !/^[\s*]*$/.test(text))
  const file = join(t.testdir({}), 'log')
  const descriptor = openSync(file, 'a')
  t.teardown(() => closeSync(descriptor))
  const log = await createLogger({ level: 'debug', format: 'json', descriptor })
  const fixed = ['hunter22', 'a"b\\c/d', 'line\nbreak', 'tab\tand ünï', '(.*)+?[x]{2}|^$']
  for (const secret of [...fixed, ...fc.sample(secrets, 100)]) {
    log.secrets.add(secret)
    const before = readFileSync(file, 'utf8').length
    log.forPlugin('web').error(`cannot log in with ${secret} at all`, {
      url: `https://user:${secret}@host`,
      error: new Error(`bad ${secret}`, { cause: new SvcError('X', secret) }),
      [secret]: 1,
      nested: [{ secret: secret, text: secret }]
    })
    const text = readFileSync(file, 'utf8').slice(before)
    t.notOk(text.includes(JSON.stringify(secret).slice(1, -1)), 'in JSON')
    t.notOk(text.includes(secret), 'no line contains the secret')
    t.ok(text.includes('***'))
  }
})

t.test('secrets are also masked in pretty lines', async t => {
  const text = await logged(
    t,
    log => {
      log.secrets.add('hunter22')
      log.forPlugin('web').warn('password is hunter22', { error: new Error('hunter22') })
    },
    'pretty'
  )
  t.match(text, /\[web\] password is \*\*\*/)
  t.notMatch(text, /hunter22/)
})

t.test('a pretty line is one line, with details of errors below', async t => {
  const reason = Object.assign(new Error('listen EADDRINUSE'), { code: 'EADDRINUSE', syscall: 'listen' })
  const inner = new SvcError('DMN_PORT_IN_USE', 'port 1 is in use', { hint: 'take another', cause: reason })
  const outer = new SvcError('DMN_PORT_IN_USE', 'web: port 1 is in use', { ...inner, plugin: 'web', cause: inner })
  const text = await logged(
    t,
    log => {
      log.info('generation 1', { units: 2, added: ['web', 'bank'], replaced: [], removed: [], note: 'two words' })
      log.forPlugin('web').error(outer.message, { error: outer })
      log.error('at a.ts:3:2: no bracket\n3 | f(\n     ^', { code: 'LDR_BUILD_FAILED', hint: 'close it' })
      log.warn('careful', { hint: 'look', url: '/x\u001b[2J' })
      log.error('it failed', { error: new Error('oh', { cause: 'so it is' }) })
    },
    'pretty'
  )
  const lines = withoutColour(text)
    .replace(/^\[[\d:.]+\] /gm, '')
    .split('\n')
  t.same(lines.slice(0, 11), [
    'INFO: generation 1  units=2  added=web,bank  note="two words"',
    'ERROR: [web] port 1 is in use  code=DMN_PORT_IN_USE',
    '    hint: take another',
    '    caused by: listen EADDRINUSE (EADDRINUSE)',
    'ERROR: at a.ts:3:2: no bracket  code=LDR_BUILD_FAILED',
    '3 | f(',
    '     ^',
    '    hint: close it',
    'WARN: careful  url=/x[2J',
    '    hint: look',
    'ERROR: it failed'
  ])
  t.match(lines[11], /^ {4}Error: oh$/)
  t.match(lines[12], /^ +at .*log\.test/)
  t.ok(lines.includes('    caused by: so it is'))
})

t.test('short secrets are not masked, and a secret may contain another', t => {
  const secrets = new MaskedSecrets()
  for (const secret of ['yes', 'abcdef', 'abcdefgh']) secrets.add(secret)
  t.equal(secrets.mask('yes: abcdefgh, abcdef, abcde'), 'yes: ***, ***, abcde')
  t.end()
})

t.test('secretsIn finds all secrets that a schema marks', t => {
  const schema = s.object({
    password: s.secret(),
    name: s.string(),
    list: s.array(s.object({ key: s.secret() })),
    map: s.record(s.secret()),
    maybe: s.nullable(s.secret()),
    either: s.union([s.object({ token: s.secret() }), s.integer()])
  })
  const settings = {
    password: 'one',
    name: 'not',
    list: [{ key: 'two' }, { key: 'three' }],
    map: { a: 'four' },
    maybe: 'five',
    either: { token: 'six' },
    unknown: 'not'
  }
  t.same([...secretsIn(schema, settings)].sort(), ['five', 'four', 'one', 'six', 'three', 'two'])
  t.same([...secretsIn(schema, null)], [])
  t.end()
})

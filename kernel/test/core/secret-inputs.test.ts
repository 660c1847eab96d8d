import { MaskedSecrets, openTestKernel, World } from '@svc/kernel/testing'
import { defineOperation, definePlugin, t as schema } from '@svc/plugin-sdk'
import fc from 'fast-check'
import t from 'tap'

t.test('a secret of an input appears in no log line', async t => {
  const login = defineOperation({
    id: 'demo.login',
    summary: 'x',
    input: schema.object({ user: schema.string(), password: schema.secret() }),
    output: schema.object({}),
    effect: 'write'
  })
  const plugin = definePlugin({
    name: 'demo',
    operations: [login],
    activate(ctx) {
      ctx.implement(login, ({ user, password }) => {
        ctx.log.info(`login of ${user} with ${password}`)
        throw new Error(`no entry with ${password}`)
      })
    }
  })
  const test = await openTestKernel({ plugins: [plugin] })
  t.teardown(() => test.close())
  const principal = { id: 'x', role: 'user', scopes: [] }
  const input = { user: 'ada', password: 'correct horse' }
  await t.rejects(test.kernel.invoke('demo.login', input, { surface: 'http', principal }), { code: 'OPR_FAILED' })
  const messages = test.lines.map(({ message }) => message).join('\n')
  t.match(messages, /login of ada with \*\*\*/)
  t.notMatch(messages, /correct horse/)
})

t.test('a secret is masked at all positions, in plain text and in JSON', t => {
  const secrets = new MaskedSecrets()
  t.equal(secrets.mask('nothing is known yet'), 'nothing is known yet')
  secrets.add('pass"word')
  t.equal(secrets.mask('a pass"word, and {"p":"pass\\"word"}'), 'a ***, and {"p":"***"}')
  secrets.add('a.b*c+d?(e)[f]{g}|h^i$j/k-l\\m')
  t.equal(secrets.mask('is a.b*c+d?(e)[f]{g}|h^i$j/k-l\\m here'), 'is *** here')
  t.equal(secrets.mask('aXb*c+d?(e)[f]{g}|h^i$j/k-l\\m'), 'aXb*c+d?(e)[f]{g}|h^i$j/k-l\\m')
  t.end()
})

t.test('a secret of five characters is not masked, since it may be part of other words', t => {
  const secrets = new MaskedSecrets()
  secrets.add('12345')
  secrets.addFromInput('abcde')
  t.equal(secrets.mask('12345 abcde'), '12345 abcde')
  secrets.add('123456')
  secrets.addFromInput('abcdef')
  t.equal(secrets.mask('123456 abcdef 12345'), '*** *** 12345')
  t.end()
})

t.test('the longer of two secrets is masked first, so that no part of it remains', t => {
  const secrets = new MaskedSecrets()
  secrets.add('secret')
  secrets.add('secret-of-ada')
  t.equal(secrets.mask('secret-of-ada and secret'), '*** and ***')
  t.end()
})

t.test('the last 256 secrets of inputs are remembered, and a repeated one counts as new', t => {
  const secrets = new MaskedSecrets()
  const name = (index: number): string => `passing-${String(index).padStart(4, '0')}`
  for (let index = 0; index < 256; index++) secrets.addFromInput(name(index))
  t.equal(secrets.mask(name(0)), '***')
  secrets.addFromInput(name(0))
  secrets.addFromInput(name(256))
  t.equal(secrets.mask(name(0)), '***', 'a repeated secret is still masked')
  t.equal(secrets.mask(name(1)), name(1), 'the oldest secret is no longer masked')
  t.equal(secrets.mask(name(2)), '***')
  t.end()
})

t.test('a secret of the settings is always masked, even if it was also a secret of an input', t => {
  const secrets = new MaskedSecrets()
  secrets.addFromInput('of-the-settings')
  secrets.add('of-the-settings')
  secrets.add('of-the-settings')
  for (let index = 0; index < 600; index++) secrets.addFromInput(`passing-${index}`)
  secrets.addFromInput('of-the-settings')
  t.equal(secrets.mask('of-the-settings'), '***')
  t.equal(secrets.mask('passing-1'), 'passing-1')
  t.end()
})

t.test('for any secrets and text, no secret remains', t => {
  const secret = fc.stringMatching(/^[ -~]{6,14}$/)
  fc.assert(
    fc.property(
      fc.array(secret, { minLength: 1, maxLength: 5 }),
      fc.array(fc.string(), { maxLength: 6 }),
      (all, texts) => {
        const secrets = new MaskedSecrets()
        for (const each of all) secrets.add(each)
        // Secrets of asterisks are excluded, since they look like the mask.
        const known = all.filter(each => !'***'.includes(each) && !/^[* ]+$/.test(each))
        const masked = secrets.mask(texts.map((text, index) => `${text} ${all[index % all.length]}`).join('|'))
        const text = JSON.stringify({ all })
        return known.every(each => !masked.includes(each)) && known.every(each => !secrets.mask(text).includes(each))
      }
    )
  )
  t.end()
})

const login = (activations: string[]) =>
  definePlugin({
    name: 'login',
    config: schema.object({ password: schema.secret(), user: schema.string() }),
    activate(ctx) {
      activations.push(ctx.config.password)
      ctx.log.info(`begins as ${ctx.config.user} with ${ctx.config.password}`)
      if (activations.length > 1) throw new Error(`refused: ${ctx.config.password}`)
    }
  })

t.test('a secret setting is masked in logs and in the error of an activation', async t => {
  const activations: string[] = []
  const world = new World(t).put(login(activations)).configure({
    login: { settings: { password: 'correct horse', user: 'ada' } }
  })
  await world.apply()
  t.same(activations, ['correct horse'])
  t.match(world.lines.at(0), { plugin: 'login', message: 'begins as ada with ***' })
  const error = await world.kernel.change({ forced: ['login'] }).catch((caught: Error) => caught)
  t.match(error, { code: 'KRN_ACTIVATE_FAILED', message: /login failed to activate: refused: \*\*\*/ })
  t.notMatch(world.why('login'), /correct horse/)
})

t.test('a secret is masked in percent-encoded, JSON-escaped and Base64 form', t => {
  const secrets = new MaskedSecrets()
  const password = 'PASS/WORD "one" é+'
  secrets.add(password)
  const url = new URL(`http://localhost/?p=${encodeURIComponent(password)}&q=1`)
  const form = new URLSearchParams({ p: password }).toString()
  const base64 = (text: string, encoding: BufferEncoding = 'base64'): string => Buffer.from(text).toString(encoding)
  const cases: Readonly<Record<string, readonly [text: string, masked: string | RegExp]>> = {
    'component of a URL': [`GET ${url.pathname}${url.search}`, 'GET /?p=***&q=1'],
    'lower-case digits': [
      `?p=${encodeURIComponent(password).toLowerCase().replace('pass', 'PASS').replace('word', 'WORD')}`,
      '?p=***'
    ],
    'path of a URL': [encodeURI(password), '***'],
    'encoded twice': [encodeURIComponent(encodeURIComponent(password)), '***'],
    'every character encoded': [[...Buffer.from(password)].map(byte => `%${byte.toString(16)}`).join(''), '***'],
    form: [`${form}&q=1`, 'p=***&q=1'],
    'JSON in JSON': [JSON.stringify(JSON.stringify({ p: password })), '"{\\"p\\":\\"***\\"}"'],
    'ASCII JSON': [JSON.stringify(password).replace('é', '\\u00e9'), '"***"'],
    Base64: [`token ${base64(password)}`, /^token \*\*\*.?=*$/],
    Base64url: [base64(password, 'base64url'), /^\*\*\*.?$/],
    'Basic authentication': [`Basic ${base64(`ada:${password}`)}`, /^Basic .{1,6}\*\*\*.{0,2}$/],
    'another offset': [base64(`x:${password}.`), /^.{1,4}\*\*\*.{0,4}$/]
  }
  for (const [name, [text, masked]] of Object.entries(cases)) t.match(secrets.mask(text), masked, name)
  t.equal(secrets.mask('PASS%2FWORLD, 100 % + 1'), 'PASS%2FWORLD, 100 % + 1', 'other texts stay')
  t.end()
})

t.test('an encoded secret is masked as a whole if a part of it is another secret', t => {
  const secrets = new MaskedSecrets()
  secrets.add('secret')
  secrets.add('secret/of ada')
  t.equal(secrets.mask('?p=secret%2Fof%20ada'), '?p=***')
  t.end()
})

t.test('for any secret: its usual encodings contain nothing of it after masking', t => {
  fc.assert(
    fc.property(fc.string({ minLength: 6, maxLength: 40, unit: 'grapheme' }), secret => {
      const secrets = new MaskedSecrets()
      secrets.addFromInput(secret)
      const encoded = [
        secret,
        encodeURIComponent(secret),
        new URLSearchParams({ s: secret }).toString().slice(2),
        JSON.stringify(secret).slice(1, -1)
      ]
      return encoded.every(text => secrets.mask(`<${text}>`) === '<***>')
    }),
    { numRuns: 300 }
  )
  t.end()
})

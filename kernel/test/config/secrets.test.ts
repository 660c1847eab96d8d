import { MASK } from '@svc/config'
import { secretBackend, secretsResolver } from '@svc/contracts'
import { t as schema } from '@svc/plugin-sdk'
import fc from 'fast-check'
import t from 'tap'
import { configSchema } from '#host'
import { plugin, project, web } from './project.ts'

const vault = plugin(
  'vault',
  schema.object({
    token: schema.optional(schema.secret({ pattern: '^[a-z]+$', maxLength: 40, 'x-env': 'SVC_VAULT_TOKEN' })),
    url: schema.optional(schema.string({ format: 'uri' })),
    mode: schema.optional(schema.enum(['a', 'b'])),
    pin: schema.optional(schema.nullable(schema.secret({ minLength: 4 }))),
    keys: schema.record(schema.secret(), { default: {} }),
    accounts: schema.array(schema.object({ user: schema.string(), password: schema.secret() }), { default: [] }),
    login: schema.optional(
      schema.object({ user: schema.string({ default: '' }), password: schema.optional(schema.secret()) })
    ),
    group: schema.optional({ ...schema.object({ inner: schema.optional(schema.string()) }), 'x-secret': true }),
    size: schema.optional(schema.integer())
  })
)

t.test('for any invalid file: no output contains a secret', async t => {
  // Each secret contains a unique marker.
  const secret = fc.stringMatching(/^[ -~]{0,12}$/).map(text => `${text}Zq7Zq${text}`)
  const quoted = (text: string): string => JSON.stringify(text)
  const line = secret.chain(value => {
    const it = quoted(value)
    return fc.constantFrom(
      `token = ${it}`,
      `tokne = ${it}`,
      `token = [${it}]`,
      `token = { a = ${it} }`,
      `token.deep = ${it}`,
      `pin = ${it}`,
      `keys = { a = ${it} }`,
      `keys = ${it}`,
      `keys.a = { b = ${it} }`,
      `accounts = [{ user = "u", password = ${it} }]`,
      `accounts = [{ password = ${it}, pasword = ${it} }]`,
      `accounts = ${it}`,
      `accounts = [${it}]`,
      `login = ${it}`,
      `login.password = ${it}`,
      `login.password = [[${it}]]`,
      `group = ${it}`,
      `group.inner = ${it}`,
      `group.inner = [${it}]`,
      // Invalid TOML: the excerpt in the error must not contain the secret.
      `token = "${value.replaceAll('"', '')}`,
      `token = Zq7Zq`,
      `token Zq7Zq`,
      `keys = { a = ${it}`,
      `token = ${it} ${it}`
    )
  })
  const env = fc.option(secret, { nil: undefined })
  const here = project(t)
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 3 }), env, async (lines, variable) => {
      const { writeFileSync } = await import('node:fs')
      writeFileSync(here.path('svc.toml'), `[plugins.vault]\n${lines.join('\n')}\n`)
      const set = lines.flatMap(text => [`plugins.vault.${text}`, text])
      const config = here.resolve([vault], { set, env: { SVC_VAULT_TOKEN: variable } })
      const settings = config.settings()
      const errors: unknown[] = []
      await config.plugins
        .get('vault')
        ?.settings(async () => 'Zq7Zq 1')
        .catch(error => errors.push(String(error), error))
      const explanations = settings.map(({ key }) => config.explain(key))
      const { error, problems } = config.plugins.get('vault')!
      const all = JSON.stringify([
        settings,
        explanations,
        config.problems,
        problems,
        error,
        errors,
        configSchema([vault])
      ])
      if (all.includes('Zq7Zq')) throw new Error(all.slice(Math.max(0, all.indexOf('Zq7Zq') - 300)))
    }),
    { numRuns: 300 }
  )
})

t.test('a masked setting shows its origin', async t => {
  const here = project(t, { 'svc.toml': '[plugins.web]\ntoken = "long enough"\n' })
  t.match(here.resolve([web]).explain('web.token'), { value: MASK, secret: true, place: 'svc.toml:2:1' })
  t.match(here.resolve([web], { set: ['plugins.web.token=another one'] }).explain('web.token'), {
    value: MASK,
    place: '--set plugins.web.token',
    overrides: [{ layer: 'project', value: MASK }]
  })
  t.match(project(t).resolve([web]).explain('web.token'), { value: null }, 'an absent secret is shown as null')
})

t.test('a secret reference is shown unmasked', t => {
  const here = project(t, {
    'svc.toml': [
      '[plugins.vault]',
      'token = "secret://env/TOKEN"',
      'keys = { a = "secret://env/A", b = "secret://env/B" }',
      'accounts = [{ user = "u", password = "secret://env/PASSWORD" }]'
    ].join('\n')
  })
  const config = here.resolve([vault], { set: ['plugins.vault.token=secret://env/OTHER'] })
  t.match(config.explain('vault.token'), {
    value: 'secret://env/OTHER',
    secret: true,
    overrides: [{ layer: 'project', value: 'secret://env/TOKEN' }]
  })
  t.same(config.explain('vault.keys').value, { a: 'secret://env/A', b: 'secret://env/B' })
  t.equal(config.explain('vault.accounts').value, MASK, 'a table with a value that is no reference is masked')
  const listed = config.settings('plugins.vault').map(({ key, value }) => [key, value])
  t.equal(Object.fromEntries(listed)['plugins.vault.token'], 'secret://env/OTHER')
  const refused = here.resolve([vault], { set: ['plugins.vault.token=secret://env'] }).explain('vault.token')
  t.match(refused, { value: null, refused: { value: MASK } }, 'an incomplete reference is masked')
  t.end()
})

t.test('a setting whose schema is a $ref is treated as a secret', async t => {
  const foreign = plugin('foreign', {
    type: 'object',
    properties: { key: { $ref: '#/$defs/Key' } },
    $defs: { Key: { type: 'string', 'x-secret': true } }
  })
  const config = project(t, { 'svc.toml': '[plugins.foreign]\nkey = "Zq7Zq"\n' }).resolve([foreign])
  t.equal(config.plugins.get('foreign')?.values.key, 'Zq7Zq')
  t.equal(config.explain('foreign.key').value, MASK)
})

t.test('references are collected, and formats, patterns and enums are checked only for resolved secrets', async t => {
  const toml = [
    '[plugins.vault]',
    'token = "secret://env/TOKEN"',
    'url = "secret://env/URL"',
    'mode = "secret://env/MODE"',
    'pin = "secret://env/PIN"',
    'keys = { a = "secret://env/A", b = "plain" }',
    'accounts = [{ user = "u", password = "secret://env/P" }]'
  ].join('\n')
  const config = project(t, { 'svc.toml': toml }).resolve([vault])
  t.strictSame(config.problems, [])
  const own = config.plugins.get('vault')!
  t.same(own.secretBackends, ['env'])
  t.strictSame(
    own.secretReferences.map(({ path, reference }) => `${path.join('.')}=${reference.backend}:${reference.name}`),
    ['token=env:TOKEN', 'url=env:URL', 'mode=env:MODE', 'pin=env:PIN', 'keys.a=env:A', 'accounts.0.password=env:P']
  )
  const values: Record<string, string> = { TOKEN: 'abc', URL: 'https://x.y', MODE: 'b', PIN: '1234', A: 'x', P: 'y' }
  const settings = await own.settings(async ({ name }) => values[name]!)
  t.match(settings, {
    token: 'abc',
    url: 'https://x.y',
    mode: 'b',
    pin: '1234',
    keys: { a: 'x', b: 'plain' },
    accounts: [{ user: 'u', password: 'y' }]
  })
  t.equal(own.values.token, 'secret://env/TOKEN', 'the snapshot keeps the reference')
})

t.test('a reference is invalid for a setting that is no string', async t => {
  const config = project(t, { 'svc.toml': '[plugins.vault]\nsize = "secret://env/SIZE"\n' }).resolve([vault])
  t.match(config.problems, [{ code: 'CFG_VALUE_INVALID', key: 'plugins.vault.size' }])
})

t.test('an invalid secret is rejected with a message that does not contain it', async t => {
  const config = project(t, { 'svc.toml': '[plugins.vault]\ntoken = "secret://env/TOKEN"\n' }).resolve([vault])
  const refused = config.plugins.get('vault')!.settings(async () => 'HUNTER2')
  const message = await refused.catch((error: Error) => error.message)
  await t.rejects(refused, { code: 'CFG_VALUE_INVALID' })
  t.match(message, 'the secret for plugins.vault.token must be a string')
  t.notMatch(message, 'HUNTER2')
})

t.test('errors of the resolver are rethrown', async t => {
  const config = project(t, { 'svc.toml': '[plugins.vault]\ntoken = "secret://env/TOKEN"\n' }).resolve([vault])
  await t.rejects(
    config.plugins.get('vault')!.settings(async () => {
      throw new Error('no such secret')
    }),
    { message: 'no such secret' }
  )
})

t.test('references are rejected in settings of the kernel and of the resolver', async t => {
  const resolver = plugin('secrets', schema.object({ key: schema.optional(schema.secret()) }), {
    provides: [secretsResolver.id]
  })
  const toml = '[kernel]\nrepository_id = "secret://env/A"\n[plugins.secrets]\nkey = "secret://env/B"\n'
  const config = project(t, { 'svc.toml': toml }).resolve([resolver])
  t.match(config.generalProblems, [{ code: 'CFG_SECRET_FORBIDDEN', key: 'kernel.repository_id' }])
  t.match(config.plugins.get('secrets')?.problems, [{ code: 'CFG_SECRET_FORBIDDEN', key: 'plugins.secrets.key' }])
})

t.test('a backend’s settings may refer to other backends, but not to itself', async t => {
  const backend = plugin('vault-server', schema.object({ key: schema.secret(), pin: schema.secret() }), {
    provides: [secretBackend('vault').id]
  })
  const toml = '[plugins.vault-server]\nkey = "secret://env/KEY"\npin = "secret://vault/pin"\n'
  const own = project(t, { 'svc.toml': toml }).resolve([backend]).plugins.get('vault-server')
  t.match(own?.problems, [{ code: 'CFG_SECRET_FORBIDDEN', key: 'plugins.vault-server.pin' }])
  t.equal(own?.problems.length, 1)
  t.same(own?.secretBackends, ['env', 'vault'])
})

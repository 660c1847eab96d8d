import { fromText } from '@svc/config'
import { t as schema } from '@svc/plugin-sdk'
import t from 'tap'
import { plugin, project, type TestLike, web } from './project.ts'

/** Returns the value of a setting and the problems, for an environment. */
function read(test: TestLike, key: string, env: Record<string, string>, toml = '') {
  const config = project(test, { 'svc.toml': toml }).resolve([web], { env })
  return { value: config.plugins.get('web')?.values[key], problems: config.problems, config }
}

t.test('strict booleans accept only true and false', async t => {
  t.equal(fromText('true', schema.boolean({ 'x-env-type': 'strict' })), true)
  t.equal(fromText('false', schema.boolean({ 'x-env-type': 'strict' })), false)
  for (const text of ['1', '0', 'yes', 'TRUE', 'on', 'False', 'truthy']) {
    t.equal(fromText(text, schema.boolean({ 'x-env-type': 'strict' })), undefined, text)
  }
})

t.test('truthy booleans, the default, accept the usual words in any case', async t => {
  for (const options of [{}, { 'x-env-type': 'truthy' } as const]) {
    for (const text of ['1', 'true', 'Yes', 'Y', 'ON']) t.equal(fromText(text, schema.boolean(options)), true, text)
    for (const text of ['0', 'FALSE', 'no', 'n', 'off']) t.equal(fromText(text, schema.boolean(options)), false, text)
    for (const text of ['2', 'ja', 'enabled']) t.equal(fromText(text, schema.boolean(options)), undefined, text)
  }
})

t.test('numbers with trailing characters are invalid', async t => {
  t.equal(fromText('42', schema.integer()), 42)
  t.equal(fromText('-7', schema.integer()), -7)
  for (const text of ['4.5', '4px', '0x10', '1e3', '99999999999999999999', 'NaN', '٣']) {
    t.equal(fromText(text, schema.integer()), undefined, text)
  }
  t.equal(fromText('0.85', schema.number()), 0.85)
  t.equal(fromText('.5', schema.number()), 0.5)
  t.equal(fromText('1e3', schema.number()), 1000)
  for (const text of ['1e999', 'Infinity', '1,5', '.']) t.equal(fromText(text, schema.number()), undefined, text)
})

t.test('enums match in any case and keep their type', async t => {
  t.equal(fromText('SAFE', schema.enum(['fast', 'safe'])), 'safe')
  t.equal(fromText('2', schema.enum([1, 2])), 2)
  t.equal(fromText('other', schema.enum(['fast', 'safe'])), undefined)
})

t.test('lists are comma-separated or JSON', async t => {
  t.strictSame(fromText('a, b ,,c', schema.array(schema.string())), ['a', 'b', 'c'])
  t.strictSame(fromText('1,2', schema.array(schema.integer())), [1, 2])
  t.strictSame(fromText('["a,b"]', schema.array(schema.string())), ['a,b'])
  t.equal(fromText('1,x', schema.array(schema.integer())), undefined)
  t.equal(fromText('[1', schema.array(schema.integer())), undefined)
})

t.test('tables are JSON or key=value pairs', async t => {
  t.strictSame(fromText('{"a": 1}', schema.record(schema.number())), { a: 1 })
  t.strictSame(fromText('latency=0.7, balance = 1', schema.record(schema.number())), { latency: 0.7, balance: 1 })
  for (const text of ['[1]', '{', 'latency', 'latency=x']) {
    t.equal(fromText(text, schema.record(schema.number())), undefined, text)
  }
  t.equal(Object.getPrototypeOf(fromText('__proto__=1', schema.record(schema.number()))), Object.prototype)
})

t.test('unions and optional types use the first matching type', async t => {
  t.equal(fromText('5', schema.nullable(schema.integer())), 5)
  t.equal(fromText('five', schema.nullable(schema.integer())), undefined)
  t.equal(fromText('five', schema.union([schema.integer(), schema.string()])), 'five')
  t.equal(fromText('1', schema.nullable(schema.boolean(), { 'x-env-type': 'strict' })), undefined)
  t.equal(fromText('7', { type: ['integer', 'null'] }), 7)
})

t.test('an invalid value warns, names the variable and keeps the previous value', async t => {
  const cases: [string, string, string, unknown][] = [
    ['SVC_WEB_STRICT', '1', 'strict', true],
    ['SVC_WEB_LOOSE', 'maybe', 'loose', false],
    ['SVC_WEB_PORT', 'abc', 'port', 8080],
    ['SVC_WEB_PORT', '70000', 'port', 8080],
    ['SVC_WEB_RATIO', 'half', 'ratio', 0.5],
    ['SVC_WEB_MODE', 'reckless', 'mode', 'safe'],
    ['SVC_WEB_WEIGHTS', '{"a": "b"}', 'weights', {}]
  ]
  for (const [variable, text, key, expected] of cases) {
    const { value, problems, config } = read(t, key, { [variable]: text }, '[plugins.web]\nport = 8080\n')
    t.strictSame(value, expected, `${variable}=${text}`)
    t.match(problems, [{ severity: 'warning', code: 'CFG_ENV_INVALID', key: `plugins.web.${key}` }])
    t.equal(problems.length, 1)
    t.match(problems[0]?.message, `environment variable ${variable} must be `)
    t.match(problems[0]?.message, `plugins.web.${key} keeps the value of the other layers`)
    t.equal(config.plugins.get('web')?.error, null, 'there is no other problem')
    t.not(config.explain(`plugins.web.${key}`).layer, 'environment')
  }
})

t.test('an invalid variable does not affect valid ones', async t => {
  const { config } = read(t, 'port', { SVC_WEB_PORT: '0', SVC_WEB_RATIO: '0.25', SVC_WEB_HOST: 'a' })
  t.match(config.plugins.get('web')?.values, { port: 3847, ratio: 0.25, host: 'a' })
})

t.test('the first variable takes precedence over its aliases', async t => {
  t.equal(read(t, 'port', { SVC_WEB_PORT: '1', SVC_OLD_WEB_PORT: '2' }).value, 1)
  t.equal(read(t, 'port', { SVC_OLD_WEB_PORT: '2' }).value, 2)
  t.equal(
    read(t, 'port', { SVC_WEB_PORT: 'x', SVC_OLD_WEB_PORT: '2' }).value,
    2,
    'an alias is used if the first variable is invalid'
  )
})

t.test('an empty variable counts as unset, or clears the setting with x-env-empty', async t => {
  t.equal(read(t, 'host', { SVC_WEB_HOST: '  ' }, '[plugins.web]\nhost = "a"\n').value, 'a')
  t.equal(read(t, 'base', {}, '[plugins.web]\nbase = "a"\n').value, 'a')
  t.equal(read(t, 'base', { SVC_WEB_BASE: '' }, '[plugins.web]\nbase = "a"\n').value, undefined)
})

t.test('values are trimmed', async t => {
  t.equal(read(t, 'port', { SVC_WEB_PORT: ' 99 ' }).value, 99)
})

t.test('warns about a variable that resembles a known one', async t => {
  const { problems } = read(t, 'port', { SVC_WEB_PROT: '1', SVC_SOMETHING_ELSE: '1', WEB_PORT: '1' })
  t.match(problems, [{ severity: 'warning', code: 'CFG_ENV_UNKNOWN', hint: 'did you mean SVC_WEB_PORT?' }])
  t.equal(problems.length, 1)
})

t.test('a variable that two settings declare is a problem of the second, which names both', async t => {
  const other = plugin('other', schema.object({ port: schema.integer({ default: 1, 'x-env': 'SVC_WEB_PORT' }) }))
  const config = project(t).resolve([web, other], { env: { SVC_WEB_PORT: '5' } })
  t.match(config.plugins.get('other')?.problems, [{ severity: 'error', code: 'CFG_ENV_CONFLICT' }])
  t.match(config.plugins.get('other')?.error, /SVC_WEB_PORT .* plugins\.web\.port .* plugins\.other\.port/)
  t.equal(config.plugins.get('web')?.error, null)
  t.equal(config.plugins.get('web')?.values.port, 5)
  t.equal(config.plugins.get('other')?.values.port, 1)
  t.strictSame(config.explain('plugins.other.port').env, [])
})

t.test('kernel settings are read from their variables', async t => {
  const { config } = read(t, 'port', { SVC_DATA_DIR: '/data', SVC_REPOSITORY_ID: 'mine' })
  t.match(config.kernel, { data_directory: '/data', repository_id: 'mine' })
})

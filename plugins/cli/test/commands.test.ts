import { kernelAdmin } from '@svc/contracts'
import { fake, type TestKernel, testPlugin } from '@svc/plugin-sdk/testing'
import t, { type Test } from 'tap'
import cli from '#plugin'
import { type FakeAdmin, fakeAdmin, pluginReport } from './fake-admin.ts'

/** Opens the plugin in a serving process, as a daemon does. */
async function open(t: Test, admin: FakeAdmin): Promise<TestKernel> {
  const kernel = await testPlugin(cli, { services: [fake(kernelAdmin, admin)] })
  t.teardown(() => kernel.close())
  return kernel
}

t.test('in a serving process, the actual states of plugins are listed', async t => {
  const kernel = await open(t, fakeAdmin([pluginReport('a', { inFlight: 2 })]))
  t.match(await kernel.callById('kernel.plugins.list', {}), {
    plugins: [{ name: 'a', state: 'active', inFlight: 2 }],
    serving: true,
    note: ''
  })
  t.match(await kernel.callById('kernel.plugins.graph', {}), {
    text: 'a\n└─ b: demo.clock@1'
  })
  t.match(await kernel.callById('kernel.plugins.graph', { dot: true }), {
    text: /^digraph plugins \{[\s\S]*"a" -> "b"/
  })
  t.match(await kernel.callById('kernel.plugins.graph', { mermaid: true }), {
    text: 'graph LR\n  n0["a"]\n  n1["b"]\n  n0 -->|"demo.clock@1"| n1'
  })
  t.match(await kernel.callById('kernel.plugins.why', { subject: 'a' }), { text: 'a is active' })
  t.match(await kernel.callById('kernel.plugins.effects', { name: 'a' }), { text: 'a\n└─ operations' })
  t.match(await kernel.callById('kernel.plugins.top', {}), { plugins: [{ plugin: 'a', calls: 3 }] })
  await t.rejects(kernel.callById('kernel.plugins.effects', { name: 'b' }), { code: 'KRN_PLUGIN_UNKNOWN', status: 404 })
})

t.test('changes are planned or applied and report their steps', async t => {
  const admin = fakeAdmin([pluginReport('a')])
  const kernel = await open(t, admin)
  t.match(await kernel.callById('kernel.plugins.reload', { names: ['a'] }), {
    applied: true,
    replace: ['a'],
    text: 'replace a: requested\ngeneration 2 serves'
  })
  t.match(await kernel.callById('kernel.plugins.disable', { names: ['a'], dryRun: true }), {
    applied: false,
    text: 'nothing to change\ndry run: no changes were made'
  })
  await kernel.callById('kernel.plugins.enable', { names: ['a'], persist: false })
  t.same(admin.changes, [
    { change: { reload: ['a'] }, dryRun: false },
    { change: { disable: ['a'], persist: true }, dryRun: true },
    { change: { enable: ['a'], persist: false }, dryRun: false }
  ])
  await t.rejects(kernel.callById('kernel.plugins.enable', { names: ['b'] }), { code: 'KRN_PLUGIN_UNKNOWN' })
  await t.rejects(kernel.callById('kernel.plugins.enable', { names: [] }), { code: 'OPR_INPUT_INVALID' })
})

t.test('settings and problems are returned as data and as text', async t => {
  const problem = {
    severity: 'error',
    code: 'CFG_KEY_UNKNOWN',
    message: 'no such key',
    file: 'svc.toml',
    line: 3,
    column: 1,
    hint: 'drop it'
  } as const
  const setting = {
    key: 'plugins.a.port',
    plugin: 'a',
    value: 80,
    layer: 'project',
    place: 'svc.toml:2:1',
    env: ['A_PORT'],
    reload: 'plugin',
    secret: false,
    description: 'Port.'
  } as const
  const kernel = await open(
    t,
    fakeAdmin([], {
      validate: async () => [problem],
      settings: () => [setting],
      explain: () => ({
        ...setting,
        schema: { type: 'integer' },
        overrides: [{ layer: 'default', place: null, value: 8080 }]
      })
    })
  )
  t.match(await kernel.callById('kernel.config.list', {}), { settings: [setting] })
  t.match(await kernel.callById('kernel.config.explain', { key: 'plugins.a.port' }), {
    text: 'plugins.a.port = 80\n  from      project, svc.toml:2:1\n  overrides 8080 (default)\n  env       A_PORT\n  reload    plugin\n  about     Port.'
  })
  t.match(await kernel.callById('kernel.config.validate', {}), {
    valid: false,
    text: 'svc.toml:3:1  error CFG_KEY_UNKNOWN  no such key\n    drop it'
  })
  t.match(await kernel.callById('kernel.config.schema', {}), { type: 'object' })
  t.match(await kernel.callById('kernel.doctor', {}), { healthy: false })
})

t.test('a configuration with warnings is valid', async t => {
  const kernel = await open(
    t,
    fakeAdmin([], { validate: async () => [{ severity: 'warning', code: 'CFG_ENV_UNKNOWN', message: 'x' }] })
  )
  t.match(await kernel.callById('kernel.config.validate', {}), { valid: true })
})

t.test('an invalid environment variable of the caller makes the configuration invalid', async t => {
  const problem = {
    severity: 'warning',
    code: 'CFG_ENV_INVALID',
    message: 'A_PORT must be an integer',
    key: 'plugins.a.port'
  } as const
  const setting = { key: 'plugins.a.port', plugin: 'a', value: 80, layer: 'default', place: null, env: ['A_PORT'] }
  const kernel = await open(
    t,
    fakeAdmin([pluginReport('a')], {
      explain: () => ({ ...setting, reload: 'plugin', secret: false, description: '', schema: {}, overrides: [] })
    })
  )
  const callerProblems = [{ ...problem, plugin: 'a' }]
  t.match(await kernel.callById('kernel.config.validate', { callerProblems }), {
    valid: false,
    problems: [{ severity: 'error', code: 'CFG_ENV_INVALID' }],
    text: 'error CFG_ENV_INVALID  A_PORT must be an integer'
  })
  t.match(await kernel.callById('kernel.config.explain', { key: 'plugins.a.port', callerProblems }), {
    value: 80,
    text: /rejected {2}in this shell: A_PORT must be an integer$/
  })
  t.match(await kernel.callById('kernel.plugins.why', { subject: 'a', callerProblems }), {
    reasons: ['a is active', 'in this shell: A_PORT must be an integer']
  })
  t.match(await kernel.callById('kernel.config.validate', {}), { valid: true })
})

t.test('plugins new rejects the name of an existing plugin', async t => {
  const kernel = await open(t, fakeAdmin([pluginReport('http')]))
  await t.rejects(kernel.callById('kernel.plugins.new', { name: 'http' }), {
    code: 'CLI_NAME_TAKEN',
    message: /a plugin named http already exists/,
    hint: 'choose another name, for example my-http'
  })
})

import { openTestProject } from '@svc/kernel/testing'
import t, { type Test } from 'tap'
import { packageJson } from '../fixtures/loader/plugin-folder.ts'

const FREE_PORTS = ['--set', 'plugins.http.port=0', '--set', 'plugins.daemon.socket=127.0.0.1:0']

/** Selects the plugins of a test, and those that commands need in a server. */
const ONLY = ['--only', 'good,other,http,daemon,cli']

const source = (name: string): string => `
import { defineOperation, definePlugin, t } from '@svc/plugin-sdk'
const say = defineOperation({
  id: '${name}.say', summary: 'Say the number', input: t.object({}), output: t.object({ said: t.string() }), effect: 'read',
  expose: { rpc: true, cli: { command: '${name} say', view: { text: 'said' } } }
})
export default definePlugin({
  name: '${name}',
  config: t.object({ n: t.integer({ default: 1, minimum: 1, description: 'A number' }) }),
  operations: [say],
  activate: ctx => ctx.implement(say, () => ({ said: '${name} ' + ctx.config.n }))
})
`

const files = (toml: string) => ({
  'svc.toml': toml,
  'plugins/good/package.json': packageJson('good'),
  'plugins/good/src/plugin.ts': source('good'),
  'plugins/other/package.json': packageJson('other'),
  'plugins/other/src/plugin.ts': source('other')
})

function open(t: Test, toml: string) {
  const project = openTestProject({ files: files(toml) })
  t.teardown(() => project.close())
  return project
}

t.test('a plugin with invalid settings is left out of the start, and starts when they are corrected', async t => {
  const project = open(t, '[plugins.good]\nn = 0\n')
  const served = await project.serve(['--watch', ...ONLY])
  const logged = (text: string) => served.lines.filter(line => line.includes(text))
  t.match(
    logged('CFG_VALUE_INVALID')[0],
    /"level":50.*"plugin":"good".*plugins\.good\.n must be an integer \(minimum 1\), got 0/
  )
  t.equal((await project.svc(['other', 'say'])).stdout, 'other 1\n')
  t.match(await (await fetch(`${served.url}/ready`)).json(), {
    status: 'ready',
    invalid_plugins: [{ name: 'good', state: 'invalid', why: /plugins\.good\.n must be/ }]
  })
  t.match(await (await fetch(`${served.url}/metrics`)).text(), /^svc_plugins\{state="invalid"\} [1-9]/m)
  const shown = /plugins\.good\.n must be an integer \(minimum 1\), got 0/
  t.match((await project.svc(['plugins', 'list'])).stdout, shown)
  t.match((await project.svc(['plugins', 'why', 'good'])).stdout, shown)
  const doctor = await project.svc(['plugins', 'doctor'])
  t.match(doctor.stdout, /^error +plugin good +invalid: .*plugins\.good\.n must be/m)
  t.equal(doctor.code, 1)
  project.write({ 'svc.toml': '[plugins.good]\nn = 2\n' })
  await project.until(() => logged('"added":["good"]').length > 0)
  t.equal((await project.svc(['good', 'say'])).stdout, 'good 2\n')
  t.equal(await served.stop(), 0)
})

t.test('svc daemon start starts without a plugin with invalid settings, and reports it', async t => {
  const project = open(t, '[plugins.good]\nn = 0\n')
  const started = await project.svc(['daemon', 'start', ...FREE_PORTS])
  t.equal(started.code, 0, started.stderr)
  t.match(started.stderr, /warning: .*good.*plugins\.good\.n must be an integer/)
  t.equal((await project.svc(['other', 'say'])).stdout, 'other 1\n')
  t.equal((await project.svc(['daemon', 'stop'])).code, 0)
})

t.test('invalid settings of a required plugin or of the kernel end the start', async t => {
  const project = open(t, '')
  for (const [toml, message, hint] of [
    ['[plugins.good]\nn = 0\nrequired = true\n', 'plugins.good.n must be an integer (minimum 1), got 0', undefined],
    ['[plugins.good]\nn = 0\non_boot_failure = "abort"\n', 'plugins.good.n must be', undefined],
    ['[plugins.http]\nport = "x"\n', 'plugins.http.port must be', undefined],
    ['[kernel]\nwach = true\n', 'kernel.wach is not a setting', 'did you mean "watch"?']
  ] as const) {
    project.write({ 'svc.toml': toml })
    const { code, stderr } = await project.svc(['serve'])
    t.equal(code, 3, toml)
    const [first, second, third] = stderr.split('\n')
    t.match(first, new RegExp(`^error: .*svc\\.toml:2:1  ${message.replace(/[()]/g, '\\$&')}`))
    t.match(second, /^ {2}code: CFG_[A-Z_]+$/)
    if (hint !== undefined) t.equal(third, `  hint: ${hint}`)
  }
  project.write({ 'svc.toml': '[plugins.http]\nport = "x"\non_boot_failure = "continue"\n' })
  const served = await project.serve(['--set', 'plugins.good.n=3', ...ONLY])
  t.equal((await project.svc(['good', 'say'])).stdout, 'good 3\n')
  t.equal(await served.stop(), 0)
})

t.test('several configuration errors are printed with code and hint each', async t => {
  const project = open(t, '[kernel]\nwach = true\nlog_level = "loud"\n')
  const { code, stderr } = await project.svc(['serve'])
  t.equal(code, 3)
  t.match(stderr, /error: .*wach is not a setting\n {2}code: CFG_KEY_UNKNOWN\n {2}hint: did you mean "watch"\?/)
  t.match(stderr, /error: .*kernel\.log_level must be one of .*\n {2}code: CFG_VALUE_INVALID/)
})

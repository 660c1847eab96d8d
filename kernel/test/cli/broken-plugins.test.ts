import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openTestProject } from '@svc/kernel/testing'
import t, { type Test } from 'tap'
import { packageJson } from '../fixtures/loader/plugin-folder.ts'

const files = (name: string, source: string) => ({
  [`plugins/${name}/package.json`]: packageJson(name),
  [`plugins/${name}/src/plugin.ts`]: source
})

const speaker = (name: string, head = ''): string => `
import { defineOperation, definePlugin, t } from '@svc/plugin-sdk'
${head}
const say = defineOperation({
  id: '${name}.say', summary: 'x', input: t.object({}), output: t.object({ said: t.string() }), effect: 'read',
  expose: { cli: { command: '${name} say' } }
})
export default definePlugin({
  name: '${name}',
  operations: [say],
  activate(ctx) {
    console.log('activated')
    ctx.implement(say, () => {
      console.log('called')
      return { said: 'hello' }
    })
  }
})
`

function open(t: Test, options: Parameters<typeof openTestProject>[0]) {
  const project = openTestProject(options)
  t.teardown(() => project.close())
  return project
}

t.test('a plugin that loops or breaks JavaScript built-ins does not break commands, and can be disabled', async t => {
  const project = open(t, {
    files: {
      'svc.toml': '[kernel]\ndescribe_timeout_ms = 500\n',
      ...files('loops', speaker('loops', 'for (;;) {}')),
      ...files(
        'poison',
        speaker('poison', "Object.prototype.toString = (() => { throw new Error('x') }) as never; throw 1")
      ),
      ...files('fine', speaker('fine'))
    }
  })
  const list = await project.svc(['plugins', 'list', '--json'])
  t.equal(list.code, 0, list.stderr)
  const { plugins } = JSON.parse(list.stdout) as { plugins: { name: string; state: string; why: string }[] }
  t.match(plugins.find(({ name }) => name === 'loops')?.why, /within 500 ms/)
  t.match(plugins.find(({ name }) => name === 'poison')?.state, 'invalid')
  const disabled = await project.svc(['--safe', 'plugins', 'disable', 'loops'])
  t.equal(disabled.code, 0, disabled.stderr)
  t.match(readFileSync(join(project.root, 'svc.toml'), 'utf8'), /\[plugins\.loops\]\s*enabled = false/)
  const safe = await project.svc(['--safe', 'plugins', 'list', '--json'])
  t.match(
    (JSON.parse(safe.stdout) as typeof list & { plugins: typeof plugins }).plugins.find(({ name }) => name === 'fine'),
    { state: 'disabled', why: 'left out by --safe' }
  )
})

t.test(
  'a plugin can be disabled while svc.toml has a syntax error, and enabled again when it is corrected',
  async t => {
    const project = open(t, { files: { 'svc.toml': '[kernel\n', ...files('fine', speaker('fine')) } })
    const disabled = await project.svc(['--safe', 'plugins', 'disable', 'fine'])
    t.equal(disabled.code, 0, disabled.stderr)
    const line = 'plugins.fine.enabled = false was written to svc.local.toml, since svc.toml is not valid TOML'
    t.match(disabled.stdout, line)
    t.equal(readFileSync(join(project.root, 'svc.toml'), 'utf8'), '[kernel\n')
    project.write({ 'svc.toml': '[kernel]\n' })
    t.match((await project.svc(['plugins', 'list'])).stdout, /^fine +\S+ +disabled/m)
    const enabled = await project.svc(['plugins', 'enable', 'fine'])
    t.match(
      enabled.stdout,
      'fine.enabled = true was written to svc.local.toml, since it takes precedence over svc.toml'
    )
    t.match((await project.svc(['plugins', 'list'])).stdout, /^fine +\S+ +resolved/m)
  }
)

t.test('with --json, output of plugins does not reach standard output', async t => {
  const project = open(t, { files: files('fine', speaker('fine', "console.log('described')")) })
  for (const argv of [
    ['fine', 'say', '--json'],
    ['call', 'fine.say', '--json']
  ]) {
    const { code, stdout, stderr } = await project.svc(argv)
    t.equal(code, 0, stderr)
    t.same(JSON.parse(stdout), { said: 'hello' }, argv.join(' '))
    t.match(stderr, /activated[\s\S]*called/)
  }
})

t.test('config validate fails if an environment variable is invalid', async t => {
  const project = open(t, { env: { SVC_DASH_PORT: 'foo' } })
  const { code, stdout } = await project.svc(['config', 'validate'])
  t.not(code, 0)
  t.match(stdout, /SVC_DASH_PORT/)
})

t.test('serve --only also runs the plugin that opens the listener', async t => {
  const source = `
import { httpListeners } from '@svc/contracts'
import { definePlugin } from '@svc/plugin-sdk'
export default definePlugin({
  name: 'one',
  activate: ctx => ctx.contribute(httpListeners, { name: 'own', host: '127.0.0.1', port: 0, setting: 'plugins.one.port', guard: 'own' } as never)
})
`
  const project = open(t, { files: files('one', source) })
  const served = await project.serve(['--only', 'one'])
  await project.until(() =>
    served.lines.some(line => line.includes('http runs too, because it opens the listener of one'))
  )
  await project.until(() => served.lines.some(line => line.includes('own listens on')))
  t.equal(await served.stop(), 0)
  t.notOk(existsSync(join(project.root, '.vox/cache/loading.json')))
})

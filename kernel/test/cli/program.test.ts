import { openTestProject, type TestProject } from '@svc/kernel/testing'
import t from 'tap'

const SOURCE = `import { defineOperation, definePlugin, t } from '@svc/plugin-sdk'
const greet = defineOperation({
  id: 'demo.greet',
  summary: 'Greet a person',
  input: t.object({ name: t.string() }),
  output: t.object({ text: t.string() }),
  expose: { cli: { command: 'demo greet', args: ['name'] } }
})
const file = t.object({ path: t.string(), access: t.enum(['read', 'write']), lines: t.optional(t.integer()) })
const pack = { command: 'demo pack', summary: 'Pack files', input: t.object({ files: t.array(file, { description: 'Files.' }) }) }
export default definePlugin({
  name: 'demo',
  commands: [pack],
  config: t.object({ greeting: t.string({ default: 'Hello' }) }),
  operations: [greet],
  activate(ctx) {
    ctx.command('demo pack', () => {})
    ctx.implement(greet, ({ name }) => {
      ctx.log.info('quiet')
      ctx.log.warn('watch out', { hint: 'do this', token: 'hidden' })
      ctx.log.warn('which? did you mean this?', { hint: 'did you mean this?' })
      return { text: ctx.config.greeting + ' ' + name }
    })
  }
})
`

let project: TestProject
t.before(() => {
  project = openTestProject({
    files: {
      'plugins/demo/package.json': {
        name: 'svc-plugin-demo',
        version: '1.0.0',
        type: 'module',
        svc: { plugin: './dist/plugin.cjs', source: './src/plugin.ts' }
      },
      'plugins/demo/src/plugin.ts': SOURCE
    }
  })
})
t.after(() => project.close())

t.test('global flags are read before and after the command; the last value wins', async t => {
  const set = (greeting: string): string => `plugins.demo.greeting=${greeting}`
  const result = await project.svc(['--set', set('A'), 'demo', '--json', 'greet', 'Ada', `--set=${set('B')}`])
  t.same(JSON.parse(result.stdout), { text: 'B Ada' })
  t.equal(result.code, 0)
})

t.test('words after -- are not flags', async t => {
  const { stdout } = await project.svc(['demo', 'greet', '--', '--json'])
  t.match(JSON.parse(stdout), { text: 'Hello --json' })
})

t.test('a command logs warnings as readable lines with plugin and hint', async t => {
  const { stderr } = await project.svc(['demo', 'greet', 'Ada'])
  t.equal(stderr, 'warning: demo: watch out\n  hint: do this\nwarning: demo: which? did you mean this?\n')
})

t.test('with --json, a command logs JSON lines of the given level and above', async t => {
  const { stderr } = await project.svc(['--json', '--log-level', 'info', 'demo', 'greet', 'Ada'])
  const lines = stderr.trim().split('\n')
  t.ok(lines.includes('{"level":"info","plugin":"demo","message":"quiet"}'))
  t.ok(lines.includes('{"level":"warn","plugin":"demo","message":"watch out"}'))
  t.notMatch(stderr, /hidden/)
  t.equal((await project.svc(['--log-level=silent', 'demo', 'greet', 'Ada'])).stderr, '')
})

t.test('help shows the fields of an object in a list', async t => {
  const { code, stdout } = await project.svc(['demo', 'pack', '--help'])
  t.equal(code, 0)
  t.match(stdout.replace(/\s+/g, ' '), /--files .*Files\. Each is path=…,access=read\|write or JSON\./)
})

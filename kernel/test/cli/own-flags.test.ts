import { openTestProject } from '@svc/kernel/testing'
import t from 'tap'
import { packageJson } from '../fixtures/loader/plugin-folder.ts'

const SOURCE = `
import { defineOperation, definePlugin, t } from '@svc/plugin-sdk'
const input = t.object({ profile: t.optional(t.string()), words: t.optional(t.array(t.string())) })
const own = defineOperation({
  id: 'demo.own', summary: 'Show', input, output: t.object({ text: t.string() }), effect: 'read',
  expose: { cli: { command: 'demo own', args: ['words'], ownFlags: ['profile'], view: { text: 'text' } } }
})
const plain = defineOperation({
  id: 'demo.plain', summary: 'Show', input, output: t.object({ text: t.string() }), effect: 'read',
  expose: { cli: { command: 'demo plain', args: ['words'], view: { text: 'text' } } }
})
export default definePlugin({
  name: 'demo',
  config: t.object({ place: t.string({ default: 'base' }) }),
  operations: [own, plain],
  commands: [{ command: 'demo tell', summary: 'Tell', input, ownFlags: ['profile'] }],
  activate(ctx) {
    const show = ({ profile = '-', words = [] }) => [ctx.config.place, profile, ...words].join(' ')
    ctx.implement(own, given => ({ text: show(given) }))
    ctx.implement(plain, given => ({ text: show(given) }))
    ctx.command('demo tell', (given, io) => void io.stdout.write(show(given) + '\\n'))
  }
})
`

t.test('a command may have an option with the name of a global flag', async t => {
  const project = openTestProject({
    files: {
      'plugins/demo/package.json': packageJson('demo'),
      'plugins/demo/src/plugin.ts': SOURCE,
      'svc.far.toml': '[plugins.demo]\nplace = "far"\n'
    }
  })
  t.teardown(() => project.close())
  const cases: readonly (readonly [string, string])[] = [
    ['demo own --profile none', 'base none'],
    ['demo own --profile=none', 'base none'],
    ['demo tell --profile none', 'base none'],
    ['--profile far demo own', 'far -'],
    ['--profile far demo own --profile none', 'far none'],
    ['demo own -- --profile far', 'base - --profile far'],
    ['demo plain --profile far', 'far -'],
    ['demo plain --input-profile none', 'base none']
  ]
  for (const [line, expected] of cases) {
    const { code, stdout, stderr } = await project.svc(line.split(' '))
    t.same([code, stdout.trim()], [0, expected], `${line}: ${stderr}`)
  }
  const unknown = await project.svc(['demo', 'plain', '--profile', 'none'])
  t.match(unknown, { code: 3, stderr: /CFG_PROFILE_UNKNOWN/ })
})

import { openTestProject } from '@svc/kernel/testing'
import t from 'tap'
import { packageJson } from '../fixtures/loader/plugin-folder.ts'

const SOURCE = `
import { defineOperation, definePlugin, t } from '@svc/plugin-sdk'
const send = (name, view) => defineOperation({
  id: 'demo.' + name, summary: 'Send', input: t.object({}), output: t.object({ text: t.string() }),
  events: t.object({ sent: t.integer() }),
  expose: { cli: { command: 'demo ' + name, view: { text: 'text', ...view } } }
})
const loud = send('loud', {})
const quiet = send('quiet', { events: false })
export default definePlugin({
  name: 'demo',
  operations: [loud, quiet],
  activate(ctx) {
    const run = (input, call) => {
      call.emit({ sent: 1 })
      call.progress(1, 2, 'a.pdf')
      return { text: 'done' }
    }
    ctx.implement(loud, run)
    ctx.implement(quiet, run)
  }
})
`

t.test(
  'events are printed on standard output, progress on standard error, and no events if the view says so',
  async t => {
    const project = openTestProject({
      files: { 'plugins/demo/package.json': packageJson('demo'), 'plugins/demo/src/plugin.ts': SOURCE }
    })
    t.teardown(() => project.close())
    const loud = await project.svc(['demo', 'loud'])
    t.same([loud.code, loud.stdout], [0, '{"sent":1}\ndone\n'])
    t.match(loud.stderr, /a\.pdf 1\/2\n/)
    const quiet = await project.svc(['demo', 'quiet'])
    t.same([quiet.code, quiet.stdout], [0, 'done\n'])
    t.match(quiet.stderr, /a\.pdf 1\/2\n/)
    const json = await project.svc(['demo', 'quiet', '--json'])
    t.equal(json.stdout, '{"text":"done"}\n')
    t.match(json.stderr, /"progress"/)
    t.notMatch(json.stderr, /"event"/)
  }
)

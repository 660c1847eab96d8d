import { openTestKernel } from '@svc/kernel/testing'
import { defineOperation, definePlugin, t as schema } from '@svc/plugin-sdk'
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

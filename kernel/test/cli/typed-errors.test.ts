import { openTestProject } from '@svc/kernel/testing'
import t, { type Test } from 'tap'
import { packageJson } from '../fixtures/loader/plugin-folder.ts'

const SOURCE = `
import { defineOperation, definePlugin, t } from '@svc/plugin-sdk'
const size = t.nullable(t.string({ pattern: '^[0-9]+(px|em)$', description: 'Number with px or em', examples: ['12px'] }))
const draw = defineOperation({
  id: 'demo.draw', summary: 'Draw a shape', effect: 'read', timeoutMs: 200,
  input: t.object({ shape: t.string({ minLength: 2 }), lineWidth: t.optional(size), wait: t.optional(t.boolean()) }),
  output: t.object({ text: t.string() }),
  expose: { rpc: 'demo.paint', cli: { command: 'paint shape', args: ['shape'], view: { text: 'text' } } }
})
export default definePlugin({
  name: 'demo',
  operations: [draw],
  activate: ctx => ctx.implement(draw, ({ shape, wait }) => wait ? new Promise(() => {}) : { text: shape })
})
`

function open(t: Test) {
  const project = openTestProject({
    files: { 'plugins/demo/package.json': packageJson('demo'), 'plugins/demo/src/plugin.ts': SOURCE }
  })
  t.teardown(() => project.close())
  return project
}

t.test('an input error names the typed command with its flags, in this process and through a server', async t => {
  const project = open(t)
  const check = async (where: string): Promise<void> => {
    const short = await project.svc(['paint', 'shape', 'x'])
    t.equal(short.code, 2, where)
    t.equal(
      short.stderr,
      'error: svc paint shape: <shape> must NOT have fewer than 2 characters\n' +
        '  code: OPR_INPUT_INVALID\n  hint: see svc paint shape --help\n'
    )
    const wide = await project.svc(['paint', 'shape', 'box', '--line-width', 'wide'])
    t.match(
      wide.stderr,
      'error: svc paint shape: --line-width has the wrong form: Number with px or em; for example 12px\n'
    )
    t.notMatch(wide.stderr, /anyOf|\^\[0-9\]|demo\./)
    const late = await project.svc(['paint', 'shape', 'box', '--wait'])
    t.match(late.stderr, 'error: svc paint shape did not finish within 200 ms\n')
  }
  await check('in this process')
  const served = await project.serve(['--only', 'demo,http,daemon,cli'])
  await check('through a server')
  t.equal(await served.stop(), 0)
})

t.test('svc call names the operation, which was typed', async t => {
  const { stderr } = await open(t).svc(['call', 'demo.draw', '{"shape": "x"}'])
  t.match(stderr, 'error: demo.draw: shape must NOT have fewer than 2 characters\n')
  t.match(stderr, 'hint: svc call demo.draw --help')
})

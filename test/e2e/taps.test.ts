import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runSvc } from './run-svc.ts'
import { makeProject, pluginPackage, serve } from './served-project.ts'

const tapper = (name: string, head: string, tap: string): Record<string, string> => ({
  [`plugins/${name}/package.json`]: pluginPackage(name),
  [`plugins/${name}/src/plugin.ts`]: `
import { operationStarting, taskSubmitting } from '@svc/contracts'
import { definePlugin } from '@svc/plugin-sdk'
${head}
export default definePlugin({ name: '${name}', activate: ctx => ctx.on(${tap}) })
`
})

t.test('a tap that never settles fails calls with its name, and its plugin can still be disabled', async t => {
  const folder = makeProject(t, {
    'svc.toml': '[kernel]\ntap_timeout_ms = 100\nwatch = false\n',
    ...tapper('hangs', '', 'operationStarting, () => new Promise(() => {})')
  })
  await serve(t, folder, ['--only', 'http,daemon,cli,hangs'])
  const list = await runSvc(folder, ['plugins', 'list', '--json'])
  t.equal(list.code, 7, list.stdout)
  t.match(list.stderr, 'the tap of plugin hangs on the hook kernel.operation-starting did not finish within 100 ms')
  t.match(list.stderr, 'svc plugins disable hangs')
  const disabled = await runSvc(folder, ['plugins', 'disable', 'hangs'])
  t.match(disabled, { code: 0, stdout: /generation \d+ serves/ }, disabled.stderr)
  t.match(readFileSync(join(folder, 'svc.toml'), 'utf8'), /\[plugins\.hangs\]\s*enabled = false/)
  t.match((await runSvc(folder, ['plugins', 'list'])).stdout, /^hangs +\S+ +disabled/m)
})

t.test('an error of a tap names its plugin and hook, and a tap cannot change a submitted task', async t => {
  const folder = makeProject(t, {
    'svc.toml': '',
    ...tapper('changes', '', "taskSubmitting, ({ request }) => void Object.assign(request, { description: 'EVIL' })"),
    ...tapper(
      'throws',
      '',
      "operationStarting, () => { throw new Error('private') }, { filter: { operation: 'echo.say' } }"
    ),
    'plugins/echo/package.json': pluginPackage('echo'),
    'plugins/echo/src/plugin.ts': `
import { defineOperation, definePlugin, t } from '@svc/plugin-sdk'
const say = defineOperation({
  id: 'echo.say', summary: 'Returns the text', input: t.object({}), output: t.object({}), expose: { rpc: true }
})
export default definePlugin({ name: 'echo', operations: [say], activate: ctx => ctx.implement(say, input => input) })
`
  })
  await serve(t, folder, [
    '--only',
    'http,daemon,cli,database,orchestrator,orchestrator-tools,sessions,a2a,changes,throws,echo'
  ])
  const said = await runSvc(folder, ['rpc', 'echo.say', '{}'])
  t.match(said.stderr, 'the tap of plugin throws on the hook kernel.operation-starting failed; see its log')
  t.notMatch(said.stderr, 'private')
  const submitted = await runSvc(folder, ['rpc', 'orch.submit_task', '{"description":"honest","files":[]}'])
  t.equal(submitted.code, 0, submitted.stderr)
  const { task_id } = JSON.parse(submitted.stdout) as { task_id: number }
  const shown = await runSvc(folder, ['orch', 'show', String(task_id), '--json'])
  t.match(shown.stdout, '"honest"')
  t.notMatch(shown.stdout, 'EVIL')
})

import { strictJsonSuite } from '@svc/contracts/conformance'
import t from 'tap'
import { errorOf, runSvc } from './run-svc.ts'
import { makeProject, pluginPackage } from './served-project.ts'

const PROBE = `
import { defineOperation, definePlugin, t } from '@svc/plugin-sdk'
const take = defineOperation({
  id: 'probe.take', summary: 'Accept any value', input: t.object({ value: t.unknown() }), output: t.object({}), effect: 'read'
})
export default definePlugin({ name: 'probe', operations: [take], activate: ctx => ctx.implement(take, () => ({})) })
`

t.test('svc call accepts only strict JSON', async t => {
  const folder = makeProject(t, {
    'plugins/probe/package.json': pluginPackage('probe'),
    'plugins/probe/src/plugin.ts': PROBE,
    'svc.toml': '[kernel]\nplugin_directories = ["plugins"]\n'
  })
  const send = async (bytes: Buffer): Promise<boolean> => {
    const ran = await runSvc(folder, ['call', 'probe.take', '-', '--json'], { stdin: bytes })
    if (ran.code !== 0) t.match(errorOf(ran), { code: 'CLI_INPUT_NOT_JSON' })
    return ran.code === 0
  }
  await Promise.all(strictJsonSuite(send).map(({ name, run }) => t.resolves(run(), name)))
})

import { hostname } from 'node:os'
import { join } from 'node:path'
import { openTestProject } from '@svc/kernel/testing'
import t, { type Test } from 'tap'
import { Discovery } from '#host'
import { buildPlugin } from '#loader'
import { folder, packageJson, write } from '../fixtures/loader/plugin-folder.ts'

/** Source of the command `hello greet`. With `more`, it has a further flag. */
const source = (more = ''): string => `
import { defineOperation, definePlugin, t } from '@svc/plugin-sdk'
const greet = defineOperation({
  id: 'hello.greet', summary: 'Greet', effect: 'read',
  input: t.object({ ${more} }), output: t.object({ text: t.string() }),
  expose: { rpc: true, cli: { command: 'hello greet', view: { text: 'text' } } }
})
export default definePlugin({
  name: 'hello',
  operations: [greet],
  activate: ctx => ctx.implement(greet, input => ({ text: 'hello'.repeat((input as { times?: number }).times ?? 1) }))
})
`
/** Selects the plugin of a test, and those that commands need in a server. */
const ONLY = ['--only', 'hello,http,daemon,cli']
const TIMES = "times: t.optional(t.integer({ description: 'Number of greetings' }))"

async function builtProject(t: Test) {
  const project = openTestProject({
    files: { 'plugins/hello/package.json': packageJson('hello'), 'plugins/hello/src/plugin.ts': source() }
  })
  t.teardown(() => project.close())
  const built = await project.svc(['plugins', 'build', 'plugins/hello'])
  t.equal(built.code, 0, built.stderr)
  t.equal((await project.svc(['hello', 'greet'])).stdout, 'hello\n')
  return project
}

t.test('commands know what a server with --watch serves, although an older build exists', async t => {
  const project = await builtProject(t)
  const served = await project.serve(['--watch', ...ONLY])
  project.write({ 'plugins/hello/src/plugin.ts': source(TIMES) })
  await project.until(() => served.lines.some(line => line.includes('"replaced":["hello"]')))
  const greeted = await project.svc(['hello', 'greet', '--times', '2'])
  t.equal(greeted.stdout, 'hellohello\n', greeted.stderr)
  t.match((await project.svc(['hello', 'greet', '--help'])).stdout, /--times +Number of greetings/)
  t.match((await project.svc(['call', 'hello.greet', '--help'])).stdout, /times +integer/)
  t.equal(await served.stop(), 0)
  t.equal((await project.svc(['hello', 'greet', '--times', '2'])).stdout, 'hellohello\n', 'also without a server')
})

t.test('without a server a source that is newer than the build counts', async t => {
  const project = await builtProject(t)
  project.write({ 'plugins/hello/src/plugin.ts': source(TIMES) })
  t.equal((await project.svc(['hello', 'greet', '--times', '2'])).stdout, 'hellohello\n')
})

t.test('commands use the build if the server does', async t => {
  const project = await builtProject(t)
  const served = await project.serve(ONLY)
  project.write({ 'plugins/hello/src/plugin.ts': source(TIMES) })
  t.match(await project.svc(['hello', 'greet', '--times', '2']), { code: 2, stderr: /has no flag --times/ })
  t.equal((await project.svc(['hello', 'greet'])).stdout, 'hello\n')
  t.equal(await served.stop(), 0)
})

t.test('of a plugin of the installation, commands use the source only while a server runs from it', async t => {
  const root = folder(t, {
    'install/plugins/hello/package.json': packageJson('hello'),
    'install/plugins/hello/src/plugin.ts': source()
  })
  await buildPlugin(join(root, 'install/plugins/hello'))
  write(root, { 'install/plugins/hello/src/plugin.ts': source(TIMES) })
  const fields = async (prefer: 'source' | 'current'): Promise<string[]> => {
    const discovery = new Discovery({
      installRoot: join(root, 'install'),
      projectRoot: join(root, 'project'),
      cacheDirectory: join(root, 'cache'),
      prefer
    })
    const { sources } = await discovery.discover()
    await discovery.close()
    return sources.flatMap(({ manifest }) => Object.keys(manifest?.operations[0]?.input.properties ?? {}))
  }
  t.same(await fields('current'), [])
  t.same(await fields('source'), ['times'])
  const state = { pid: process.pid, host: hostname(), started_at: '', socket: 'x', version: '1', repository_id: 'x' }
  write(root, { 'project/.vox/daemon.json': state })
  t.same(await fields('current'), ['times'])
  write(root, { 'project/.vox/daemon.json': '' })
  t.same(await fields('current'), [])
})

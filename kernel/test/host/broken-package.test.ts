import { join } from 'node:path'
import { openTestProject } from '@svc/kernel/testing'
import t, { type Test } from 'tap'
import { type Discovered, Discovery } from '#host'
import { type Files, folder, packageJson, pluginSource, write } from '../fixtures/loader/plugin-folder.ts'

/** Files of a plugin package in a folder. */
function plugin(at: string, name: string, source = pluginSource(name)): Files {
  return { [`${at}/package.json`]: packageJson(name), [`${at}/src/plugin.ts`]: source }
}

function discovery(t: Test, root: string): Discovery {
  const made = new Discovery({
    installRoot: join(root, 'install'),
    projectRoot: join(root, 'project'),
    cacheDirectory: join(root, 'cache'),
    prefer: 'source'
  })
  t.teardown(() => made.close())
  return made
}

const names = (found: Discovered): string[] => found.sources.map(each => each.name).sort()
const source = (found: Discovered, name: string) => found.sources.find(each => each.name === name)!

/** Source of a plugin with the operation and command `NAME say`. */
const speaker = (name: string, word: string): string => `
import { defineOperation, definePlugin, t } from '@svc/plugin-sdk'
const say = defineOperation({
  id: '${name}.say', summary: 'Say a word', input: t.object({}), output: t.object({ said: t.string() }), effect: 'read',
  expose: { rpc: true, cli: { command: '${name} say' } }
})
export default definePlugin({
  name: '${name}',
  operations: [say],
  activate: ctx => ctx.implement(say, () => ({ said: '${word}' }))
})
`

t.test('a package.json that becomes invalid is reported everywhere, and the plugin serves on', async t => {
  const project = openTestProject({
    files: {
      ...plugin('plugins/good', 'good', speaker('good', 'first')),
      ...plugin('plugins/other', 'other', speaker('other', 'first'))
    }
  })
  t.teardown(() => project.close())
  const served = await project.serve(['--watch', '--only', 'good,other,http,daemon,cli'])
  const logged = (text: string) => served.lines.filter(line => line.includes(text))
  const say = async (name: string) => (await project.svc([name, 'say', '--json'])).stdout
  project.write({ 'plugins/good/package.json': '{ broken' })
  await project.until(() => logged('LDR_PACKAGE_INVALID').length > 0)
  project.write({ 'plugins/other/src/plugin.ts': speaker('other', 'second') })
  await project.until(() => served.lines.some(line => /"replaced":\[[^\]]*"other"/.test(line)))
  t.match(await say('other'), /second/, 'other plugins still change')
  t.match(await say('good'), /first/)
  t.notMatch(served.lines.join('\n'), /"removed":\["good"\]/)
  t.equal(logged('LDR_PACKAGE_INVALID').length, 1, 'it is logged once')
  const ready = await (await fetch(`${served.url}/ready`)).json()
  t.match(ready, { status: 'ready', invalid_plugins: [{ name: 'good', state: 'active', why: /not JSON/ }] })
  t.match(await (await fetch(`${served.url}/metrics`)).text(), /^svc_plugin_change_refused\{plugin="good"\} 1$/m)
  const list = await project.svc(['plugins', 'list', '--json'])
  t.match(
    JSON.parse(list.stdout).plugins.find((each: { name: string }) => each.name === 'good'),
    { state: 'active', refused: true, why: /good\/package\.json is not JSON/, hint: 'correct the file' }
  )
  t.match((await project.svc(['plugins', 'list'])).stdout, /^good .*is not JSON.* correct the file$/m)
  const why = await project.svc(['plugins', 'why', 'good'])
  t.match(why.stdout, /good is active: last change refused: .*is not JSON.*\nhint: correct the file/)
  project.write({
    'plugins/good/src/plugin.ts': speaker('good', 'second'),
    'plugins/good/package.json': packageJson('good')
  })
  await project.until(() => logged('good: no longer reported: LDR_PACKAGE_INVALID').length > 0)
  while (!/second/.test(await say('good'))) {}
  t.match((await project.svc(['plugins', 'why', 'good'])).stdout, /^good is active$/m)
})

t.test('a folder whose package.json was never valid is listed, one without a package.json is not', async t => {
  const root = folder(t, {
    'project/plugins/broken/package.json': '{ broken',
    'project/plugins/notes/readme.txt': 'x',
    'project/plugins/list/package.json': '[]',
    'project/package.json': { dependencies: { thing: '1' } },
    'project/node_modules/thing/package.json': '{ broken',
    'project/node_modules/svc-plugin-cut/package.json': '{',
    'single/package.json': '{ broken',
    'single/src/plugin.ts': '',
    'many/package.json': '{ broken',
    ...plugin('many/one', 'one')
  })
  const found = await discovery(t, root).discover([join(root, 'single'), join(root, 'many')])
  t.same(names(found), ['broken', 'cut', 'one', 'single'])
  for (const name of ['broken', 'cut', 'single'])
    t.match(source(found, name), { manifest: null, problem: { code: 'LDR_PACKAGE_INVALID' } }, name)
})

t.test('a package that was a plugin keeps its last version while its package.json is unreadable', async t => {
  const dependency = {
    name: 'thing',
    version: '1.0.0',
    svc: { plugin: './dist/plugin.cjs', source: './src/plugin.ts' }
  }
  const root = folder(t, {
    'project/package.json': { dependencies: { thing: '1' } },
    'project/node_modules/thing/package.json': dependency,
    'project/node_modules/thing/src/plugin.ts': pluginSource('thing'),
    ...plugin('single', 'single')
  })
  const first = discovery(t, root)
  const before = await first.discover([join(root, 'single')])
  write(root, { 'project/node_modules/thing/package.json': '', 'single/package.json': '{ broken' })
  const after = await first.discover([join(root, 'single')])
  t.same(names(after), ['single', 'thing'])
  for (const name of ['single', 'thing']) t.equal(source(after, name), source(before, name))
  t.same([...after.kept.keys()].sort(), ['single', 'thing'])
  t.match(after.problems, [
    { error: { code: 'LDR_PACKAGE_INVALID', plugin: 'thing' } },
    { error: { code: 'LDR_PACKAGE_INVALID', plugin: 'single' } }
  ])
  const later = await discovery(t, root).discover([join(root, 'single')])
  t.match(source(later, 'thing'), { problem: { code: 'LDR_PACKAGE_INVALID' }, lapsed: { name: 'thing' } })
})

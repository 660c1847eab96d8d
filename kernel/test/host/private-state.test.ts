import { chmodSync, lstatSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { MaskedSecrets } from '@svc/kernel/testing'
import t, { type Test } from 'tap'
import { openProject, readCatalog } from '#host'
import { folder, packageJson } from '../fixtures/loader/plugin-folder.ts'

const SKIP = process.platform === 'win32' ? 'Windows has no such permissions' : false

const modeOf = (path: string): string => (lstatSync(path).mode & 0o777).toString(8)

/** Opens and closes a project; returns its info lines. */
async function start(t: Test, root: string, serves = true, only: readonly string[] = []): Promise<string[]> {
  const lines: string[] = []
  const logger = {
    debug: () => {},
    info: (message: string) => void lines.push(message),
    warn: () => {},
    error: (message: string) => t.fail(message)
  }
  const log = { ...logger, forPlugin: () => logger, setLevel: () => {}, flush: () => {}, secrets: new MaskedSecrets() }
  const catalog = await readCatalog({ cwd: root, env: { HOME: join(root, 'home') }, preferSource: true, only })
  const project = await openProject({ catalog, only, watch: false, log, serves })
  await project.close()
  return lines.filter(line => line.includes('other users'))
}

/** Returns a project whose state folder everyone can read. */
function openState(t: Test, settings = ''): string {
  const root = t.testdir({ 'svc.toml': settings, outside: 'x' })
  const state = join(root, '.vox')
  for (const below of ['', 'logs', 'plugins/tool', 'cache/models']) mkdirSync(join(state, below), { recursive: true })
  for (const [file, mode] of [
    ['store.db', 0o644],
    ['store.db-wal', 0o666],
    ['logs/svc.jsonl', 0o600],
    ['plugins/tool/run', 0o755],
    ['cache/models/weights', 0o644]
  ] as const) {
    writeFileSync(join(state, file), '')
    chmodSync(join(state, file), mode)
  }
  for (const below of ['', 'logs', 'plugins', 'plugins/tool', 'cache/models']) chmodSync(join(state, below), 0o755)
  symlinkSync(join(root, 'outside'), join(state, 'link'))
  chmodSync(join(root, 'outside'), 0o644)
  return root
}

t.test(
  'a server removes the permissions of other users from existing state, with one log line',
  { skip: SKIP },
  async t => {
    const root = openState(t)
    const state = join(root, '.vox')
    t.same(await start(t, root, false), [], 'a command changes nothing')
    t.equal(modeOf(state), '755')
    t.match(await start(t, root), [`other users can no longer read ${state}`])
    for (const [path, mode] of Object.entries({
      '': '700',
      'store.db': '600',
      'store.db-wal': '600',
      logs: '700',
      'logs/svc.jsonl': '600',
      'plugins/tool/run': '700',
      'cache/models/weights': '644'
    }))
      t.equal(modeOf(join(state, path)), mode, path)
    t.equal(modeOf(join(root, 'outside')), '644', 'links are not followed')
    t.same(await start(t, root), [], 'the next start has nothing to change')
  }
)

t.test('private_state = false keeps the permissions', { skip: SKIP }, async t => {
  const root = openState(t, '[kernel]\nprivate_state = false\n')
  t.same(await start(t, root), [])
  t.equal(modeOf(join(root, '.vox/store.db')), '644')
  t.equal(modeOf(join(root, '.vox')), '755')
})

t.test('a new state folder belongs to its user only', { skip: SKIP }, async t => {
  const before = process.umask(0)
  t.teardown(() => process.umask(before))
  const root = folder(t, {
    'svc.toml': '',
    'plugins/tool/package.json': packageJson('tool'),
    'plugins/tool/src/plugin.ts': `
import { definePlugin } from '@svc/plugin-sdk'
export default definePlugin({ name: 'tool', activate: async ctx => void (await ctx.dataDirectory()) })`
  })
  await start(t, root, true, ['tool'])
  for (const path of ['.vox', '.vox/plugins/tool', '.vox/cache']) t.equal(modeOf(join(root, path)), '700', path)
})

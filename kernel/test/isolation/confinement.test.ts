import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { allowedEnvironment, packageFolders, permissionFlags } from '#isolation'
import { act } from './fixtures/creature.ts'
import { KINDS, World } from './world.ts'

/** Undeclared error of an operation, with its cause as logged. */
const denied = {
  code: 'OPR_FAILED',
  cause: { message: /ERR_ACCESS_DENIED|Access to this API has been restricted|is not permitted here/ }
}

for (const kind of KINDS) {
  t.test(`a ${kind} can read only environment variables that its manifest names`, async t => {
    Object.assign(process.env, { CREATURE_FOOD: 'hay', SOMEBODYS_TOKEN: 'secret' })
    t.teardown(() => {
      delete process.env.CREATURE_FOOD
      delete process.env.SOMEBODYS_TOKEN
    })
    const world = await World.open(t, kind)
    const seen = (await world.call(act, { what: 'env' })) as string[]
    t.ok(seen.includes('CREATURE_FOOD'))
    t.same(
      seen.filter(name => !['NODE_ENV', 'TZ', 'LANG', 'CREATURE_FOOD'].includes(name)),
      []
    )
  })

  t.test(`a ${kind} can read and write only paths that its manifest requests`, async t => {
    // The test's folder is inside the working directory, which Node must not grant.
    const world = await World.open(t, kind, { policy: { breaker: { failures: 0, windowMs: 1, halfOpenMs: 1 } } })
    const at = (path: string): string => join(world.root, path)
    t.equal(await world.call(act, { what: 'read', with: at('shown/a.txt') }), 'shown')
    await world.call(act, { what: 'write', with: at('written/b.txt') })
    t.equal(readFileSync(at('written/b.txt'), 'utf8'), 'written')
    await world.call(act, { what: 'write', with: at('.vox/plugins/creature/c.txt') })
    t.equal(await world.call(act, { what: 'read', with: at('.vox/plugins/creature/c.txt') }), 'written')
    for (const path of [
      at('hidden/a.txt'),
      at('shown/../hidden/a.txt'),
      '/etc/hostname',
      join(process.cwd(), 'package.json')
    ])
      await t.rejects(world.call(act, { what: 'read', with: path }), denied, path)
    for (const path of [at('shown/a.txt'), at('hidden/b.txt'), at('b.txt')])
      await t.rejects(world.call(act, { what: 'write', with: path }), denied, path)
    await t.rejects(world.call(act, { what: 'run', with: 'true' }), denied)
  })

  t.test(`a ${kind} can signal other processes only if it may start processes`, async t => {
    const world = await World.open(t, kind)
    await t.rejects(world.call(act, { what: 'probe', with: process.pid }), denied)
    const granted = await World.open(t, kind, { permissions: { childProcess: true } })
    t.equal(await granted.call(act, { what: 'probe', with: process.pid }), true)
  })

  t.test(`a ${kind} cannot set flags of V8, or write reports and heap snapshots`, async t => {
    const world = await World.open(t, kind, { policy: { breaker: { failures: 0, windowMs: 1, halfOpenMs: 1 } } })
    const module = (name: string): string => `process.getBuiltinModule('node:${name}')`
    for (const body of [
      `${module('v8')}.setFlagsFromString('--redirect-code-traces-to=code.asm')`,
      `${module('v8')}.writeHeapSnapshot('heap.heapsnapshot')`,
      `${module('v8')}.setHeapSnapshotNearHeapLimit(1)`,
      "process.report.writeReport('report.json')",
      'process.report.getReport()',
      "process.report.directory = '/tmp'",
      'process.report.reportOnUncaughtException = true',
      `new (${module('wasi')}.WASI)({ version: 'preview1', preopens: { '/': '/' } })`
    ])
      await t.rejects(world.call(act, { what: 'evaluate', with: body }), denied, body)
  })

  t.test(`permissions in svc.toml replace those of the manifest in a ${kind}`, async t => {
    const permissions = { fsRead: ['hidden'], childProcess: true }
    const world = await World.open(t, kind, { permissions })
    t.equal(await world.call(act, { what: 'read', with: join(world.root, 'hidden/a.txt') }), 'hidden')
    await t.rejects(world.call(act, { what: 'read', with: join(world.root, 'shown/a.txt') }), denied)
    t.equal(await world.call(act, { what: 'run', with: '/bin/true' }), '')
  })

  t.test(`a ${kind} with fs_read "*" can read all paths`, async t => {
    const world = await World.open(t, kind, { permissions: { fsRead: ['*'] } })
    t.equal(await world.call(act, { what: 'read', with: join(world.root, 'hidden/a.txt') }), 'hidden')
  })
}

t.test('flags contain each granted path once, resolved relative to the project', async t => {
  const flags = permissionFlags({
    kind: 'process',
    permissions: { fsRead: ['models', './models', '/srv/shared'], worker: true, nativeAddons: true },
    projectRoot: '/project',
    readable: ['/kernel', '/kernel'],
    dataDirectory: '/project/.vox/plugins/x'
  })
  t.same(
    flags.filter(flag => flag.startsWith('--allow-fs')),
    [
      '--allow-fs-read=/kernel/*',
      '--allow-fs-read=/project/.vox/plugins/x/*',
      '--allow-fs-read=/project/models/*',
      '--allow-fs-read=/srv/shared/*',
      '--allow-fs-write=/project/.vox/plugins/x/*'
    ]
  )
  t.ok(flags.includes('--allow-worker') && flags.includes('--allow-addons'))
  t.notOk(flags.includes('--allow-child-process'))
})

t.test('a granted variable that is not set stays unset', async t => {
  t.same(allowedEnvironment({ env: ['A', 'B'] }, { A: '1', C: '3', TZ: 'UTC' }), { A: '1', TZ: 'UTC' })
})

t.test('a package can be read with its dependencies, including linked packages', async t => {
  const dir = t.testdir({
    app: {
      'package.json': JSON.stringify({ dependencies: { linked: '1', plain: '1', absent: '1' } }),
      node_modules: { linked: t.fixture('symlink', '../../linked'), plain: {} }
    },
    linked: { 'package.json': JSON.stringify({ dependencies: { app: '1' } }), node_modules: {} },
    node_modules: {}
  })
  const found = [...packageFolders(join(dir, 'app'))]
    .filter(each => each.startsWith(dir))
    .map(each => each.slice(dir.length))
  t.same(found.sort(), ['/app', '/app/node_modules', '/linked', '/linked/node_modules', '/node_modules'])
})

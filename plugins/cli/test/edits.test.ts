import { type ConfigEdit, type ConfigEditor, type ConfigPreview, kernelAdmin } from '@svc/contracts'
import { SvcError } from '@svc/plugin-sdk'
import { fake, type TestKernel, testPlugin } from '@svc/plugin-sdk/testing'
import t, { type Test } from 'tap'
import cli from '#plugin'
import { fakeAdmin, pluginReport } from './fake-admin.ts'

const DIGEST = 'a'.repeat(64)
const preview: ConfigPreview = {
  path: '/project/svc.toml',
  digest: DIGEST,
  before: '[plugins.a]\nport = 1\n',
  after: '[plugins.a]\nport = 2\n',
  problems: [],
  caused: [],
  plan: { applied: false, generation: 1, add: [], replace: ['a'], remove: [], keep: [], steps: ['replace a: changed'] },
  shadowed: [{ key: 'plugins.a.port', layer: 'environment', place: 'A_PORT' }],
  changed: [
    { key: 'plugins.a.port', reload: 'plugin' },
    { key: 'kernel.watch', reload: 'restart' }
  ]
}

interface Request {
  readonly edit: ConfigEdit
  readonly digest?: string | undefined
  readonly written: boolean
}

async function open(
  t: Test,
  change: Partial<ConfigPreview> = {}
): Promise<{ readonly kernel: TestKernel; readonly requests: Request[] }> {
  const requests: Request[] = []
  const shown = { ...preview, ...change }
  const configuration: ConfigEditor = {
    read: () => ({ path: shown.path, exists: true, text: 'x = 1\n', digest: DIGEST, editable: true, reason: null }),
    preview: async edit => {
      requests.push({ edit, written: false })
      return shown
    },
    write: async (edit, digest) => {
      requests.push({ edit, digest, written: true })
      if (digest !== undefined && digest !== DIGEST) throw new SvcError('CFG_CHANGED', 'changed', { status: 409 })
      const { plan, ...rest } = shown
      const report = plan === null ? null : { ...plan, applied: true, generation: 2 }
      return { ...rest, written: true, applied: true, report, refused: [] }
    },
    history: () => [{ number: 1, id: '1', time: '2026-01-01T00:00:00.000Z', keys: ['plugins.a.port'], digest: DIGEST }]
  }
  const kernel = await testPlugin(cli, {
    services: [fake(kernelAdmin, fakeAdmin([pluginReport('a')], { configuration }))]
  })
  t.teardown(() => kernel.close())
  return { kernel, requests }
}

const DIFF = '--- svc.toml\n+++ svc.toml\n@@ -1,2 +1,2 @@\n [plugins.a]\n-port = 1\n+port = 2\n'

t.test('a preview is a unified diff with plan, shadowed keys and settings that need a restart', async t => {
  const { kernel, requests } = await open(t)
  t.match(await kernel.callById('kernel.config.preview', { changes: { 'plugins.a.port': 2 } }), {
    digest: DIGEST,
    diff: DIFF,
    plan: { replace: ['a'] },
    shadowed: [{ key: 'plugins.a.port', layer: 'environment', place: 'A_PORT' }],
    restart: ['kernel.watch']
  })
  await kernel.callById('kernel.config.preview', { raw: 'a = 1' })
  await kernel.callById('kernel.config.preview', { number: 2 })
  await kernel.callById('kernel.config.preview', { id: 'x' })
  t.same(
    requests.map(({ edit }) => edit),
    [{ changes: { 'plugins.a.port': 2 } }, { raw: 'a = 1' }, { number: 2 }, { id: 'x' }]
  )
})

t.test(
  'every operation that changes the configuration, or says what a change would do, needs the scope of an administrator',
  t => {
    const ids = ['preview', 'write', 'set', 'unset', 'rollback'].map(name => `kernel.config.${name}`)
    const { operations = [] } = cli
    t.same(
      ids.map(id => operations.find(each => each.id === id)?.scopes),
      ids.map(() => ['kernel.admin'])
    )
    t.end()
  }
)

t.test('a change has exactly one form, not too many keys, and none that is too long', async t => {
  const { kernel, requests } = await open(t)
  const many = Object.fromEntries(Array.from({ length: 201 }, (_, index) => [`a.k${index}`, 1]))
  const long = { [`a.${'k'.repeat(1_000)}`]: 1 }
  for (const input of [{}, { changes: {}, raw: '' }, { changes: many }, { changes: long }]) {
    await t.rejects(kernel.callById('kernel.config.preview', input), { code: 'OPR_INPUT_INVALID', status: 400 })
    await t.rejects(kernel.callById('kernel.config.write', { ...input, digest: DIGEST }), { code: 'OPR_INPUT_INVALID' })
  }
  t.same(requests, [])
})

t.test('a write needs the digest of the previewed text', async t => {
  const { kernel, requests } = await open(t)
  const changes = { 'plugins.a.port': 2 }
  await t.rejects(kernel.callById('kernel.config.write', { changes }), { code: 'OPR_INPUT_INVALID' })
  await t.rejects(kernel.callById('kernel.config.write', { changes, digest: 'b'.repeat(64) }), { code: 'CFG_CHANGED' })
  t.match(await kernel.callById('kernel.config.write', { changes, digest: DIGEST }), {
    written: true,
    applied: true,
    plan: { applied: true, generation: 2 },
    text: /written and applied; generation 2 serves$/
  })
  t.same(requests.at(-1), { edit: { changes }, digest: DIGEST, written: true })
})

t.test('set, unset and rollback write, or with dryRun only preview', async t => {
  const { kernel, requests } = await open(t)
  await kernel.callById('kernel.config.set', { settings: ['a.port=2'] })
  await kernel.callById('kernel.config.unset', { keys: ['a.port', 'a.host'] })
  await kernel.callById('kernel.config.rollback', {})
  await kernel.callById('kernel.config.rollback', { id: '17', digest: DIGEST })
  t.match(await kernel.callById('kernel.config.set', { settings: ['a.port=2'], dryRun: true }), {
    written: false,
    text: `${DIFF}plugins.a.port: A_PORT overrides this value, so it has no effect
kernel.watch: takes effect at the next start of svc
replace a: changed
dry run: no changes were made`
  })
  t.same(
    requests.map(({ edit, digest, written }) => [edit, digest, written]),
    [
      [{ assignments: ['a.port=2'] }, undefined, true],
      [{ changes: { 'a.port': null, 'a.host': null } }, undefined, true],
      [{ number: 1 }, undefined, true],
      [{ id: '17' }, DIGEST, true],
      [{ assignments: ['a.port=2'] }, undefined, false]
    ]
  )
})

t.test('a dry run of a change that would be refused says so', async t => {
  const problem = {
    severity: 'error',
    code: 'CFG_VALUE_INVALID',
    message: 'plugins.a.port must be an integer'
  } as const
  const { kernel } = await open(t, { caused: [problem], problems: [problem], plan: null })
  t.match(await kernel.callById('kernel.config.set', { settings: ['a.port=x'], dryRun: true }), {
    caused: [problem],
    plan: null,
    text: /error CFG_VALUE_INVALID[\s\S]*dry run: the change would be refused$/
  })
})

t.test('two long texts without common lines are not compared for longer than a second', async t => {
  const lines = (letter: string): string => Array.from({ length: 60_000 }, (_, at) => `${letter}${at} = 1\n`).join('')
  const { kernel } = await open(t, { before: lines('a'), after: lines('b') })
  t.match(await kernel.callById('kernel.config.preview', { raw: '' }), { diff: /too little in common for a diff/ })
})

t.test('reports of generations, conflicts, permissions and secrets are data and text', async t => {
  const generation = {
    generation: 2,
    time: '2026-01-01T00:00:00.000Z',
    cause: 'svc.toml changed',
    ms: 12,
    added: ['b'],
    replaced: [],
    removed: [],
    kept: ['a'],
    refused: null
  }
  const admin = fakeAdmin([pluginReport('a')], {
    generations: () => [{ ...generation, added: [], refused: { code: 'X', message: 'no\nmore' } }, generation],
    conflicts: () => ({
      keys: [
        {
          key: 'command x',
          claims: [
            { plugin: 'a', state: 'active' },
            { plugin: 'b', state: 'failed' }
          ],
          used: 'a',
          detail: 'b is failed'
        }
      ],
      names: [{ name: 'c', used: '/one/c', shadowed: '/two/c' }]
    }),
    permissions: plugin => ({
      plugin,
      isolation: 'process',
      requested: { env: ['HOME'] },
      granted: { fsRead: ['.'], childProcess: true },
      effective: { fsRead: ['.'], childProcess: true }
    }),
    secrets: async () => ({
      secrets: [
        {
          key: 'plugins.a.token',
          plugin: 'a',
          kind: 'reference',
          reference: 'secret://env/A',
          backend: 'env',
          resolved: false,
          problem: 'A is not set',
          layer: 'project',
          place: 'svc.toml:1:1',
          warnings: []
        }
      ],
      files: []
    })
  })
  const kernel = await testPlugin(cli, { services: [fake(kernelAdmin, admin)] })
  t.teardown(() => kernel.close())
  t.match(await kernel.callById('kernel.generations.list', {}), {
    generations: [{ changes: 'refused: no' }, { changes: '1 added: b; 1 kept' }]
  })
  t.match(await kernel.callById('kernel.plugins.conflicts', {}), {
    text: 'command x: claimed by a (active), b (failed)\n  a has it\n  b is failed\nplugin c: /one/c is used\n  /two/c is ignored; remove or rename one of them'
  })
  t.match(await kernel.callById('kernel.plugins.permissions', { name: 'a' }), {
    granted: { fsRead: ['.'], childProcess: true },
    text: 'a: isolation process\n  requested  env: HOME\n  granted    fsRead: .\n             childProcess: yes\n  effective  fsRead: .\n             childProcess: yes'
  })
  t.match(await kernel.callById('kernel.secrets.doctor', {}), { healthy: false, secrets: [{ resolved: false }] })
})

import {
  defineOperation,
  definePlugin,
  deltaOperation,
  describePlugin,
  hook,
  point,
  t as s,
  service
} from '@svc/plugin-sdk'
import t from 'tap'
import { checkDefinition, validateManifest } from '#loader'

const operation = (id: string, command: string) =>
  defineOperation({ id, summary: id, input: s.object({}), output: s.object({}), expose: { cli: { command } } })

const full = definePlugin({
  name: 'full',
  summary: 'Everything',
  config: s.object({ port: s.integer({ default: 1 }) }),
  requires: { clock: service('clock@1') },
  provides: [service('store@2')],
  after: ['telemetry'],
  operations: [
    operation('full.one', 'full one'),
    defineOperation({
      id: 'full.list',
      summary: 'x',
      input: s.object({}),
      output: s.object({}),
      effect: 'read',
      watch: { on: ['full.rows', 'other.rows'], minMs: 50 }
    }),
    deltaOperation({ id: 'full.feed', summary: 'x', row: s.object({ id: s.string() }), watch: { on: ['full.rows'] } })
  ],
  points: [point('full.point')],
  contributes: [point('other.point')],
  taps: [hook('other.hook')],
  hooks: [hook('full.hook', 'waterfall', { onError: 'skip' })],
  commands: [{ command: 'full run', summary: 'Runs', input: s.object({}) }],
  activate() {}
})

const manifest = (): any => JSON.parse(JSON.stringify(describePlugin(full, '1.0.0')))

t.test('a manifest from the SDK is valid', t => {
  t.same(validateManifest(manifest(), 'plugin.json'), manifest())
  t.end()
})

t.test('adds claims and descriptions to a manifest that lacks them', t => {
  const older = manifest()
  for (const each of older.operations) for (const fact of ['claims', 'shown']) delete each[fact]
  t.same(validateManifest(older, 'plugin.json'), manifest())
  t.end()
})

t.test('each error is reported with its path', t => {
  const cases: [(of: any) => void, RegExp][] = [
    [of => (of.manifest = 2), /\.manifest must be 1/],
    [of => (of.name = 'Upper'), /\.name must be lower case/],
    [of => (of.name = 'x'.repeat(65)), /\.name /],
    [of => delete of.version, /\.version must be a string/],
    [of => (of.requires = ['clock']), /\.requires\[0\] must be an id such as name@1/],
    [of => (of.provides = 'store@2'), /\.provides must be an array/],
    [of => delete of.operations[0].input, /\.operations\[0\]\.input must be an object/],
    [of => (of.operations[0].effect = 'none'), /\.operations\[0\]\.effect must be read or write or destructive/],
    [of => (of.operations[0].id = 'a b'), /\.operations\[0\]\.id must be a string without spaces/],
    [of => (of.operations[0].timeoutMs = -1), /\.operations\[0\]\.timeoutMs must be a whole number/],
    [of => (of.operations[1].watch = true), /\.operations\[1\]\.watch must be an object/],
    [of => delete of.operations[1].watch.on, /\.operations\[1\]\.watch\.on must be a list of at least one topic/],
    [of => (of.operations[1].watch.on = []), /\.operations\[1\]\.watch\.on must be a list of at least one topic/],
    [of => (of.operations[1].watch.on = ['a', 5]), /\.operations\[1\]\.watch\.on\[1\] must be a string/],
    [of => (of.operations[1].watch.mode = 'push'), /\.operations\[1\]\.watch\.mode must be snapshot or delta/],
    [of => (of.operations[1].watch.minMs = 49), /\.operations\[1\]\.watch\.minMs must be a whole number from 50/],
    [of => (of.operations[1].watch.minMs = 50.5), /\.operations\[1\]\.watch\.minMs must be a whole number/],
    [of => (of.operations[1].effect = 'write'), /\.operations\[1\]\.watch is only for .* effect read, not write/],
    [of => (of.operations[1].watch.mode = 'delta'), /\.operations\[1\]\.watch\.mode is delta, but .* deltaOperation/],
    [of => delete of.operations[2].input.properties.since, /\.operations\[2\]\.watch\.mode is delta, but/],
    [of => (of.hooks[0].mode = 'odd'), /\.hooks\[0\]\.mode /],
    [of => (of.commands[0].command = ' run'), /\.commands\[0\]\.command must be words/],
    [of => (of.config = []), /\.config must be an object/],
    [of => (of.enabledByDefault = 'yes'), /\.enabledByDefault must be true or false/],
    [of => of.operations.push(of.operations[0]), /\.operations contains "full\.one" twice/],
    [of => (of.commands[0].command = 'full one'), /\.commands contains "full one" twice/],
    [of => of.operations[0].claims.push('command full run'), /\.claims contains "command full run" twice/],
    [of => of.points.push('full.point'), /\.points contains "full\.point" twice/],
    [of => of.provides.push('store@2'), /\.provides contains "store@2" twice/]
  ]
  for (const [break_, message] of cases) {
    const broken = manifest()
    break_(broken)
    t.throws(() => validateManifest(broken, '/p/plugin.json'), {
      code: 'LDR_MANIFEST_INVALID',
      message,
      at: { file: '/p/plugin.json' },
      hint: /definePlugin/
    })
  }
  for (const nonsense of [null, 3, 'text', []])
    t.throws(() => validateManifest(nonsense, 'x'), { code: 'LDR_MANIFEST_INVALID' })
  t.end()
})

t.test('another major version of the SDK is reported before anything else', t => {
  t.throws(() => validateManifest({ sdk: 7, name: 'later' }, 'x'), { code: 'LDR_SDK_MISMATCH', plugin: 'later' })
  t.end()
})

t.test('a wrong field of definePlugin is reported with plugin, field and expected form', t => {
  checkDefinition(full, 'package', '/p')
  const clock = service('clock@1')
  const cases: [object, RegExp][] = [
    [{ provides: { clock } }, /^full: provides in definePlugin must be a list of services, .*; it is an object$/],
    [{ provides: ['clock@1'] }, /^full: provides .* list of services/],
    [{ requires: [clock] }, /^full: requires in definePlugin must be an object of services/],
    [{ optional: { clock: 'clock@1' } }, /^full: optional /],
    [{ operations: operation('full.one', 'full one') }, /^full: operations .* list of operations/],
    [{ points: 'full.point' }, /^full: points .*; it is a string$/],
    [{ hooks: [point('x.y')] }, /^full: hooks /],
    [{ commands: [{ command: 'x' }] }, /^full: commands /],
    [{ after: 'http' }, /^full: after .*names of plugins/],
    [{ permissions: [] }, /^full: permissions /],
    [{ config: null }, /^full: config .*; it is null$/],
    [{ summary: 1 }, /^full: summary .*; it is a number$/],
    [{ name: undefined }, /^package: name .*; it is missing$/]
  ]
  for (const [field, message] of cases) {
    const path = Object.keys(field)[0]
    const wrong = { ...full, ...field } as typeof full
    t.throws(() => checkDefinition(wrong, 'package', '/p'), { code: 'LDR_MANIFEST_INVALID', message, at: { path } })
  }
  t.end()
})

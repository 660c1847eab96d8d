import {
  defineOperation,
  definePlugin,
  describePlugin,
  errorTable,
  hook,
  isSvcError,
  point,
  ref,
  SDK_VERSION,
  SvcError,
  t as s,
  service
} from '@svc/plugin-sdk'
import t from 'tap'

t.test('an operation defaults to effect write, a timeout of a minute and no surface', async t => {
  const operation = defineOperation({ id: 'demo.act', summary: 'Act', input: s.object({}), output: s.object({}) })
  t.match(operation, { kind: 'operation', effect: 'write', idempotent: false, timeoutMs: 60_000, concurrency: 0 })
  t.same([operation.errors, operation.scopes, operation.expose], [{}, [], {}])
  t.notOk('description' in operation || 'events' in operation)
})

t.test('an operation with effect read is idempotent by default', async t => {
  const base = { id: 'demo.read', summary: 'x', input: s.object({}), output: s.object({}), effect: 'read' } as const
  t.equal(defineOperation(base).idempotent, true)
  t.equal(defineOperation({ ...base, idempotent: false }).idempotent, false)
})

t.test('tokens, points and hooks are identified only by their ids', async t => {
  const clock = service<{ now(): number }>('demo.clock@1')
  t.same(clock, { kind: 'service', id: 'demo.clock@1' })
  t.same(ref(clock), { kind: 'ref', id: 'demo.clock@1' })
  t.same(hook('demo.asked'), {
    kind: 'hook',
    id: 'demo.asked',
    mode: 'series',
    onError: 'fail',
    summary: '',
    payload: {}
  })
  t.same(hook('demo.asked', 'bail', { onError: 'skip' }), {
    kind: 'hook',
    id: 'demo.asked',
    mode: 'bail',
    onError: 'skip',
    summary: '',
    payload: {}
  })
  const shelf = point<string>('demo.shelf', { keys: item => [item] })
  t.same([shelf.id, shelf.keys?.('a')], ['demo.shelf', ['a']])
})

t.test('a manifest contains all declarations of a plugin', async t => {
  const clock = service<object>('demo.clock@1')
  const act = defineOperation({ id: 'demo.act', summary: 'Act', input: s.object({}), output: s.object({}) })
  const plugin = definePlugin({
    name: 'demo',
    summary: 'A demonstration',
    config: s.object({ word: s.string({ default: 'hi' }) }),
    requires: { clock, live: ref(service<object>('demo.live@2')) },
    optional: { maybe: service<object>('demo.maybe@1') },
    after: ['other'],
    provides: [service<object>('demo.own@3')],
    operations: [act],
    points: [point('demo.shelf')],
    hooks: [hook('demo.asked', 'bail')],
    commands: [{ command: 'demo chat', summary: 'Chat', input: s.object({}) }],
    permissions: { env: ['DEMO'] },
    enabledByDefault: false,
    activate() {}
  })
  const manifest = describePlugin(plugin, '1.2.3')
  t.same(JSON.parse(JSON.stringify(manifest)), manifest, 'the manifest is JSON')
  t.match(manifest, {
    manifest: 1,
    name: 'demo',
    version: '1.2.3',
    summary: 'A demonstration',
    sdk: SDK_VERSION,
    requires: ['demo.clock@1', 'demo.live@2'],
    optional: ['demo.maybe@1'],
    refs: ['demo.live@2'],
    after: ['other'],
    provides: ['demo.own@3'],
    operations: [{ id: 'demo.act', effect: 'write' }],
    points: ['demo.shelf'],
    hooks: [{ id: 'demo.asked', mode: 'bail', onError: 'fail' }],
    commands: [{ command: 'demo chat', input: { type: 'object' } }],
    config: { properties: { word: { default: 'hi' } } },
    permissions: { env: ['DEMO'] },
    enabledByDefault: false
  })
})

t.test('a plugin without declarations has an empty manifest and accepts no settings', async t => {
  const manifest = describePlugin(definePlugin({ name: 'bare', activate() {} }), '0.0.1')
  t.match(manifest, {
    summary: '',
    operations: [],
    config: { type: 'object', additionalProperties: false },
    enabledByDefault: true
  })
})

t.test('isSvcError recognises errors of another copy of the package by code', async t => {
  const errors = errorTable({
    DEMO_GONE: { message: 'It is gone.', status: 404 },
    DEMO_ODD: { message: 'It is odd.' }
  })
  const cause = new Error('below')
  const error = errors.create('DEMO_GONE', 'the demo is gone', {
    hint: 'look',
    at: { file: 'f', line: 1 },
    data: { n: 1 },
    plugin: 'demo',
    cause
  })
  t.match(error, {
    name: 'SvcError',
    code: 'DEMO_GONE',
    status: 404,
    message: 'the demo is gone',
    hint: 'look',
    plugin: 'demo',
    cause
  })
  t.equal(errors.create('DEMO_ODD', 'odd').status, 500)
  t.ok(isSvcError(error) && isSvcError(error, 'DEMO_GONE'))
  t.notOk(isSvcError(error, 'DEMO_ODD'))
  t.notOk(isSvcError(new Error('plain')) || isSvcError(null) || isSvcError({ code: 'DEMO_GONE' }))
  const foreign = Object.assign(new Error('x'), { '~svc': 'error', code: 'DEMO_GONE' })
  t.ok(isSvcError(foreign, 'DEMO_GONE') && !(foreign instanceof SvcError))
})

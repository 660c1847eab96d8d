import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { callDaemon } from '@svc/contracts'
import { defineOperation, definePlugin, t as schema } from '@svc/plugin-sdk'
import type { TestKernel } from '@svc/plugin-sdk/testing'
import fc from 'fast-check'
import t from 'tap'
import { startDaemon } from './start-daemon.ts'

const request = (method: string, params: object = {}): object => ({ jsonrpc: '2.0', id: method, method, params })
const UNAUTHORIZED = { error: { data: { code: 'DMN_UNAUTHORIZED', status: 401 } } }

const planNew = defineOperation({
  id: 'ai.plan.new',
  summary: 'Make a plan',
  input: schema.object({ write_to_disk: schema.boolean({ default: false }) }),
  output: schema.object({ written: schema.boolean() }),
  expose: { rpc: true }
})
const planner = definePlugin({
  name: 'planner',
  operations: [planNew],
  activate: ctx => ctx.implement(planNew, ({ write_to_disk }) => ({ written: write_to_disk }))
})

t.test('over TCP, a client without token can call only open methods', async t => {
  const { connect, state } = await startDaemon(t, {}, [planner])
  const peer = await connect(null)
  t.match(await peer.ask(request('orch.ping')), { result: { ok: true } })
  t.match(await peer.ask(request('ai.plan.new')), { result: { written: false } })
  t.match(await peer.ask(request('rpc.discover')), { result: { openrpc: '1.3.2' } })
  t.match(await peer.ask(request('test.echo', { text: 'x' })), UNAUTHORIZED)
  t.match(
    await peer.ask(request('ai.plan.new', { write_to_disk: true })),
    UNAUTHORIZED,
    'a call that writes a file requires the token'
  )
  t.match(await peer.ask(request('orch.nothing')), { error: { data: { code: 'DMN_METHOD_UNKNOWN' } } })
  t.match(await peer.ask([request('test.echo', { text: 'x' }), request('orch.ping')]), [UNAUTHORIZED, { result: {} }])
  t.match(await peer.ask(request('$/auth', { token: state.token ?? '' })), { result: { ok: true } })
  t.match(await peer.ask(request('test.echo', { text: 'x' })), { result: { text: 'x' } })
})

t.test('over TCP without token, a method can be called only by its open name', async t => {
  const submit = defineOperation({
    id: 'tasks.submit',
    summary: 'Submit a task',
    input: schema.object({}),
    output: schema.object({ ok: schema.boolean() }),
    expose: { rpc: { aliases: ['orch.submit_task'] } }
  })
  const tasks = definePlugin({
    name: 'tasks',
    operations: [submit],
    activate: ctx => ctx.implement(submit, () => ({ ok: true }))
  })
  const { connect } = await startDaemon(t, {}, [tasks])
  const peer = await connect(null)
  t.match(await peer.ask(request('orch.submit_task')), { result: { ok: true } })
  t.match(await peer.ask(request('tasks.submit')), UNAUTHORIZED)
})

t.test('a token of a wrong type counts as a wrong token', async t => {
  const { connect, kernel } = await startDaemon(t, {}, [planner])
  for (const params of [
    { token: { toString: 1 } },
    { token: ['x'] },
    { token: 1 },
    { token: null },
    {},
    null,
    'x',
    [1]
  ]) {
    const peer = await connect(null)
    const message = '$/auth requires params with a string token'
    t.match(await peer.ask(request('$/auth', params as object)), {
      error: { message, data: { code: 'DMN_UNAUTHORIZED' } }
    })
    await peer.closed()
  }
  t.same(errorsOf(kernel), [])
})

t.test('one line is one guess: a batch with several tokens gets an answer and is closed', async t => {
  const { connect, state } = await startDaemon(t, {}, [planner])
  const right = state.token ?? ''
  const peer = await connect(null)
  const answers = await peer.ask([
    request('orch.ping'),
    request('$/auth', { token: 'wrong' }),
    request('$/auth', { token: right }),
    request('test.echo', { text: 'x' })
  ])
  t.same(answers.map(({ error }: any) => error.data.code).sort(), [
    'DMN_FRAME_INVALID',
    'DMN_UNAUTHORIZED',
    'DMN_UNAUTHORIZED',
    'DMN_UNAUTHORIZED'
  ])
  await peer.closed()
  const owner = await connect(null)
  t.match(await owner.ask([request('$/auth', { token: right }), request('test.echo', { text: 'x' })]), [
    { result: { ok: true } },
    { result: { text: 'x' } }
  ])
})

t.test('any JSON as a request is answered or ignored, and never degrades the daemon', async t => {
  const { connect, kernel, state } = await startDaemon(t, {}, [planner])
  const token = fc.oneof(fc.jsonValue(), fc.constant({ toString: 1 }), fc.constant({ toString: { valueOf: null } }))
  const method = fc.oneof(fc.constantFrom('$/auth', '$/cancel', 'orch.ping', 'toString', '__proto__'), fc.jsonValue())
  const params = fc.oneof(fc.record({ token }), fc.record({ id: fc.jsonValue() }), fc.jsonValue())
  const frame = fc.record(
    { jsonrpc: fc.oneof(fc.constant('2.0'), fc.jsonValue()), id: fc.jsonValue(), method, params },
    { requiredKeys: [] }
  )
  const line = fc.oneof(frame, fc.array(frame, { maxLength: 4 }), fc.jsonValue())
  await fc.assert(
    fc.asyncProperty(line, async value => {
      const peer = await connect(null)
      peer.send(value)
      // The end of the input makes the daemon close the connection after its answers.
      peer.socket.end()
      await peer.closed()
    }),
    { numRuns: 300 }
  )
  const peer = await connect(state.token)
  t.match(await peer.ask(request('test.echo', { text: 'x' })), { result: { text: 'x' } })
  t.same(errorsOf(kernel), [])
})

/** Returns the uncaught errors in the log. */
function errorsOf(kernel: TestKernel): readonly unknown[] {
  return kernel.log.filter(({ level }) => level === 'error')
}

t.test('each daemon has its own token and keeps it across reloads', async t => {
  const [first, second] = [await startDaemon(t), await startDaemon(t)]
  t.match(first.state.token, /^[\w-]{43}$/)
  t.not(first.state.token, second.state.token)
  const peer = await first.connect()
  await first.reload()
  t.match(await peer.ask(request('test.echo', { text: 'x' })), { result: { text: 'x' } })
  t.match(await callDaemon(first.state, 'test.echo', { text: 'x' }), { text: 'x' })
  await t.rejects(callDaemon({ ...first.state, token: second.state.token }, 'orch.ping'), { code: 'DMN_UNAUTHORIZED' })
})

t.test('require_token closes each connection that does not start with the token', async t => {
  const { connect, state } = await startDaemon(t, { require_token: true })
  const peer = await connect(null)
  t.match(await peer.ask(request('orch.ping')), UNAUTHORIZED)
  await peer.closed()
  t.match(await callDaemon(state, 'orch.ping'), { ok: true })
})

t.test('a unix socket needs no token, because of its mode', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const { connect } = await startDaemon(t, { socket: join(folder, 'svc.sock') })
  const peer = await connect(null)
  t.match(await peer.ask(request('test.echo', { text: 'x' })), { result: { text: 'x' } })
})

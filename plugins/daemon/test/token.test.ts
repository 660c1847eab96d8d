import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { callDaemon } from '@svc/contracts'
import { defineOperation, definePlugin, t as schema } from '@svc/plugin-sdk'
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

import { once } from 'node:events'
import { createServer } from 'node:net'
import { callDaemon } from '@svc/contracts'
import t from 'tap'
import { startDaemon } from './start-daemon.ts'

t.test('the client', async t => {
  const { state, gates } = await startDaemon(t)

  t.test('returns results, and throws errors with their code, hint and data', async t => {
    t.same(await callDaemon(state, 'test.echo', { text: 'x' }), { text: 'x', by: 'first' })
    await t.rejects(callDaemon(state, 'refuse'), {
      '~svc': 'error',
      code: 'TEST_REFUSED',
      status: 409,
      message: 'refused on principle',
      data: { why: 'test' }
    })
    await t.rejects(callDaemon(state, 'nope'), { code: 'DMN_METHOD_UNKNOWN', hint: /rpc\.discover/ })
  })

  t.test('forwards events and progress', async t => {
    const events: unknown[] = []
    const progress: unknown[] = []
    const result = await callDaemon(
      state,
      'test.count',
      { to: 2 },
      {
        onEvent: event => void events.push(event),
        onProgress: (...given) => void progress.push(given)
      }
    )
    t.same(result, { sum: 3 })
    t.same(events, [
      { number: 1, padding: '' },
      { number: 2, padding: '' }
    ])
    t.same(progress, [
      [1, 2, undefined],
      [2, 2, undefined]
    ])
  })

  t.test('an aborted signal ends the call in client and daemon', async t => {
    const controller = new AbortController()
    const entered = new Promise(resolve => gates.events.once('entered a', resolve))
    const aborted = new Promise(resolve => gates.events.once('aborted a', resolve))
    const call = callDaemon(state, 'test.wait', { gate: 'a' }, { signal: controller.signal })
    await entered
    controller.abort()
    await t.rejects(call, { code: 'OPR_CANCELLED' })
    await aborted
    await t.rejects(callDaemon(state, 'orch.ping', {}, { signal: AbortSignal.abort() }), { code: 'OPR_CANCELLED' })
  })

  t.test('a timeout ends the call in client and daemon', async t => {
    const aborted = new Promise(resolve => gates.events.once('aborted b', resolve))
    await t.rejects(callDaemon(state, 'test.wait', { gate: 'b' }, { timeoutMs: 50 }), { code: 'OPR_TIMEOUT' })
    await aborted
  })
})

t.test('the client distinguishes a daemon from other servers', async t => {
  const speak = async (answer: string): Promise<{ socket: string }> => {
    const server = createServer(socket => socket.end(answer)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.teardown(() => server.close())
    return { socket: `127.0.0.1:${(server.address() as { port: number }).port}` }
  }
  await t.rejects(callDaemon({ socket: '127.0.0.1:1' }, 'orch.ping'), {
    code: 'DMN_UNREACHABLE',
    hint: /svc daemon start/
  })
  await t.rejects(callDaemon({ socket: '/nowhere/svc.sock' }, 'orch.ping'), { code: 'DMN_UNREACHABLE' })
  await t.rejects(callDaemon(await speak(''), 'orch.ping'), { code: 'DMN_CONNECTION_LOST' })
  await t.rejects(callDaemon(await speak('HTTP/1.1 400 Bad Request\r\n\r\n'), 'orch.ping'), { code: 'DMN_BAD_ANSWER' })
})

import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { callDaemon } from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import t from 'tap'
import daemon from '#plugin'
import { formatAddress, parseAddress } from '#root'
import { startDaemon } from './start-daemon.ts'

t.test('parses all forms of the setting', async t => {
  const cases: [string, object, string][] = [
    ['127.0.0.1:9745', { kind: 'tcp', host: '127.0.0.1', port: 9745 }, '127.0.0.1:9745'],
    ['tcp://127.0.0.1:9745', { kind: 'tcp', host: '127.0.0.1', port: 9745 }, '127.0.0.1:9745'],
    ['tcp://[::1]:0', { kind: 'tcp', host: '::1', port: 0 }, '[::1]:0'],
    ['localhost:1', { kind: 'tcp', host: 'localhost', port: 1 }, 'localhost:1'],
    ['stdio', { kind: 'stdio' }, 'stdio'],
    ['-', { kind: 'stdio' }, 'stdio'],
    [' stdin ', { kind: 'stdio' }, 'stdio'],
    ['/run/svc.sock', { kind: 'unix', path: '/run/svc.sock' }, '/run/svc.sock'],
    ['unix:/run/svc.sock', { kind: 'unix', path: '/run/svc.sock' }, '/run/svc.sock'],
    ['unix:///run/svc.sock', { kind: 'unix', path: '/run/svc.sock' }, '/run/svc.sock']
  ]
  for (const [text, address, formatted] of cases) {
    t.same(parseAddress(text), address, text)
    t.equal(formatAddress(parseAddress(text)), formatted, text)
  }
  for (const text of [
    '',
    'localhost',
    '127.0.0.1:65536',
    'http://127.0.0.1:1',
    '::1:9745',
    'unix:relative',
    `/${'x'.repeat(200)}`,
    'a b:1'
  ]) {
    t.throws(
      () => parseAddress(text),
      { code: 'DMN_SOCKET_INVALID', message: /SVC_ORCHESTRATOR_DAEMON_SOCKET/, at: { path: 'plugins.daemon.socket' } },
      text
    )
  }
})

t.test('the error of a port in use names the setting', async t => {
  const other = createServer().listen(0, '127.0.0.1')
  await new Promise(resolve => other.once('listening', resolve))
  t.teardown(() => other.close())
  const { port } = other.address() as { port: number }
  await t.rejects(testKernel([daemon], { settings: { daemon: { socket: `127.0.0.1:${port}` } } }), {
    code: 'DMN_PORT_IN_USE',
    message: new RegExp(`127\\.0\\.0\\.1:${port}.*plugins\\.daemon\\.socket \\(SVC_ORCHESTRATOR_DAEMON_SOCKET\\)`),
    hint: /127\.0\.0\.1:0/
  })
})

t.test('the error for an address that cannot be bound has the reason', async t => {
  await t.rejects(testKernel([daemon], { settings: { daemon: { socket: '192.0.2.1:0', token: 'x' } } }), {
    code: 'DMN_LISTEN_FAILED',
    message: /192\.0\.2\.1:0.*EADDRNOTAVAIL/
  })
})

t.test('a unix socket is private to its owner, and a stale one is replaced', async t => {
  // The path of the test folder is too long for a socket.
  const folder = mkdtempSync(join(tmpdir(), 'svc-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'svc.sock')
  const first = await startDaemon(t, { socket: path })
  t.equal(first.state.socket, path)
  t.match(await callDaemon(first.state, 'orch.ping'), { ok: true })
  await t.rejects(testKernel([daemon], { settings: { daemon: { socket: path } } }), { code: 'DMN_PORT_IN_USE' })
  await first.kernel.close()

  const left = join(folder, 'left.sock')
  const script = `require('node:net').createServer().listen(${JSON.stringify(left)}, () => process.kill(process.pid, 'SIGKILL'))`
  spawnSync(process.execPath, ['-e', script])
  const second = await startDaemon(t, { socket: left })
  t.match(await callDaemon(second.state, 'orch.ping'), { ok: true })
})

t.test('a remote address requires a token', async t => {
  for (const socket of ['0.0.0.0:0', '[::]:0', 'example.org:1', '10.0.0.1:1']) {
    await t.rejects(
      testKernel([daemon], { settings: { daemon: { socket } } }),
      { code: 'DMN_TOKEN_REQUIRED', hint: /plugins\.daemon\.token/ },
      socket
    )
  }
})

t.test('with a configured token, the first line must contain it', async t => {
  const { connect, state, gates } = await startDaemon(t, { socket: '0.0.0.0:0', token: 'open sesame' })
  const ping = { jsonrpc: '2.0', id: 1, method: 'orch.ping' }
  const auth = (token: unknown): object => ({ jsonrpc: '2.0', id: 0, method: '$/auth', params: { token } })
  gates.events.on('entered evil', () => t.fail('ran without a token'))

  const silent = await connect(null)
  silent.send({ jsonrpc: '2.0', id: 1, method: 'test.wait', params: { gate: 'evil' } }, ping)
  t.match(await silent.next(), { id: 1, error: { data: { code: 'DMN_UNAUTHORIZED', status: 401 } } })
  await silent.closed()

  for (const wrong of ['open sesam', '', undefined, 7]) {
    const peer = await connect(null)
    peer.send(auth(wrong), ping)
    t.match(await peer.next(), { id: 0, error: { data: { code: 'DMN_UNAUTHORIZED' } } })
    await peer.closed()
  }

  const right = await connect(null)
  right.send(auth('open sesame'), ping)
  t.match(await right.take(2), [
    { id: 0, result: { ok: true } },
    { id: 1, result: { ok: true } }
  ])

  const native = await connect(null)
  native.send({ id: 'a', method: '$/auth', params: { token: 'open sesame' } }, { id: 'b', method: 'orch.ping' })
  t.match(await native.take(2), [
    { id: 'a', payload: { type: 'result' } },
    { id: 'b', payload: { type: 'result' } }
  ])

  const long = await connect(null)
  long.raw(`{${'x'.repeat(10_000)}`)
  t.match(
    await long.next(),
    { error: { data: { code: 'DMN_LINE_TOO_LONG' } } },
    'an unauthenticated client has a low line limit'
  )

  await t.rejects(callDaemon({ socket: state.socket }, 'orch.ping'), { code: 'DMN_UNAUTHORIZED' })
  t.match(await callDaemon(state, 'orch.ping', {}, { token: 'open sesame' }), { ok: true })
  t.match(await callDaemon(state, 'orch.ping'), { ok: true }, 'the token of the state file is accepted')
})

t.test('errors have codes, not classes', async t => {
  const error = await testKernel([daemon], { settings: { daemon: { socket: 'nowhere' } } }).catch(
    (cause: unknown) => cause
  )
  t.ok(isSvcError(error, 'DMN_SOCKET_INVALID'))
})

import t from 'tap'
import { startDaemon } from './start-daemon.ts'

const rpc = (id: unknown, method: string, params?: unknown): object => ({
  jsonrpc: '2.0',
  ...(id === undefined ? {} : { id }),
  method,
  ...(params === undefined ? {} : { params })
})

t.test('JSON-RPC 2.0', async t => {
  const { connect, kernel } = await startDaemon(t)
  const peer = await connect()

  t.test('orch.ping returns the repository of the daemon', async t => {
    t.same(await peer.ask(rpc(1, 'orch.ping')), {
      jsonrpc: '2.0',
      id: 1,
      result: { ok: true, repository_id: 'test', protocol: 'svc.orchestrator_daemon/v1' }
    })
  })

  t.test('numeric and string ids are returned unchanged', async t => {
    for (const id of [0, -7, 1.5, 'a', '', '1', null]) {
      const { id: back } = await peer.ask(rpc(id, 'test.echo', { text: 'x' }))
      t.same(back, id)
    }
  })

  t.test('each kind of error has its number and its stable code', async t => {
    const cases: [object, number, string][] = [
      [rpc(1, 'nope'), -32601, 'DMN_METHOD_UNKNOWN'],
      [rpc(1, 'test.hidden'), -32601, 'DMN_METHOD_UNKNOWN'],
      [rpc(1, 'test.echo', { text: 7 }), -32602, 'OPR_INPUT_INVALID'],
      [rpc(1, 'test.echo', { text: 'x', more: 1 }), -32602, 'OPR_INPUT_INVALID'],
      [rpc(1, 'test.echo', ['x']), -32602, 'DMN_PARAMS_INVALID'],
      [rpc(1, 'test.echo', 'x'), -32602, 'DMN_PARAMS_INVALID'],
      [rpc(1, 'refuse'), -32000, 'TEST_REFUSED'],
      [rpc(1, 'test.crash'), -32000, 'OPR_FAILED']
    ]
    for (const [frame, code, stable] of cases) {
      const { error, id } = await peer.ask(frame)
      t.match({ id, error }, { id: 1, error: { code, message: String, data: { code: stable, status: Number } } })
      t.notMatch(JSON.stringify(error), /secret inner reason/, 'errors without a code are not revealed')
    }
    const { error } = await peer.ask(rpc(2, 'refuse'))
    t.same(error.data, { code: 'TEST_REFUSED', status: 409, details: { why: 'test' } })
  })

  t.test('an invalid request gets an error with its id, if the id is readable', async t => {
    t.match(await peer.ask({ jsonrpc: '1.0', id: 4, method: 'orch.ping' }), { id: 4, error: { code: -32600 } })
    t.match(await peer.ask({ jsonrpc: '2.0', id: 5 }), { id: 5, error: { code: -32600 } })
    t.match(await peer.ask({ jsonrpc: '2.0', id: 6, method: 7 }), { id: 6, error: { code: -32600 } })
    t.match(await peer.ask({ jsonrpc: '2.0', id: {}, method: 'orch.ping' }), { id: null, error: { code: -32600 } })
    t.match(await peer.ask(5), { id: null, error: { code: -32600 } })
    peer.raw('{"jsonrpc":"2.0","id":1e999,"method":"orch.ping"}\n')
    t.match(await peer.next(), { id: null, error: { code: -32600 } }, 'an id that cannot be serialized becomes null')
  })

  t.test('notifications run without a response', async t => {
    peer.send(rpc(undefined, 'test.echo', { text: 'x' }), rpc(undefined, 'nope'), rpc(1, 'orch.ping'))
    t.match(await peer.next(), { id: 1, result: { ok: true } })
  })

  t.test('the responses to a batch are one line', async t => {
    const answers = await peer.ask([
      rpc(1, 'test.echo', { text: 'a' }),
      rpc(undefined, 'test.echo', { text: 'b' }),
      rpc('2', 'nope'),
      7,
      { id: 'native', method: 'orch.ping' }
    ])
    const byId = new Map(answers.map((answer: { id: unknown }) => [answer.id, answer]))
    t.equal(answers.length, 4)
    t.match(byId.get(1), { result: { text: 'a' } })
    t.match(byId.get('2'), { error: { code: -32601 } })
    t.match(byId.get(null), { error: { code: -32600 } })
    t.match(byId.get('native'), { error: { code: -32600 } }, 'the original dialect has no batches')
    t.match(await peer.ask([]), { id: null, error: { code: -32600 } })
    peer.send([rpc(undefined, 'orch.ping')], rpc(9, 'orch.ping'))
    t.match(await peer.next(), { id: 9 }, 'a batch of notifications has no response')
  })

  t.test('rpc.discover describes the methods as OpenRPC', async t => {
    const { result } = await peer.ask(rpc(1, 'rpc.discover'))
    t.equal(result.openrpc, '1.3.2')
    const names = result.methods.map((method: { name: string }) => method.name)
    t.same(names, [...names].sort())
    t.ok(names.includes('refuse') && !names.includes('test.hidden'))
    t.match(
      result.methods.find((method: { name: string }) => method.name === 'test.count'),
      {
        params: [
          { name: 'to', required: true },
          { name: 'size', required: false }
        ],
        'x-effect': 'write',
        'x-events': { type: 'object' }
      }
    )
  })

  t.test('events and progress have the id of their request', async t => {
    peer.send({ ...rpc('c', 'test.count', { to: 2 }), progress: true })
    t.same(await peer.take(5), [
      { jsonrpc: '2.0', method: '$/event', params: { id: 'c', event: { number: 1, padding: '' } } },
      { jsonrpc: '2.0', method: '$/progress', params: { id: 'c', done: 1, total: 2 } },
      { jsonrpc: '2.0', method: '$/event', params: { id: 'c', event: { number: 2, padding: '' } } },
      { jsonrpc: '2.0', method: '$/progress', params: { id: 'c', done: 2, total: 2 } },
      { jsonrpc: '2.0', id: 'c', result: { sum: 3 } }
    ])
  })

  t.test('a client that requested no progress gets none', async t => {
    t.match(await peer.ask(rpc('r', 'test.report', { times: 3 })), { id: 'r', result: { ok: true } })
    peer.send(rpc('c', 'test.count', { to: 1 }))
    t.match(await peer.take(2), [{ method: '$/event' }, { id: 'c', result: { sum: 1 } }])
  })

  t.equal(kernel.state('daemon'), 'active')
})

t.test('the original frames', async t => {
  const { connect, gates } = await startDaemon(t)
  const peer = await connect()

  t.test('a result and an error are payloads', async t => {
    t.same(await peer.ask({ id: 'a', method: 'test.echo', params: { text: 'x' } }), {
      id: 'a',
      payload: { type: 'result', value: { text: 'x', by: 'first' } }
    })
    t.match(await peer.ask({ id: 'b', method: 'orch.ping' }), {
      id: 'b',
      payload: { type: 'result', value: { ok: true } }
    })
    t.match(await peer.ask({ id: 'c', method: 'nope', params: {} }), {
      id: 'c',
      payload: { type: 'error', code: 1, message: 'unknown method: nope', data: { code: 'DMN_METHOD_UNKNOWN' } }
    })
  })

  t.test('the response to an invalid line has the id "0"', async t => {
    peer.raw('{"id":"7","method":"orch.ping","params":\n')
    t.match(await peer.next(), { id: '0', payload: { type: 'error', code: 1 } })
    t.match(await peer.ask({ method: 'orch.ping' }), { id: '0', payload: { type: 'error' } }, 'an id is required')
  })

  t.test('responses are in request order', async t => {
    const entered = new Promise(resolve => gates.events.once('entered first', resolve))
    peer.send({ id: '1', method: 'test.wait', params: { gate: 'first' } }, { id: '2', method: 'orch.ping', params: {} })
    await entered
    gates.events.emit('open first')
    t.same(
      (await peer.take(2)).map(frame => frame.id),
      ['1', '2']
    )
  })

  t.test('only an operation that streams sends more than one line', async t => {
    t.match(await peer.ask({ id: 'r', method: 'test.report' }), { id: 'r', payload: { type: 'result' } })
    peer.send({ id: 's', method: 'test.count', params: { to: 1 }, progress: true })
    const types = (await peer.take(3)).map(({ id, payload }) => [id, payload.type])
    t.same(types, [
      ['s', 'chunk'],
      ['s', 'progress'],
      ['s', 'result']
    ])
  })
})

t.test('both dialects share a connection', async t => {
  const { connect } = await startDaemon(t)
  const peer = await connect()
  t.match(await peer.ask({ id: 'n', method: 'orch.ping' }), { id: 'n', payload: { type: 'result' } })
  t.match(await peer.ask(rpc(1, 'orch.ping')), { id: 1, result: { ok: true } })
  peer.raw('nonsense\n')
  t.match(
    await peer.next(),
    { jsonrpc: '2.0', id: null, error: { code: -32700 } },
    'the response is in the dialect of the last request'
  )
})

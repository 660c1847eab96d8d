import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'

const PATH = join(import.meta.dirname, '../../../contracts/orchestration/orch-daemon-rpc-methods.schema.json')
const schema = JSON.parse(readFileSync(PATH, 'utf8'))
const isRequest = new Ajv2020({ strict: false }).compile(schema)

/** Methods of the daemon's protocol. */
const METHODS = [
  ...['ping', 'status', 'agent_ids', 'task_status', 'workspace_journey', 'submit_task', 'complete_task', 'fail_task'],
  ...['cancel_task', 'reorder_task', 'drain_agent', 'rebalance', 'spawn_agent', 'spawn_agent_ext', 'retire_agent'],
  ...['pause_agent', 'resume_agent']
].map(name => `orch.${name}`)

t.test('the published schema contains every method of the protocol, with params, result and errors', t => {
  const plans = ['new', 'replan', 'status', 'execute'].map(name => `ai.plan.${name}`)
  for (const method of [...METHODS, ...plans]) {
    t.ok(schema.properties.method.enum.includes(method), method)
    t.match(schema.$defs[method], { $defs: { params: { type: 'object' }, result: {}, errors: {} } }, method)
  }
  t.ok(schema.$defs['orch.submit_task'].$defs.errors.enum.includes('ORC_QUEUE_FULL'))
  t.match(schema.$defs['orch.events'].$defs.event, { type: 'object' })
  t.end()
})

t.test('the published schema accepts valid requests, and rejects other values', t => {
  const submit = (params: object) => ({ id: '1', method: 'orch.submit_task', params })
  for (const [request, valid] of [
    [{ id: '1', method: 'orch.ping' }, true],
    [{ jsonrpc: '2.0', id: 7, method: 'orch.ping', params: {} }, true],
    [submit({ description: 'x', file_manifest: [{ path: 'a', access: 'Write' }], priority: 'urgent' }), true],
    [submit({ description: 'x', of_a_later_version: 1 }), true],
    [{ id: '1', method: 'orch.spawn_agent_ext', params: {} }, false],
    [submit({}), false],
    [submit({ description: 'x', priority: 'now' }), false],
    [{ id: '1', method: 'orch.submit_task' }, false],
    [{ id: '1', method: 'orch.task_status', params: { task_id: 'seven' } }, false],
    [{ id: '1', method: 'orch.nothing' }, false],
    [{ id: '1' }, false]
  ] as const)
    t.equal(isRequest(request), valid, JSON.stringify(request))
  t.end()
})

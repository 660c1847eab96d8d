import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type DaemonState, daemonPresence, readDaemonState } from '@svc/contracts'
import t, { type Test } from 'tap'
import { runSvc } from './run-svc.ts'
import { makeProject, SVC_BIN } from './served-project.ts'

/** No fleet: only the test works on tasks. */
const ONLY = ['database', 'orchestrator-tools', 'daemon']

type Dialect = 'native' | 'rpc2'

/** Line-based connection for either dialect. */
interface Wire {
  write(text: string): void
  next(): Promise<any>
}

function wireOf(input: NodeJS.ReadableStream, output: NodeJS.WritableStream): Wire {
  const lines = createInterface({ input })[Symbol.asyncIterator]()
  return {
    write: text => void output.write(text),
    async next() {
      const { value, done } = await lines.next()
      if (done) throw new Error('the connection ended')
      return JSON.parse(value)
    }
  }
}

function frame(dialect: Dialect, id: string, method: string, params?: object): string {
  const request = { id, method, ...(params === undefined ? {} : { params }) }
  return `${JSON.stringify(dialect === 'native' ? request : { jsonrpc: '2.0', ...request })}\n`
}

interface Refusal {
  readonly code: string
  readonly message: string
}

/** Client that makes sequential calls over one connection, in one dialect. */
class Caller {
  readonly #wire: Wire
  readonly #dialect: Dialect
  #count = 0

  constructor(wire: Wire, dialect: Dialect) {
    this.#wire = wire
    this.#dialect = dialect
  }

  async ok(method: string, params?: object): Promise<any> {
    const { result, error } = await this.#call(method, params)
    if (error !== undefined) throw new Error(`${method}: ${error.message}`)
    return result
  }

  async refused(method: string, params?: object): Promise<Refusal> {
    const { result, error } = await this.#call(method, params)
    if (error === undefined) throw new Error(`${method} succeeded with ${JSON.stringify(result)}`)
    return error
  }

  async #call(method: string, params?: object): Promise<{ result?: any; error?: Refusal }> {
    this.#count += 1
    const id = `${this.#dialect}-${this.#count}`
    this.#wire.write(`\n${frame(this.#dialect, id, method, params)}\r\n`)
    const answer = await this.#wire.next()
    if (answer.id !== id) throw new Error(`the response to ${id} has the id ${answer.id}`)
    if (this.#dialect === 'rpc2') {
      const { jsonrpc, result, error } = answer
      if (jsonrpc !== '2.0') throw new Error('the response is not JSON-RPC 2.0')
      return error === undefined ? { result } : { error: { code: error.data.code, message: error.message } }
    }
    const { type, value, code, message, data } = answer.payload
    if (type === 'result') return { result: value }
    if (type !== 'error' || code !== 1) throw new Error(`the response has the type ${type} and the code ${code}`)
    return { error: { code: data.code, message } }
  }
}

const DONE = {
  completion_summary: 'Everything requested is there, and was tried.',
  checks_passed: ['npm test', 'human_review_approved'],
  declared_non_placeholder: true
}

/** Calls every method of the protocol, as one client would. */
async function session(t: Test, call: Caller, name: string): Promise<void> {
  const { repository_id, ...pong } = await call.ok('orch.ping')
  t.same(pong, { ok: true, protocol: 'svc.orchestrator_daemon/v1' })
  t.match(await call.ok('orch.workspace_journey', {}), {
    ...{ repository_id, daemon_repository_id: repository_id, discovered_repository_id: repository_id },
    ...{ workspace_journey_store_mode: 'project', project_store_path: /store\.db$/, fallback_canonical: true }
  })

  const submit = async (description: string, more: object = {}): Promise<number> =>
    (await call.ok('orch.submit_task', { description, target_agent: name, ...more })).task_id
  const status = async (task_id: number): Promise<string> => (await call.ok('orch.task_status', { task_id })).status
  const about = async (agent_id: number): Promise<any> =>
    (await call.ok('orch.status')).agents.find(({ id }: { id: number }) => id === agent_id)

  const file_manifest = [{ path: `docs/${name}.md`, access: 'read' }]
  const first = await submit('Describe the protocol', { file_manifest, priority: 'urgent', session_id: `s-${name}` })
  t.equal(await status(first), 'Queued')
  t.match(await call.ok('orch.complete_task', { task_id: first, attestation: DONE }), { ok: true, message: String })
  t.equal(await status(first), 'Completed')

  const second = await submit('Explain the protocol', { priority: 'background' })
  t.match(await call.ok('orch.reorder_task', { task_id: second, priority: 'urgent' }), { ok: true, message: String })
  t.match(await call.refused('orch.reorder_task', { task_id: second, priority: 'soon' }), {
    code: 'OPR_INPUT_INVALID',
    message: /^orch\.reorder_task: params\.priority /
  })
  const [owner] = (await call.ok('orch.status')).agents.filter((agent: { name: string }) => agent.name === name)
  t.match(owner, { queued: 1, urgent_count: 1, background_count: 0, completed: 1, paused: false, dynamic: false })
  t.match(await call.ok('orch.fail_task', { task_id: second, reason: 'no one understands it' }), {
    ok: true,
    message: String
  })
  t.equal(await status(second), 'Failed')
  const third = await submit('Forget the protocol')
  t.match(await call.ok('orch.cancel_task', { task_id: third }), { ok: true, message: String })
  t.equal(await status(third), 'Cancelled')
  t.match(await call.refused('orch.complete_task', { task_id: third, attestation: DONE }), { code: 'ORC_TRANSITION' })

  const helper = `${name}-helper`
  const { agent_id } = await call.ok('orch.spawn_agent_ext', {
    ...{ name: helper, dynamic: true, parent_agent_id: owner.id, source_task_id: second },
    delegation_reason: 'two see more'
  })
  t.ok((await call.ok('orch.agent_ids')).agent_ids.includes(agent_id))
  t.match(await call.ok('orch.pause_agent', { agent_id }), { ok: true, message: String })
  t.match(await about(agent_id), { name: helper, paused: true, dynamic: true })
  t.match(await call.ok('orch.resume_agent', { agent_id }), { ok: true, message: String })
  t.match(await about(agent_id), { paused: false })
  await submit('One', { target_agent: helper })
  await submit('Two', { target_agent: helper })
  t.same(await call.ok('orch.drain_agent', { agent_id }), { drained_count: 2 })
  t.match(await about(agent_id), { queued: 0 })
  const last = await submit('Three', { target_agent: helper })
  t.match(await call.ok('orch.rebalance'), { rebalanced: Number })
  t.match(['Queued'], [await status(last)])
  t.match(await call.ok('orch.retire_agent', { agent_id }), { remaining_tasks: Number })
  t.notOk((await call.ok('orch.agent_ids')).agent_ids.includes(agent_id))

  t.match(await call.refused('orch.nothing'), { code: 'DMN_METHOD_UNKNOWN', message: 'unknown method: orch.nothing' })
  for (const method of ['task_status', 'complete_task', 'cancel_task', 'fail_task', 'reorder_task']) {
    const { code, message } = await call.refused(`orch.${method}`)
    t.match({ code, message }, { code: 'OPR_INPUT_INVALID', message: 'params.task_id is missing' }, method)
  }
  t.match(await call.refused('orch.pause_agent', {}), { message: 'params.agent_id is missing' })
  t.match(await call.refused('orch.task_status', { task_id: 999_999 }), {
    code: 'ORC_TASK_NOT_FOUND',
    message: 'task 999999 not found'
  })
  t.match(await call.refused('orch.retire_agent', { agent_id: 999_999 }), { code: 'ORC_AGENT_NOT_FOUND' })
}

/** Tests that requests in one write are answered in order. */
async function pipelined(t: Test, wire: Wire): Promise<void> {
  const ids = Array.from({ length: 20 }, (_, index) => `p${index}`)
  wire.write(ids.map(id => `${frame('native', id, 'orch.submit_task', { description: id })}\n \t\n`).join(''))
  const answers = []
  for (const _id of ids) answers.push(await wire.next())
  t.same(
    answers.map(({ id }) => id),
    ids
  )
  const tasks = answers.map(({ payload }) => payload.value.task_id)
  t.same(
    tasks,
    tasks.toSorted((a, b) => a - b),
    'requests are executed in order'
  )
}

function project(t: Test, socket: string): string {
  const folder = makeProject(t, {
    'svc.toml': `[plugins.daemon]\nsocket = ${JSON.stringify(socket)}\nonly = ${JSON.stringify(ONLY)}\n`
  })
  t.teardown(async () => {
    const state = await readDaemonState(folder)
    if (state !== null) process.kill(state.pid, 'SIGKILL')
  })
  return folder
}

async function started(folder: string): Promise<DaemonState> {
  const { code, stderr } = await runSvc(folder, ['daemon', 'start'])
  const state = await readDaemonState(folder)
  if (code !== 0 || state === null) throw new Error(`the daemon did not start: ${stderr}`)
  return state
}

async function dial(t: Test, { socket }: DaemonState): Promise<Socket> {
  const [host, port] = socket.split(':')
  const opened = socket.startsWith('/') ? connect(socket) : connect(Number(port), host)
  opened.on('error', () => undefined)
  t.teardown(() => opened.destroy())
  await once(opened, 'connect')
  return opened
}

for (const transport of ['tcp', 'unix'] as const) {
  t.test(`a whole session over ${transport}, in both dialects`, async t => {
    const folder = project(t, '127.0.0.1:0')
    const socket = transport === 'tcp' ? '127.0.0.1:0' : join(folder, '.vox', 'daemon.sock')
    const { code, stderr } = await runSvc(folder, ['daemon', 'start', '--set', `plugins.daemon.socket=${socket}`])
    t.equal(code, 0, stderr)
    const state = (await readDaemonState(folder)) as DaemonState
    t.equal(state.socket.startsWith('/'), transport === 'unix')
    for (const dialect of ['native', 'rpc2'] as const) {
      const opened = await dial(t, state)
      await session(t, new Caller(wireOf(opened, opened), dialect), dialect)
    }
    const opened = await dial(t, state)
    await pipelined(t, wireOf(opened, opened))
    t.match(await runSvc(folder, ['daemon', 'stop']), { code: 0, stdout: /has stopped/ })
  })
}

t.test('a whole session over standard streams, in both dialects on one connection', async t => {
  const folder = project(t, '127.0.0.1:0')
  const child: ChildProcess = spawn(process.execPath, [SVC_BIN, 'serve', '--json', '--only', ONLY.join(',')], {
    cwd: folder,
    stdio: ['pipe', 'pipe', 'ignore'],
    env: { ...process.env, NODE_OPTIONS: '', SVC_ORCHESTRATOR_DAEMON_SOCKET: 'stdio' }
  })
  t.teardown(() => child.kill('SIGKILL'))
  const ended = once(child, 'exit')
  const wire = wireOf(child.stdout!, child.stdin!)
  for (const dialect of ['native', 'rpc2'] as const) await session(t, new Caller(wire, dialect), dialect)
  await pipelined(t, wire)
  child.stdin?.end()
  t.same(await ended, [0, null])
})

t.test('acknowledged changes survive when the daemon is killed and started again', async t => {
  const folder = project(t, '127.0.0.1:0')
  const first = await started(folder)
  const settled = new Caller(...pair(await dial(t, first)))
  const done = (await settled.ok('orch.submit_task', { description: 'done before' })).task_id
  await settled.ok('orch.complete_task', { task_id: done, attestation: DONE })
  const failed = (await settled.ok('orch.submit_task', { description: 'failed before' })).task_id
  await settled.ok('orch.fail_task', { task_id: failed, reason: 'so it was' })

  // Many concurrent calls, so that at the kill some are being written, some are answered, and some are unread.
  const acknowledged: number[] = []
  await Promise.all(
    Array.from({ length: 8 }, async (_, client) => {
      const call = new Caller(...pair(await dial(t, first)))
      for (let number = 0; ; number++) {
        const answer = await call.ok('orch.submit_task', { description: `${client}/${number}` }).catch(() => null)
        if (answer === null) return
        acknowledged.push(answer.task_id)
        if (acknowledged.length === 100) process.kill(first.pid, 'SIGKILL')
      }
    })
  )
  t.ok(acknowledged.length >= 100)
  t.equal(new Set(acknowledged).size, acknowledged.length)

  // The old process may still exist for a moment; the next daemon waits for its end.
  const second = await started(folder)
  t.equal(daemonPresence(first), 'dead')
  t.not(second.pid, first.pid)
  const call = new Caller(...pair(await dial(t, second)))
  const lost = []
  for (const task_id of acknowledged) {
    const { status } = await call.ok('orch.task_status', { task_id })
    if (status !== 'Queued') lost.push({ task_id, status })
  }
  t.same(lost, [])
  t.equal((await call.ok('orch.task_status', { task_id: done })).status, 'Completed')
  t.same((await call.ok('orch.task_status', { task_id: failed })).detail, { Failed: 'so it was' })
  const next = (await call.ok('orch.submit_task', { description: 'and it continues' })).task_id
  t.notOk([done, failed, ...acknowledged].includes(next), 'no id is assigned twice')
})

function pair(socket: Socket): [Wire, Dialect] {
  return [wireOf(socket, socket), 'native']
}

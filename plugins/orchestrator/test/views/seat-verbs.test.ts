import {
  type Coordination,
  type ForeignTask,
  type KernelPort,
  kernelPort,
  TASK_VERBS,
  type TaskVerb
} from '@svc/contracts'
import { DatabaseCoordination } from '@svc/plugin-coordination/testing'
import { defineOperation, definePlugin, errorTable, type Plugin, t as schema } from '@svc/plugin-sdk'
import { testKernel } from '@svc/plugin-sdk/testing'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { type OtherSeats, parseMessage, SeatVerbs, type SeatVerbsOptions } from '#views'
import { openStore } from '../durable/test-persistence.ts'

const QUEUE = 'seat:repo:2:owner 2'
const principal = { id: 'ann', role: 'operator', scopes: ['tasks'] }
const errors = errorTable({ TST_REFUSED: { message: 'The test refuses the task.', status: 409 } })

const cancel = defineOperation({
  id: TASK_VERBS.cancel,
  summary: 'Cancel a task',
  input: schema.object({ task_id: schema.integer({ minimum: 1 }), reason: schema.optional(schema.string()) }),
  output: schema.object({ by: schema.string(), surface: schema.string() }),
  errors: errors.specs,
  scopes: ['tasks'],
  expose: {}
})

/** Opens a kernel in which task 13 cannot be cancelled. */
async function openKernel(t: Test, ran: number[]): Promise<KernelPort> {
  let port: KernelPort | undefined
  const operations = definePlugin({
    name: 'operations',
    operations: [cancel],
    requires: { kernel: kernelPort },
    activate(ctx, { kernel }) {
      port = kernel
      ctx.implement(cancel, ({ task_id }, { principal, surface }) => {
        if (task_id === 13) throw errors.create('TST_REFUSED', 'task 13 cannot be cancelled', { hint: 'take 14' })
        ran.push(task_id)
        return { by: principal.id, surface }
      })
    }
  })
  const kernel = await testKernel([operations as Plugin])
  t.teardown(() => kernel.close())
  return port as KernelPort
}

const foreign = (id: number): ForeignTask =>
  ({ id, process: { host: 'box', pid: 4711, seat: 2, alive: true, own: false } }) as ForeignTask

const processOf = (seat: number, pid: number) => ({
  host: 'box',
  pid,
  seat,
  owner: `owner ${seat}`,
  alive: true,
  own: false
})

/** Other seats of a process with a seat. */
const seatsOf = (own: number): OtherSeats =>
  ({
    own,
    owner: `owner ${own}`,
    processes: async () => [own === 1 ? processOf(2, 4711) : processOf(1, 1)]
  }) as unknown as OtherSeats

interface Verbs {
  readonly caller: SeatVerbs
  readonly store: Coordination
  readonly ran: number[]
  holder(options?: Partial<SeatVerbsOptions>): SeatVerbs
}

async function openVerbs(t: Test): Promise<Verbs> {
  const store = new DatabaseCoordination(await openStore())
  t.teardown(() => store.close())
  const ran: number[] = []
  const kernel = await openKernel(t, ran)
  const log = { warn: (message: string) => t.comment(message) }
  const open = (own: number, options: Partial<SeatVerbsOptions> = {}): SeatVerbs => {
    const verbs = new SeatVerbs({
      repositoryId: 'repo',
      others: () => seatsOf(own),
      store,
      kernel,
      log,
      ...options
    })
    t.teardown(() => verbs.stop())
    return verbs
  }
  const holder = (options?: Partial<SeatVerbsOptions>): SeatVerbs => {
    const verbs = open(2, options)
    verbs.start()
    return verbs
  }
  return { caller: open(1), store, ran, holder }
}

const callerOf = (signal = new AbortController().signal, scopes: readonly string[] = ['tasks']) => ({
  principal: { ...principal, scopes },
  requestId: 'request',
  signal
})

t.test('the holder runs the operation as the caller, and its output and errors return unchanged', async t => {
  const { caller, holder, ran } = await openVerbs(t)
  holder()
  t.same(await caller.send(foreign(7), 'cancel', {}, callerOf()), { by: 'ann', surface: 'seat' })
  t.same(ran, [7])
  await t.rejects(caller.send(foreign(13), 'cancel', {}, callerOf()), {
    code: 'TST_REFUSED',
    message: 'task 13 cannot be cancelled',
    hint: 'take 14',
    status: 409
  })
})

t.test('the holder checks the scopes of the caller and the input again', async t => {
  const { caller, holder, ran } = await openVerbs(t)
  holder()
  await t.rejects(caller.send(foreign(7), 'cancel', {}, callerOf(undefined, ['other'])), { code: 'OPR_FORBIDDEN' })
  for (const args of [{ reason: 7 }, { unknown: true }, { reason: { $gt: '' } }])
    await t.rejects(caller.send(foreign(7), 'cancel', args, callerOf()), { code: 'OPR_INPUT_INVALID' })
  await t.rejects(caller.send(foreign(-1), 'cancel', {}, callerOf()), { code: 'CRD_VALUE_INVALID' })
  t.same(await caller.send(foreign(7), 'cancel', { task_id: 8 }, callerOf()), { by: 'ann', surface: 'seat' })
  t.same(ran, [7], 'arguments cannot name another task')
})

t.test('an operation that the holder does not have is an error of the caller', async t => {
  const { caller, holder } = await openVerbs(t)
  holder()
  await t.rejects(caller.send(foreign(7), 'fail', { reason: 'x' }, callerOf()), { code: 'OPR_UNKNOWN' })
})

t.test('invalid requests in the queue are refused, and the next one runs', async t => {
  const { caller, holder, store, ran } = await openVerbs(t)
  const valid = {
    verb: 'cancel',
    task_id: 1,
    args: {},
    principal,
    request_id: 'r',
    begin_until_ms: (await store.now()) + 60_000
  }
  const bodies = [
    'null',
    '[]',
    '"cancel"',
    JSON.stringify({ ...valid, verb: 'toString' }),
    JSON.stringify({ ...valid, verb: '__proto__' }),
    JSON.stringify({ ...valid, task_id: '1' }),
    JSON.stringify({ ...valid, task_id: 0.5 }),
    JSON.stringify({ ...valid, args: [] }),
    JSON.stringify({ ...valid, principal: { id: 'root', role: 'owner' } }),
    JSON.stringify({ ...valid, principal: { ...principal, scopes: ['*', 7] } }),
    JSON.stringify({ ...valid, begin_until_ms: 'later' }),
    JSON.stringify({ ...valid, args: { reason: 'x'.repeat(2_000_000) } }),
    JSON.stringify({ ...valid, begin_until_ms: 1 })
  ]
  const keys = bodies.map((_, at) => `hostile ${at}`)
  await store.put(bodies.map((body, at) => ({ queue: QUEUE, key: keys[at] as string, body, maxAttempts: 1 })))
  holder()
  await caller.send(foreign(9), 'cancel', {}, callerOf())
  t.same(ran, [9])
  const results = await store.put(keys.map(key => ({ queue: QUEUE, key, body: '{}' })))
  t.same(
    results.map(({ result }) => JSON.parse(result ?? 'null')?.error?.code),
    [...bodies.slice(1).map(() => 'CRD_VALUE_INVALID'), 'ORC_ELSEWHERE']
  )
})

t.test('only complete requests are accepted, and no text throws', t => {
  const valid = { verb: 'cancel', task_id: 1, args: {}, principal, request_id: 'r', begin_until_ms: 1 }
  t.same(parseMessage(JSON.stringify(valid)), valid)
  fc.assert(fc.property(fc.string(), text => typeof parseMessage(text) === 'string'))
  const field = fc.constantFrom(...(Object.keys(valid) as (keyof typeof valid)[]))
  fc.assert(
    fc.property(field, fc.jsonValue(), (name, value) => {
      const parsed = parseMessage(JSON.stringify({ ...valid, [name]: value }))
      if (typeof parsed === 'string') return parsed.length > 0
      return Object.hasOwn(TASK_VERBS, parsed.verb) && Number.isSafeInteger(parsed.task_id) && parsed.task_id > 0
    })
  )
  t.end()
})

t.test('a request that no process begins is withdrawn, and never runs', async t => {
  const { caller, holder, store, ran } = await openVerbs(t)
  await t.rejects(caller.send(foreign(7), 'cancel', {}, callerOf()), {
    code: 'ORC_ELSEWHERE',
    message: /^Task T-0007 is held by process 4711 on box: it did not respond within 5 s; nothing changed$/,
    data: { task_id: 7, host: 'box', pid: 4711, seat: 2 }
  })
  t.equal(await store.count('seat:'), 0)
  const gone = new AbortController()
  const sending = caller.send(foreign(8), 'cancel', {}, callerOf(gone.signal))
  while ((await store.count('seat:')) === 0) await new Promise(resolve => setImmediate(resolve))
  gone.abort(new Error('the caller left'))
  await t.rejects(sending, { message: 'the caller left' })
  t.equal(await store.count('seat:'), 0)
  holder()
  t.same(await caller.send(foreign(9), 'cancel', {}, callerOf()), { by: 'ann', surface: 'seat' })
  t.same(ran, [9])
})

t.test('a process with the same seat in another database never gets the request', async t => {
  const { caller, holder, store } = await openVerbs(t)
  const elsewhere: string[] = []
  holder({
    others: () => ({ ...seatsOf(2), owner: 'owner of another host' }) as unknown as OtherSeats,
    kernel: { invoke: async id => void elsewhere.push(id) }
  })
  await t.rejects(caller.send(foreign(7), 'cancel', {}, callerOf()), { code: 'ORC_ELSEWHERE' })
  holder()
  t.same(await caller.send(foreign(7), 'cancel', {}, callerOf()), { by: 'ann', surface: 'seat' })
  t.same(elsewhere, [])
  t.equal(await store.count('seat:'), 0)
})

t.test('two units of one process run each request once', async t => {
  const { caller, holder, ran } = await openVerbs(t)
  holder()
  holder()
  const ids = Array.from({ length: 20 }, (_, at) => at + 20)
  await Promise.all(ids.map(id => caller.send(foreign(id), 'cancel', {}, callerOf())))
  t.same(
    ran.toSorted((a, b) => a - b),
    ids
  )
})

t.test('a holder that ends while it runs a request leaves an unknown outcome', async t => {
  const { caller: _unused, holder, store } = await openVerbs(t)
  let begun = (): void => {}
  const begins = new Promise<void>(resolve => {
    begun = resolve
  })
  let end = (): void => {}
  const running = new Promise<unknown>(resolve => {
    end = () => resolve({})
  })
  holder({
    kernel: {
      invoke: () => {
        begun()
        return running
      }
    }
  })
  let alive = true
  const processes = async () => [{ ...processOf(2, 4711), alive }]
  const caller = new SeatVerbs({
    repositoryId: 'repo',
    others: () => ({ ...seatsOf(1), processes }) as unknown as OtherSeats,
    store,
    kernel: { invoke: async () => null },
    log: { warn: () => {} }
  })
  const sending = caller.send(foreign(7), 'cancel', {}, callerOf())
  await begins
  alive = false
  await t.rejects(sending, { code: 'ORC_ELSEWHERE', message: /stopped while .* the request may have been carried out/ })
  end()
})

t.test('the queue is not read while no other process lives', async t => {
  let looks = 0
  const look = async () => {
    looks += 1
    return []
  }
  const store = { look } as unknown as Coordination
  let alive = false
  const verbs = new SeatVerbs({
    repositoryId: 'repo',
    others: () => ({ ...seatsOf(2), processes: async () => [{ alive }] }) as unknown as OtherSeats,
    store,
    kernel: { invoke: async () => null },
    log: { warn: () => {} }
  })
  t.teardown(() => verbs.stop())
  verbs.start()
  await new Promise(resolve => setTimeout(resolve, 1_500))
  t.equal(looks, 0)
  alive = true
  while (looks === 0) await new Promise(resolve => setTimeout(resolve, 20))
})

t.test('the name of every verb is an operation of orchestrator-tools', async t => {
  const { default: tools } = (await import('@svc/plugin-orchestrator-tools')) as { readonly default: Plugin }
  const ids = new Set((tools.operations ?? []).map(({ id }) => id))
  for (const verb of Object.keys(TASK_VERBS) as TaskVerb[]) t.ok(ids.has(TASK_VERBS[verb]), verb)
})

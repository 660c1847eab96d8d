import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { rowsByName } from '@svc/contracts'
import fc from 'fast-check'
import t from 'tap'
import { DurableInbox } from '#root'
import { CHILD_ARGUMENTS } from '../../../test/child-arguments.ts'
import { freshFile, LEASE_MS, note, openConsumers, openStore } from './open-inbox.ts'

const all = { limit: 256 }

t.test('a message whose send resolved is stored even if the sender is killed', async t => {
  const file = freshFile(t)
  const child = spawn(process.execPath, [...CHILD_ARGUMENTS, join(import.meta.dirname, 'sender-child.ts'), file], {
    stdio: ['ignore', 'pipe', 'inherit']
  })
  const sent = new Map<string, string>()
  for await (const line of createInterface({ input: child.stdout })) {
    const [at = '', uuid = ''] = line.split(' ')
    sent.set(at, uuid)
    if (sent.size === 40) child.kill('SIGKILL')
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  t.equal(child.signalCode, 'SIGKILL')
  const store = await openStore(file)
  t.teardown(() => store.close())
  const inbox = new DurableInbox(store, 'repository', { consumer: 'parent', leaseMs: LEASE_MS, retentionDays: 1 })
  const messages = await inbox.claim(2, all)
  t.ok(messages.length >= sent.size)
  t.same(
    messages.map(({ payload, correlation_id }) => [payload, correlation_id]),
    messages.map((_, at) => [String(at), `c${at}`]),
    'all messages are stored in order of sending, without duplicates'
  )
  for (const [at, uuid] of sent) t.equal(messages[Number(at)]?.uuid, uuid)
})

t.test('a message is leased to its reader, and goes to another consumer when the lease expires', async t => {
  const { consumers, clock, stores } = await openConsumers(t, 'a', 'b')
  const [a, b] = consumers as [DurableInbox, DurableInbox]
  const { id, uuid } = await a.send(note())
  t.match(await a.claim(2, all), [{ id, uuid, plane: 'local_durable', acknowledged: false }])
  t.same(await b.claim(2, all), [], 'consumer a holds the lease')
  clock.now += LEASE_MS - 1
  t.same(await b.claim(2, all), [])
  t.equal((await a.claim(2, all)).length, 1, 'reading again renews the lease')
  clock.now += LEASE_MS - 1
  t.same(await b.claim(2, all), [])
  clock.now += 1
  t.match(await b.claim(2, all), [{ id, uuid }])
  t.same(await a.claim(2, all), [], 'consumer b now holds the lease')
  const row = async () =>
    rowsByName((await stores[0]?.query('SELECT * FROM a2a_messages')) ?? { columns: [], rows: [] })
  t.match(await row(), [
    {
      claim_owner: 'b',
      claim_until_ms: clock.now + LEASE_MS,
      delivery_attempts: 2,
      last_claim_error: 'the lease of a expired',
      acknowledged: 0,
      sender_agent: '1',
      receiver_agent: '2',
      priority: 1
    }
  ])
  t.notOk(await b.ack(3, id), 'another agent cannot acknowledge it')
  t.ok(await b.ack(2, uuid))
  t.notOk(await b.ack(2, id), 'once')
  t.match(await row(), [{ acknowledged: 1, claim_owner: null, claim_until_ms: null, processed_at_ms: clock.now }])
  clock.now += LEASE_MS
  t.same(await a.claim(2, all), [], 'it is not delivered again')
})

t.test('concurrent consumers never claim the same message, and together receive all', async t => {
  const { consumers } = await openConsumers(t, 'a', 'b')
  for (let at = 0; at < 30; at += 1) await consumers[0]?.send(note({ payload: String(at) }))
  const claims = await Promise.all(
    Array.from({ length: 12 }, async (_, at) => {
      const claimed = await consumers[at % 2]?.claim(2, { limit: 5 + at })
      return claimed?.map(({ id }) => [id, at % 2] as const) ?? []
    })
  )
  const owner = new Map<number, number>()
  for (const [id, consumer] of claims.flat()) {
    if (owner.has(id) && owner.get(id) !== consumer) t.fail(`two consumers have claimed message ${id}`)
    owner.set(id, consumer)
  }
  t.equal(owner.size, 30)
})

t.test('no consumer receives a message leased to another, and only an acknowledgement removes a message', async t => {
  const { consumers, clock, stores } = await openConsumers(t, 'a', 'b', 'c')
  const step = fc.oneof(
    fc.record({ do: fc.constant('send' as const), rank: fc.nat(3) }),
    fc.record({ do: fc.constant('claim' as const), who: fc.nat(2), limit: fc.integer({ min: 1, max: 4 }) }),
    fc.record({ do: fc.constant('ack' as const), nth: fc.nat(50) }),
    fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(1, LEASE_MS / 2, LEASE_MS) })
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async steps => {
      await stores[0]?.execute('DELETE FROM a2a_messages')
      const model: { id: number; rank: number; owner: number | null; until: number }[] = []
      for (const each of steps) {
        if (each.do === 'wait') clock.now += each.ms
        if (each.do === 'send') {
          const { id } = (await consumers[0]?.send(note({ rank: each.rank }))) ?? { id: -1 }
          model.push({ id, rank: each.rank, owner: null, until: 0 })
        }
        if (each.do === 'claim') {
          const free = model
            .filter(({ owner, until }) => owner === null || owner === each.who || until <= clock.now)
            .sort((x, y) => y.rank - x.rank || x.id - y.id)
            .slice(0, each.limit)
          const claimed = (await consumers[each.who]?.claim(2, { limit: each.limit })) ?? []
          if (claimed.map(({ id }) => id).join() !== free.map(({ id }) => id).join()) return false
          for (const held of free) Object.assign(held, { owner: each.who, until: clock.now + LEASE_MS })
        }
        if (each.do === 'ack' && model.length > 0) {
          const [gone] = model.splice(each.nth % model.length, 1)
          if ((await consumers[0]?.ack(2, gone?.id ?? -1)) !== true) return false
        }
      }
      return (await consumers[0]?.unread(2, []))?.all === model.length
    }),
    { numRuns: 20 }
  )
})

t.test('a key is stored only once across processes; equal payloads without a key are separate messages', async t => {
  const { consumers } = await openConsumers(t, 'a', 'b')
  const [a, b] = consumers as [DurableInbox, DurableInbox]
  const [first, again] = await Promise.all([a.send(note({ key: 'k' })), b.send(note({ key: 'k' }))])
  t.equal(first.id, again.id)
  t.equal(Number(first.repeated) + Number(again.repeated), 1)
  t.match(first.uuid, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  await a.send(note({ key: 'k', sender: 3 }))
  await a.send(note())
  await a.send(note())
  t.equal((await a.unread(2, [])).all, 4)
})

t.test('messages are sorted by priority, then age, and `before` returns older pages', async t => {
  const { consumers } = await openConsumers(t, 'a')
  const [a] = consumers as [DurableInbox]
  for (const rank of [0, 1, 3, 1, 5]) await a.send(note({ rank, payload: String(rank) }))
  const payloads = async (options: { limit: number; before?: number }) =>
    (await a.claim(2, options)).map(({ id, payload, priority }) => [id, payload, priority])
  t.same(await payloads({ limit: 3 }), [
    [5, '5', 'critical'],
    [3, '3', 'critical'],
    [2, '1', 'normal']
  ])
  t.same(await payloads({ limit: 10, before: 3 }), [
    [2, '1', 'normal'],
    [1, '0', 'low']
  ])
})

t.test(
  'acknowledged messages are deleted after the retention; unacknowledged ones and other repositories stay',
  async t => {
    const { consumers, clock, stores } = await openConsumers(t, 'a')
    const [a] = consumers as [DurableInbox]
    const other = new DurableInbox(stores[0] as never, 'other', { consumer: 'a', leaseMs: 1, retentionDays: 30 })
    await other.send(note())
    t.same(await a.claim(2, all), [])
    await a.ack(2, (await a.send(note())).id)
    await a.send(note())
    clock.now += 31 * 86_400_000
    await a.ack(2, (await a.send(note())).id)
    t.same(
      (await a.history(0, 100)).map(({ id, acknowledged }) => [id, acknowledged]),
      [
        [3, false],
        [4, true]
      ]
    )
  }
)

t.test('the fields of a clarification are stored in a2a_message_details', async t => {
  const { consumers, stores } = await openConsumers(t, 'a')
  const clarification = {
    clarification_intent: 'which port',
    hypothesis_set_id: 'h',
    question_kind: 'entry',
    expected_information_gain_bits: 0.5,
    expected_user_cost: 0.2,
    requested_evidence_dimensions: ['network'],
    urgency: 'soon',
    stop_policy: { max_turns: 2 }
  }
  await consumers[0]?.send(note({ msg_type: 'clarification_request', rank: 5, clarification, tenant_id: 'x' }))
  const details = (await stores[0]?.query('SELECT * FROM a2a_message_details')) ?? { columns: [], rows: [] }
  t.match(rowsByName(details), [
    {
      clarification_intent: 'which port',
      requested_evidence_dimensions_json: '["network"]',
      stop_policy_json: '{"max_turns":2}',
      tenant_id: 'x'
    }
  ])
})

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type DatabaseStore, rowsByName } from '@svc/contracts'
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

t.test('an acknowledgement with a fence is refused once another consumer has received the message', async t => {
  const { consumers, clock } = await openConsumers(t, 'a', 'b')
  const [a, b] = consumers as [DurableInbox, DurableInbox]
  const { id } = await a.send(note())
  const [first] = await a.claim(2, all)
  t.match(first, { fence: 1, leased_until_ms: clock.now + LEASE_MS })
  t.match(await a.claim(2, all), [{ fence: 1 }], 'reading again keeps the fence')
  clock.now += LEASE_MS
  t.notOk(await a.extend(2, id, 1), 'an expired lease cannot be extended')
  const [second] = await b.claim(2, all)
  t.equal(second?.fence, 2)
  t.notOk(await a.ack(2, id, 1))
  t.notOk(await a.extend(2, id, 1))
  t.notOk(await a.nack(2, id, 1))
  t.notOk(await b.extend(3, id, 2), 'the message is for another agent')
  t.ok(await b.extend(2, id, 2, 5_000))
  clock.now += 4_999
  t.same(await a.claim(2, all), [])
  clock.now += 2
  t.ok(await b.ack(2, id, 2), 'after its lease, while no other consumer has claimed it')
  t.notOk(await b.ack(2, id, 2), 'once')
})

t.test('a returned message is delivered again after its delay, with a new fence', async t => {
  const { consumers, clock } = await openConsumers(t, 'a', 'b')
  const [a, b] = consumers as [DurableInbox, DurableInbox]
  const { id, uuid } = await a.send(note({ delayMs: 1_000 }))
  t.same(await a.claim(2, all), [], 'a delayed message is not delivered before its time')
  t.same(await a.unread(2, []), { all: 0, others: 0 })
  clock.now += 1_000
  t.match(await a.claim(2, all), [{ id, fence: 1 }])
  t.ok(await a.nack(2, uuid, 1, { delay_ms: 5_000, error: 'the disk is full' }))
  t.notOk(await a.nack(2, uuid, 1), 'once')
  t.notOk(await a.ack(2, id, 1), 'a returned claim has ended')
  clock.now += 4_999
  t.same(await b.claim(2, all), [])
  clock.now += 1
  t.match(await b.claim(2, all), [{ id, fence: 2 }])
  t.ok(await b.ack(2, id, 2))
})

t.test('a repeated key does not delay the first message', async t => {
  const { consumers } = await openConsumers(t, 'a')
  const [a] = consumers as [DurableInbox]
  const { id } = await a.send(note({ key: 'k' }))
  t.match(await a.send(note({ key: 'k', delayMs: 60_000, maxAttempts: 1 })), { id, repeated: true })
  t.match(await a.claim(2, all), [{ id }])
})

t.test('a message with too many deliveries, or a rejected one, is a dead letter until it is revived', async t => {
  const { consumers, clock, stores } = await openConsumers(t, 'a', 'b')
  const [a, b] = consumers as [DurableInbox, DurableInbox]
  const { id } = await a.send(note({ maxAttempts: 2 }))
  const { id: other } = await a.send(note({ payload: 'other' }))
  for (const [consumer, fence] of [
    [a, 1],
    [b, 2]
  ] as const) {
    t.equal((await consumer.claim(2, all)).find(message => message.id === id)?.fence, fence)
    clock.now += LEASE_MS
  }
  t.same(
    (await a.claim(2, all)).map(message => message.id),
    [other]
  )
  t.match(await a.dead(2, { limit: 10 }), [{ id, attempts: 2, died_at_ms: clock.now, error: 'the lease of b expired' }])
  t.same(await a.dead(3, { limit: 10 }), [])
  t.same(await a.unread(2, []), { all: 1, others: 1 })
  t.notOk(await b.nack(2, id, 2), 'a late reader does not revive it')
  t.ok(await a.nack(2, other, 3, { reject: true, error: 'not for me' }))
  t.match(await a.dead(null, { limit: 10 }), [{ id: other, error: 'not for me' }, { id }])
  t.match(await a.dead(2, { limit: 1, before: other }), [{ id }])
  t.same(await a.claim(2, all), [])
  t.equal(await a.revive(3, [id, other]), 0)
  t.equal(await a.revive(2, [id, 99]), 1)
  t.equal(await a.revive(2, [id]), 0)
  t.match(await a.claim(2, all), [{ id, fence: 3 }], 'the fence grows over a revival')
  clock.now += LEASE_MS
  t.match(await b.claim(2, all), [{ id, fence: 4 }], 'earlier deliveries no longer count')
  clock.now += LEASE_MS
  t.same(await b.claim(2, all), [])
  t.ok(await b.ack(2, other), 'an acknowledged dead letter is discarded')
  t.match(await a.dead(2, { limit: 10 }), [{ id }])
  t.equal((await stores[0]?.query('SELECT count(*) FROM a2a_message_delivery'))?.rows[0]?.[0], 2)
})

t.test('at most one token is current, whatever readers do with claims, extensions, returns and revivals', async t => {
  const { consumers, clock, stores } = await openConsumers(t, 'a', 'b', 'c')
  const who = fc.nat(2)
  const step = fc.oneof(
    fc.record({ do: fc.constant('claim' as const), who }),
    fc.record({ do: fc.constantFrom('ack' as const, 'extend' as const, 'nack' as const, 'reject' as const), who }),
    fc.record({ do: fc.constant('revive' as const), who }),
    fc.record({ do: fc.constant('wait' as const), who, ms: fc.constantFrom(1, LEASE_MS / 2, LEASE_MS) })
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async steps => {
      await stores[0]?.execute('DELETE FROM a2a_messages')
      const { id } = (await consumers[0]?.send(note({ maxAttempts: 3 }))) ?? { id: -1 }
      const message = { holder: -1, until: 0, fence: 0, forgiven: 0, dead: false, done: false }
      const tokens = new Map<number, number>()
      for (const each of steps) {
        const inbox = consumers[each.who] as DurableInbox
        const token = tokens.get(each.who) ?? 0
        const isCurrent = !message.done && message.holder !== -1 && token === message.fence
        if (each.do === 'wait') clock.now += each.ms
        if (each.do === 'claim') {
          const isLive = message.until > clock.now
          const isOwn = message.holder === each.who && isLive
          const isFree = message.holder === -1 || message.holder === each.who || !isLive
          if (!message.done && !message.dead && isFree && !isOwn && message.fence - message.forgiven >= 3)
            message.dead = true
          const [claimed] = await inbox.claim(2, all)
          if (message.done || message.dead || !isFree) {
            if (claimed !== undefined) return false
          } else {
            if (!isOwn) message.fence += 1
            Object.assign(message, { holder: each.who, until: clock.now + LEASE_MS })
            if (claimed?.fence !== message.fence) return false
            tokens.set(each.who, message.fence)
          }
        }
        if (each.do === 'ack') {
          if ((await inbox.ack(2, id, token)) !== isCurrent) return false
          if (isCurrent) message.done = true
        }
        if (each.do === 'extend') {
          const expected = isCurrent && message.until > clock.now
          if ((await inbox.extend(2, id, token)) !== expected) return false
          if (expected) message.until = clock.now + LEASE_MS
        }
        if (each.do === 'nack' || each.do === 'reject') {
          const expected = isCurrent && !message.dead
          if ((await inbox.nack(2, id, token, { reject: each.do === 'reject' })) !== expected) return false
          if (expected) Object.assign(message, { holder: -1, dead: each.do === 'reject' })
        }
        if (each.do === 'revive') {
          const expected = message.dead && !message.done ? 1 : 0
          if ((await inbox.revive(2, [id])) !== expected) return false
          if (expected === 1) Object.assign(message, { dead: false, forgiven: message.fence })
        }
      }
      return (await consumers[0]?.dead(2, { limit: 5 }))?.length === (message.dead && !message.done ? 1 : 0)
    }),
    { numRuns: 30 }
  )
})

t.test('messages that were stored under the id of the repository are found under its label', async t => {
  const { consumers, stores } = await openConsumers(t, 'a')
  const [before] = consumers as [DurableInbox]
  const { uuid } = await before.send(note({ payload: 'early', key: 'k' }))
  const options = { consumer: 'b', leaseMs: LEASE_MS, retentionDays: 30, label: 'default' }
  const after = new DurableInbox(stores[0] as never, 'repository', options)
  t.match(await after.send(note({ payload: 'early', key: 'k' })), { uuid, repeated: true })
  t.match(await after.claim(2, all), [{ payload: 'early' }])
  const { rows } = await (stores[0] as DatabaseStore).query('SELECT DISTINCT repository_id FROM a2a_messages')
  t.same(rows, [['default']])
  const elsewhere = new DurableInbox(stores[0] as never, 'another', { ...options, consumer: 'c' })
  t.match(
    await elsewhere.send(note({ payload: 'early', key: 'k' })),
    { repeated: false },
    'keys stay unique by repository'
  )
})

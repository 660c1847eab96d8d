import { setTimeout as delay } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import { allowedPrivacy, privacyNumber } from '#root'
import { message, openWorld, type World } from './world.ts'

const ids = (reply: { readonly json: Record<string, any> | undefined }): number[] =>
  (reply.json as { readonly messages: readonly { readonly id: number }[] }).messages.map(({ id }) => id)

const inbox = (world: World, receiver: string, more: object = {}) =>
  world.post('/a2a/inbox', { receiver_agent_id: receiver, ...more })

const claim = (world: World, receiver: string, node: string, more: object = {}) =>
  inbox(world, receiver, { claimer_node_id: node, ...more })

t.test('a mailbox is read page by page, the newest message first, with what was sent', async t => {
  const world = await openWorld(t)
  const sent: number[] = []
  for (let index = 0; index < 5; index += 1)
    sent.push((await world.post('/a2a/deliver', message('7', { payload: `p${index}` }))).json?.message_id)
  t.same(ids(await inbox(world, '7')), [...sent].reverse())
  t.same(ids(await inbox(world, '7', { max_messages: 2 })), [sent[4], sent[3]])
  t.same(ids(await inbox(world, '7', { max_messages: 2, before_message_id: sent[3] })), [sent[2], sent[1]])
  t.same(ids(await inbox(world, '7', { max_messages: 0 })), [sent[4]], 'at least one')
  t.same(ids(await inbox(world, '8')), [])
  const [first] = (await inbox(world, '7')).json?.messages ?? []
  t.match(first, {
    sender_agent_id: '1',
    receiver_agent_id: '7',
    message_type: 'job_submit',
    payload: 'p4',
    priority: 128,
    acknowledged: false
  })
  t.ok(first.created_unix_ms > 1_000_000)
  t.notOk('lease_holder_node_id' in first)
})

t.test('text of every kind comes back unchanged', async t => {
  const world = await openWorld(t)
  const payload = 'nul \u0000 quote " slash \\ é 😀 \u2028 {"a":[1]}'
  await world.post('/a2a/deliver', message(' 7 ', { payload, traceparent: '00-a-b-01', unknown: 'dropped' }))
  const [found] = (await inbox(world, '7')).json?.messages ?? []
  t.equal(found.payload, payload)
  t.equal(found.receiver_agent_id, '7', 'ids are trimmed')
  t.equal(found.traceparent, '00-a-b-01')
  t.notOk('unknown' in found)
})

t.test('a claim leases one message: higher priority first, then the older one; an own lease is renewed', async t => {
  const world = await openWorld(t)
  for (const id of ['n1', 'n2']) await world.join(id)
  const a = (await world.post('/a2a/deliver', message('7'))).json?.message_id
  const b = (await world.post('/a2a/deliver', message('7'))).json?.message_id
  const c = (await world.post('/a2a/deliver', message('7', { priority: 200 }))).json?.message_id
  const first = (await claim(world, '7', 'n1', { max_messages: 10 })).json?.messages
  t.match(first, [{ id: c, lease_holder_node_id: 'n1', attempts: 1 }])
  t.equal(first.length, 1)
  t.ok(first[0].lease_expires_unix_ms > Date.now())
  t.same(ids(await claim(world, '7', 'n2')), [a])
  t.same(ids(await inbox(world, '7')), [c, b, a], 'reading shows leased messages, too')
  const listed = (await inbox(world, '7')).json?.messages
  t.match(listed[0], { lease_holder_node_id: 'n1' })
  t.notOk('fence' in listed[0], 'only the holder learns the fence')
  const again = (await claim(world, '7', 'n1')).json?.messages[0]
  t.equal(again.id, c, 'the own message comes again')
  t.ok(again.fence > first[0].fence)
})

t.test('a message with a key is stored once, also after it was acknowledged', async t => {
  const world = await openWorld(t)
  const keyed = message('7', { idempotency_key: ' k ' })
  const first = (await world.post('/a2a/deliver', keyed)).json?.message_id
  const racing = await Promise.all(Array.from({ length: 8 }, () => world.post('/a2a/deliver', keyed)))
  t.ok(racing.every(({ json }) => json?.message_id === first))
  t.match((await inbox(world, '7')).json?.messages, [{ idempotency_dedupe_key: '1\u001f7\u001fk' }])
  t.not((await world.post('/a2a/deliver', { ...keyed, sender_agent_id: '2' })).json?.message_id, first)
  t.not((await world.post('/a2a/deliver', message('7', { idempotency_key: '  ' }))).json?.message_id, first)
  await world.post('/a2a/ack', { receiver_agent_id: '7', message_id: first })
  t.equal((await world.post('/a2a/deliver', keyed)).json?.message_id, first)
  t.notOk(ids(await inbox(world, '7')).includes(first), 'a delayed retry stores nothing')
})

t.test('with reuse_keys_after_ack a key is free again once its message was acknowledged', async t => {
  const world = await openWorld(t, { mesh: { reuse_keys_after_ack: true } })
  await world.join('n1')
  const keyed = message('7', { idempotency_key: 'k' })
  const first = (await world.post('/a2a/deliver', keyed)).json?.message_id
  t.equal((await world.post('/a2a/deliver', keyed)).json?.message_id, first)
  t.equal((await world.post('/a2a/ack', { receiver_agent_id: '7', message_id: first })).status, 204)
  const second = (await world.post('/a2a/deliver', keyed)).json?.message_id
  t.not(second, first, 'an unclaimed message')
  const [held] = (await claim(world, '7', 'n1')).json?.messages ?? []
  t.equal((await world.post('/a2a/ack', { receiver_agent_id: '7', message_id: second, fence: held.fence })).status, 204)
  t.not((await world.post('/a2a/deliver', keyed)).json?.message_id, second, 'a claimed message')
})

t.test('a holder whose lease passed on can neither acknowledge nor extend with its fence', async t => {
  const world = await openWorld(t, { control: { a2a_lease_ms: 1 } })
  for (const id of ['n1', 'n2']) await world.join(id)
  const id = (await world.post('/a2a/deliver', message('7'))).json?.message_id
  const old = (await claim(world, '7', 'n1')).json?.messages[0]
  t.ok(old.lease_expires_unix_ms >= Date.now() - 1_000 + 1_000, 'the lease is clamped to one second')
  let taken: Record<string, any> | undefined
  while (taken === undefined) {
    await delay(50)
    taken = (await claim(world, '7', 'n2')).json?.messages[0]
  }
  t.equal(taken.id, id)
  t.equal(taken.attempts, 2)
  const token = { receiver_agent_id: '7', message_id: id, fence: old.fence }
  t.equal((await world.post('/a2a/ack', token)).status, 409)
  t.equal((await world.post('/a2a/lease-renew', { ...token, claimer_node_id: 'n1' })).status, 409)
  t.equal((await world.post('/x/a2a/extend', { ...token, claimer_node_id: 'n1' })).status, 409)
  t.equal((await world.post('/x/a2a/nack', token)).status, 409)
  const current = { ...token, fence: taken.fence }
  t.equal((await world.post('/x/a2a/extend', { ...current, claimer_node_id: 'n2', lease_ms: 60_000 })).status, 204)
  t.equal((await world.post('/a2a/ack', current)).status, 204)
  t.equal((await world.post('/a2a/ack', current)).status, 404)
})

t.test('a message is returned with a delay, dies after its attempts, and is revived', async t => {
  const world = await openWorld(t)
  await world.join('n1')
  const sent = await world.post('/a2a/deliver', message('7', { max_attempts: 1 }))
  const id = sent.json?.message_id
  const fence = (await claim(world, '7', 'n1')).json?.messages[0].fence
  const token = { receiver_agent_id: '7', message_id: id, fence }
  t.equal((await world.post('/x/a2a/nack', { ...token, error: 'no GPU' })).status, 204)
  t.same(ids(await claim(world, '7', 'n1')), [], 'it has no attempts left')
  const dead = (await world.post('/x/a2a/dead', { receiver_agent_id: '7' })).json?.messages
  t.match(dead, [{ id, error: 'no GPU', payload: '{"a":1}' }])
  t.ok(dead[0].died_unix_ms > 1_000_000)
  t.same((await world.post('/x/a2a/dead', { receiver_agent_id: '8' })).json?.messages, [])
  t.same((await world.post('/x/a2a/revive', { receiver_agent_id: '7', message_ids: [id, 999_999] })).json, {
    revived: 1
  })
  t.same(ids(await claim(world, '7', 'n1')), [id])
  const later = await world.post('/a2a/deliver', message('9', { delay_ms: 600_000 }))
  t.same(ids(await claim(world, '9', 'n1')), [], 'a delayed message cannot be claimed')
  t.same(ids(await inbox(world, '9')), [later.json?.message_id])
})

t.test('public and new nodes receive no messages for others', async t => {
  const world = await openWorld(t)
  await world.join('public', { visibility: 'Public' })
  await world.join('new', { visibility: 'private', trust_tier: 'new' })
  await world.join('old', { visibility: 'private', trust_tier: 'trusted' })
  for (const privacy_class of ['trusted_only', 'private', 'trusted', 'public'])
    await world.post('/a2a/deliver', message('7', { privacy_class }))
  const take = async (node: string): Promise<string[]> => {
    const classes: string[] = []
    for (;;) {
      const [found] = (await claim(world, '7', node)).json?.messages ?? []
      if (found === undefined) return classes
      classes.push(found.privacy_class)
      await world.post('/a2a/ack', { receiver_agent_id: '7', message_id: found.id, fence: found.fence })
    }
  }
  t.same(await take('public'), ['public'])
  t.same(await take('new'), ['private', 'trusted'])
  t.same(await take('old'), ['trusted_only'])
})

t.test('for any record and class: a node never takes what the policy forbids', async _t => {
  const classes = fc.constantFrom('private', 'trusted', 'trusted_only', 'public', 'other', undefined, ' Trusted_Only ')
  const words = fc.constantFrom('public', 'private', 'PUBLIC', 'new', 'trusted', undefined, 5)
  fc.assert(
    fc.property(classes, words, words, (privacyClass, visibility, trustTier) => {
      const allowed = allowedPrivacy({ visibility, trustTier })
      const takes = allowed === undefined || allowed.includes(privacyNumber(privacyClass))
      const kind = privacyClass?.trim().toLowerCase() ?? ''
      const isPublic = String(visibility).toLowerCase() === 'public'
      const isRestricted = ['private', 'trusted', 'trusted_only'].includes(kind)
      const isForbidden = (isPublic && isRestricted) || (trustTier === 'new' && kind === 'trusted_only')
      return takes !== isForbidden
    })
  )
})

t.test('the oldest messages are dropped above the limit', async t => {
  const world = await openWorld(t, { control: { a2a_max_messages: 3 } })
  const sent: number[] = []
  for (let index = 0; index < 6; index += 1)
    sent.push((await world.post('/a2a/deliver', message(String(index % 2)))).json?.message_id)
  const left = [...ids(await inbox(world, '0')), ...ids(await inbox(world, '1'))].sort((a, b) => a - b)
  t.same(left, sent.slice(3))
  t.equal((await world.get('/nodes')).json?.queue_depth, 3)
})

t.test('a request waits for a message, and a message ends one wait', async t => {
  const world = await openWorld(t)
  for (const id of ['n1', 'n2']) await world.join(id)
  const waits = ['n1', 'n2'].map(node => claim(world, '7', node, { wait_ms: 25_000 }))
  await world.waiting(2)
  const id = (await world.post('/a2a/deliver', message('7'))).json?.message_id
  const first = await Promise.race(waits)
  t.same(ids(first), [id])
  const next = (await world.post('/a2a/deliver', message('7'))).json?.message_id
  const all = (await Promise.all(waits)).flatMap(ids).sort((a, b) => a - b)
  t.same(all, [id, next])
})

t.test('a wait ends with no message after its time, and ends when the control plane stops', async t => {
  const world = await openWorld(t)
  await world.join('n1')
  t.same(ids(await claim(world, '7', 'n1', { wait_ms: 30 })), [])
  t.same(ids(await inbox(world, '7', { wait_ms: 30 })), [])
  const waiting = claim(world, '7', 'n1', { wait_ms: 25_000 })
  await world.waiting(1)
  await world.kernel.close()
  t.same(ids(await waiting), [])
})

t.test('a reader without a claim waits, too, and a client that leaves ends its wait', async t => {
  const world = await openWorld(t)
  const reading = inbox(world, '7', { wait_ms: 25_000 })
  const leaving = new AbortController()
  const left = world.post('/a2a/inbox', { receiver_agent_id: '8', wait_ms: 25_000 }, { signal: leaving.signal })
  await world.waiting(2)
  leaving.abort()
  await t.rejects(left)
  const id = (await world.post('/a2a/deliver', message('7'))).json?.message_id
  t.same(ids(await reading), [id])
})

t.test('a wait is refused once the claimer was removed, and a node in maintenance receives nothing', async t => {
  const world = await openWorld(t)
  await world.join('n1')
  await world.post('/admin/maintenance', { node_id: 'n1', maintenance: true })
  await world.post('/a2a/deliver', message('7'))
  t.same(ids(await claim(world, '7', 'n1')), [])
  t.same(ids(await claim(world, '7', 'n1', { wait_ms: 600 })), [])
  const waiting = claim(world, '7', 'n1', { wait_ms: 25_000 })
  await world.waiting(1)
  await world.post('/leave', { id: 'n1' })
  t.equal((await waiting).status, 403)
})

t.test('large messages are answered in bounded pages', async t => {
  const world = await openWorld(t, { control: { http_max_body_bytes: 8_388_608 }, http: {} })
  const payload = 'x'.repeat(5_000_000)
  for (let index = 0; index < 3; index += 1)
    t.equal((await world.post('/a2a/deliver', message('7', { payload }))).status, 200)
  const page = await inbox(world, '7')
  t.equal(page.json?.messages.length, 1, 'the first message always fits')
  const last = ids(page)[0]
  t.equal((await inbox(world, '7', { before_message_id: last })).json?.messages.length, 1)
})

t.test('a result without a key for its verification is refused', async t => {
  const world = await openWorld(t)
  const signed = { payload_blake3_hex: 'ab', worker_ed25519_sig_b64: 'cd' }
  const reply = await world.post('/a2a/deliver', message('7', { message_type: 'job_result', ...signed }))
  t.match(reply, { status: 503, text: /^mesh: .*not configured/ })
})

import type { A2aMessage } from '@svc/contracts'
import fc from 'fast-check'
import t from 'tap'
import { LocalBus, type LocalMessage } from '#root'

const message = (change: Partial<LocalMessage> = {}): LocalMessage => ({
  sender: 1,
  receiver: 2,
  msg_type: 'free_form',
  payload: 'hello',
  priority: 'normal',
  ttlMs: 300_000,
  ...change
})
const ids = (messages: readonly A2aMessage[]): number[] => messages.map(({ id }) => id)

const step = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      do: fc.constant('send' as const),
      to: fc.integer({ min: 1, max: 2 }),
      priority: fc.constantFrom('low' as const, 'normal' as const, 'high' as const, 'critical' as const),
      ttlMs: fc.constantFrom(10, 300_000)
    })
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('wait' as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('ack' as const), nth: fc.nat(200) }) }
)

t.test(
  'an inbox behaves like a sorted list: by priority, then arrival, at most 100 messages, without expired ones',
  async () => {
    const order = ['critical', 'high', 'normal', 'low']
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 400, size: 'max' }), steps => {
        let now = 0
        const bus = new LocalBus(() => now)
        const model = new Map([1, 2].map(agent => [agent, [] as { id: number; priority: string; until: number }[]]))
        const dropped = new Map([1, 2].map(agent => [agent, 0]))
        const prune = (): void => {
          for (const [agent, list] of model)
            model.set(
              agent,
              list.filter(({ until }) => until > now)
            )
        }
        for (const each of steps) {
          if (each.do === 'wait') now += 10
          prune()
          if (each.do === 'send') {
            const list = model.get(each.to) ?? []
            if (list.length === 100) {
              list.shift()
              dropped.set(each.to, (dropped.get(each.to) ?? 0) + 1)
            }
            const sent = bus.send([each.to], message({ receiver: each.to, priority: each.priority, ttlMs: each.ttlMs }))
            list.push({ id: sent.message.id, priority: each.priority, until: now + each.ttlMs })
          }
          if (each.do === 'ack') {
            const list = model.get(2) ?? []
            const id = list[each.nth % Math.max(list.length, 1)]?.id
            if (bus.ack(2, id ?? -1) !== (id !== undefined)) return false
            model.set(
              2,
              list.filter(held => held.id !== id)
            )
          }
        }
        return [1, 2].every(agent => {
          const list = model.get(agent) ?? []
          const expected = order
            .flatMap(priority => list.filter(held => held.priority === priority))
            .map(({ id }) => id)
          const inbox = bus.inbox(agent)
          return ids(inbox.messages).join() === expected.join() && inbox.dropped === dropped.get(agent)
        })
      }),
      { numRuns: 60 }
    )
  }
)

t.test('a full inbox drops its oldest messages and reports their number', async t => {
  const bus = new LocalBus()
  const drops = Array.from({ length: 103 }, () => bus.send([2], message()).dropped)
  t.equal(
    drops.reduce((total, each) => total + each, 0),
    3
  )
  const { messages, dropped } = bus.inbox(2)
  t.equal(dropped, 3)
  t.equal(messages.length, 100)
  t.equal(messages[0]?.id, 4)
})

t.test('broadcasts arrive in order at each receiver, and each receiver acknowledges separately', async t => {
  const bus = new LocalBus()
  for (let at = 0; at < 20; at += 1) {
    if (at % 3 === 0) bus.send([2], message({ payload: `direct ${at}` }))
    bus.send([2, 3], message({ receiver: null, payload: `all ${at}` }))
  }
  const of = (agent: number) => bus.inbox(agent).messages
  for (const agent of [2, 3])
    t.same(
      ids(of(agent)),
      [...ids(of(agent))].sort((a, b) => a - b)
    )
  t.same(
    of(2).filter(({ plane }) => plane === 'broadcast'),
    of(3)
  )
  const first = of(3)[0]?.id ?? 0
  t.ok(bus.ack(3, first))
  t.notOk(bus.ack(3, first))
  t.ok(bus.has(2, first))
})

t.test('a second message with the same key is not delivered while the first is unacknowledged', async t => {
  const bus = new LocalBus()
  const first = bus.send([2], message({ key: 'k' }))
  t.match(bus.send([2], message({ key: 'k' })), { repeated: true, message: { id: first.message.id } })
  t.match(bus.send([2], message({ key: 'k', sender: 3 })), { repeated: false })
  bus.ack(2, first.message.id)
  t.match(bus.send([2], message({ key: 'k' })), { repeated: false })
})

t.test('listeners are notified in order of sending, even of messages that a listener sends', async t => {
  const bus = new LocalBus()
  const seen: string[] = []
  bus.subscribe(({ payload }) => {
    if (payload === 'a') bus.send([2], message({ payload: 'answer' }))
  })
  const stop = bus.subscribe(({ payload }) => seen.push(payload))
  bus.send([2], message({ payload: 'a' }))
  bus.send([2], message({ payload: 'b' }))
  stop()
  bus.send([2], message({ payload: 'c' }))
  t.same(seen, ['a', 'answer', 'b'])
})

t.test('history shows whether messages are acknowledged; forget deletes the inbox of an agent', async t => {
  const bus = new LocalBus()
  const { message: sent } = bus.send([2], message())
  bus.ack(2, sent.id)
  t.match(bus.history(0), [{ id: sent.id, acknowledged: true }])
  bus.send([2], message())
  bus.forget(2)
  t.same(bus.inbox(2), { messages: [], dropped: 0 })
  t.equal(bus.history(0).length, 2)
})

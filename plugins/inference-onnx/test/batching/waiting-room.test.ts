import fc from 'fast-check'
import t from 'tap'
import { WaitingRoom } from '#batching'

/** All entries, in order of admission. */
function drain(room: WaitingRoom<string>): string[] {
  const order: string[] = []
  for (let one = room.next(); one !== null; one = room.next()) order.push(one)
  return order
}

t.test('clients alternate, and each is served in its own order', async t => {
  const room = new WaitingRoom<string>(10)
  for (const one of ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1']) room.enter(one[0] as string, one)
  t.equal(room.size, 7)
  t.same(drain(room), ['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4'])
  t.equal(room.size, 0)
})

t.test('a served client queues after the waiting ones', async t => {
  const room = new WaitingRoom<string>(10)
  room.enter('a', 'a1')
  room.enter('b', 'b1')
  t.equal(room.next(), 'a1')
  room.enter('a', 'a2')
  t.same(drain(room), ['b1', 'a2'])
})

t.test('a full room refuses a client with as many entries as any other', async t => {
  const room = new WaitingRoom<string>(2)
  room.enter('a', 'a1')
  t.same(room.enter('b', 'b1'), { displaced: null })
  t.equal(room.enter('a', 'a2'), false)
  t.equal(room.enter('b', 'b2'), false)
  t.equal(new WaitingRoom<string>(0).enter('a', 'a1'), false)
})

t.test('a client that floods a full room loses its last entry to a client with fewer', async t => {
  const room = new WaitingRoom<string>(4)
  for (const one of ['a1', 'a2', 'a3', 'a4']) room.enter('a', one)
  t.same(room.enter('b', 'b1'), { displaced: 'a4' })
  t.same(room.enter('b', 'b2'), { displaced: 'a3' })
  t.same(room.enter('b', 'b3'), false)
  t.same(room.enter('c', 'c1'), { displaced: 'a2' })
  t.same(drain(room), ['a1', 'b1', 'c1', 'b2'])
})

t.test('a removed job is not admitted', async t => {
  const room = new WaitingRoom<string>(4)
  for (const one of ['a1', 'a2', 'b1']) room.enter(one[0] as string, one)
  t.equal(room.leave('a', 'a1'), true)
  t.equal(room.leave('a', 'a1'), false)
  t.equal(room.leave('b', 'b1'), true)
  t.equal(room.leave('c', 'c1'), false)
  t.same(drain(room), ['a2'])
})

t.test('no job is lost, admitted twice, or overtaken by a later one of the same client', async () => {
  const action = fc.record({
    client: fc.constantFrom('a', 'b', 'c'),
    act: fc.constantFrom('enter', 'enter', 'next', 'leave')
  })
  fc.assert(
    fc.property(fc.array(action, { maxLength: 60 }), fc.nat(6), (actions, capacity) => {
      const room = new WaitingRoom<string>(capacity)
      const inside = new Map<string, string[]>([
        ['a', []],
        ['b', []],
        ['c', []]
      ])
      const remove = (one: string | null) => {
        if (one === null) return
        const queue = inside.get(one[0] as string) as string[]
        queue.splice(queue.indexOf(one), 1)
      }
      for (const [number, { client, act }] of actions.entries()) {
        const queue = inside.get(client) as string[]
        if (act === 'enter') {
          const one = `${client}${number}`
          const entered = room.enter(client, one)
          if (entered === false) continue
          remove(entered.displaced)
          queue.push(one)
        } else if (act === 'next') {
          const one = room.next()
          if (one !== null && one !== inside.get(one[0] as string)?.[0]) return false
          if (one === null && room.size > 0) return false
          remove(one)
        } else if (queue.length > 0) {
          const one = queue.at(-1) as string
          if (!room.leave(client, one)) return false
          remove(one)
        }
        const size = [...inside.values()].reduce((sum, { length }) => sum + length, 0)
        if (room.size !== size || size > capacity) return false
      }
      return drain(room).every(one => inside.get(one[0] as string)?.shift() === one)
    })
  )
})

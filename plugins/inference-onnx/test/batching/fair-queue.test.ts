import fc from 'fast-check'
import t from 'tap'
import { FairQueue } from '#batching'

/** Removes all entries, and returns them in order of admission. */
function drain(queue: FairQueue<string>): string[] {
  const order: string[] = []
  for (let one = queue.next(); one !== null; one = queue.next()) order.push(one)
  return order
}

t.test('clients alternate, and each client is served in FIFO order', async t => {
  const queue = new FairQueue<string>()
  for (const one of ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1']) queue.add(one[0] as string, one, 10)
  t.equal(queue.size, 7)
  t.same(drain(queue), ['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4'])
  t.equal(queue.size, 0)
})

t.test('a client that was served queues behind the waiting clients', async t => {
  const queue = new FairQueue<string>()
  queue.add('a', 'a1', 10)
  queue.add('b', 'b1', 10)
  t.equal(queue.next(), 'a1')
  queue.add('a', 'a2', 10)
  t.same(drain(queue), ['b1', 'a2'])
})

t.test('a full queue rejects a client that has as many entries as any other', async t => {
  const queue = new FairQueue<string>()
  queue.add('a', 'a1', 2)
  t.same(queue.add('b', 'b1', 2), { displaced: null })
  t.equal(queue.add('a', 'a2', 2), false)
  t.equal(queue.add('b', 'b2', 2), false)
  t.equal(new FairQueue<string>().add('a', 'a1', 0), false)
})

t.test('a client that floods a full queue loses its last entry to a client with fewer', async t => {
  const queue = new FairQueue<string>()
  for (const one of ['a1', 'a2', 'a3', 'a4']) queue.add('a', one, 4)
  t.same(queue.add('b', 'b1', 4), { displaced: 'a4' })
  t.same(queue.add('b', 'b2', 4), { displaced: 'a3' })
  t.same(queue.add('b', 'b3', 4), false)
  t.same(queue.add('c', 'c1', 4), { displaced: 'a2' })
  t.same(drain(queue), ['a1', 'b1', 'c1', 'b2'])
})

t.test('a removed entry is not admitted', async t => {
  const queue = new FairQueue<string>()
  for (const one of ['a1', 'a2', 'b1']) queue.add(one[0] as string, one, 4)
  t.equal(queue.remove('a', 'a1'), true)
  t.equal(queue.remove('a', 'a1'), false)
  t.equal(queue.remove('b', 'b1'), true)
  t.equal(queue.remove('c', 'c1'), false)
  t.same(drain(queue), ['a2'])
})

t.test('no entry is lost, admitted twice, or overtaken by a later one of the same client', async () => {
  const action = fc.record({
    client: fc.constantFrom('a', 'b', 'c'),
    act: fc.constantFrom('add', 'add', 'next', 'remove')
  })
  fc.assert(
    fc.property(fc.array(action, { maxLength: 60 }), fc.nat(6), (actions, capacity) => {
      const queue = new FairQueue<string>()
      const expected = new Map<string, string[]>([
        ['a', []],
        ['b', []],
        ['c', []]
      ])
      const remove = (one: string | null) => {
        if (one === null) return
        const entries = expected.get(one[0] as string) as string[]
        entries.splice(entries.indexOf(one), 1)
      }
      for (const [number, { client, act }] of actions.entries()) {
        const entries = expected.get(client) as string[]
        if (act === 'add') {
          const one = `${client}${number}`
          const added = queue.add(client, one, capacity)
          if (added === false) continue
          remove(added.displaced)
          entries.push(one)
        } else if (act === 'next') {
          const one = queue.next()
          if (one !== null && one !== expected.get(one[0] as string)?.[0]) return false
          if (one === null && queue.size > 0) return false
          remove(one)
        } else if (entries.length > 0) {
          const one = entries.at(-1) as string
          if (!queue.remove(client, one)) return false
          remove(one)
        }
        const size = [...expected.values()].reduce((sum, { length }) => sum + length, 0)
        if (queue.size !== size || size > capacity) return false
      }
      return drain(queue).every(one => expected.get(one[0] as string)?.shift() === one)
    })
  )
})

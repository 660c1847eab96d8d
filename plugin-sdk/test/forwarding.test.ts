import { forwarding } from '@svc/plugin-sdk'
import t from 'tap'

class Counter {
  readonly step: number
  readonly nested: { add(count: number): number }
  #count = 0

  constructor(step: number) {
    this.step = step
    this.nested = { add: count => (this.#count += count) }
  }

  next(): number {
    return (this.#count += this.step)
  }
}

t.test('forwards each access to the current value, even for extracted functions and members', async t => {
  let current = new Counter(1)
  const counter = forwarding<Counter>(() => current, ['nested'])
  const { nested, next } = counter
  t.same([counter.next(), next(), nested.add(10), counter.step], [1, 2, 12, 1])
  current = new Counter(5)
  t.same([counter.next(), next(), nested.add(10), counter.step], [5, 10, 20, 5])
  t.ok('next' in counter)
  t.notOk('then' in counter)
})

t.test('can be created before a value exists', async t => {
  let current: Counter | null = null
  const counter = forwarding<Counter>(() => {
    if (current === null) throw new Error('no one is there')
    return current
  }, ['nested'])
  const { nested } = counter
  t.throws(() => counter.next(), { message: 'no one is there' })
  current = new Counter(1)
  t.equal(nested.add(2), 2)
})

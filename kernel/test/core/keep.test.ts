import { setImmediate as turn } from 'node:timers/promises'
import { gate } from '@svc/kernel/testing'
import fc from 'fast-check'
import t from 'tap'
import { Keep } from '#core'

t.test('a resource is opened once for overlapping holders and closed by the last', async t => {
  const keep = new Keep()
  const events: string[] = []
  const acquire = () =>
    keep.acquire(
      'weights',
      () => {
        events.push('open')
        return { id: 1 }
      },
      () => {
        events.push('close')
      }
    )
  const first = await acquire()
  const second = await acquire()
  t.equal(first.value, second.value)
  await first.release()
  t.same(events, ['open'])
  await second.release()
  t.same(events, ['open', 'close'])
  t.same(keep.keys(), [])
})

t.test('concurrent acquisitions open the resource once', async t => {
  const keep = new Keep()
  let opened = 0
  const open = async () => {
    await new Promise(resolve => setImmediate(resolve))
    opened += 1
    return opened
  }
  const all = await Promise.all([1, 2, 3].map(() => keep.acquire('k', open, () => {})))
  t.same(
    all.map(each => each.value),
    [1, 1, 1]
  )
})

t.test('after a failed opening the next acquisition opens again', async t => {
  const keep = new Keep()
  await t.rejects(
    keep.acquire(
      'k',
      () => Promise.reject(new Error('busy')),
      () => {}
    ),
    { message: 'busy' }
  )
  t.equal(
    (
      await keep.acquire(
        'k',
        () => 'fine',
        () => {}
      )
    ).value,
    'fine'
  )
})

t.test('closing uses the code of the newest holder', async t => {
  const keep = new Keep()
  const closed: string[] = []
  const old = await keep.acquire(
    'k',
    () => 1,
    () => void closed.push('old')
  )
  const fresh = await keep.acquire(
    'k',
    () => 2,
    () => void closed.push('new')
  )
  await old.release()
  await fresh.release()
  t.same(closed, ['new'])
})

t.test('releasing twice releases once', async t => {
  const keep = new Keep()
  let closed = 0
  const a = await keep.acquire(
    'k',
    () => 1,
    () => void closed++
  )
  const b = await keep.acquire(
    'k',
    () => 1,
    () => void closed++
  )
  await a.release()
  await a.release()
  t.equal(closed, 0)
  await b.release()
  t.equal(closed, 1)
})

t.test('opening again waits until the resource is closed', async t => {
  const keep = new Keep()
  const events: string[] = []
  let closed: () => void = () => {}
  const closing = new Promise<void>(resolve => (closed = resolve))
  const first = await keep.acquire(
    'port',
    () => void events.push('open'),
    async () => {
      await closing
      events.push('closed')
    }
  )
  const released = first.release()
  const second = keep.acquire(
    'port',
    () => void events.push('open'),
    () => {}
  )
  await new Promise(resolve => setImmediate(resolve))
  t.same(events, ['open'])
  closed()
  await Promise.all([released, second])
  t.same(events, ['open', 'closed', 'open'])
})

t.test('a resource that fails to close can be opened again', async t => {
  const keep = new Keep()
  const first = await keep.acquire(
    'port',
    () => 1,
    () => Promise.reject(new Error('busy'))
  )
  await t.rejects(first.release(), { message: 'busy' })
  const second = await keep.acquire(
    'port',
    () => 2,
    () => {}
  )
  t.equal(second.value, 2)
})

t.test('the `close` function of a failed holder is not used', async t => {
  const keep = new Keep()
  const closed: string[] = []
  const acquire = (name: string) =>
    keep.acquire(
      'k',
      () => 1,
      () => void closed.push(name)
    )
  const serving = await acquire('serving')
  const refused = await acquire('refused')
  await refused.release()
  await serving.release()
  t.same(closed, ['serving'])
})

t.test('each key has its own resource, and the list of keys shows what is open', async t => {
  const keep = new Keep()
  const open = (value: string) => () => value
  const a = await keep.acquire('a', open('A'), () => {})
  const b = await keep.acquire('b', open('B'), () => {})
  t.same([a.value, b.value], ['A', 'B'])
  t.same(keep.keys(), ['a', 'b'])
  await a.release()
  t.same(keep.keys(), ['b'])
  await b.release()
})

t.test('if opening fails, all concurrent acquisitions fail and no resource remains', async t => {
  const keep = new Keep()
  const opening = gate()
  let opened = 0
  const open = async (): Promise<void> => {
    opened += 1
    await opening.passed
  }
  const all = [1, 2, 3].map(() => keep.acquire('k', open, () => void t.fail('it was never open')))
  opening.fail(new Error('busy'))
  for (const each of all) await t.rejects(each, { message: 'busy' })
  t.equal(opened, 1)
  t.same(keep.keys(), [])
})

t.test('an opener that throws synchronously rejects the acquisition', async t => {
  const keep = new Keep()
  const open = (): never => {
    throw new Error('no such port')
  }
  await t.rejects(
    keep.acquire('k', open, () => {}),
    { message: 'no such port' }
  )
  t.same(keep.keys(), [])
})

/** Resource that may be open only once at a time. Records violations. */
class Port {
  readonly faults: string[] = []
  opened = 0
  #open: number | undefined
  readonly opening: (() => void)[] = []
  readonly closing: (() => void)[] = []

  open = async (fails: boolean): Promise<number> => {
    if (this.#open !== undefined) this.faults.push('opened while it was open')
    this.opened += 1
    const id = this.opened
    this.#open = id
    const waiting = gate()
    this.opening.push(waiting.open)
    await waiting.passed
    if (!fails) return id
    this.#open = undefined
    throw new Error('busy')
  }

  close = async (id: number): Promise<void> => {
    if (this.#open !== id) this.faults.push(`closed ${id} while ${this.#open} was open`)
    const waiting = gate()
    this.closing.push(waiting.open)
    await waiting.passed
    this.#open = undefined
  }

  get free(): boolean {
    return this.#open === undefined
  }
}

type Move =
  | { readonly kind: 'acquire'; readonly fails: boolean }
  | { readonly kind: 'release' | 'settle'; readonly at: number }

const move: fc.Arbitrary<Move> = fc.oneof(
  fc.record({
    kind: fc.constant('acquire' as const),
    fails: fc.oneof(fc.constant(false), fc.constant(false), fc.boolean())
  }),
  fc.record({ kind: fc.constant('release' as const), at: fc.nat({ max: 9 }) }),
  fc.record({ kind: fc.constant('settle' as const), at: fc.nat({ max: 1 }) })
)

t.test('for any holders: a resource is open at most once, only while it is held, and closed at the end', async t => {
  await fc.assert(
    fc.asyncProperty(fc.array(move, { maxLength: 30 }), async moves => {
      const keep = new Keep()
      const port = new Port()
      const held: { readonly value: number; readonly release: () => Promise<void> }[] = []
      const pending: Promise<unknown>[] = []
      for (const each of moves) {
        if (each.kind === 'acquire') {
          const acquired = keep.acquire('port', () => port.open(each.fails), port.close)
          pending.push(acquired.then(holder => void held.push(holder)).catch(() => {}))
        } else if (each.kind === 'release') {
          const [holder] = held.splice(each.at % Math.max(held.length, 1), 1)
          if (holder !== undefined) pending.push(holder.release(), holder.release())
        } else (each.at === 0 ? port.opening : port.closing).shift()?.()
        await turn()
        if (held.length > 0 && port.free) return false
        if (new Set(held.map(({ value }) => value)).size > 1) return false
      }
      // The remaining steps run to their end.
      while (!port.free || keep.keys().length > 0) {
        for (const open of port.opening.splice(0)) open()
        await turn()
        for (const holder of held.splice(0)) pending.push(holder.release())
        await turn()
        for (const close of port.closing.splice(0)) close()
        await turn()
      }
      await Promise.all(pending)
      return port.faults.length === 0
    }),
    { numRuns: 80 }
  )
  t.pass()
})

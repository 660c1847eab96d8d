import t from 'tap'
import { Keep } from '#core'

t.test('a resource is opened once while holders overlap, and closed by the last', async t => {
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

t.test('simultaneous acquisitions share one opening', async t => {
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

t.test('a failed opening is forgotten, so that the next one tries again', async t => {
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

t.test('a holder that fails closes nothing: its code is not used', async t => {
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

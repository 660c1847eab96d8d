import { join } from 'node:path'
import '../../plugins/database/test/built-worker.ts'
import type { DatabaseStore } from '@svc/contracts'
import { DatabaseCoordination } from '@svc/plugin-coordination/testing'
import { openFile } from '@svc/plugin-database/testing'
import t, { type Test } from 'tap'
import { check } from './checker.ts'
import type { RecordedCall } from './history.ts'
import { PLANTED_FAULTS, withFault } from './planted-faults.ts'
import { type Bed, runWorkload } from './workload.ts'

let clock = 0

/** A call that takes one millisecond, after the one before it. */
function call(op: RecordedCall['op'], more: Partial<RecordedCall>): RecordedCall {
  const invoke = (clock += 2)
  const empty = { client: 'a', key: null, id: null, fence: null, storeMs: null, leaseMs: null, outcome: 'ok' } as const
  return { op, ...empty, invoke, return: invoke + 1, ...more }
}

const claim = (client: string, fence: number, storeMs: number): RecordedCall =>
  call('claim', { client, id: 1, fence, storeMs, leaseMs: 100 })

const put = (): RecordedCall => call('put', { id: 1, key: 'k' })

t.test('a correct history has no violation', async t => {
  const history = [
    put(),
    claim('a', 1, 0),
    call('extend', { id: 1, fence: 1, storeMs: 50, leaseMs: 100 }),
    claim('b', 2, 150),
    call('ack', { client: 'a', id: 1, fence: 1, outcome: 'no' }),
    call('ack', { client: 'b', id: 1, fence: 2 }),
    call('ack', { client: 'b', id: 1, fence: 2, outcome: 'unknown' })
  ]
  t.same(check(history, new Map()), [])
})

t.test('each wrong history has its violation', async t => {
  const wrong: readonly (readonly [RegExp, readonly RecordedCall[], (readonly [number, 'ready' | 'parked'])[]?])[] = [
    [/item 1: b got it 1 ms before the lease of a ended/, [claim('a', 1, 0), claim('b', 2, 99)]],
    [
      /b got it 50 ms before/,
      [claim('a', 1, 0), call('extend', { id: 1, fence: 1, storeMs: 50, leaseMs: 100 }), claim('b', 2, 100)]
    ],
    [/a and b got the same fence 1/, [claim('a', 1, 0), claim('b', 1, 200)]],
    [/after the fence 2, b got the lower fence 1/, [claim('a', 2, 0), claim('b', 1, 200)]],
    [
      /ack by a with the fence 1 was accepted after b had got the fence 2/,
      [claim('a', 1, 0), claim('b', 2, 200), call('ack', { id: 1, fence: 1 })]
    ],
    [
      /extended 20 ms after its end/,
      [claim('a', 1, 0), call('extend', { id: 1, fence: 1, storeMs: 120, leaseMs: 100 })]
    ],
    [
      /item 1: 2 acknowledgements were accepted/,
      [claim('a', 1, 0), call('ack', { id: 1, fence: 1 }), call('ack', { id: 1, fence: 1 })]
    ],
    [/the put of k was accepted, and the item is gone/, [put()], []],
    [
      /key k: it has the items 1, 2/,
      [put(), call('put', { id: 2, key: 'k' })],
      [
        [1, 'ready'],
        [2, 'ready']
      ]
    ],
    [/value v: it was used 2 times/, [call('once', { key: 'v' }), call('once', { client: 'b', key: 'v' })]],
    [
      /it is parked, although it was woken/,
      [put(), claim('a', 1, 0), call('wake', { key: 'k' }), call('park', { id: 1, fence: 1 })],
      [[1, 'parked']]
    ],
    [
      /lease l: b got it 40 ms before/,
      [
        call('grant', { key: 'l', fence: 1, storeMs: 0, leaseMs: 100 }),
        call('grant', { client: 'b', key: 'l', fence: 2, storeMs: 60, leaseMs: 100 })
      ]
    ]
  ]
  for (const [expected, history, left = [[1, 'ready']]] of wrong) {
    const violations = check(history, new Map(left as [number, 'ready'][]))
    t.ok(
      violations.some(each => expected.test(each)),
      String(expected),
      { violations }
    )
  }
})

t.test('a call without an answer excuses the store', async t => {
  const unknown = (op: RecordedCall['op'], more: Partial<RecordedCall>) => call(op, { ...more, outcome: 'unknown' })
  t.same(check([put(), claim('a', 1, 0), unknown('ack', { id: 1, fence: 1 })], new Map()), [])
  t.same(check([claim('a', 1, 0), unknown('nack', { id: 1, fence: 1 }), claim('b', 2, 1)], new Map()), [])
  t.same(check([unknown('once', { key: 'v' }), call('once', { key: 'v' })], new Map()), [])
})

t.test('a client may get an item again that it has leased, if it says so', async t => {
  const again = { ...claim('a', 2, 50), own: true }
  t.same(check([claim('a', 1, 0), again], new Map()), [])
  t.match(check([claim('a', 1, 0), { ...again, own: false }], new Map()), [/a got it 50 ms before/])
  t.match(check([claim('b', 1, 0), again], new Map()), [/a got it 50 ms before/])
})

t.test('of a store that loses writes at a failover, only the fences are checked', async t => {
  const losesWrites = { losesWrites: true }
  t.same(check([put(), claim('a', 1, 0), claim('b', 2, 1)], new Map(), losesWrites), [])
  t.match(check([claim('a', 1, 0), claim('b', 1, 200)], new Map(), losesWrites), [/got the same fence 1/])
})

t.test('an error that no fault explains is a violation', async t => {
  const failed = call('ack', { id: 1, fence: 1, outcome: 'unknown', error: 'CRD_FAILED: no such table' })
  t.same(check([failed], new Map()), ['ack by a: CRD_FAILED: no such table'])
})

interface Opened {
  readonly database: DatabaseStore
  readonly store: DatabaseCoordination
}

/** Opens beds on one file, whose connections stay open for the next bed. A bed begins with empty tables. */
function openBeds(t: Test): (fault?: (typeof PLANTED_FAULTS)[string]) => Promise<Bed> {
  const file = join(t.testdir(), 'coordination.db')
  const opened: Opened[] = []
  const open = async (at: number): Promise<Opened> => {
    const known = opened[at]
    if (known !== undefined) return known
    const database = await openFile(file, { busyTimeoutMs: 10_000, synchronous: 'normal' })
    const store = new DatabaseCoordination(database)
    t.teardown(async () => {
      await store.close()
      await database.close()
    })
    opened[at] = { database, store }
    return { database, store }
  }
  return async fault => {
    const { database, store: observer } = await open(0)
    await observer.now()
    await database.batch(TABLES.map(table => ({ sql: `delete from ${table}` })))
    let clients = 0
    return {
      observer,
      client: async () => {
        clients += 1
        const { database, store } = await open(clients)
        return fault === undefined ? store : withFault(store, database, fault)
      }
    }
  }
}

const TABLES = ['coord_items', 'coord_keys', 'coord_dead', 'coord_jti', 'distributed_locks']
/** Seeds within which each fault must be found; half as many steps need fewer calls for most faults. */
const MAX_SEEDS = 10
const STEPS = 60

t.test('the checker finds planted faults', async t => {
  const openBed = openBeds(t)
  for (const [name, fault] of Object.entries(PLANTED_FAULTS))
    await t.test(name, async t => {
      const found: string[] = []
      for (let seed = 1; seed <= MAX_SEEDS && found.length === 0; seed++)
        found.push(...(await runWorkload(await openBed(fault), seed, { steps: STEPS })).violations)
      t.not(found.length, 0)
      t.comment(found[0])
    })
})

t.test('the embedded store has no violation', async t => {
  const openBed = openBeds(t)
  for (const seed of [1, 2]) {
    const { violations, grants } = await runWorkload(await openBed(), seed)
    t.same(violations, [], `seed ${seed}`)
    t.ok(grants > 30, `${grants} grants`)
  }
})

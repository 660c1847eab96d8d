import type { DatabaseStore, LeaseOutcome, LeaseToken } from '@svc/contracts'
import { openMemory } from '@svc/plugin-database/testing'
import fc from 'fast-check'
import t from 'tap'
import { DatabaseCoordination } from '#root'
import { HOUR_MS, ModelItems, type ModelToken } from './model.ts'

const QUEUES = ['a', 'ab']
const HOLDERS = ['h1', 'h2']

/** Lets time pass: everything that ends does so earlier. Tests take less than the hour that is the unit of time. */
async function pass(database: DatabaseStore, hours: number): Promise<void> {
  await database.batch([
    { sql: 'update coord_items set visible_at = visible_at - ?', parameters: [hours * HOUR_MS] },
    { sql: 'update distributed_locks set expires_at = expires_at - ?', parameters: [hours * HOUR_MS] }
  ])
}

async function clear(database: DatabaseStore): Promise<void> {
  await database.batch(
    ['coord_items', 'coord_keys', 'coord_dead', 'distributed_locks'].map(table => `delete from ${table}`)
  )
}

const hours = fc.integer({ min: 1, max: 4 })
const queue = fc.constantFrom('a', 'a', 'a', 'ab')
const holder = fc.constantFrom(...HOLDERS)
/** Selects one of the tokens that were granted so far, the latest ones more often. */
const pick = fc.oneof({ weight: 5, arbitrary: fc.nat({ max: 2 }) }, { weight: 1, arbitrary: fc.nat({ max: 40 }) })
const key = fc.constantFrom('k1', 'k2', 'k3')

const command = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record(
      {
        type: fc.constant('put' as const),
        queue,
        key,
        priority: fc.constantFrom(1, 200),
        lane: fc.constantFrom('l1', 'l2'),
        maxAttempts: fc.integer({ min: 1, max: 2 }),
        privacy: fc.constantFrom(0, 1),
        delay: hours
      },
      { requiredKeys: ['type', 'queue'] }
    )
  },
  {
    weight: 5,
    arbitrary: fc.record(
      {
        type: fc.constant('claim' as const),
        queue,
        holder,
        max: fc.integer({ min: 1, max: 3 }),
        hours,
        own: fc.boolean(),
        privacy: fc.subarray([0, 1])
      },
      { requiredKeys: ['type', 'queue', 'holder', 'max', 'hours', 'own'] }
    )
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('ack' as const),
      picks: fc.array(pick, { minLength: 1, maxLength: 3 }),
      result: fc.boolean(),
      freeKey: fc.boolean()
    })
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('extend' as const),
      picks: fc.array(pick, { minLength: 1, maxLength: 3 }),
      hours
    })
  },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('nack' as const),
      picks: fc.array(pick, { minLength: 1, maxLength: 2 }),
      hours: fc.integer({ min: 0, max: 2 })
    })
  },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant('park' as const), picks: fc.array(pick, { minLength: 1, maxLength: 2 }) })
  },
  {
    weight: 3,
    arbitrary: fc.record({ type: fc.constant('wake' as const), queue, keys: fc.subarray(['k1', 'k2', 'k3']) })
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('withdraw' as const), queue, pick }) },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('trim' as const),
      prefix: fc.constantFrom('', 'a', 'ab'),
      keep: fc.nat({ max: 4 })
    })
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('revive' as const), queue }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('pass' as const), hours }) }
)

t.test('random commands on items have the results of a plain model', async t => {
  const database = await openMemory()
  const store = new DatabaseCoordination(database)
  await store.now()
  const run = async (
    commands: readonly (typeof command extends fc.Arbitrary<infer C> ? C : never)[]
  ): Promise<void> => {
    await clear(database)
    const model = new ModelItems()
    const tokens: ModelToken[] = []
    const ids: number[] = []
    let bodies = 0
    const chosen = (picks: readonly number[]): ModelToken[] => {
      // Tokens that were never granted, too.
      const known = [{ id: ids.at(-1) ?? 1, fence: 0 }, { id: ids.at(-1) ?? 1, fence: 1_000 }, ...tokens]
      return picks.map(at => known[known.length - 1 - (at % known.length)] as ModelToken)
    }
    for (const each of commands) {
      switch (each.type) {
        case 'put': {
          const { type: _, delay, ...rest } = each
          bodies += 1
          const item = { ...rest, body: String(bodies), ...(delay === undefined ? {} : { delayMs: delay * HOUR_MS }) }
          const [result] = await store.put([item])
          const expected = model.put(item, result?.id ?? 0)
          t.same(result, expected)
          if (expected.fresh) ids.push(expected.id)
          break
        }
        case 'claim': {
          const { max, own, privacy } = each
          const options = privacy === undefined ? { max, own } : { max, own, privacy }
          const items = await store.claim(each.queue, each.holder, { ...options, leaseMs: each.hours * HOUR_MS })
          const expected = model.claim(each.queue, each.holder, { ...options, hours: each.hours })
          t.same(
            items.map(({ id, fence, body, attempts }) => [id, fence, body, attempts]),
            expected.map(({ id, fence, item, attempts }) => [id, fence, item.body, attempts])
          )
          tokens.push(...items.map(({ id, fence }) => ({ id, fence })))
          break
        }
        case 'ack': {
          const result = each.result ? '"done"' : undefined
          const { freeKey } = each
          const given = chosen(each.picks).map(token => ({
            ...token,
            freeKey,
            ...(result === undefined ? {} : { result })
          }))
          t.same(
            await store.ack(given),
            given.map(token => model.ack(token, result, freeKey))
          )
          break
        }
        case 'extend': {
          const given = chosen(each.picks)
          t.same(
            await store.extend(given, each.hours * HOUR_MS),
            given.map(token => model.extend(token, each.hours))
          )
          break
        }
        case 'nack': {
          const given = chosen(each.picks)
          t.same(
            await store.nack(given, { delayMs: each.hours * HOUR_MS }),
            given.map(token => model.nack(token, each.hours))
          )
          break
        }
        case 'park': {
          const given = chosen(each.picks)
          t.same(
            await store.park(given),
            given.map(token => model.park(token))
          )
          break
        }
        case 'wake':
          t.equal(await store.wake(each.queue, each.keys), model.wake(each.queue, each.keys))
          break
        case 'withdraw': {
          const id = ids[ids.length - 1 - (each.pick % Math.max(ids.length, 1))] ?? 1
          t.equal(await store.withdraw(each.queue, id), model.withdraw(each.queue, id))
          break
        }
        case 'trim':
          t.equal(await store.trim(each.prefix, each.keep), model.trim(each.prefix, each.keep))
          break
        case 'revive': {
          const dead = model.dead.map(({ id }) => id)
          t.equal(await store.revive(each.queue, dead), model.revive(each.queue, dead))
          break
        }
        case 'pass':
          await pass(database, each.hours)
          model.pass(each.hours)
      }
      const [shown, expected] = await model.compare(store, QUEUES)
      if (!t.same(shown, expected)) throw new Error(`the items differ after ${JSON.stringify(each)}`)
    }
  }
  await fc.assert(fc.asyncProperty(fc.array(command, { minLength: 20, maxLength: 80 }), run), { numRuns: 120 })
  await store.close()
  await database.close()
})

const leaseCommand = fc.oneof(
  fc.record({ type: fc.constant('grant' as const), key: fc.constantFrom('x', 'y'), holder, hours }),
  fc.record({ type: fc.constant('renew' as const), pick, holder, hours }),
  fc.record({ type: fc.constant('release' as const), pick, holder }),
  fc.record({ type: fc.constant('revoke' as const), pick }),
  fc.record({ type: fc.constant('pass' as const), hours })
)

t.test('random commands on named leases have the results of a plain model, and fences only grow', async t => {
  const database = await openMemory()
  const store = new DatabaseCoordination(database)
  await store.now()
  await fc.assert(
    fc.asyncProperty(fc.array(leaseCommand, { minLength: 5, maxLength: 40 }), async commands => {
      await clear(database)
      const leases = new Map<string, { holder: string; fence: number; hours: number }>()
      const fences: number[] = []
      const live = (fence: number) => [...leases].find(([, each]) => each.fence === fence && each.hours > 0)
      const token = (at: number, name: string): LeaseToken => ({
        scope: 's',
        holder: name,
        fence: fences[fences.length - 1 - (at % Math.max(1, fences.length))] ?? 1
      })
      const outcome = ({ fence, holder }: LeaseToken): LeaseOutcome => {
        const found = live(fence)?.[1]
        if (found === undefined) return 'gone'
        return found.holder === holder ? 'ok' : 'other'
      }
      for (const each of commands) {
        if (each.type === 'pass') {
          await pass(database, each.hours)
          for (const lease of leases.values()) lease.hours -= each.hours
        } else if (each.type === 'grant') {
          const known = leases.get(each.key)
          const result = await store.grant('s', each.key, each.holder, each.hours * HOUR_MS)
          if (known !== undefined && known.hours > 0 && known.holder !== each.holder)
            t.match(result, { heldBy: known.holder })
          else if (known !== undefined && known.hours > 0) {
            t.match(result, { fence: known.fence })
            known.hours = each.hours
          } else if ('fence' in result) {
            t.ok(result.fence > (fences.at(-1) ?? 0), 'a new fence is the highest')
            fences.push(result.fence)
            leases.set(each.key, { holder: each.holder, fence: result.fence, hours: each.hours })
          } else t.fail('a free lease is granted')
        } else if (each.type === 'revoke') {
          const { fence } = token(each.pick, '')
          t.equal(await store.revoke('s', fence), live(fence) !== undefined)
          leases.delete(live(fence)?.[0] ?? '')
        } else {
          const given = token(each.pick, each.holder)
          const expected = outcome(given)
          if (each.type === 'renew') t.equal(await store.renew(given, each.hours * HOUR_MS), expected)
          else t.equal(await store.release(given), expected)
          const found = live(given.fence)
          if (expected === 'ok' && found !== undefined) {
            if (each.type === 'renew') found[1].hours = each.hours
            else leases.delete(found[0])
          }
        }
        t.same(
          (await store.leases('s')).map(({ key, holder, fence }) => [key, holder, fence]),
          [...leases]
            .filter(([, { hours }]) => hours > 0)
            .map(([key, { holder, fence }]) => [key, holder, fence])
            .sort((a, b) => Number(a[2]) - Number(b[2]))
        )
      }
    }),
    { numRuns: 60 }
  )
  await store.close()
  await database.close()
})

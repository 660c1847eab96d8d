import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ClaimedItem, StoredNode } from '../../coordination/store.ts'
import { type ConformanceSuite, holds } from '../suite.ts'
import { after, type EachStore, HOUR_MS, LONG_MS, put } from './bed.ts'

/** Records of nodes, and claims that depend on them. */
export function nodeCases(each: EachStore): ConformanceSuite {
  return [
    each('stores nodes by version: one of several writers wins', async (store, bed) => {
      const other = await bed.another()
      const first = await store.nodes.put('s', 'n', '{"v":1}', null)
      holds(first !== null, 'a new node is stored')
      assert.equal(await other.nodes.put('s', 'n', '{"v":2}', null), null)
      assert.deepEqual(await other.nodes.find('s', 'n'), first)
      const all = await Promise.all(
        Array.from({ length: 8 }, (_, at) => (at % 2 ? store : other).nodes.put('s', 'n', `{"w":${at}}`, first.version))
      )
      const won = all.filter(node => node !== null)
      assert.equal(won.length, 1)
      holds((won[0] as StoredNode).version > first.version, 'the version grows')
      assert.equal((await store.nodes.find('s', 'n'))?.record, won[0]?.record)
      assert.equal(await store.nodes.find('t', 'n'), null)
      assert.equal(await store.nodes.put('s', 'missing', '{}', 1), null)
    }),
    each('marks nodes as seen, and keeps their flags over a new record', async store => {
      const node = (await store.nodes.put('s', 'n', '{}', null)) as StoredNode
      await store.nodes.put('s', 'm', '{}', null)
      await after(store, node.seenAt)
      assert.deepEqual([...(await store.nodes.seen('s', ['m', 'x', 'n']))].sort(), ['m', 'n'])
      const seen = (await store.nodes.find('s', 'n')) as StoredNode
      holds(seen.seenAt > node.seenAt, 'it was seen later')
      assert.equal(seen.version, node.version, 'a heartbeat changes no version')
      const until = (await store.now()) + HOUR_MS
      assert.equal(
        await store.nodes.flag('s', 'n', { quarantined: true, maintenance: true, maintenanceUntil: until }),
        true
      )
      assert.equal(await store.nodes.flag('s', 'x', { quarantined: true }), false)
      const flagged = (await store.nodes.find('s', 'n')) as StoredNode
      assert.deepEqual([flagged.quarantined, flagged.maintenance, flagged.maintenanceUntil], [true, true, until])
      holds(flagged.version > seen.version, 'a flag changes the version')
      const replaced = await store.nodes.put('s', 'n', '{"a":1}', flagged.version)
      assert.deepEqual([replaced?.quarantined, replaced?.maintenance, replaced?.record], [true, true, '{"a":1}'])
      await store.nodes.flag('s', 'n', { maintenanceUntil: (await store.now()) - 1 })
      assert.equal((await store.nodes.find('s', 'n'))?.maintenance, false, 'its end has passed')
      await store.nodes.flag('s', 'n', { maintenance: true, maintenanceUntil: null })
      const open = await store.nodes.find('s', 'n')
      assert.deepEqual([open?.maintenance, open?.maintenanceUntil], [true, null])
      await store.nodes.flag('s', 'n', { quarantined: false, maintenance: false })
      const free = await store.nodes.find('s', 'n')
      assert.deepEqual([free?.quarantined, free?.maintenance, free?.maintenanceUntil], [false, false, null])
    }),
    each('marks a node as seen and returns it', async store => {
      const { nodes } = store
      assert.equal(await nodes.see('s', 'n'), null)
      const joined = (await nodes.put('s', 'n', '{"a":1}', null)) as StoredNode
      await sleep(5)
      const seen = (await nodes.see('s', 'n')) as StoredNode
      assert.ok(seen.seenAt > joined.seenAt)
      assert.deepEqual({ ...seen, seenAt: 0 }, { ...joined, seenAt: 0 })
      assert.deepEqual(await nodes.find('s', 'n'), seen)
      assert.equal(await nodes.see('other', 'n'), null)
      await nodes.remove('s', 'n')
      assert.equal(await nodes.see('s', 'n'), null)
    }),
    each('lists nodes, and their changes since a version', async store => {
      const empty = await store.nodes.list('s')
      assert.deepEqual([empty.complete, empty.nodes, empty.removed], [true, [], []])
      for (const id of ['b', 'a', 'c']) await store.nodes.put('s', id, '{}', null)
      await store.nodes.put('t', 'z', '{}', null)
      const all = await store.nodes.list('s')
      assert.deepEqual(
        all.nodes.map(({ id }) => id),
        ['a', 'b', 'c']
      )
      const none = await store.nodes.list('s', all.version)
      assert.deepEqual([none.complete, none.nodes, none.removed, none.version], [false, [], [], all.version])
      await store.nodes.flag('s', 'c', { quarantined: true })
      assert.equal(await store.nodes.remove('s', 'a'), true)
      assert.equal(await store.nodes.remove('s', 'a'), false)
      const changed = await store.nodes.list('s', all.version)
      assert.deepEqual([changed.complete, changed.nodes.map(({ id }) => id), changed.removed], [false, ['c'], ['a']])
      holds(changed.version > all.version, 'the version grows')
      assert.deepEqual(
        (await store.nodes.list('s')).nodes.map(({ id }) => id),
        ['b', 'c']
      )
      const ahead = await store.nodes.list('s', changed.version + 1_000)
      assert.equal(ahead.complete, true, 'a version that the store does not know gives the complete list')
    }),
    each('a removed node can be added again, and is still in quarantine', async store => {
      await store.nodes.put('s', 'n', '{}', null)
      await store.nodes.flag('s', 'n', { quarantined: true, maintenance: true })
      const before = (await store.nodes.find('s', 'n')) as StoredNode
      await store.nodes.remove('s', 'n')
      assert.equal(await store.nodes.find('s', 'n'), null)
      assert.deepEqual(await store.nodes.seen('s', ['n']), [])
      assert.equal(await store.nodes.flag('s', 'n', { quarantined: false }), false)
      assert.equal(await store.nodes.put('s', 'n', '{"old":1}', before.version), null)
      const again = await store.nodes.put('s', 'n', '{"new":1}', null)
      assert.deepEqual([again?.record, again?.quarantined, again?.maintenance], ['{"new":1}', true, false])
      holds((again?.version ?? 0) > before.version, 'the version grows over the removal')
    }),
    each('claims for a node only while it has the named version', async store => {
      const { nodes } = store
      const options = { max: 1, leaseMs: LONG_MS }
      const claimAs = (version: number) => store.claimAs({ scope: 's', id: 'n', version }, 'q', options)
      const id = await put(store, { queue: 'q', body: '1' })
      assert.equal(await claimAs(1), null, 'the node does not exist')
      const { version } = (await nodes.put('s', 'n', '{}', null)) as StoredNode
      const { version: other } = (await nodes.put('other', 'n', '{}', null)) as StoredNode
      assert.equal(await claimAs(version + 1_000), null)
      assert.equal(await store.claimAs({ scope: 's2', id: 'n', version: other }, 'q', options), null)
      await nodes.seen('s', ['n'])
      const claimed = (await claimAs(version)) as readonly ClaimedItem[]
      assert.deepEqual(
        claimed.map(item => [item.id, item.holder]),
        [[id, 'n']]
      )
      assert.deepEqual(await claimAs(version), [])
      const again = await store.claimAs({ scope: 's', id: 'n', version }, 'q', { ...options, own: true })
      assert.equal(again?.[0]?.attempts, 2)
      await nodes.flag('s', 'n', { quarantined: true })
      assert.equal(await claimAs(version), null)
      const [refused, taken] = await Promise.all([
        claimAs(version),
        store.claimAs({ scope: 'other', id: 'n', version: other }, 'q', { ...options, own: true })
      ])
      assert.equal(refused, null)
      assert.equal(taken?.[0]?.id, id, 'the calls do not change each other')
      await nodes.remove('other', 'n')
      assert.equal(await store.claimAs({ scope: 'other', id: 'n', version: other }, 'q', options), null)
    })
  ]
}

import assert from 'node:assert/strict'
import type { ClaimedItem, Coordination, ItemToken, LeaseToken, StoredItem } from '@svc/contracts'
import { DatabaseCoordination } from '@svc/plugin-coordination/testing'
import { openMemory } from '@svc/plugin-database/testing'
import fc from 'fast-check'
import t from 'tap'
import { noPostgres, PostgresServer } from '#root'
import { openStore } from './stores.ts'

const LONG_MS = 600_000

/** Index of an item, token or lease of this run, counted from the newest one. */
const back = fc.nat({ max: 4 })
const queue = fc.constantFrom('a', 'b')
const key = fc.constantFrom('k0', 'k1', 'k2')
const holder = fc.constantFrom('x', 'y')
const wait = fc.constantFrom(0, LONG_MS)
const maybe = <A>(value: fc.Arbitrary<A>) => fc.option(value, { nil: undefined })

const command = fc.oneof(
  fc.record({
    kind: fc.constant('put' as const),
    queue,
    key: maybe(key),
    priority: maybe(fc.nat({ max: 2 })),
    delayMs: wait,
    maxAttempts: maybe(fc.integer({ min: 1, max: 2 })),
    lane: maybe(fc.constantFrom('l0', 'l1')),
    privacy: fc.nat({ max: 1 })
  }),
  fc.record({
    kind: fc.constant('claim' as const),
    queue,
    holder,
    max: fc.integer({ min: 1, max: 3 }),
    privacy: maybe(fc.constantFrom([0], [1], [0, 1], [])),
    own: fc.boolean()
  }),
  fc.record({
    kind: fc.constant('ack' as const),
    tokens: fc.array(back, { minLength: 1, maxLength: 3 }),
    result: maybe(fc.constant('1')),
    freeKey: fc.boolean()
  }),
  fc.record({ kind: fc.constant('extend' as const), tokens: fc.array(back, { minLength: 1, maxLength: 3 }) }),
  fc.record({ kind: fc.constant('expire' as const), token: back }),
  fc.record({
    kind: fc.constant('nack' as const),
    tokens: fc.array(back, { minLength: 1, maxLength: 3 }),
    delayMs: wait,
    error: maybe(fc.constant('no'))
  }),
  fc.record({ kind: fc.constant('park' as const), tokens: fc.array(back, { minLength: 1, maxLength: 3 }) }),
  fc.record({ kind: fc.constant('wake' as const), queue, keys: fc.array(key, { maxLength: 3 }) }),
  fc.record({ kind: fc.constant('withdraw' as const), queue, item: back }),
  fc.record({ kind: fc.constant('revive' as const), queue, items: fc.array(back, { maxLength: 3 }) }),
  fc.record({ kind: fc.constant('trim' as const), keep: fc.integer({ min: 2, max: 8 }) }),
  fc.record({ kind: fc.constant('grant' as const), key, holder, leaseMs: fc.constantFrom(1, LONG_MS) }),
  fc.record({ kind: fc.constant('renew' as const), lease: back, holder: maybe(holder) }),
  fc.record({ kind: fc.constant('release' as const), lease: back, holder: maybe(holder) }),
  fc.record({ kind: fc.constant('revoke' as const), lease: back })
)
type Command = typeof command extends fc.Arbitrary<infer A> ? A : never

/** Runs commands on one store. Returns values without times, with ids and fences as positions in this run. */
class Runner {
  readonly #store: Coordination
  readonly #run: string
  readonly #ids: number[] = []
  readonly #tokens: ItemToken[] = []
  readonly #leases: LeaseToken[] = []

  constructor(store: Coordination, run: string) {
    this.#store = store
    this.#run = run
  }

  async run(command: Command): Promise<unknown> {
    const result = await this.#apply(command)
    return { result, state: await this.#state() }
  }

  async #apply(command: Command): Promise<unknown> {
    const store = this.#store
    switch (command.kind) {
      case 'put': {
        const { kind: _, queue, ...item } = command
        const [put] = await store.put([{ ...item, queue: this.#name(queue), body: '{}' }] as Parameters<
          typeof store.put
        >[0])
        if (put === undefined) throw new Error('no result')
        if (put.fresh) this.#ids.push(put.id)
        return { ...put, id: this.#position(put.id) }
      }
      case 'claim': {
        const { queue, holder, max, privacy, own } = command
        const options = { max, leaseMs: LONG_MS, own, ...(privacy === undefined ? {} : { privacy }) }
        const items = await store.claim(this.#name(queue), holder, options)
        for (const item of items) this.#noteClaim(item)
        return items.map(item => this.#plain(item))
      }
      case 'ack': {
        const { tokens, result, freeKey } = command
        const extra = { freeKey, ...(result === undefined ? {} : { result }) }
        return store.ack(this.#pick(this.#tokens, tokens).map(token => ({ ...token, ...extra })))
      }
      case 'extend':
        return store.extend(this.#pick(this.#tokens, command.tokens), LONG_MS)
      case 'expire': {
        const tokens = this.#pick(this.#tokens, [command.token])
        const extended = await store.extend(tokens, 1)
        if (extended[0] === true) await this.#pass()
        return extended
      }
      case 'nack': {
        const { tokens, delayMs, error } = command
        const options = { delayMs, ...(error === undefined ? {} : { error }) }
        return store.nack(this.#pick(this.#tokens, tokens), options)
      }
      case 'park':
        return store.park(this.#pick(this.#tokens, command.tokens))
      case 'wake':
        return store.wake(this.#name(command.queue), command.keys)
      case 'withdraw': {
        const [id] = this.#pick(this.#ids, [command.item])
        return id === undefined ? null : store.withdraw(this.#name(command.queue), id)
      }
      case 'revive':
        return store.revive(this.#name(command.queue), this.#pick(this.#ids, command.items))
      case 'trim':
        return store.trim(this.#run, command.keep)
      case 'grant': {
        const { key, holder, leaseMs } = command
        const lease = await store.grant(this.#run, key, holder, leaseMs)
        if (!('fence' in lease)) return { heldBy: lease.heldBy }
        const isNew = !this.#leases.some(({ fence }) => fence === lease.fence)
        if (isNew && this.#leases.some(({ fence }) => fence >= lease.fence)) throw new Error('the fence does not grow')
        if (isNew) this.#leases.push(lease)
        if (leaseMs === 1) await this.#pass()
        return { key: lease.key, holder: lease.holder, isNew }
      }
      case 'renew':
      case 'release': {
        const [lease] = this.#pick(this.#leases, [command.lease])
        if (lease === undefined) return null
        const own = { ...lease, holder: command.holder ?? lease.holder }
        return command.kind === 'renew' ? store.renew(own, LONG_MS) : store.release(own)
      }
      case 'revoke': {
        const [lease] = this.#pick(this.#leases, [command.lease])
        return lease === undefined ? null : store.revoke(this.#run, lease.fence)
      }
    }
  }

  /** All that can be seen of the queues and leases of this run. */
  async #state(): Promise<unknown> {
    const store = this.#store
    const queues = [this.#name('a'), this.#name('b')]
    const page = { limit: 1_000 }
    const [items, dead, ready, count, leases] = await Promise.all([
      Promise.all(queues.map(queue => store.look(queue, page))),
      Promise.all(queues.map(queue => store.dead(queue, page))),
      store.ready(queues),
      store.count(this.#run),
      store.leases(this.#run)
    ])
    return {
      items: items.flat().map(item => this.#plain(item)),
      dead: dead.flat().map(({ diedAt: _, ...item }) => this.#plain(item)),
      ready: [...ready].map(name => name.slice(this.#run.length)).sort(),
      count,
      leases: leases.map(({ key, holder, fence }) => [
        key,
        holder,
        this.#leases.findIndex(each => each.fence === fence)
      ])
    }
  }

  #noteClaim({ id, fence }: ClaimedItem): void {
    for (const token of this.#tokens)
      if (token.id === id && token.fence >= fence) throw new Error(`the fence of ${id} does not grow`)
    this.#tokens.push({ id, fence })
  }

  #plain({ id, queue, fence, visibleAt: _, createdAt: __, ...item }: StoredItem): object {
    const claims = this.#tokens.findIndex(token => token.id === id && token.fence === fence)
    return { ...item, id: this.#position(id), queue: queue.slice(this.#run.length), claims }
  }

  #position(id: number): number {
    return this.#ids.indexOf(id)
  }

  #name(queue: string): string {
    return `${this.#run}${queue}`
  }

  #pick<A>(all: readonly A[], positions: readonly number[]): A[] {
    return positions.flatMap(position => all.at(-1 - position) ?? [])
  }

  /** Waits until leases of 1 ms have expired. */
  async #pass(): Promise<void> {
    const end = (await this.#store.now()) + 1
    while ((await this.#store.now()) <= end);
  }
}

t.test('behaves as the embedded store', { skip: noPostgres }, async t => {
  const server = await PostgresServer.start({ fsync: 'off' })
  t.teardown(() => server.remove())
  const store = openStore(server.url())
  const database = await openMemory()
  const embedded = new DatabaseCoordination(database)
  t.teardown(async () => {
    await store.close()
    await embedded.close()
    await database.close()
  })
  let runs = 0
  await fc.assert(
    fc.asyncProperty(fc.array(command, { minLength: 20, maxLength: 60, size: 'max' }), async commands => {
      runs += 1
      const [own, other] = [new Runner(store, `r${runs}/`), new Runner(embedded, `r${runs}/`)]
      for (const each of commands)
        assert.deepEqual(await own.run(each), await other.run(each), `the stores differ after ${JSON.stringify(each)}`)
    }),
    { numRuns: 30 }
  )
})

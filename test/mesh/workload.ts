import { setTimeout as sleep } from 'node:timers/promises'
import type { Coordination, StoredItem } from '@svc/contracts'
import { type CheckOptions, check, type LeftItems } from './checker.ts'
import { type History, type RecordedCall, RecordingClient } from './history.ts'

/** Number of the newest keys from which a client chooses. */
const KEYS = 12
/** Puts of each key, on average. */
const PUTS = 2
const LEASES = 3
const LEASE_MS = 60
/** Steps of each client. */
const STEPS = 120
/** How long the observer waits for a server that is restarted, in milliseconds. */
const OBSERVER_MS = 60_000

export interface Bed extends CheckOptions {
  /** Opens the store of a client. After a fault, the next call may be answered by another process. */
  client(name: string): Promise<Coordination>
  /** Store without faults, for the clock and for what is left. */
  readonly observer: Coordination
  /** Disturbs the clients; called again and again while they work. */
  disturb?(random: () => number): Promise<void>
  /** Ends all faults, after the clients have ended. */
  heal?(): Promise<void>
  /** Number of faults so far. */
  faults?(): number
  /** Queue of the items; default `q`. */
  readonly queue?: string
  /** Duration of leases in milliseconds; default 60. */
  readonly leaseMs?: number
  /** False: the clients cannot park or wake items; default true. */
  readonly canPark?: boolean
}

export interface WorkloadOptions {
  readonly clients?: number
  /** Steps of each client. */
  readonly steps?: number
  /** Share of items and leases that are held for long, or past their end; default 1 of 1. */
  readonly slowShare?: number
  /** Items that are there before the clients begin; default 0. */
  readonly backlog?: number
}

/** Random numbers from 0 to 1 that a seed determines (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

export interface WorkloadResult {
  readonly violations: readonly string[]
  readonly calls: number
  /** Calls without an answer. */
  readonly unknown: number
  /** Items and leases that clients got. */
  readonly grants: number
  readonly faults: number
  readonly history: History
}

interface Work {
  readonly queue: string
  readonly leaseMs: number
  readonly canPark: boolean
  readonly slowShare: number
  readonly backlog: number
  readonly keys: { puts: number }
}

/**
 * Lets clients work on a store at random, with the faults of the bed, and checks the recorded history. Afterwards a client
 * without faults finishes all items, so that a lost item shows.
 */
export async function runWorkload(
  bed: Bed,
  seed: number,
  { clients = 4, steps = STEPS, slowShare = 1, backlog = 0 }: WorkloadOptions = {}
): Promise<WorkloadResult> {
  const history: RecordedCall[] = []
  const { queue = 'q', leaseMs = LEASE_MS, canPark = true } = bed
  const storeTime = (): Promise<number> => repeat(() => bed.observer.now())
  const random = randomOf(seed)
  const seeds = Array.from({ length: clients }, () => Math.floor(random() * 2 ** 32))
  const keys = { puts: 0 }
  const common: Work = { queue, leaseMs, canPark, slowShare, backlog, keys }
  const stores = await Promise.all(seeds.map((_, at) => bed.client(`c${at}`)))
  const observer = new RecordingClient(bed.observer, 'observer', history, storeTime)
  const first = new RecordingClient(stores[0] as Coordination, 'c0', history, storeTime)
  for (let at = 0; at < backlog; at++) await first.put(queue, `b${at}`, JSON.stringify(`b${at}`))
  const working = seeds.map((own, at) => {
    const client = new RecordingClient(stores[at] as Coordination, `c${at}`, history, storeTime)
    return work(client, randomOf(own), common, steps)
  })
  let isOver = false
  const disturbing = (async () => {
    for (; !isOver; await sleep(20)) await bed.disturb?.(random)
  })()
  try {
    await Promise.all(working)
  } finally {
    isOver = true
    await disturbing
    await bed.heal?.()
  }
  // The leases of clients that were killed end.
  await sleep(2 * leaseMs)
  const before = check(history, await leftIn(bed.observer, queue), bed)
  await finish(observer, common)
  const violations = [...before, ...check(history, await leftIn(bed.observer, queue), bed)]
  return {
    violations: [...new Set(violations)],
    calls: history.length,
    unknown: history.filter(({ outcome }) => outcome === 'unknown').length,
    grants: history.filter(isGrantOfClient).length,
    faults: bed.faults?.() ?? 0,
    history
  }
}

function isGrantOfClient({ client, op, outcome }: RecordedCall): boolean {
  return client !== 'observer' && (op === 'claim' || op === 'grant') && outcome === 'ok'
}

/** Repeats a call of the observer while its server is restarted. */
async function repeat<A>(run: () => Promise<A>): Promise<A> {
  const until = performance.now() + OBSERVER_MS
  for (;;) {
    try {
      return await run()
    } catch (error) {
      if (performance.now() > until) throw error
      await sleep(20)
    }
  }
}

async function work(client: RecordingClient, random: () => number, common: Work, steps: number): Promise<void> {
  const { queue, keys, canPark } = common
  const keyOf = (): string => `k${Math.max(0, Math.floor(keys.puts / PUTS) - Math.floor(random() * KEYS))}`
  for (let turn = 0; turn < steps; turn++) {
    const choice = random()
    if (choice < 0.25) {
      const key = keyOf()
      keys.puts += 1
      await client.put(queue, key, JSON.stringify(key))
    } else if (choice < 0.28) {
      if (canPark) await client.wake(queue, keyOf())
    } else if (choice < 0.43) await workWithLease(client, random, common)
    else if (choice < 0.48) await client.once(`v${turn}`)
    else await workWithItems(client, random, common)
    await sleep(Math.floor(random() * 4))
  }
}

async function workWithItems(client: RecordingClient, random: () => number, common: Work): Promise<void> {
  const { queue, leaseMs, canPark, slowShare } = common
  const own = random() < 0.1
  for (const { id, fence, body } of await client.claim(queue, 1 + Math.floor(random() * 2), leaseMs, own)) {
    const token = { id, fence }
    const choice = random() / slowShare
    if (choice < 0.15) await sleep(leaseMs * 1.4)
    else if (choice < 0.3) await sleep(leaseMs * 0.7)
    if (random() < 0.3) await client.extend(token, leaseMs)
    const end = random()
    if (end < 0.2) await client.nack(token, Math.floor(random() * 10))
    else if (end < 0.4 && canPark) {
      // A wake between the claim and the park must not be lost.
      if (end < 0.3) await client.wake(queue, JSON.parse(body))
      await client.park(token)
    } else {
      // Repeated without an answer, as a worker does, and sometimes without need.
      const outcome = await client.ack(token)
      if (outcome === 'unknown' || end > 0.9) await client.ack(token)
    }
  }
}

async function workWithLease(
  client: RecordingClient,
  random: () => number,
  { leaseMs, slowShare }: Work
): Promise<void> {
  const lease = await client.grant(`l${Math.floor(random() * LEASES)}`, leaseMs)
  if (lease === null) return
  await sleep(leaseMs * random() * 1.5 * slowShare)
  await client.renew(lease, leaseMs)
  if (random() < 0.7) await client.release(lease)
}

/** Wakes, claims and acknowledges everything. */
async function finish(client: RecordingClient, { queue, canPark, keys, backlog }: Work): Promise<void> {
  const keyed = canPark ? Math.ceil(keys.puts / PUTS) + 1 : 0
  for (let at = 0; at < keyed; at++) await client.wake(queue, `k${at}`)
  for (let at = 0; at < backlog; at++) if (canPark) await client.wake(queue, `b${at}`)
  for (let empty = 0; empty < 5; ) {
    const items = await client.claim(queue, 50, 10_000)
    for (const { id, fence } of items) await client.ack({ id, fence })
    empty = items.length === 0 ? empty + 1 : 0
    if (items.length === 0) await sleep(LEASE_MS)
  }
}

async function leftIn(store: Coordination, queue: string): Promise<LeftItems> {
  const left = new Map<number, StoredItem['state']>()
  for (let before: number | undefined; ; ) {
    const page = await repeat(() => store.look(queue, { limit: 500, ...(before !== undefined && { before }) }))
    for (const { id, state } of page) left.set(id, state)
    if (page.length === 0) return left
    before = page.at(-1)?.id
  }
}

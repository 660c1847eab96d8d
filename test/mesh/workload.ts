import { setTimeout as sleep } from 'node:timers/promises'
import type { Coordination, StoredItem } from '@svc/contracts'
import { check, type LeftItems } from './checker.ts'
import { type RecordedCall, RecordingClient } from './history.ts'

const QUEUE = 'q'
/** Number of the newest keys from which a client chooses. */
const KEYS = 12
/** Puts of each key, on average. */
const PUTS = 2
const LEASES = 3
const LEASE_MS = 60
/** Steps of each client. */
const STEPS = 120

export interface Bed {
  /** Opens the store of a client. After a fault, the next call may be answered by another process. */
  client(name: string): Promise<Coordination>
  /** Store without faults, for the clock and for what is left. */
  readonly observer: Coordination
  /** Disturbs the clients; called again and again while they work. */
  disturb?(random: () => number): Promise<void>
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
  readonly unknown: number
  readonly grants: number
}

/**
 * Lets clients work on a store at random, with the faults of the bed, and checks the recorded history. Afterwards a client
 * without faults finishes all items, so that a lost item shows.
 */
export async function runWorkload(bed: Bed, seed: number, clients = 4, steps = STEPS): Promise<WorkloadResult> {
  const history: RecordedCall[] = []
  const storeTime = (): Promise<number> => bed.observer.now()
  const random = randomOf(seed)
  const seeds = Array.from({ length: clients }, () => Math.floor(random() * 2 ** 32))
  const keys = { puts: 0 }
  const working = seeds.map(async (own, at) => {
    const name = `c${at}`
    await work(new RecordingClient(await bed.client(name), name, history, storeTime), randomOf(own), keys, steps)
  })
  let isOver = false
  const disturbing = (async () => {
    for (; !isOver; await sleep(20)) await bed.disturb?.(random)
  })()
  try {
    await Promise.all(working)
  } finally {
    isOver = true
  }
  await disturbing
  // The leases of clients that were killed end.
  await sleep(2 * LEASE_MS)
  const before = check(history, await leftIn(bed.observer))
  await finish(new RecordingClient(bed.observer, 'observer', history, storeTime), keys.puts / PUTS)
  const violations = [...before, ...check(history, await leftIn(bed.observer))]
  return {
    violations: [...new Set(violations)],
    calls: history.length,
    unknown: history.filter(({ outcome }) => outcome === 'unknown').length,
    grants: history.filter(({ op, outcome }) => (op === 'claim' || op === 'grant') && outcome === 'ok').length
  }
}

async function work(
  client: RecordingClient,
  random: () => number,
  keys: { puts: number },
  steps: number
): Promise<void> {
  const keyOf = (): string => `k${Math.max(0, Math.floor(keys.puts / PUTS) - Math.floor(random() * KEYS))}`
  for (let turn = 0; turn < steps; turn++) {
    const choice = random()
    if (choice < 0.25) {
      const key = keyOf()
      keys.puts += 1
      await client.put(QUEUE, key, JSON.stringify(key))
    } else if (choice < 0.28) await client.wake(QUEUE, keyOf())
    else if (choice < 0.43) await workWithLease(client, random)
    else if (choice < 0.48) await client.once(`v${turn}`)
    else await workWithItems(client, random)
    await sleep(Math.floor(random() * 4))
  }
}

async function workWithItems(client: RecordingClient, random: () => number): Promise<void> {
  for (const { id, fence, body } of await client.claim(QUEUE, 1 + Math.floor(random() * 2), LEASE_MS)) {
    const token = { id, fence }
    const choice = random()
    if (choice < 0.15) await sleep(LEASE_MS * 1.4)
    else if (choice < 0.3) await sleep(LEASE_MS * 0.7)
    if (random() < 0.3) await client.extend(token, LEASE_MS)
    const end = random()
    if (end < 0.2) await client.nack(token, Math.floor(random() * 10))
    else if (end < 0.4) {
      // A wake between the claim and the park must not be lost.
      if (end < 0.3) await client.wake(QUEUE, JSON.parse(body))
      await client.park(token)
    } else {
      await client.ack(token)
      if (end > 0.9) await client.ack(token)
    }
  }
}

async function workWithLease(client: RecordingClient, random: () => number): Promise<void> {
  const lease = await client.grant(`l${Math.floor(random() * LEASES)}`, LEASE_MS)
  if (lease === null) return
  await sleep(LEASE_MS * random() * 1.5)
  await client.renew(lease, LEASE_MS)
  if (random() < 0.7) await client.release(lease)
}

/** Wakes, claims and acknowledges everything. */
async function finish(client: RecordingClient, keys: number): Promise<void> {
  for (let at = 0; at <= keys; at++) await client.wake(QUEUE, `k${at}`)
  for (let empty = 0; empty < 5; ) {
    const items = await client.claim(QUEUE, 50, 10_000)
    for (const { id, fence } of items) await client.ack({ id, fence })
    empty = items.length === 0 ? empty + 1 : 0
    if (items.length === 0) await sleep(LEASE_MS)
  }
}

async function leftIn(store: Coordination): Promise<LeftItems> {
  const left = new Map<number, StoredItem['state']>()
  for (let before: number | undefined; ; ) {
    const page = await store.look(QUEUE, { limit: 500, ...(before !== undefined && { before }) })
    for (const { id, state } of page) left.set(id, state)
    if (page.length === 0) return left
    before = page.at(-1)?.id
  }
}

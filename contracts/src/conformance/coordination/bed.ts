import { setTimeout as sleep } from 'node:timers/promises'
import type { ClaimedItem, Coordination, ItemToken, NamedLease, NewItem } from '../../coordination/store.ts'
import { type ConformanceCase, holds } from '../suite.ts'

/** Stores over one empty database. */
export interface CoordinationBed {
  readonly store: Coordination
  /** Opens another store over the same data, as another process would. */
  another(): Promise<Coordination>
  /**
   * Replaces the data by an earlier copy, taken by the last call of `remember`, as a restored backup or a promoted
   * standby would. Returns a store over it; the earlier ones are closed. Absent if the test cannot do this.
   */
  readonly goBack?: { remember(): Promise<void>; restore(): Promise<Coordination> }
  close(): Promise<void>
}

export interface CoordinationSubject {
  /** Returns a new, empty database for each call. */
  open(): Promise<CoordinationBed>
}

/** Long enough never to expire in a test. */
export const LONG_MS = 600_000
export const HOUR_MS = 3_600_000

/** Makes a case that runs with a new, empty database. */
export type EachStore = (
  name: string,
  run: (store: Coordination, bed: CoordinationBed) => Promise<void>
) => ConformanceCase

export function eachStore({ open }: CoordinationSubject): EachStore {
  return (name, run) => ({
    name,
    async run() {
      const bed = await open()
      try {
        await run(bed.store, bed)
      } finally {
        await bed.close()
      }
    }
  })
}

export async function put(store: Coordination, item: NewItem): Promise<number> {
  const [result] = await store.put([item])
  holds(result?.fresh === true, 'the item is added')
  return result.id
}

export function claim(
  store: Coordination,
  queue: string,
  holder: string,
  max: number
): Promise<readonly ClaimedItem[]> {
  return store.claim(queue, holder, { max, leaseMs: LONG_MS })
}

export async function grant(
  store: Coordination,
  scope: string,
  key: string,
  holder: string,
  leaseMs: number
): Promise<NamedLease> {
  const lease = await store.grant(scope, key, holder, leaseMs)
  holds('fence' in lease, `the lease ${key} is granted to ${holder}`)
  return lease
}

export function token(item: ItemToken | undefined): ItemToken {
  holds(item !== undefined, 'an item was claimed')
  return { id: item.id, fence: item.fence }
}

export function bodies(items: readonly { readonly body: string }[]): string[] {
  return items.map(({ body }) => body)
}

/** Waits until the store's time is later than `time`. */
export async function after(store: Coordination, time: number): Promise<void> {
  while ((await store.now()) <= time) await sleep(1)
}

export async function expired(store: Coordination, item: ClaimedItem | undefined): Promise<void> {
  holds(item !== undefined, 'an item was claimed')
  await after(store, item.visibleAt)
}

/** Claims an item as soon as one is due. */
export async function claimWhenDue(store: Coordination, queue: string, holder: string): Promise<[ClaimedItem]> {
  for (;;) {
    const [item] = await claim(store, queue, holder, 1)
    if (item !== undefined) return [item]
    await sleep(1)
  }
}

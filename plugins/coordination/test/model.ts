import type { Coordination, NewItem } from '@svc/contracts'

type State = 'ready' | 'leased' | 'delayed' | 'parked'

interface ModelItem {
  readonly id: number
  readonly item: NewItem
  state: State
  fence: number
  granted: boolean
  attempts: number
  holder: string | null
  wanted: boolean
  /** Hours until a lease expires or a delayed item is ready. */
  hours: number
}

export interface ModelToken {
  readonly id: number
  readonly fence: number
}

/** Plain model of the items of a store. Time passes in hours, and only by `pass`. */
export class ModelItems {
  items: ModelItem[] = []
  dead: ModelItem[] = []
  readonly #keys = new Map<string, { id: number; result: string | undefined }>()

  /** `id`: the id that the store gave to a new item. */
  put(item: NewItem, id: number): { id: number; fresh: boolean; result?: string } {
    const name = `${item.queue}\n${item.key}`
    const known = item.key === undefined ? undefined : this.#keys.get(name)
    if (known !== undefined)
      return known.result === undefined
        ? { id: known.id, fresh: false }
        : { id: known.id, fresh: false, result: known.result }
    if (item.key !== undefined) this.#keys.set(name, { id, result: undefined })
    const hours = (item.delayMs ?? 0) / HOUR_MS
    this.items.push({
      id,
      item,
      state: hours > 0 ? 'delayed' : 'ready',
      fence: 0,
      granted: false,
      attempts: 0,
      holder: null,
      wanted: false,
      hours
    })
    return { id, fresh: true }
  }

  claim(
    queue: string,
    holder: string,
    options: {
      readonly max: number
      readonly hours: number
      readonly privacy?: readonly number[]
      readonly own: boolean
    }
  ): ModelItem[] {
    const own = this.#of(queue)
    for (const each of own)
      if ((each.state === 'leased' || each.state === 'delayed') && each.hours <= 0) each.state = 'ready'
    const isExhausted = ({ attempts, item }: ModelItem): boolean => attempts >= (item.maxAttempts ?? Infinity)
    const buried = own.filter(each => each.state === 'ready' && isExhausted(each))
    this.items = this.items.filter(each => !buried.includes(each))
    this.dead.push(...buried)
    const allowed = this.#of(queue)
      .filter(each => !isExhausted(each))
      .filter(({ item }) => options.privacy?.includes(item.privacy ?? 0) ?? true)
      .sort((a, b) => (b.item.priority ?? 128) - (a.item.priority ?? 128) || a.id - b.id)
    const busy = new Set(this.#of(queue).flatMap(({ state, item }) => (state === 'leased' ? (item.lane ?? []) : [])))
    const claimed: ModelItem[] = []
    for (const each of allowed) {
      const { lane } = each.item
      if (claimed.length === options.max) break
      if (each.state === 'leased') {
        if (options.own && each.holder === holder) claimed.push(each)
      } else if (each.state === 'ready' && (lane === undefined || !busy.has(lane))) {
        claimed.push(each)
        if (lane !== undefined) busy.add(lane)
      }
    }
    for (const each of claimed) {
      Object.assign(each, { state: 'leased', granted: true, wanted: false, holder, hours: options.hours })
      each.attempts += 1
      each.fence += 1
    }
    const lanes = new Set(claimed.flatMap(({ item }) => item.lane ?? []))
    for (const each of this.#of(queue))
      if (each.state === 'ready' && each.item.lane !== undefined && lanes.has(each.item.lane)) each.granted = false
    return claimed
  }

  ack(token: ModelToken, result?: string, freeKey = false): boolean {
    const found = this.#held(token)
    if (found === undefined) return false
    this.items = this.items.filter(each => each !== found)
    const name = `${found.item.queue}\n${found.item.key}`
    const key = this.#keys.get(name)
    if (found.item.key !== undefined && freeKey) this.#keys.delete(name)
    else if (found.item.key !== undefined && key !== undefined && result !== undefined) key.result = result
    return true
  }

  extend(token: ModelToken, hours: number): boolean {
    const found = this.#held(token)
    if (found === undefined || found.state !== 'leased' || found.hours <= 0) return false
    found.hours = hours
    return true
  }

  nack(token: ModelToken, hours: number): boolean {
    const found = this.#held(token)
    if (found === undefined) return false
    const state = found.wanted || hours === 0 ? 'ready' : 'delayed'
    Object.assign(found, { state, granted: false, wanted: false, hours })
    return true
  }

  park(token: ModelToken): boolean {
    const found = this.#held(token)
    if (found === undefined) return false
    Object.assign(found, { state: found.wanted ? 'ready' : 'parked', granted: false, wanted: false })
    return true
  }

  wake(queue: string, keys: readonly string[]): number {
    const found = this.#of(queue).filter(({ id, item }) => {
      return item.key !== undefined && keys.includes(item.key) && this.#keys.get(`${queue}\n${item.key}`)?.id === id
    })
    for (const each of found) {
      each.wanted = each.granted
      if (each.state !== 'leased') each.state = 'ready'
    }
    return found.length
  }

  withdraw(queue: string, id: number): 'taken' | 'leased' | 'gone' {
    const found = this.#of(queue).find(each => each.id === id)
    if (found === undefined) return 'gone'
    this.items = this.items.filter(each => each !== found)
    return found.granted ? 'leased' : 'taken'
  }

  trim(prefix: string, keep: number): number {
    const found = this.items.filter(({ item }) => item.queue.startsWith(prefix)).sort((a, b) => a.id - b.id)
    const removed = found.slice(0, Math.max(0, found.length - keep))
    this.items = this.items.filter(each => !removed.includes(each))
    return removed.length
  }

  revive(queue: string, ids: readonly number[]): number {
    const revived = this.dead.filter(({ id, item }) => item.queue === queue && ids.includes(id))
    this.dead = this.dead.filter(each => !revived.includes(each))
    for (const each of revived)
      Object.assign(each, { state: 'ready', granted: false, attempts: 0, wanted: false, hours: 0 })
    this.items.push(...revived)
    return revived.length
  }

  pass(hours: number): void {
    for (const each of this.items) each.hours -= hours
  }

  /** Compares the items that the store shows with the model. Returns both in one form. */
  async compare(store: Coordination, queues: readonly string[]): Promise<[unknown, unknown]> {
    const shown = (await Promise.all(queues.map(queue => store.look(queue, { limit: 1_000 })))).flat()
    const buried = (await Promise.all(queues.map(queue => store.dead(queue, { limit: 1_000 })))).flat()
    const byId = (a: { id: number }, b: { id: number }): number => a.id - b.id
    const view = ({ id, item, state, fence, attempts, holder }: ModelItem) => ({
      id,
      queue: item.queue,
      body: item.body,
      state,
      fence,
      attempts,
      holder
    })
    return [
      {
        items: shown
          .map(({ id, queue, body, state, fence, attempts, holder }) => ({
            id,
            queue,
            body,
            state,
            fence,
            attempts,
            holder
          }))
          .sort(byId),
        dead: buried.map(({ id, attempts }) => ({ id, attempts })).sort(byId)
      },
      {
        items: this.items.map(view).sort(byId),
        dead: this.dead.map(({ id, attempts }) => ({ id, attempts })).sort(byId)
      }
    ]
  }

  #of(queue: string): ModelItem[] {
    return this.items.filter(({ item }) => item.queue === queue)
  }

  #held({ id, fence }: ModelToken): ModelItem | undefined {
    return this.items.find(each => each.id === id && each.fence === fence && each.granted)
  }
}

export const HOUR_MS = 3_600_000

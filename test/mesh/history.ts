import type { ClaimedItem, Coordination, ItemToken, NamedLease } from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'

export type Outcome = 'ok' | 'no' | 'unknown'

/** A call of a client to a coordination store. Times are milliseconds; `unknown`: the call had no answer. */
export interface RecordedCall {
  readonly client: string
  readonly op: 'put' | 'claim' | 'ack' | 'extend' | 'nack' | 'park' | 'wake' | 'grant' | 'renew' | 'release' | 'once'
  /** Key of an item, name of a lease, or value to use once. */
  readonly key: string | null
  /** Item; null for a call about a lease or a value. */
  readonly id: number | null
  readonly fence: number | null
  /** When the call began and ended, by the clock of the recorder. */
  readonly invoke: number
  readonly return: number
  /** Time of a grant by the clock of the store; for `extend` and `renew`, a time before the call. */
  readonly storeMs: number | null
  readonly leaseMs: number | null
  readonly outcome: Outcome
  /** True for a claim that may return an item which the client has leased already. */
  readonly own?: boolean
  /** Error that no fault explains. */
  readonly error?: string
}

export type History = readonly RecordedCall[]

type Details = Partial<Pick<RecordedCall, 'key' | 'id' | 'fence' | 'storeMs' | 'leaseMs' | 'own'>>

/** Codes of errors that a fault of a process, a connection or a server does not explain. */
const UNEXPECTED: ReadonlySet<string> = new Set([
  'CRD_FAILED',
  'CRD_TOO_LARGE',
  'CRD_VALUE_INVALID',
  'WIRE_ANSWER_INVALID',
  'WIRE_STATUS_UNEXPECTED'
])

/** Calls a store in the name of a client, one call at a time, and records each call. */
export class RecordingClient {
  readonly #store: Coordination
  readonly #client: string
  readonly #history: RecordedCall[]
  readonly #storeTime: () => Promise<number>
  /** Unexpected error of the running call. */
  #error: string | null = null

  /** `storeTime`: the clock of the store, over a connection without faults. */
  constructor(store: Coordination, client: string, history: RecordedCall[], storeTime: () => Promise<number>) {
    this.#store = store
    this.#client = client
    this.#history = history
    this.#storeTime = storeTime
  }

  /** Returns the id; null if the outcome is unknown. */
  async put(queue: string, key: string, body: string): Promise<number | null> {
    const call = this.#begin('put', { key })
    const results = await this.#answer(() => this.#store.put([{ queue, key, body }]))
    const id = results?.[0]?.id ?? null
    call({ id }, results === null ? 'unknown' : 'ok')
    return id
  }

  async claim(queue: string, max: number, leaseMs: number, own = false): Promise<readonly ClaimedItem[]> {
    const call = this.#begin('claim', own ? { own } : {})
    const items = await this.#answer(() => this.#store.claim(queue, this.#client, { max, leaseMs, own }))
    if (items === null) call({}, 'unknown')
    for (const { id, fence, visibleAt } of items ?? []) call({ id, fence, storeMs: visibleAt - leaseMs, leaseMs }, 'ok')
    return items ?? []
  }

  async ack(token: ItemToken): Promise<Outcome> {
    return this.#token('ack', token, {}, () => this.#store.ack([token]))
  }

  async extend(token: ItemToken, leaseMs: number): Promise<Outcome> {
    const storeMs = await this.#storeTime()
    return this.#token('extend', token, { storeMs, leaseMs }, () => this.#store.extend([token], leaseMs))
  }

  async nack(token: ItemToken, delayMs: number): Promise<Outcome> {
    return this.#token('nack', token, {}, () => this.#store.nack([token], { delayMs }))
  }

  async park(token: ItemToken): Promise<Outcome> {
    return this.#token('park', token, {}, () => this.#store.park([token]))
  }

  async wake(queue: string, key: string): Promise<Outcome> {
    const call = this.#begin('wake', { key })
    const count = await this.#answer(() => this.#store.wake(queue, [key]))
    return call({}, count === null ? 'unknown' : count > 0 ? 'ok' : 'no')
  }

  /** Returns the lease; null if another client has it, or the outcome is unknown. */
  async grant(key: string, leaseMs: number): Promise<NamedLease | null> {
    const call = this.#begin('grant', { key })
    const granted = await this.#answer(() => this.#store.grant('s', key, this.#client, leaseMs))
    if (granted === null) call({}, 'unknown')
    else if ('heldBy' in granted) call({}, 'no')
    else call({ fence: granted.fence, storeMs: granted.expiresAt - leaseMs, leaseMs }, 'ok')
    return granted === null || 'heldBy' in granted ? null : granted
  }

  async renew(lease: NamedLease, leaseMs: number): Promise<Outcome> {
    const storeMs = await this.#storeTime()
    const call = this.#begin('renew', { key: lease.key, fence: lease.fence, storeMs, leaseMs })
    return call({}, outcomeOf(await this.#answer(() => this.#store.renew(lease, leaseMs))))
  }

  async release(lease: NamedLease): Promise<Outcome> {
    const call = this.#begin('release', { key: lease.key, fence: lease.fence })
    return call({}, outcomeOf(await this.#answer(() => this.#store.release(lease))))
  }

  async once(value: string): Promise<Outcome> {
    const call = this.#begin('once', { key: value })
    const expiresAt = Date.now() + 3_600_000
    const used = await this.#answer(() => this.#store.useOnce([{ value, expiresAt }]))
    return call({}, used === null ? 'unknown' : used[0] === true ? 'ok' : 'no')
  }

  async #token(
    op: RecordedCall['op'],
    { id, fence }: ItemToken,
    details: Details,
    run: () => Promise<readonly boolean[]>
  ): Promise<Outcome> {
    const call = this.#begin(op, { ...details, id, fence })
    const applied = await this.#answer(run)
    return call({}, applied === null ? 'unknown' : applied[0] === true ? 'ok' : 'no')
  }

  #begin(op: RecordedCall['op'], details: Details): (more: Details, outcome: Outcome) => Outcome {
    const invoke = performance.now()
    const empty = { key: null, id: null, fence: null, storeMs: null, leaseMs: null }
    this.#error = null
    return (more, outcome) => {
      const times = { invoke, return: performance.now() }
      const error = this.#error === null ? {} : { error: this.#error }
      this.#history.push({ client: this.#client, op, ...empty, ...details, ...more, ...times, ...error, outcome })
      return outcome
    }
  }

  /** Returns null for a call that failed: it may have taken effect. */
  async #answer<A>(run: () => Promise<A>): Promise<A | null> {
    try {
      return await run()
    } catch (error) {
      if (isSvcError(error) && UNEXPECTED.has(error.code)) this.#error = `${error.code}: ${error.message}`
      return null
    }
  }
}

function outcomeOf(answer: 'ok' | 'gone' | 'other' | null): Outcome {
  return answer === null ? 'unknown' : answer === 'ok' ? 'ok' : 'no'
}

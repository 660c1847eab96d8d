import type { DashboardRole, KernelPort } from '@svc/contracts'
import { type Delta, isSvcError, type Semaphore, type Watch } from '@svc/plugin-sdk'
import { DEFAULT_MIN_MS } from '../console-state.ts'
import { dashboardErrors } from '../errors.ts'
import { checkMayCall, principalOf, SURFACE } from '../session/roles.ts'
import type { Subscriber } from './subscriber.ts'

/** Maximum size of the data in one frame. */
const MAX_FRAME_BYTES = 262_144
/** Maximum number of rows in one frame. */
export const MAX_FRAME_ROWS = 1_000
/** Time limit of one read. */
const READ_TIMEOUT_MS = 10_000
/** Minimum time between two frames of a hidden page. */
const HIDDEN_MS = 5_000
/** Time after a failure of the server until the next attempt. */
const RETRY_MS = 5_000

export interface FeedParts {
  readonly kernel: KernelPort
  readonly operation: string
  readonly input: Readonly<Record<string, unknown>>
  readonly role: DashboardRole
  /** Limits the reads of all feeds that run at the same time. */
  readonly slots: Semaphore
  /** Reports errors without a code. */
  readonly report: (error: unknown, operation: string) => void
}

const NOT_WANTED = Symbol('not wanted')

/** Declaration of the operation in the serving generation. */
interface Source {
  readonly instance: string
  readonly watch: Watch
  readonly minMs: number
}

/**
 * Output of an operation with one input, for all subscribers with one role. It reads again after a topic has changed, and
 * sends what is new. Changes while a subscriber is busy cost nothing: only the last state counts.
 */
export class Feed {
  readonly subscribers = new Set<Subscriber>()
  readonly #parts: FeedParts
  readonly #closing = new AbortController()
  #source: Source | null = null
  /** Error because of which the operation cannot be read in this generation. */
  #obstacle: Error | null = null
  #unsubscribe: () => void = () => {}
  /** Counts changes of the topics. */
  #version = 1
  #snapshot = { id: 0, version: 0, json: '' }
  /** Learned limit of rows, so that a frame is not too large. */
  #maxRows = MAX_FRAME_ROWS
  #readAt = Number.NEGATIVE_INFINITY
  #isReading = false
  #timer: NodeJS.Timeout | undefined
  #retry: NodeJS.Timeout | undefined
  #immediate: NodeJS.Immediate | undefined

  constructor(parts: FeedParts) {
    this.#parts = parts
    this.refresh()
  }

  /** True if the operation returns deltas. */
  get isDelta(): boolean {
    return this.#source?.watch.mode === 'delta'
  }

  add(subscriber: Subscriber): void {
    this.subscribers.add(subscriber)
    this.pump()
  }

  close(): void {
    this.#closing.abort()
    this.#unsubscribe()
    clearTimeout(this.#timer)
    clearTimeout(this.#retry)
    clearImmediate(this.#immediate)
  }

  /** Adapts to a new generation. */
  refresh(): void {
    const before = this.#source
    try {
      this.#source = this.#find()
      this.#obstacle = null
    } catch (error) {
      this.#source = null
      this.#obstacle = error as Error
    }
    const { watch, instance } = this.#source ?? {}
    if (instance === before?.instance && instance !== undefined) return
    this.#unsubscribe()
    this.#unsubscribe = watch === undefined ? () => {} : this.#parts.kernel.topics.subscribe(watch.on, this.#wake)
    this.#version += 1
    if (before !== null && watch !== undefined && watch.mode !== before.watch.mode)
      for (const subscriber of this.subscribers) subscriber.cursor = undefined
    this.#schedule()
  }

  /** Sends and reads what is due. Call it when a subscriber has become ready or visible. */
  pump(): void {
    this.#clearTimer()
    if (this.#isReading || this.#closing.signal.aborted) return
    if (this.#obstacle !== null) {
      for (const subscriber of this.subscribers) this.#fail(subscriber, this.#obstacle)
      return
    }
    const now = performance.now()
    const due: Subscriber[] = []
    let next = Number.POSITIVE_INFINITY
    for (const subscriber of this.subscribers) {
      if (!subscriber.isReady || (subscriber.seen === this.#version && !subscriber.more)) continue
      const at = this.#dueAt(subscriber)
      if (at <= now) due.push(subscriber)
      else next = Math.min(next, at)
    }
    if (due.length > 0) void this.#serve(due)
    else if (next !== Number.POSITIVE_INFINITY)
      this.#timer = setTimeout(() => this.pump(), Math.ceil(next - now)).unref()
  }

  /** Runs inside `changed` of a plugin, so it must be quick. */
  readonly #wake = (): void => {
    this.#version += 1
    // A read that runs looks at the version when it ends. A timer may be that of a hidden page, which waits longer.
    if (!this.#isReading) this.#schedule()
  }

  #schedule(): void {
    this.#immediate ??= setImmediate(() => {
      this.#immediate = undefined
      this.pump()
    })
  }

  #clearTimer(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #find(): Source {
    const { kernel, operation, role } = this.#parts
    const entry = kernel.current.operations.get(operation)
    if (entry === undefined)
      throw dashboardErrors.create('DSH_OPERATION_UNKNOWN', `the serving generation has no operation ${operation}`, {
        hint: 'svc plugins list shows whether its plugin runs'
      })
    const { descriptor, unit } = entry
    checkMayCall(role, false, descriptor)
    const { watch } = descriptor
    if (watch === undefined || descriptor.effect !== 'read')
      throw dashboardErrors.create('DSH_NOT_WATCHED', `${operation} does not announce changes`, {
        hint: 'call it instead of watching it'
      })
    return { instance: unit.instance, watch, minMs: watch.minMs ?? DEFAULT_MIN_MS }
  }

  /** Returns when a subscriber may get its next frame. Further pages of a delta follow without a pause. */
  #dueAt({ isVisible, servedAt, more }: Subscriber): number {
    const { minMs } = this.#source as Source
    return more ? 0 : Math.max(servedAt + (isVisible ? minMs : Math.max(minMs, HIDDEN_MS)), this.#freshAt())
  }

  /** Returns when fresh data can be had: now if it is known, else after the pause between two reads. */
  #freshAt(): number {
    if (this.isDelta || this.#snapshot.version === this.#version) return 0
    return this.#readAt + (this.#source as Source).minMs
  }

  async #serve(due: readonly Subscriber[]): Promise<void> {
    this.#isReading = true
    const version = this.#version
    try {
      if (this.isDelta) await this.#serveDeltas(due, version)
      else {
        if (this.#snapshot.version !== version && !(await this.#readSnapshot(due, version))) return
        for (const subscriber of due) this.#sendSnapshot(subscriber)
      }
    } catch (error) {
      this.#failAll(due, version, error)
    } finally {
      this.#isReading = false
      // Subscribers that came during the read, and further pages of deltas.
      this.#schedule()
    }
  }

  /** Returns false if no subscriber can receive the snapshot any more. */
  async #readSnapshot(due: readonly Subscriber[], version: number): Promise<boolean> {
    const output = await this.#read(this.#parts.input, due)
    if (output === NOT_WANTED) return false
    const json = JSON.stringify(output ?? null)
    const size = Buffer.byteLength(json)
    if (size > MAX_FRAME_BYTES)
      throw dashboardErrors.create(
        'DSH_OUTPUT_TOO_LARGE',
        `the output of ${this.#parts.operation} has ${size} bytes; a snapshot may have ${MAX_FRAME_BYTES}`,
        { hint: 'declare the operation with deltaOperation, or return fewer rows' }
      )
    const id = json === this.#snapshot.json && this.#snapshot.id > 0 ? this.#snapshot.id : this.#snapshot.id + 1
    this.#snapshot = { id, version, json }
    return true
  }

  #sendSnapshot(subscriber: Subscriber): void {
    const { id, version, json } = this.#snapshot
    if (!this.subscribers.has(subscriber) || !subscriber.isReady) return
    subscriber.seen = version
    if (subscriber.snapshot === id) return
    subscriber.snapshot = id
    subscriber.servedAt = performance.now()
    subscriber.needsData = false
    subscriber.send('value', json)
  }

  /** Subscribers with the same cursor share one read. */
  async #serveDeltas(due: readonly Subscriber[], version: number): Promise<void> {
    const groups = new Map<string, Subscriber[]>()
    for (const subscriber of due) {
      const key = `${subscriber.limit} ${subscriber.cursor ?? ''}`
      const group = groups.get(key)
      if (group === undefined) groups.set(key, [subscriber])
      else group.push(subscriber)
    }
    await Promise.all(
      [...groups.values()].map(group =>
        this.#serveGroup(group, version).catch(error => this.#failAll(group, version, error))
      )
    )
  }

  async #serveGroup(group: readonly Subscriber[], version: number): Promise<void> {
    const [{ cursor, limit }] = group as [Subscriber]
    const read = await this.#readDelta(group, cursor, limit)
    if (read === null) return
    const { delta, json } = read
    const isEmpty = !delta.reset && delta.upsert.length === 0 && delta.remove.length === 0
    for (const subscriber of group) {
      if (!this.subscribers.has(subscriber) || !subscriber.isReady) continue
      subscriber.seen = version
      subscriber.cursor = delta.cursor
      subscriber.more = delta.more
      subscriber.servedAt = performance.now()
      if (isEmpty && !subscriber.needsData) continue
      subscriber.needsData = false
      subscriber.send('delta', json)
    }
  }

  /** Reads changes that fit into one frame, with fewer rows at a time if needed; null if no subscriber can take them. */
  async #readDelta(
    group: readonly Subscriber[],
    since: string | undefined,
    limit: number
  ): Promise<{ readonly delta: Delta<unknown>; readonly json: string } | null> {
    const { input, operation } = this.#parts
    for (let rows = Math.min(limit, this.#maxRows); ; rows = Math.ceil(rows / 4)) {
      const call = { ...input, limit: rows, ...(since === undefined ? {} : { since }) }
      const output = await this.#read(call, group)
      if (output === NOT_WANTED) return null
      const delta = output as Delta<unknown>
      const json = JSON.stringify(delta)
      if (Buffer.byteLength(json) <= MAX_FRAME_BYTES) return { delta, json }
      if (rows === 1)
        throw dashboardErrors.create(
          'DSH_OUTPUT_TOO_LARGE',
          `one row of ${operation} is larger than ${MAX_FRAME_BYTES} bytes`
        )
      this.#maxRows = Math.ceil(rows / 4)
    }
  }

  /** Returns `NOT_WANTED` if none of the subscribers can take a frame once a slot is free. */
  async #read(input: Readonly<Record<string, unknown>>, due: readonly Subscriber[]): Promise<unknown> {
    const { kernel, operation, role, slots } = this.#parts
    const { signal } = this.#closing
    await slots.acquire()
    try {
      if (!due.some(subscriber => this.subscribers.has(subscriber) && subscriber.isReady)) return NOT_WANTED
      this.#readAt = performance.now()
      return await kernel.invoke(operation, structuredClone(input), {
        surface: SURFACE,
        principal: principalOf(role, role),
        timeoutMs: READ_TIMEOUT_MS,
        signal
      })
    } finally {
      slots.release()
    }
  }

  #failAll(subscribers: readonly Subscriber[], version: number, error: unknown): void {
    if (this.#closing.signal.aborted) return
    if (!isSvcError(error)) this.#parts.report(error, this.#parts.operation)
    for (const subscriber of subscribers) {
      subscriber.seen = version
      subscriber.servedAt = performance.now()
      this.#fail(subscriber, error)
    }
    this.#retryLater(error)
  }

  #fail(subscriber: Subscriber, error: unknown): void {
    // The page shows the error instead of the data, so the same data must be sent again.
    subscriber.snapshot = 0
    subscriber.needsData = true
    subscriber.fail(error)
  }

  /** Faults of the server may end without a change of the data. */
  #retryLater(error: unknown): void {
    if (isSvcError(error) && error.status < 500 && error.status !== 429) return
    clearTimeout(this.#retry)
    this.#retry = setTimeout(this.#wake, RETRY_MS).unref()
  }
}

import { setTimeout as sleep } from 'node:timers/promises'
import {
  type AckToken,
  type ClaimedItem,
  type ClaimOptions,
  type Coordination,
  type ItemToken,
  type LeaseConflict,
  type LeaseOutcome,
  type LeaseToken,
  MESH_PATH,
  type NamedLease,
  type NewItem,
  type PutResult
} from '@svc/contracts'
import { SvcError } from '@svc/plugin-sdk'
import { SignJWT } from 'jose'

/** Time limit of a request in milliseconds. */
const TIMEOUT_MS = 1_500
/** How long a control plane that did not answer gets no requests, as from a balancer. */
const AVOIDED_MS = 500
/** Pause of a client after a request without an answer. */
const PAUSE_MS = 100

export interface WireStoreOptions {
  /** Control planes. Each request goes to the next one. */
  readonly urls: readonly string[]
  readonly token: string
  readonly jwtSecret: string
  /** Node id of the client; it has joined. */
  readonly node: string
  /** Agent whose mailbox is the queue. */
  readonly receiver: string
  /** False: messages are acknowledged without their fence, which the checker must find. */
  readonly acksWithFence: boolean
}

interface Answer {
  readonly status: number
  readonly json: Record<string, unknown>
}

type Message = Readonly<Record<string, unknown>>

type Methods = Pick<
  Coordination,
  'put' | 'claim' | 'ack' | 'extend' | 'nack' | 'grant' | 'renew' | 'release' | 'useOnce'
>

/**
 * The part of a coordination store that control planes offer over HTTP. A request is not repeated: after an error of the
 * connection, a time-out or the status 502 to 504, its outcome is unknown.
 *
 * Messages are always acknowledged with their fence, an extension of the protocol. Without it, `a2a/ack` removes a message
 * whatever node holds it: the protocol promises no more, so that would not be a fault of the control plane.
 */
export class WireStore implements Methods {
  readonly #options: WireStoreOptions
  #calls = 0
  /** Until when a control plane gets no requests, on the clock of `performance.now()`. */
  readonly #avoided = new Map<string, number>()

  constructor(options: WireStoreOptions) {
    this.#options = options
  }

  async put(items: readonly NewItem[]): Promise<readonly PutResult[]> {
    return this.#each(items, async ({ key, body }) => {
      const { json } = await this.#post('/a2a/deliver', {
        sender_agent_id: '7',
        receiver_agent_id: this.#options.receiver,
        message_type: 'job_submit',
        payload: body,
        idempotency_key: key
      })
      // The answer does not say whether the message is new.
      return { id: json.message_id as number, fresh: false }
    })
  }

  async claim(_queue: string, holder: string, { own = false }: ClaimOptions): Promise<readonly ClaimedItem[]> {
    const { json } = await this.#post('/a2a/inbox', {
      receiver_agent_id: this.#options.receiver,
      claimer_node_id: holder,
      own
    })
    return (json.messages as Message[]).map(message => ({
      id: message.id as number,
      queue: 'mailbox',
      body: message.payload as string,
      priority: message.priority as number,
      lane: null,
      privacy: 0,
      state: 'leased',
      attempts: message.attempts as number,
      maxAttempts: null,
      fence: message.fence as number,
      holder: message.lease_holder_node_id as string,
      visibleAt: message.lease_expires_unix_ms as number,
      createdAt: message.created_unix_ms as number
    }))
  }

  async ack(tokens: readonly AckToken[]): Promise<readonly boolean[]> {
    const { acksWithFence } = this.#options
    return this.#each(tokens, token => {
      const { fence, ...message } = this.#message(token)
      return this.#done('/a2a/ack', acksWithFence ? { ...message, fence } : message)
    })
  }

  async extend(tokens: readonly ItemToken[], leaseMs: number): Promise<readonly boolean[]> {
    const claimer_node_id = this.#options.node
    return this.#each(tokens, token => {
      const body = { ...this.#message(token), claimer_node_id }
      // Both routes have the same effect for the configured duration.
      return this.#calls % 2 === 0
        ? this.#done('/a2a/lease-renew', body)
        : this.#done('/x/a2a/extend', { ...body, lease_ms: leaseMs })
    })
  }

  async nack(tokens: readonly ItemToken[], { delayMs }: { readonly delayMs: number }): Promise<readonly boolean[]> {
    return this.#each(tokens, token => this.#done('/x/a2a/nack', { ...this.#message(token), delay_ms: delayMs }))
  }

  async grant(scope: string, key: string, holder: string, _leaseMs: number): Promise<NamedLease | LeaseConflict> {
    const answer = await this.#post('/exec/lease/grant', { claimer_node_id: holder, scope_key: key }, [200, 409])
    if (answer.status === 409) return { heldBy: 'another node', expiresAt: 0 }
    const { lease_id, expires_unix_ms } = answer.json
    return { scope, key, holder, fence: Number(lease_id), expiresAt: expires_unix_ms as number }
  }

  async renew(lease: LeaseToken): Promise<LeaseOutcome> {
    return this.#lease('/exec/lease/renew', lease)
  }

  async release(lease: LeaseToken): Promise<LeaseOutcome> {
    return this.#lease('/exec/lease/release', lease)
  }

  /** Uses a JWT with each value as its `jti`. */
  async useOnce(
    values: readonly { readonly value: string; readonly expiresAt: number }[]
  ): Promise<readonly boolean[]> {
    return this.#each(values, async ({ value, expiresAt }) => {
      const jwt = await new SignJWT({ role: 'worker' })
        .setProtectedHeader({ alg: 'HS256' })
        .setJti(value)
        .setExpirationTime(Math.floor(expiresAt / 1_000))
        .sign(new TextEncoder().encode(this.#options.jwtSecret))
      return (await this.#send('GET', '/nodes', undefined, [200, 401], jwt)).status === 200
    })
  }

  #message({ id, fence }: ItemToken) {
    return { receiver_agent_id: this.#options.receiver, message_id: id, fence }
  }

  async #each<A, B>(items: readonly A[], run: (item: A) => Promise<B>): Promise<readonly B[]> {
    const results: B[] = []
    for (const item of items) results.push(await run(item))
    return results
  }

  async #done(path: string, body: object): Promise<boolean> {
    return (await this.#post(path, body, [204, 404, 409])).status === 204
  }

  async #lease(path: string, { fence, holder }: LeaseToken): Promise<LeaseOutcome> {
    const { status } = await this.#post(path, { lease_id: String(fence), claimer_node_id: holder }, [204, 404, 409])
    return status === 204 ? 'ok' : status === 404 ? 'gone' : 'other'
  }

  #post(path: string, body: object, expected: readonly number[] = [200]): Promise<Answer> {
    return this.#send('POST', path, body, expected, this.#options.token)
  }

  /** Throws `WIRE_UNKNOWN` if the outcome is unknown, `WIRE_STATUS_UNEXPECTED` and `WIRE_ANSWER_INVALID`. */
  async #send(
    method: string,
    path: string,
    body: object | undefined,
    expected: readonly number[],
    token: string
  ): Promise<Answer> {
    const url = this.#nextUrl()
    let status: number
    let text: string
    try {
      const response = await fetch(`${url}${MESH_PATH}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          ...(body === undefined ? null : { 'content-type': 'application/json' })
        },
        signal: AbortSignal.timeout(TIMEOUT_MS),
        ...(body === undefined ? null : { body: JSON.stringify(body) })
      })
      status = response.status
      text = await response.text()
    } catch (cause) {
      this.#avoided.set(url, performance.now() + AVOIDED_MS)
      // Otherwise a client would make all its requests while no control plane runs.
      await sleep(PAUSE_MS)
      throw new SvcError('WIRE_UNKNOWN', `${path} had no answer`, { cause })
    }
    if (status > 500) throw new SvcError('WIRE_UNKNOWN', `${path} answered ${status}: ${text}`)
    if (!expected.includes(status)) throw new SvcError('WIRE_STATUS_UNEXPECTED', `${path} answered ${status}: ${text}`)
    try {
      return { status, json: status === 200 ? JSON.parse(text) : {} }
    } catch (cause) {
      throw new SvcError('WIRE_ANSWER_INVALID', `${path} answered ${text}`, { cause })
    }
  }

  #nextUrl(): string {
    const { urls } = this.#options
    this.#calls += 1
    const now = performance.now()
    const usable = urls.filter(url => (this.#avoided.get(url) ?? 0) <= now)
    const from = usable.length === 0 ? urls : usable
    return from[this.#calls % from.length] as string
  }
}

import {
  type ClaimedItem,
  type Coordination,
  DEFAULT_INBOX_LIMIT,
  type DeadItem,
  type DeadMessagesBody,
  type DeliverBody,
  type InboxBody,
  MAX_INBOX_LIMIT,
  type MessageAckBody,
  type MessageExtendBody,
  type MessageNackBody,
  type MessageRenewBody,
  type NewItem,
  type PutResult,
  type ReviveMessagesBody,
  SIGNED_MESSAGE_TYPES,
  type StoredItem
} from '@svc/contracts'
import { verifyResult } from '@svc/contracts/mesh-signature'
import type { Attempt } from './inbox-waiters.ts'
import { MailboxLimit } from './mailbox-limit.ts'
import { type NodeRegistry, parse } from './node-registry.ts'
import { allowedPrivacy, privacyNumber } from './privacy.ts'
import { refuse } from './refusal.ts'
import type { MeshScope } from './scope.ts'

/** Separates the parts of an idempotency key. */
const SEPARATOR = '\u001f'
/** Maximum number of times that a key is used again. */
const MAX_REUSES = 1_000
/** Attempts to claim while the record of the claimer changes. */
const MAX_ATTEMPTS = 20
/** Messages that one query reads. */
const PAGE = 64
/** Maximum bytes of messages in one answer; the first message always fits. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024

export interface MailboxOptions {
  readonly store: () => Coordination
  readonly scope: MeshScope
  readonly nodes: NodeRegistry
  readonly leaseMs: number
  readonly maxMessages: number
  /** Public key of signed results; null if none is configured. */
  readonly verifyKey: Uint8Array | null
  /** Whether a key is free again once its message was acknowledged. */
  readonly reuseKeys: boolean
}

/** Mailboxes of agents. Answers are JSON texts, since stored payloads are not parsed. */
export class Mailbox {
  readonly #options: MailboxOptions
  readonly #limit: MailboxLimit

  constructor(options: MailboxOptions) {
    this.#options = options
    this.#limit = new MailboxLimit(options.store, options.scope.mailboxes, options.maxMessages)
  }

  get #store(): Coordination {
    return this.#options.store()
  }

  /** Stores a message. Returns its id: that of the first one, if its key was used before. Throws `MSC_BODY_INVALID`. */
  async deliver(body: DeliverBody): Promise<number> {
    const sender = agentId(body.sender_agent_id, 'sender_agent_id')
    const receiver = agentId(body.receiver_agent_id, 'receiver_agent_id')
    this.#checkSignature(body)
    const { delay_ms, max_attempts, priority, idempotency_key } = body
    const key = idempotency_key?.trim() ? [sender, receiver, idempotency_key.trim()].join(SEPARATOR) : undefined
    const stored = await this.#put({
      queue: this.#options.scope.mailbox(receiver),
      body: JSON.stringify(storedFields(body, sender, receiver, key)),
      privacy: privacyNumber(body.privacy_class),
      ...(key === undefined ? null : { key }),
      ...(priority === undefined ? null : { priority }),
      ...(delay_ms === undefined ? null : { delayMs: delay_ms }),
      ...(max_attempts === undefined ? null : { maxAttempts: max_attempts })
    })
    if (stored.fresh) await this.#limit.added()
    return stored.id
  }

  /** Returns messages without a claim, the newest first. */
  async peek(body: InboxBody | DeadMessagesBody): Promise<string> {
    const queue = this.queueOf(body.receiver_agent_id)
    return this.#page(
      body,
      page => this.#store.look(queue, page),
      async items => {
        const now = items.some(({ state }) => state === 'leased') ? await this.#store.now() : 0
        return items.map(item => messageJson(item, { now }))
      }
    )
  }

  /** Returns messages that exceeded their attempts, the newest first. */
  async dead(body: DeadMessagesBody): Promise<string> {
    const queue = this.queueOf(body.receiver_agent_id)
    return this.#page(
      body,
      page => this.#store.dead(queue, page),
      async items => items.map(item => messageJson(item, { now: 0, died: item as DeadItem }))
    )
  }

  /**
   * Leases at most one message to a node. The answer is null if there is none, or the node is in quarantine or
   * maintenance. Throws `MSC_FORBIDDEN` if it has not joined. `own`: whether a message that the node has leased
   * already is leased to it again.
   */
  async claim(receiver: string, claimer: string, own = true): Promise<Attempt> {
    const queue = this.queueOf(receiver)
    const { nodes, scope, leaseMs } = this.#options
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const node = await nodes.recall(claimer)
      if (node.quarantined || node.maintenance) return { answer: null, group: `idle ${claimer}` }
      const { visibility, trust_tier: trustTier } = parse(node)
      const privacy = allowedPrivacy({ visibility, trustTier })
      const options = { max: 1, leaseMs, own, ...(privacy === undefined ? null : { privacy }) }
      const known = { scope: scope.stored, id: claimer, version: node.version }
      const claimed = await this.#store.claimAs(known, queue, options)
      if (claimed !== null) {
        const [item] = claimed
        const answer = item === undefined ? null : `{"messages":[${messageJson(item, { now: 0, claimed: item })}]}`
        return { answer, group: `claim ${privacy?.join() ?? 'all'}` }
      }
      // The node changed: for example, another control plane has put it into quarantine.
      nodes.forget(claimer)
    }
    throw refuse('MSC_UNAVAILABLE', 'too many changes of the claimer node at once; try again', 1_000)
  }

  /**
   * Removes a message. With a fence, only while that claim is the last one. Throws `MSC_NOT_FOUND`, or `MSC_CONFLICT` for
   * an old fence.
   */
  async ack({ receiver_agent_id, message_id, fence }: MessageAckBody): Promise<void> {
    const queue = this.queueOf(receiver_agent_id)
    const { reuseKeys } = this.#options
    if (fence === undefined && !reuseKeys) return this.#withdraw(queue, message_id)
    const current = fence ?? (await this.#find(queue, message_id)).fence
    const [done] = await this.#store.ack([{ id: message_id, fence: current, freeKey: reuseKeys, queue }])
    if (done === true) return
    // A message that was never claimed has no fence to acknowledge with.
    if (fence === undefined) return this.#withdraw(queue, message_id)
    await this.#find(queue, message_id)
    throw staleFence()
  }

  /**
   * Extends the lease of a message. Throws `MSC_FORBIDDEN` if the node has not joined, or is in quarantine or maintenance,
   * `MSC_NOT_FOUND`, and `MSC_CONFLICT` if it does not hold the message.
   */
  async renew(body: MessageRenewBody | MessageExtendBody): Promise<void> {
    const queue = this.queueOf(body.receiver_agent_id)
    await this.#options.nodes.requireActive(body.claimer_node_id)
    const item = await this.#find(queue, body.message_id)
    if (item.state !== 'leased' || item.holder !== body.claimer_node_id)
      throw refuse('MSC_CONFLICT', 'another node holds the message, or no node does')
    const fence = body.fence ?? item.fence
    const leaseMs = ('lease_ms' in body ? body.lease_ms : undefined) ?? this.#options.leaseMs
    const [extended] = await this.#store.extend([{ id: body.message_id, fence }], leaseMs)
    if (extended !== true) throw refuse('MSC_CONFLICT', 'the lease of the message has expired or passed on')
  }

  /** Returns a claimed message to the mailbox. Throws `MSC_NOT_FOUND`, or `MSC_CONFLICT` for an old fence. */
  async nack({ receiver_agent_id, message_id, fence, delay_ms, error }: MessageNackBody): Promise<void> {
    const queue = this.queueOf(receiver_agent_id)
    await this.#find(queue, message_id)
    const options = { delayMs: delay_ms ?? 0, ...(error === undefined ? null : { error }) }
    const [done] = await this.#store.nack([{ id: message_id, fence }], options)
    if (done !== true) throw staleFence()
  }

  /** Returns the number of dead messages that were returned to the mailbox. */
  async revive({ receiver_agent_id, message_ids }: ReviveMessagesBody): Promise<number> {
    return this.#store.revive(this.queueOf(receiver_agent_id), message_ids)
  }

  /** Returns the name of a mailbox in the store. Throws `MSC_BODY_INVALID`. */
  queueOf(receiver: string): string {
    return this.#options.scope.mailbox(agentId(receiver, 'receiver_agent_id'))
  }

  /**
   * Stores an item. If keys may be reused, one whose message was removed is replaced by a key that names that message, so that
   * racing callers agree on the new one.
   */
  async #put(item: NewItem): Promise<PutResult> {
    let key = item.key
    for (let reuse = 0; ; reuse += 1) {
      const [stored] = await this.#store.put([key === undefined ? item : { ...item, key }])
      if (stored === undefined) throw new Error('the store answered no result for a message')
      if (stored.fresh || !this.#options.reuseKeys || reuse === MAX_REUSES) return stored
      if ((await this.#store.read(item.queue, [stored.id])).length > 0) return stored
      key = `${item.key}${SEPARATOR}${stored.id}`
    }
  }

  async #withdraw(queue: string, id: number): Promise<void> {
    if ((await this.#store.withdraw(queue, id)) === 'gone') throw noMessage()
  }

  async #find(queue: string, id: number): Promise<StoredItem> {
    const [item] = await this.#store.read(queue, [id])
    if (item === undefined) throw noMessage()
    return item
  }

  async #page(
    { max_messages = DEFAULT_INBOX_LIMIT, before_message_id }: InboxBody | DeadMessagesBody,
    read: (page: { readonly before?: number; readonly limit: number }) => Promise<readonly StoredItem[]>,
    render: (items: readonly StoredItem[]) => Promise<readonly string[]>
  ): Promise<string> {
    const limit = Math.min(Math.max(max_messages, 1), MAX_INBOX_LIMIT)
    const texts: string[] = []
    let bytes = 0
    let before = before_message_id
    while (texts.length < limit) {
      const wanted = Math.min(PAGE, limit - texts.length)
      const items = await read({ limit: wanted, ...(before === undefined ? null : { before }) })
      for (const text of await render(items)) {
        bytes += Buffer.byteLength(text)
        if (texts.length > 0 && bytes > MAX_ANSWER_BYTES) return `{"messages":[${texts.join(',')}]}`
        texts.push(text)
      }
      before = items.at(-1)?.id
      if (before === undefined) break
    }
    return `{"messages":[${texts.join(',')}]}`
  }

  /** Throws `MSC_BODY_INVALID`, or `MSC_UNAVAILABLE` if no key is configured. */
  #checkSignature(body: DeliverBody): void {
    const { payload, payload_blake3_hex: hex, worker_ed25519_sig_b64: signature, message_type } = body
    if (hex === undefined && signature === undefined) return
    if (!SIGNED_MESSAGE_TYPES.includes(message_type)) {
      const types = SIGNED_MESSAGE_TYPES.join(' and ')
      throw refuse('MSC_BODY_INVALID', `only messages of the types ${types} may be signed`)
    }
    if (hex === undefined || signature === undefined)
      throw refuse('MSC_BODY_INVALID', 'payload_blake3_hex and worker_ed25519_sig_b64 must be set together')
    const { verifyKey } = this.#options
    if (verifyKey === null)
      throw refuse(
        'MSC_UNAVAILABLE',
        'the verification of results is not configured (SVC_MESH_WORKER_RESULT_VERIFY_KEY)'
      )
    const signed = { payload_blake3_hex: hex, worker_ed25519_sig_b64: signature }
    const found = verifyResult(payload, signed, verifyKey)
    if (found === 'digest') throw refuse('MSC_BODY_INVALID', 'payload_blake3_hex is not the digest of the payload')
    if (found === 'signature') throw refuse('MSC_BODY_INVALID', 'worker_ed25519_sig_b64 does not verify')
  }
}

/** Returns a trimmed agent id. Throws `MSC_BODY_INVALID` unless it is decimal digits. */
function agentId(text: string, field: string): string {
  const id = text.trim()
  if (/^[0-9]{1,20}$/.test(id)) return id
  throw refuse('MSC_BODY_INVALID', `${field} must be decimal digits`)
}

/** Returns the fields of a message that are stored. Fields that the protocol does not know are dropped. */
function storedFields(body: DeliverBody, sender: string, receiver: string, key: string | undefined): object {
  return {
    sender_agent_id: sender,
    receiver_agent_id: receiver,
    message_type: body.message_type,
    payload: body.payload,
    idempotency_key: body.idempotency_key,
    privacy_class: body.privacy_class,
    payload_blake3_hex: body.payload_blake3_hex,
    worker_ed25519_sig_b64: body.worker_ed25519_sig_b64,
    priority: body.priority ?? 128,
    jwe_payload: body.jwe_payload,
    task_kind: body.task_kind,
    model_id: body.model_id,
    traceparent: body.traceparent,
    correlation_id: body.correlation_id,
    thread_id: body.thread_id,
    max_attempts: body.max_attempts,
    idempotency_dedupe_key: key
  }
}

interface MessageState {
  /** The store's clock, to leave out expired leases. */
  readonly now: number
  readonly claimed?: ClaimedItem
  readonly died?: DeadItem
}

/** Returns a message as JSON: what the server knows, followed by the stored fields. */
function messageJson(item: StoredItem, { now, claimed, died }: MessageState): string {
  const isLeased = claimed !== undefined || (item.state === 'leased' && died === undefined && item.visibleAt > now)
  const head = JSON.stringify({
    id: item.id,
    created_unix_ms: Math.floor(item.createdAt),
    acknowledged: false,
    attempts: item.attempts,
    ...(isLeased ? { lease_holder_node_id: item.holder, lease_expires_unix_ms: Math.floor(item.visibleAt) } : null),
    ...(claimed === undefined ? null : { fence: item.fence }),
    ...(died === undefined
      ? null
      : { died_unix_ms: Math.floor(died.diedAt), ...(died.error === null ? null : { error: died.error }) })
  })
  return `${head.slice(0, -1)},${item.body.slice(1)}`
}

function noMessage(): Error {
  return refuse('MSC_NOT_FOUND', 'there is no such message')
}

function staleFence(): Error {
  return refuse('MSC_CONFLICT', 'the message was claimed again since, or its claim has ended')
}

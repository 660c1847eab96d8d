import { type Infer, t } from '@svc/plugin-sdk'
import { meshNodeId } from './node-record.ts'

/** Default and maximum number of messages in one answer of `a2a/inbox`. */
export const DEFAULT_INBOX_LIMIT = 64
export const MAX_INBOX_LIMIT = 256
/** Maximum of `wait_ms` in `a2a/inbox`. */
export const MAX_INBOX_WAIT_MS = 25_000
/** Maximum length of a scope key of an exec lease, in characters. */
export const MAX_SCOPE_KEY_CHARS = 2_048
/** Maximum of `maintenance_for_ms`: seven days. */
export const MAX_MAINTENANCE_MS = 7 * 24 * 60 * 60 * 1_000

/** Message types whose payload may be signed. */
export const SIGNED_MESSAGE_TYPES: readonly string[] = ['job_result', 'job_fail']

const text = (maxLength: number, description: string) => t.string({ maxLength, description })
const agentId = (description: string) => text(64, `${description}: decimal digits.`)
const messageId = t.integer({ minimum: 1, description: 'Id of the message.' })
const fence = t.optional(t.integer({ minimum: 0, description: 'Fence of the claim, from a2a/inbox.' }))

/**
 * Body of `POST a2a/deliver`. `correlation_id`, `thread_id`, `delay_ms` and `max_attempts` are extensions.
 */
export const deliverBody = t.object(
  {
    sender_agent_id: agentId('Sending agent'),
    receiver_agent_id: agentId('Receiving agent'),
    message_type: t.string({ minLength: 1, maxLength: 256, description: 'Kind of the message.' }),
    payload: t.string({ description: 'Content, usually JSON.' }),
    idempotency_key: t.optional(text(1_024, 'Repeated messages with the same key are stored once.')),
    privacy_class: t.optional(text(256, 'private, trusted or trusted_only restricts the nodes that receive it.')),
    payload_blake3_hex: t.optional(text(256, 'BLAKE3-256 of the payload, in hex.')),
    worker_ed25519_sig_b64: t.optional(text(256, 'Ed25519 signature over the digest, in base64.')),
    priority: t.optional(
      t.integer({ minimum: 0, maximum: 255, description: 'Higher is received first; default 128.' })
    ),
    jwe_payload: t.optional(t.string({ description: 'Encrypted payload.' })),
    task_kind: t.optional(text(256, 'Kind of the task.')),
    model_id: t.optional(text(512, 'Model for the task.')),
    traceparent: t.optional(text(256, 'W3C trace context of the sender.')),
    correlation_id: t.optional(text(256, 'Id of the request that the message answers.')),
    thread_id: t.optional(text(256, 'Conversation of the message.')),
    delay_ms: t.optional(
      t.integer({ minimum: 0, maximum: 604_800_000, description: 'Milliseconds until it can be claimed.' })
    ),
    max_attempts: t.optional(
      t.integer({ minimum: 1, maximum: 1_000_000, description: 'Claims after which it moves to the dead messages.' })
    )
  },
  { additionalProperties: true, description: 'A message for an agent.' }
)

/** Body of `POST a2a/inbox`. `wait_ms` and `own` are extensions. */
export const inboxBody = t.object(
  {
    receiver_agent_id: agentId('Receiving agent'),
    claimer_node_id: t.optional(meshNodeId),
    max_messages: t.optional(t.integer({ description: 'Number of messages; from 1 to 256, default 64.' })),
    before_message_id: t.optional(t.integer({ minimum: 0, description: 'Only messages with a lower id.' })),
    wait_ms: t.optional(
      t.integer({ minimum: 0, maximum: MAX_INBOX_WAIT_MS, description: 'Milliseconds to wait for a message.' })
    ),
    own: t.optional(
      t.boolean({ description: 'Whether messages that the claimer has leased already are returned; default true.' })
    )
  },
  { additionalProperties: true, description: 'A request for messages. With claimer_node_id, one message is leased.' }
)

/** Body of `POST a2a/ack`. */
export const messageAckBody = t.object(
  { receiver_agent_id: agentId('Receiving agent'), message_id: messageId, fence },
  { additionalProperties: true, description: 'Removes a message.' }
)

/** Body of `POST a2a/lease-renew`. */
export const messageRenewBody = t.object(
  { receiver_agent_id: agentId('Receiving agent'), message_id: messageId, claimer_node_id: meshNodeId, fence },
  { additionalProperties: true, description: 'Extends the lease of a message.' }
)

/** Body of `POST x/a2a/extend`: like `a2a/lease-renew`, with a required fence and a duration. */
export const messageExtendBody = t.object(
  {
    receiver_agent_id: agentId('Receiving agent'),
    message_id: messageId,
    claimer_node_id: meshNodeId,
    fence: t.integer({ minimum: 0, description: 'Fence of the claim, from a2a/inbox.' }),
    lease_ms: t.optional(
      t.integer({ minimum: 1_000, maximum: 3_600_000, description: 'Duration from now; default: that of the server.' })
    )
  },
  { additionalProperties: true, description: 'Extends the lease of a message by its fence.' }
)

/** Body of `POST x/a2a/nack`. */
export const messageNackBody = t.object(
  {
    receiver_agent_id: agentId('Receiving agent'),
    message_id: messageId,
    fence: t.integer({ minimum: 0, description: 'Fence of the claim, from a2a/inbox.' }),
    delay_ms: t.optional(
      t.integer({ minimum: 0, maximum: 604_800_000, description: 'Milliseconds until it can be claimed; default 0.' })
    ),
    error: t.optional(text(4_096, 'Why the message was not processed.'))
  },
  { additionalProperties: true, description: 'Returns a claimed message to the mailbox.' }
)

/** Body of `POST x/a2a/dead`. */
export const deadMessagesBody = t.object(
  {
    receiver_agent_id: agentId('Receiving agent'),
    max_messages: t.optional(t.integer({ description: 'Number of messages; from 1 to 256, default 64.' })),
    before_message_id: t.optional(t.integer({ minimum: 0, description: 'Only messages with a lower id.' }))
  },
  { additionalProperties: true, description: 'A request for messages that exceeded their attempts.' }
)

/** Body of `POST x/a2a/revive`. */
export const reviveMessagesBody = t.object(
  {
    receiver_agent_id: agentId('Receiving agent'),
    message_ids: t.array(messageId, { minItems: 1, maxItems: MAX_INBOX_LIMIT, description: 'Messages to revive.' })
  },
  { additionalProperties: true, description: 'Returns dead messages to the mailbox.' }
)

export type DeliverBody = Infer<typeof deliverBody>
export type InboxBody = Infer<typeof inboxBody>
export type MessageAckBody = Infer<typeof messageAckBody>
export type MessageRenewBody = Infer<typeof messageRenewBody>
export type MessageExtendBody = Infer<typeof messageExtendBody>
export type MessageNackBody = Infer<typeof messageNackBody>
export type DeadMessagesBody = Infer<typeof deadMessagesBody>
export type ReviveMessagesBody = Infer<typeof reviveMessagesBody>

/** Answer of `a2a/deliver`. */
export interface MeshDeliverAnswer {
  readonly accepted: true
  readonly message_id: number
}

/** A message in a mailbox, as `a2a/inbox` answers it. Absent fields are left out. */
export interface MeshMessage extends Omit<DeliverBody, 'delay_ms'> {
  readonly id: number
  readonly created_unix_ms: number
  readonly acknowledged: boolean
  readonly lease_holder_node_id?: string
  readonly lease_expires_unix_ms?: number
  readonly idempotency_dedupe_key?: string
  /** Extension: fence of the claim, for `a2a/ack` and `a2a/lease-renew`. Only for claimed messages. */
  readonly fence?: number
  /** Extension: number of claims so far. */
  readonly attempts?: number
}

export interface MeshInboxAnswer {
  readonly messages: readonly MeshMessage[]
}

/** A message that exceeded its attempts. */
export interface DeadMeshMessage extends MeshMessage {
  /** Error of the last attempt; absent if its lease expired instead. */
  readonly error?: string
  readonly died_unix_ms: number
}

import { service } from '@svc/plugin-sdk'

/** Messages between agents, over the planes of contracts/communication/protocol-catalog.yaml. */
export const a2aBus = service<A2aBus>('a2a.bus@1')

/** `local_ephemeral`, `local_durable`, `remote_mesh`, `broadcast`, `stream`, or the name of a contributed plane. */
export type DeliveryPlane = string
/** `local`, `db`, `mesh`, or the route of a contributed plane; see {@link A2aPlane}. */
export type RouteToken = string

export interface A2aBus {
  send(message: A2aSend): Promise<A2aSent>
  /** Sends to every agent except the sender. Returns the number of inboxes that accepted it. */
  broadcast(message: Omit<A2aSend, 'receiver' | 'route'>): Promise<number>
  inbox(
    agent: number,
    options?: {
      /** A route, or `merged` for all planes; default `merged`. */
      readonly source?: string
      readonly limit?: number
      readonly before?: number
    }
  ): Promise<A2aInbox>
  /**
   * Acknowledges a message. Returns false if the agent has no such unacknowledged message. Each plane numbers its
   * messages separately; `route` selects the plane. For a durable message, `message` may be its uuid. With `fence`, it is
   * also false if the message was claimed again since, so that a late reader cannot end the work of another one.
   */
  ack(agent: number, message: number | string, route?: RouteToken, fence?: number): Promise<boolean>
  /** Extends the lease of a claimed message from now on. False if the lease has expired or the fence is not current. */
  extend(agent: number, message: ClaimedMessage, leaseMs?: number): Promise<boolean>
  /** Returns a claimed message before its lease ends. False if the fence is not current. */
  nack(agent: number, message: ClaimedMessage, options?: NackOptions): Promise<boolean>
  /** Returns the dead letters of an agent, or of all agents, newest first. They are not delivered until they are revived. */
  dead(
    agent: number | null,
    options?: { readonly route?: RouteToken; readonly limit?: number; readonly before?: number }
  ): Promise<readonly DeadLetter[]>
  /** Delivers dead letters again, without attempts. Returns their number. */
  revive(agent: number, messages: readonly number[], route?: RouteToken): Promise<number>
  /**
   * Sent messages, acknowledged or not, oldest first: the last `limit` (default 100) since a time in Unix milliseconds.
   */
  history(options?: { readonly since?: number; readonly limit?: number }): Promise<readonly A2aMessage[]>
  /** Calls the listener for each message to any agent, in the order of the bus. Returns the unsubscribe function. */
  subscribe(listener: (message: A2aMessage) => void): () => void
}

export interface A2aSend {
  readonly sender: number
  readonly receiver: number
  readonly msg_type: string
  readonly payload: string
  readonly route?: RouteToken
  readonly correlation_id?: string
  readonly idempotency_key?: string
  readonly tenant_id?: string
  readonly thread_id?: string
  readonly priority?: 'low' | 'normal' | 'high' | 'critical'
  /** Default 300,000. */
  readonly ttl_ms?: number
  /** Milliseconds until the message can be read; only for planes with leases. */
  readonly delay_ms?: number
  /** Deliveries after which an unacknowledged message becomes a dead letter; only for planes with leases. */
  readonly max_attempts?: number
}

/** Names a claimed message; `fence` is that of the message. */
export interface ClaimedMessage {
  /** Number of the message, or the uuid of a durable message. */
  readonly message: number | string
  readonly fence: number
  /** Default `db`. */
  readonly route?: RouteToken
}

export interface NackOptions {
  /** Milliseconds until the message can be read again; default 0. */
  readonly delay_ms?: number
  /** Why the message was not processed. */
  readonly error?: string
  /** True: the message becomes a dead letter at once; default false. */
  readonly reject?: boolean
}

export interface A2aSent {
  readonly message_id: number
  readonly db_message_uuid: string | null
  readonly delivery_plane: DeliveryPlane
  readonly route: RouteToken
  readonly idempotency_key: string
  /** Older messages that the receiver's full inbox dropped to make room for this one. */
  readonly dropped: number
}

export interface A2aMessage {
  /** Id within its plane; broadcasts and local messages share one sequence. */
  readonly id: number
  /** Set for a durable message. */
  readonly uuid?: string
  readonly sender: number
  /** Null for a broadcast. */
  readonly receiver: number | null
  readonly msg_type: string
  readonly payload: string
  readonly plane: DeliveryPlane
  readonly correlation_id?: string
  readonly thread_id?: string
  readonly priority: 'low' | 'normal' | 'high' | 'critical'
  readonly timestamp_ms: number
  readonly acknowledged: boolean
  /** Number of the claim, which grows with each delivery. Only in the inbox of a plane with leases. */
  readonly fence?: number
  /** End of the lease in Unix milliseconds; only with `fence`. */
  readonly leased_until_ms?: number
}

/** A message that was not acknowledged in time too often, or that a reader rejected. */
export interface DeadLetter extends A2aMessage {
  readonly attempts: number
  readonly died_at_ms: number
  /** Last error of a reader, or that its lease expired. */
  readonly error: string | null
}

export interface A2aInbox {
  readonly messages: readonly A2aMessage[]
  /** Messages that were not acknowledged, read or not. Delayed ones and dead letters do not count. */
  readonly unread: number
  /** Messages that the full inbox has dropped so far. */
  readonly dropped: number
  /** Messages that are held back while the user is in deep focus. */
  readonly suppressed: number
  /** Routes of contributed planes that could not be read. */
  readonly failed: readonly RouteToken[]
}

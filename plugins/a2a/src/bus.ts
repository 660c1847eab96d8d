import {
  type A2aBus,
  type A2aInbox,
  type A2aMessage,
  type A2aSend,
  type A2aSent,
  agentLabel,
  type ClaimedMessage,
  type DeadLetter,
  type DeliveryLeases,
  type NackOptions,
  type Orchestrator,
  orchestrationErrors,
  type PlaneMessage,
  type PlaneReceipt,
  type RouteToken
} from '@svc/contracts'
import { defined, type Logger } from '@svc/plugin-sdk'
import { DEFAULT_TTL_MS, effectivePriority } from './built-in-planes.ts'
import type { DurableInbox, MessageCandidate } from './durable-inbox.ts'
import { a2aErrors, leasesMissing } from './errors.ts'
import { defaultIdempotencyKey } from './idempotency-key.ts'
import type { LocalBus } from './local-bus.ts'
import { type Planes, priorityRank, URGENT_TYPES } from './planes.ts'

const DEFAULT_LIMIT = 256
const URGENT = [...URGENT_TYPES]

type AgentsOfOrchestrator = Pick<Orchestrator, 'agent' | 'agents' | 'emit' | 'attention'>

/** Facade of the message planes: checks the agents, and maps routes to planes. */
export class PlaneBus implements A2aBus {
  readonly #local: LocalBus
  readonly #durable: DurableInbox | null
  readonly #orchestrator: AgentsOfOrchestrator
  readonly #log: Pick<Logger, 'warn'>
  readonly #planes: Planes
  readonly #changed: () => void

  /** `changed`: called after a message was sent or acknowledged. */
  constructor(
    local: LocalBus,
    durable: DurableInbox | null,
    orchestrator: AgentsOfOrchestrator,
    log: Pick<Logger, 'warn'>,
    planes: Planes,
    changed: () => void
  ) {
    this.#changed = changed
    this.#planes = planes
    this.#local = local
    this.#durable = durable
    this.#orchestrator = orchestrator
    this.#log = log
  }

  /**
   * Sends a message. The receiver of a durable message may be an agent of another process. Throws
   * `ORC_AGENT_NOT_FOUND`, `ORC_NO_DATABASE`, `MSG_MESH_OFF`, `MSG_PLANE_UNKNOWN`, `MSG_PLANE_UNSUITED` and
   * `MSG_CLARIFICATION_INVALID`.
   */
  async send(message: A2aSend): Promise<A2aSent> {
    const { route = 'local', ...rest } = message
    const { sender, receiver, msg_type, payload, correlation_id, idempotency_key } = rest
    this.#assertAgent(sender)
    const plane = this.#planes.at(route)
    if (plane.leases === undefined) {
      if (message.delay_ms !== undefined) throw leasesMissing(route, 'delay_ms')
      if (message.max_attempts !== undefined) throw leasesMissing(route, 'max_attempts')
    }
    if (route === 'local') this.#assertAgent(receiver)
    const receipt = await plane.send(rest)
    if (!receipt.repeated) {
      const sent = sentMessage(rest, plane.plane, receipt)
      // The local bus notifies its listeners itself.
      if (route !== 'local') this.#local.notify(sent)
      this.#announce(sent)
    }
    return {
      message_id: receipt.id,
      db_message_uuid: receipt.uuid,
      delivery_plane: plane.plane,
      route,
      idempotency_key: idempotency_key ?? correlation_id ?? defaultIdempotencyKey(sender, receiver, msg_type, payload),
      dropped: receipt.dropped
    }
  }

  async broadcast(message: Omit<A2aSend, 'receiver' | 'route'>): Promise<number> {
    const { inboxes } = this.announceToAll(message)
    return inboxes
  }

  /** Like {@link broadcast}, but returns the message and the number of older messages that full inboxes dropped. */
  announceToAll(message: Omit<A2aSend, 'receiver' | 'route'>) {
    const { sender, msg_type, payload } = message
    this.#assertAgent(sender)
    const others = this.#orchestrator.agents().flatMap(({ id }) => (id === sender ? [] : [id]))
    const delivered = this.#local.send(others, {
      sender,
      receiver: null,
      msg_type,
      payload,
      priority: message.priority ?? 'normal',
      ttlMs: message.ttl_ms ?? DEFAULT_TTL_MS,
      correlation_id: message.correlation_id,
      thread_id: message.thread_id
    })
    this.#announce(delivered.message)
    return delivered
  }

  /**
   * Returns the unacknowledged messages of an agent, and claims the durable ones for this consumer. While the user is
   * in deep focus, only errors and conflicts are returned. `before` applies to each plane separately; in `merged`, not to
   * contributed planes. Throws
   * `MSG_MESH_OFF`, `MSG_PLANE_UNKNOWN`, and `ORC_NO_DATABASE` for the source `db`.
   */
  async inbox(agent: number, options: Parameters<A2aBus['inbox']>[1] = {}): Promise<A2aInbox> {
    const { source = 'merged', limit = DEFAULT_LIMIT, before } = options
    const named = source === 'merged' ? null : this.#planes.at(source)
    const deep = this.inDeepFocus()
    const passes = ({ msg_type }: { readonly msg_type: string }): boolean => !deep || URGENT_TYPES.has(msg_type)
    if (named !== null && source !== 'local' && source !== 'db') {
      const unread = await named.inbox(agent, { limit, before })
      const shown = unread.filter(passes)
      return {
        messages: shown,
        unread: unread.length,
        dropped: 0,
        suppressed: unread.length - shown.length,
        failed: []
      }
    }
    const { messages, dropped } = source === 'db' ? { messages: [], dropped: 0 } : this.#local.inbox(agent)
    const local = messages.filter(each => passes(each) && (before === undefined || each.id < before))
    const durable = source === 'local' ? null : this.#durable
    const counts = (await durable?.unread(agent, URGENT)) ?? { all: 0, others: 0 }
    const suppressed = deep ? counts.others + messages.filter(each => !passes(each)).length : 0
    const failed: RouteToken[] = []
    const head = { unread: messages.length + counts.all, dropped, suppressed, failed }
    if (suppressed > 0) this.#orchestrator.attention.debit(0, 'InboxSuppressed', { frequency: false })
    const more = (found: readonly A2aMessage[]) =>
      source === 'merged' ? this.#withContributed(agent, found, limit, passes, failed) : found
    if (durable === null) return { messages: await more(local.slice(0, limit)), ...head }
    // Messages that are not returned are not claimed, so that another consumer can get them.
    let order: readonly RankedMessage[] = []
    const claimed = await durable.claim(
      agent,
      { limit: deep ? Number.MAX_SAFE_INTEGER : limit, before },
      candidates => {
        order = [...local.map(rankLocal), ...candidates.filter(passes).map(rankCandidate)].sort(byRank).slice(0, limit)
        return order.flatMap(({ plane, id }) => (plane === 'db' ? [id] : []))
      }
    )
    const found = { local: byId(local), db: byId(claimed) }
    return { messages: await more(order.flatMap(({ plane, id }) => found[plane].get(id) ?? [])), ...head }
  }

  /** Adds messages of contributed planes up to the limit. A plane that fails is skipped, and added to `failed`. */
  async #withContributed(
    agent: number,
    found: readonly A2aMessage[],
    limit: number,
    passes: (message: A2aMessage) => boolean,
    failed: RouteToken[]
  ): Promise<readonly A2aMessage[]> {
    const all = [...found]
    for (const plane of this.#planes.contributed) {
      if (all.length >= limit) break
      try {
        all.push(...(await plane.inbox(agent, { limit: limit - all.length })).filter(passes))
      } catch (error) {
        this.#log.warn('messages of a plane could not be read', { route: plane.route, error })
        failed.push(plane.route)
      }
    }
    return all
  }

  /**
   * Acknowledges a message; false if the agent has no such message, or if `fence` is not current. Throws
   * `MSG_MESSAGE_AMBIGUOUS` if both planes have the id, and `route` and `fence` are missing.
   */
  async ack(agent: number, message: number | string, route?: RouteToken, fence?: number): Promise<boolean> {
    const acknowledged = await this.#ack(agent, message, route, fence)
    if (acknowledged) this.#changed()
    return acknowledged
  }

  async #ack(
    agent: number,
    message: number | string,
    route: RouteToken | undefined,
    fence: number | undefined
  ): Promise<boolean> {
    if (route !== undefined) return this.#planes.at(route).ack(agent, message, fence)
    // Only durable messages have a fence.
    if (fence !== undefined) return this.#planes.at('db').ack(agent, message, fence)
    if (typeof message === 'number' && this.#local.has(agent, message)) {
      if ((await this.#durable?.has(agent, message)) === true)
        throw a2aErrors.create(
          'MSG_MESSAGE_AMBIGUOUS',
          `${agentLabel(agent)} has both a local and a durable message ${message}`,
          {
            data: { agent_id: agent, message_id: message },
            hint: 'add route local or db, or pass the uuid of the durable message'
          }
        )
      return this.#local.ack(agent, message)
    }
    return this.#durable === null ? false : this.#durable.ack(agent, message)
  }

  /** Throws `MSG_PLANE_UNSUITED` for a plane without leases, and like `inbox`. The same holds for the next methods. */
  async extend(agent: number, { message, fence, route = 'db' }: ClaimedMessage, leaseMs?: number): Promise<boolean> {
    return this.#leases(route, 'an extension').extend(agent, message, fence, leaseMs)
  }

  async nack(
    agent: number,
    { message, fence, route = 'db' }: ClaimedMessage,
    options: NackOptions = {}
  ): Promise<boolean> {
    const returned = await this.#leases(route, 'a return').nack(agent, message, fence, options)
    if (returned) this.#changed()
    return returned
  }

  async dead(agent: number | null, options: Parameters<A2aBus['dead']>[1] = {}): Promise<readonly DeadLetter[]> {
    const { route = 'db', limit = DEFAULT_LIMIT, before } = options
    return this.#leases(route, 'a list of dead letters').dead(agent, { limit, before })
  }

  async revive(agent: number, messages: readonly number[], route: RouteToken = 'db'): Promise<number> {
    const revived = await this.#leases(route, 'a revival').revive(agent, messages)
    if (revived > 0) this.#changed()
    return revived
  }

  #leases(route: RouteToken, what: string): DeliveryLeases {
    const { leases } = this.#planes.at(route)
    if (leases === undefined) throw leasesMissing(route, what)
    return leases
  }

  async history({ since = 0, limit = 100 }: Parameters<A2aBus['history']>[0] = {}): Promise<readonly A2aMessage[]> {
    const durable = (await this.#durable?.history(since, limit)) ?? []
    const all = [...this.#local.history(since), ...durable]
    return all.sort((a, b) => a.timestamp_ms - b.timestamp_ms).slice(-limit)
  }

  subscribe(listener: (message: A2aMessage) => void): () => void {
    return this.#local.subscribe(message => {
      try {
        listener(message)
      } catch (error) {
        this.#log.warn('a listener of messages threw an error', { error, message_id: message.id })
      }
    })
  }

  inDeepFocus(): boolean {
    const { attention } = this.#orchestrator
    return attention.enabled && attention.state().focus_depth === 'Deep'
  }

  /** Emits `message_sent` without the payload, because events are logged. */
  #announce({ sender, receiver, msg_type, plane, id }: A2aMessage): void {
    this.#changed()
    const summary = `${msg_type} over ${plane}, message ${id}`
    this.#orchestrator.emit({
      type: 'message_sent',
      from: sender,
      ...(receiver === null ? {} : { to: receiver }),
      summary
    })
  }

  #assertAgent(agent: number): void {
    if (this.#orchestrator.agent(agent) !== null) return
    throw orchestrationErrors.create('ORC_AGENT_NOT_FOUND', `Agent ${agentLabel(agent)} not found`, {
      data: { agent_id: agent },
      hint: 'list the agents to see their ids'
    })
  }
}

function sentMessage(message: PlaneMessage, plane: string, { id, uuid, timestamp_ms }: PlaneReceipt): A2aMessage {
  const { sender, receiver, msg_type, payload, correlation_id, thread_id } = message
  return {
    id,
    ...defined({ uuid: uuid ?? undefined, correlation_id, thread_id }),
    sender,
    receiver,
    msg_type,
    payload,
    plane,
    priority: effectivePriority(message),
    timestamp_ms,
    acknowledged: false
  }
}

/** Sort key of a message across both planes. */
interface RankedMessage {
  readonly plane: 'local' | 'db'
  readonly id: number
  readonly rank: number
  readonly timestamp_ms: number
}

/** Sorts by rank, then age. The sort is stable, so equal messages of a plane stay in order. */
function byRank(a: RankedMessage, b: RankedMessage): number {
  return b.rank - a.rank || a.timestamp_ms - b.timestamp_ms
}

function rankLocal({ id, priority, timestamp_ms }: A2aMessage): RankedMessage {
  return { plane: 'local', id, rank: priorityRank(priority), timestamp_ms }
}

function rankCandidate({ id, rank, timestamp_ms }: MessageCandidate): RankedMessage {
  return { plane: 'db', id, rank, timestamp_ms }
}

function byId(messages: readonly A2aMessage[]): ReadonlyMap<number, A2aMessage> {
  return new Map(messages.map(message => [message.id, message]))
}

import {
  type DeliverBody,
  type ExecLease,
  type InboxBody,
  LEGACY_MESH_PATH,
  MESH_PATH,
  type MeshMessage,
  type MeshPlane,
  type MeshSettings,
  type NodeListWire,
  type NodeRecord,
  type NodeReport,
  normalizeControlUrls
} from '@svc/contracts'
import { parseStrictJson } from '@svc/plugin-sdk'
import { meshNodeErrors } from './errors.ts'
import { type HttpAnswer, type HttpCall, HttpServers } from './http.ts'

/** Limit for joins and heartbeats in milliseconds. */
const JOIN_TIMEOUT_MS = 15_000
const MIN_TIMEOUT_MS = 500
const MIN_RELAY_TIMEOUT_MS = 1_000
/** Length from which a page of an inbox may have been cut. */
const CUT_PAGE_CHARS = 1_000_000

export interface MeshClientOptions {
  readonly settings: Pick<MeshSettings, 'controlUrls' | 'token'>
  /** Base URLs of `[orchestrator] mesh_control_url`, separated by commas; null: those of the settings. */
  readonly controlUrl: () => string | null
  /** Limit of `[orchestrator] mesh_http_timeout_ms`. */
  readonly timeoutMs: () => number
}

/** A list of nodes with its tag; null: it is the list that the tag names. */
export interface NodeListAnswer {
  readonly list: NodeListWire | null
  readonly etag: string | null
}

export interface InboxPage {
  readonly messages: readonly MeshMessage[]
  /** The server's clock in Unix milliseconds; null if it sends no date. */
  readonly serverMs: number | null
  /** Length of the answer in characters. */
  readonly size: number
}

/**
 * Client of a control plane. Every method throws `MND_NOT_CONFIGURED`, `MND_UNREACHABLE`, `MND_TIMEOUT`,
 * `MND_ANSWER_INVALID`, and `MND_HTTP_STATUS` for a status outside 2xx, whose `data` is an `HttpStatus`.
 */
export class MeshClient {
  readonly #options: MeshClientOptions
  #servers: HttpServers | null = null
  #list = ''

  constructor(options: MeshClientOptions) {
    this.#options = options
  }

  /** Whether a control URL is set. */
  get configured(): boolean {
    return this.#urls().length > 0
  }

  /** Base URL of the control plane that answered last; null if none is configured. */
  get url(): string | null {
    return this.configured ? this.#pool().current : null
  }

  /** Returns all nodes. */
  nodes(etag: string | null, signal?: AbortSignal): Promise<NodeListAnswer> {
    return this.#nodes('/nodes', etag, signal)
  }

  /**
   * Returns the nodes that changed after a version; a control plane without this extension answers with all nodes.
   * `staleMs`: age of a stale heartbeat by the clock of the control plane, which names these nodes; 0 for none.
   */
  nodesSince(version: number, staleMs: number, etag: string | null, signal?: AbortSignal): Promise<NodeListAnswer> {
    const stale = staleMs > 0 ? `&stale_ms=${Math.ceil(staleMs)}` : ''
    return this.#nodes(`/nodes?since=${version}${stale}`, etag, signal)
  }

  async #nodes(path: string, etag: string | null, signal: AbortSignal | undefined): Promise<NodeListAnswer> {
    const answer = await this.#call('worker', {
      method: 'GET',
      path,
      timeoutMs: this.#timeout(MIN_TIMEOUT_MS),
      accept: [304],
      headers: etag === null ? {} : { 'if-none-match': etag },
      signal
    })
    const tag = answer.headers.get('etag')
    if (answer.status === 304) return { list: null, etag: tag ?? etag }
    const list = objectOf(answer, 'GET /nodes')
    if (!Array.isArray(list.nodes)) throw invalid('GET /nodes', 'nodes is not a list')
    return { list: list as unknown as NodeListWire, etag: tag }
  }

  async join(report: NodeReport, signal?: AbortSignal): Promise<NodeRecord> {
    return this.#record('/join', report, signal)
  }

  async heartbeat(report: NodeReport, signal?: AbortSignal): Promise<NodeRecord> {
    return this.#record('/heartbeat', report, signal)
  }

  /** Removes the node. No effect if the control plane does not know it. */
  async leave(id: string, signal?: AbortSignal): Promise<void> {
    await this.#post('worker', '/leave', { id }, this.#timeout(MIN_TIMEOUT_MS), { signal, accept: [404] })
  }

  /** Returns the id of the message: that of the first one, if the idempotency key was used before. */
  async deliver(message: DeliverBody & { readonly idempotency_key: string }, signal?: AbortSignal): Promise<number> {
    const path = '/a2a/deliver'
    const answer = await this.#post('submit', path, message, this.#timeout(MIN_RELAY_TIMEOUT_MS), { signal })
    const { message_id } = objectOf(answer, path)
    if (!Number.isSafeInteger(message_id)) throw invalid(path, 'message_id is not an integer')
    return message_id as number
  }

  /** Returns one page. With `wait_ms`, the control plane may wait that long for a message. */
  async inbox(body: InboxBody, signal?: AbortSignal): Promise<InboxPage> {
    const timeout = this.#timeout(MIN_RELAY_TIMEOUT_MS) + (body.wait_ms ?? 0)
    const answer = await this.#post('worker', '/a2a/inbox', body, timeout, { signal })
    const { messages } = objectOf(answer, '/a2a/inbox')
    if (!Array.isArray(messages) || !messages.every(isMessage))
      throw invalid('/a2a/inbox', 'messages is not a list of messages')
    return { messages, serverMs: answer.serverMs, size: answer.text.length }
  }

  /**
   * Yields the messages of an inbox page by page, the newest first, without claims. The cursor is the last id of a page.
   */
  async *pages(
    receiver: string,
    limits: { readonly pageSize: number; readonly maxPages: number },
    signal?: AbortSignal
  ): AsyncGenerator<InboxPage> {
    let before: number | undefined
    for (let page = 0; page < limits.maxPages; page += 1) {
      const body = {
        receiver_agent_id: receiver,
        max_messages: limits.pageSize,
        ...(before === undefined ? null : { before_message_id: before })
      }
      const found = await this.inbox(body, signal)
      if (found.messages.length > 0) yield found
      const last = found.messages.at(-1)?.id
      // A short page is the last one, unless the control plane cut it because it was large.
      const isLast = found.messages.length < limits.pageSize && found.size < CUT_PAGE_CHARS
      // A server that ignores the cursor would return the same page for ever.
      if (last === undefined || isLast || (before !== undefined && last >= before)) return
      before = last
    }
  }

  /** Removes a message. False if there is none. With a fence: also if another node has claimed it since. */
  async ack(receiver: string, message: number, fence?: number, signal?: AbortSignal): Promise<boolean> {
    const body = { receiver_agent_id: receiver, message_id: message, ...(fence === undefined ? null : { fence }) }
    const { status } = await this.#post('worker', '/a2a/ack', body, this.#timeout(MIN_RELAY_TIMEOUT_MS), {
      signal,
      accept: [404, 409]
    })
    return status !== 404 && status !== 409
  }

  /** Extends the lease of a message. */
  async renewMessage(
    claim: { readonly receiver: string; readonly message: number; readonly node: string; readonly fence?: number },
    signal?: AbortSignal
  ): Promise<void> {
    const body = {
      receiver_agent_id: claim.receiver,
      message_id: claim.message,
      claimer_node_id: claim.node,
      ...(claim.fence === undefined ? null : { fence: claim.fence })
    }
    await this.#post('worker', '/a2a/lease-renew', body, this.#timeout(MIN_RELAY_TIMEOUT_MS), { signal })
  }

  /** `serverMs`: the server's clock in Unix milliseconds; null if it sends no date. */
  async grant(
    node: string,
    scopeKey: string,
    signal?: AbortSignal
  ): Promise<ExecLease & { readonly serverMs: number | null }> {
    const path = '/exec/lease/grant'
    const body = { claimer_node_id: node, scope_key: scopeKey }
    const answer = await this.#post('worker', path, body, this.#timeout(MIN_RELAY_TIMEOUT_MS), { signal })
    const lease = objectOf(answer, path)
    if (!isLease(lease)) throw invalid(path, 'it is not a lease')
    const { lease_id, scope_key, holder_node_id, expires_unix_ms } = lease
    return { lease_id, scope_key, holder_node_id, expires_unix_ms, serverMs: answer.serverMs }
  }

  async renewLease(lease: string, node: string, signal?: AbortSignal): Promise<void> {
    const body = { lease_id: lease, claimer_node_id: node }
    await this.#post('worker', '/exec/lease/renew', body, this.#timeout(MIN_RELAY_TIMEOUT_MS), { signal })
  }

  /** Releases a lease. No effect if it has ended. */
  async releaseLease(lease: string, node: string, signal?: AbortSignal): Promise<void> {
    const body = { lease_id: lease, claimer_node_id: node }
    const timeout = this.#timeout(MIN_RELAY_TIMEOUT_MS)
    await this.#post('worker', '/exec/lease/release', body, timeout, { signal, accept: [404] })
  }

  /** Returns all live leases. Needs the role mesh or admin. */
  async leases(signal?: AbortSignal): Promise<readonly ExecLease[]> {
    const path = '/exec/leases'
    const timeoutMs = this.#timeout(MIN_TIMEOUT_MS)
    const answer = await this.#call('admin', { method: 'GET', path, timeoutMs, signal })
    const { leases } = objectOf(answer, path)
    if (!Array.isArray(leases) || !leases.every(isLease)) throw invalid(path, 'leases is not a list of leases')
    return leases
  }

  /** Ends a lease of any holder. Needs the role mesh or admin. */
  async revoke(lease: string, signal?: AbortSignal): Promise<void> {
    const path = '/admin/exec-lease/revoke'
    await this.#post('admin', path, { lease_id: lease }, this.#timeout(MIN_TIMEOUT_MS), { signal })
  }

  /** Calls an extension route, such as `/x/views`. Returns the JSON of the answer. */
  async extension(method: 'GET' | 'POST', path: string, body: unknown, signal?: AbortSignal): Promise<unknown> {
    const timeoutMs = this.#timeout(MIN_TIMEOUT_MS)
    const answer = await this.#call('worker', { method, path, body, timeoutMs, signal })
    return answer.text === '' ? null : objectOf(answer, path)
  }

  async #record(path: string, report: NodeReport, signal: AbortSignal | undefined): Promise<NodeRecord> {
    const answer = await this.#post('worker', path, report, JOIN_TIMEOUT_MS, { signal })
    return objectOf(answer, path) as unknown as NodeRecord
  }

  #post(
    plane: MeshPlane,
    path: string,
    body: unknown,
    timeoutMs: number,
    more: Pick<HttpCall, 'signal' | 'accept'>
  ): Promise<HttpAnswer> {
    return this.#call(plane, { method: 'POST', path, body, timeoutMs, ...more })
  }

  #call(plane: MeshPlane, call: Omit<HttpCall, 'bearer'>): Promise<HttpAnswer> {
    const bearer = () => this.#options.settings.token(plane)
    return this.#pool().call({ ...call, path: `${MESH_PATH}${call.path}`, bearer })
  }

  #pool(): HttpServers {
    const urls = this.#urls()
    if (urls.length === 0)
      throw meshNodeErrors.create('MND_NOT_CONFIGURED', 'no control plane is configured', {
        hint: 'join a mesh with svc mesh join, or set control_url in [mesh] or SVC_MESH_CONTROL_ADDR'
      })
    const list = urls.join(',')
    if (this.#servers === null || this.#list !== list) {
      this.#servers = new HttpServers(urls)
      this.#list = list
    }
    return this.#servers
  }

  #urls(): readonly string[] {
    const own = this.#options.controlUrl()
    const urls = own === null || own.trim() === '' ? this.#options.settings.controlUrls : normalizeControlUrls(own)
    // A URL may already contain the path that the client adds.
    return urls.map(url => url.replace(new RegExp(`(${MESH_PATH}|${LEGACY_MESH_PATH})$`), ''))
  }

  #timeout(minimum: number): number {
    return Math.max(minimum, this.#options.timeoutMs())
  }
}

function objectOf({ text }: HttpAnswer, context: string): Record<string, unknown> {
  let value: unknown
  try {
    value = parseStrictJson(text)
  } catch {
    throw invalid(context, 'it is not JSON')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalid(context, 'it is not an object')
  return value as Record<string, unknown>
}

function invalid(context: string, why: string): Error {
  return meshNodeErrors.create('MND_ANSWER_INVALID', `${context}: the answer cannot be read: ${why}`, {
    hint: 'check that the control URL is that of a control plane of svc'
  })
}

function isMessage(value: unknown): value is MeshMessage {
  const message = value as Partial<MeshMessage> | null
  return (
    typeof message === 'object' &&
    Number.isSafeInteger(message?.id) &&
    typeof message?.message_type === 'string' &&
    typeof message.payload === 'string' &&
    typeof message.sender_agent_id === 'string'
  )
}

function isLease(value: unknown): value is ExecLease {
  const lease = value as Partial<ExecLease> | null
  return (
    typeof lease === 'object' &&
    typeof lease?.lease_id === 'string' &&
    typeof lease.scope_key === 'string' &&
    typeof lease.holder_node_id === 'string' &&
    Number.isFinite(lease.expires_unix_ms)
  )
}

import {
  deadMessagesBody,
  deliverBody,
  exchangeBody,
  execGrantBody,
  execLeaseBody,
  execRevokeBody,
  inboxBody,
  leaveBody,
  type MaintenanceBody,
  MIN_STRONG_TOKEN_CHARS,
  maintenanceBody,
  messageAckBody,
  messageExtendBody,
  messageNackBody,
  messageRenewBody,
  type NodeReport,
  nodeReport,
  pairBody,
  quarantineBody,
  reviveMessagesBody,
  type TokenBuckets
} from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
import type { Bootstrap } from './bootstrap.ts'
import type { ExecLeases } from './exec-leases.ts'
import type { Attempt, InboxWaiters } from './inbox-waiters.ts'
import type { Mailbox } from './mailbox.ts'
import { getRoute, type MeshAnswer, type MeshRoute, NO_CONTENT, postRoute } from './mesh-routes.ts'
import type { NodeLists, RenderedList } from './node-list.ts'
import type { NodeRegistry } from './node-registry.ts'
import { refuse } from './refusal.ts'

export interface ControlParts {
  readonly nodes: NodeRegistry
  readonly lists: NodeLists
  readonly mailbox: Mailbox
  readonly waiters: InboxWaiters
  readonly leases: ExecLeases
  readonly bootstrap: Bootstrap
  /** Limit of wrong one-time tokens per client. */
  readonly wrong: TokenBuckets
  /** The store's clock in Unix milliseconds. */
  readonly now: () => Promise<number>
}

/** Returns the routes of a control plane, with those of the extension below `/x`. */
export function controlRoutes(parts: ControlParts): readonly MeshRoute[] {
  return [...nodeRoutes(parts), ...messageRoutes(parts), ...leaseRoutes(parts), ...adminRoutes(parts)]
}

function nodeRoutes({ nodes, lists, bootstrap, wrong }: ControlParts): readonly MeshRoute[] {
  return [
    getRoute('/nodes', 'List the nodes', 'worker', async ({ query, headers }) => {
      const parameters = new URLSearchParams(query)
      const since = numberOf(parameters, 'since')
      const staleMs = numberOf(parameters, 'stale_ms')
      const list = since === null ? await lists.all() : await lists.since(since, staleMs)
      return listAnswer(list, headers['if-none-match'])
    }),
    postRoute('/join', 'Add this node, or replace its record', 'worker', nodeReport, async report => ({
      value: await nodes.join(report as NodeReport)
    })),
    postRoute('/heartbeat', 'Report that this node is alive', 'worker', nodeReport, async report => ({
      value: await nodes.heartbeat(report as NodeReport)
    })),
    postRoute('/leave', 'Remove this node', 'worker', leaveBody, async ({ id }) => {
      if (!(await nodes.leave(id))) throw refuse('MSC_NOT_FOUND', 'there is no such node')
      return NO_CONTENT
    }),
    postRoute(
      '/bootstrap/exchange',
      'Exchange a one-time token for the mesh token',
      null,
      exchangeBody,
      async ({ bootstrap_token }, { client }) => {
        // Long tokens cannot be guessed: wrong ones of another client at the same address must not lock out new members.
        const isLong = bootstrap_token.length >= MIN_STRONG_TOKEN_CHARS
        const waitMs = isLong ? 0 : wrong.wait(client)
        if (waitMs > 0) throw tooManyWrong(waitMs)
        try {
          return { value: await bootstrap.exchange(bootstrap_token) }
        } catch (error) {
          const limitMs = isSvcError(error, 'MSC_UNAUTHORIZED') ? wrong.take(client) : 0
          throw limitMs > 0 ? tooManyWrong(limitMs) : error
        }
      }
    )
  ]
}

function messageRoutes({ mailbox, waiters }: ControlParts): readonly MeshRoute[] {
  return [
    postRoute('/a2a/deliver', 'Store a message for an agent', 'deliver', deliverBody, async body => ({
      value: { accepted: true, message_id: await mailbox.deliver(body) }
    })),
    postRoute(
      '/a2a/inbox',
      'Read the messages of an agent, or claim one',
      'worker',
      inboxBody,
      async (body, request) => {
        const { receiver_agent_id, claimer_node_id, wait_ms, own } = body
        const attempt = async (): Promise<Attempt> => {
          if (claimer_node_id !== undefined) return mailbox.claim(receiver_agent_id, claimer_node_id, own)
          const page = await mailbox.peek(body)
          return { answer: page === NO_MESSAGES ? null : page, group: 'peek' }
        }
        const { answer, group } = await attempt()
        if (answer !== null || wait_ms === undefined) return { json: answer ?? NO_MESSAGES }
        const { signal } = request.caller
        const later = await waiters.wait(mailbox.queueOf(receiver_agent_id), {
          waitMs: wait_ms,
          signal,
          group,
          attempt
        })
        return { json: later ?? NO_MESSAGES }
      }
    ),
    postRoute('/a2a/ack', 'Remove a message', 'worker', messageAckBody, async body => {
      await mailbox.ack(body)
      return NO_CONTENT
    }),
    postRoute('/a2a/lease-renew', 'Extend the lease of a message', 'worker', messageRenewBody, async body => {
      await mailbox.renew(body)
      return NO_CONTENT
    }),
    postRoute(
      '/x/a2a/extend',
      'Extend the lease of a message by its fence',
      'worker',
      messageExtendBody,
      async body => {
        await mailbox.renew(body)
        return NO_CONTENT
      }
    ),
    postRoute('/x/a2a/nack', 'Return a claimed message to its mailbox', 'worker', messageNackBody, async body => {
      await mailbox.nack(body)
      return NO_CONTENT
    }),
    postRoute('/x/a2a/dead', 'List messages that exceeded their attempts', 'worker', deadMessagesBody, async body => ({
      json: await mailbox.dead(body)
    })),
    postRoute('/x/a2a/revive', 'Return dead messages to their mailbox', 'admin', reviveMessagesBody, async body => ({
      value: { revived: await mailbox.revive(body) }
    }))
  ]
}

function leaseRoutes({ leases }: ControlParts): readonly MeshRoute[] {
  return [
    postRoute('/exec/lease/grant', 'Lease a scope key to a node', 'worker', execGrantBody, async body => ({
      value: await leases.grant(body)
    })),
    postRoute('/exec/lease/renew', 'Extend a lease', 'worker', execLeaseBody, async body => {
      await leases.renew(body)
      return NO_CONTENT
    }),
    postRoute('/exec/lease/release', 'End a lease', 'worker', execLeaseBody, async body => {
      await leases.release(body)
      return NO_CONTENT
    }),
    getRoute('/exec/leases', 'List the leases', 'admin', async () => ({ value: { leases: await leases.list() } }))
  ]
}

function adminRoutes({ nodes, leases, bootstrap, now }: ControlParts): readonly MeshRoute[] {
  return [
    postRoute('/admin/exec-lease/revoke', 'End a lease of any node', 'admin', execRevokeBody, async ({ lease_id }) => {
      await leases.revoke(lease_id)
      return NO_CONTENT
    }),
    postRoute('/admin/quarantine', 'Exclude or admit a node', 'admin', quarantineBody, async body => {
      await nodes.flag(body.node_id, { quarantined: body.quarantined })
      return NO_CONTENT
    }),
    postRoute('/admin/maintenance', 'Switch the maintenance of a node', 'admin', maintenanceBody, async body => {
      const maintenanceUntil = body.maintenance ? await maintenanceEnd(body, now) : null
      await nodes.flag(body.node_id, { maintenance: body.maintenance, maintenanceUntil })
      return NO_CONTENT
    }),
    postRoute('/x/pair', 'Create a one-time token for a new member', 'admin', pairBody, async ({ expires_for_ms }) => ({
      value: await bootstrap.pair(expires_for_ms)
    }))
  ]
}

function tooManyWrong(waitMs: number): Error {
  return refuse('MSC_RATE_LIMITED', 'too many wrong tokens came from this address', waitMs)
}

const NO_MESSAGES = '{"messages":[]}'

/** Returns the end of a maintenance in Unix milliseconds; null: until it is switched off. */
async function maintenanceEnd(
  { maintenance_until_unix_ms: until, maintenance_for_ms: duration }: MaintenanceBody,
  now: () => Promise<number>
): Promise<number | null> {
  if (until !== undefined) return until
  return duration === undefined ? null : Math.floor((await now()) + duration)
}

function listAnswer({ body, etag }: RenderedList, known: string | string[] | undefined): MeshAnswer {
  const headers = { etag, 'cache-control': 'no-cache' }
  const isKnown = String(known ?? '')
    .split(',')
    .some(each => each.trim().replace(/^W\//, '') === etag)
  return isKnown ? { status: 304, headers } : { json: body, headers }
}

/** Returns a parameter of the query as an integer; null if it is absent. Throws `MSC_BODY_INVALID`. */
function numberOf(parameters: URLSearchParams, name: string): number | null {
  const text = parameters.get(name)
  if (text === null) return null
  const value = /^[0-9]{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (Number.isSafeInteger(value)) return value
  throw refuse('MSC_BODY_INVALID', `${name} must be a whole number`)
}

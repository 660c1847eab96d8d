import {
  type ExchangeAnswer,
  type ExecLeaseList,
  type MeshSettings,
  type NodeListWire,
  type NodeRecord,
  normalizeControlUrls,
  type PairAnswer
} from '@svc/contracts'
import { errorMessage, type Handler, isSvcError, t } from '@svc/plugin-sdk'
import { schemaCheck } from '@svc/plugin-sdk/check'
import { type ControlClient, callControl } from './control-client.ts'
import { meshPluginErrors } from './errors.ts'
import { joinCommand } from './join-command.ts'
import type { MembershipFile } from './membership.ts'
import type {
  joinOperation,
  leaveOperation,
  maintenanceOperation,
  pairOperation,
  quarantineOperation,
  revokeOperation,
  statusOperation
} from './operations.ts'
import { type StatusNode, statusText } from './status-text.ts'

export interface HandlerParts {
  readonly settings: MeshSettings
  readonly membership: MembershipFile
  readonly client: ControlClient
}

export function statusHandler({ settings, client }: HandlerParts): Handler<typeof statusOperation> {
  return async (_input, { signal }) => {
    const own = {
      enabled: settings.enabled,
      control_urls: [...settings.controlUrls],
      node_id: settings.nodeId,
      scope_id: settings.scopeId
    }
    if (own.control_urls.length === 0) {
      const text = 'This project has joined no mesh. Join one: svc mesh join URL --bootstrap TOKEN'
      return { ...own, healthy: true, nodes: [], text }
    }
    try {
      const list = (await client.call('worker', 'GET', '/nodes', undefined, signal)) as NodeListWire
      const leases = await leasesOf(client, signal)
      const now = Date.now()
      const shown = list.nodes.filter(
        ({ last_seen_unix_ms: seen }) => settings.maxStaleMs === 0 || now - seen <= settings.maxStaleMs
      )
      const found = {
        ...own,
        healthy: true,
        nodes: shown.map(each => statusNode(each, now)),
        ...(list.queue_depth === undefined ? null : { queue_depth: list.queue_depth }),
        ...(leases === null ? null : { leases: leases.map(each => ({ ...each })) })
      }
      return { ...found, text: statusText(found) }
    } catch (error) {
      signal.throwIfAborted()
      const reason = errorMessage(error)
      return { ...own, healthy: false, error: reason, nodes: [], text: reason }
    }
  }
}

export function pairHandler({ settings, client }: HandlerParts): Handler<typeof pairOperation> {
  return async ({ minutes, url }, { signal }) => {
    const body = { expires_for_ms: minutes * 60_000 }
    const paired = (await client.call('admin', 'POST', '/x/pair', body, signal)) as PairAnswer
    const urls = url === undefined ? settings.controlUrls : normalizeControlUrls(url)
    return { ...paired, command: joinCommand(urls, paired.bootstrap_token) }
  }
}

const checkExchanged = schemaCheck(
  t.object(
    {
      mesh_token: t.string({ minLength: 1, maxLength: 8_192, pattern: '^\\S+$' }),
      scope_id: t.optional(t.string({ minLength: 1, maxLength: 128, pattern: '^[^\\u0000-\\u001f\\u007f]+$' }))
    },
    { additionalProperties: true }
  )
)

/** Returns the answer to a one-time token. Throws `MSP_ANSWER_INVALID`; a membership must not hold what cannot be sent. */
function exchangedOf(answer: unknown): ExchangeAnswer {
  const checked = checkExchanged(answer)
  if (checked.ok) return checked.value
  throw meshPluginErrors.create(
    'MSP_ANSWER_INVALID',
    'the control plane answered the one-time token with no mesh token',
    {
      hint: 'check that the URL is that of a control plane, and get a new one-time token: svc mesh pair'
    }
  )
}

/** Exchanges the one-time token, checks the access, and keeps the membership. */
export function joinHandler({ settings, membership }: HandlerParts): Handler<typeof joinOperation> {
  return async ({ url, bootstrap }, { signal }) => {
    const urls = normalizeControlUrls(url)
    const exchanged =
      bootstrap === undefined
        ? null
        : exchangedOf(
            await callControl(urls, {
              method: 'POST',
              path: '/bootstrap/exchange',
              body: { bootstrap_token: bootstrap },
              token: null,
              signal
            })
          )
    const token = exchanged?.mesh_token ?? null
    // The one-time token is spent, so the membership is kept before anything else can fail.
    const scopeId = exchanged?.scope_id ?? null
    if (exchanged !== null) membership.set({ controlUrls: urls, token, scopeId })
    await callControl(urls, { method: 'GET', path: '/nodes', token: token ?? settings.token('worker'), signal })
    // A member that names other control planes keeps its access.
    const before = membership.get()
    if (exchanged === null)
      membership.set({ controlUrls: urls, token: before?.token ?? null, scopeId: before?.scopeId ?? null })
    const text = `Joined ${urls.join(', ')} as ${settings.nodeId}. svc serve publishes this machine and runs tasks.`
    return { control_urls: urls, node_id: settings.nodeId, scope_id: settings.scopeId, text }
  }
}

export function leaveHandler({ settings, membership, client }: HandlerParts): Handler<typeof leaveOperation> {
  return async (_input, { signal }) => {
    const id = settings.nodeId
    let was_node = true
    try {
      await client.call('worker', 'POST', '/leave', { id }, signal)
    } catch (error) {
      if (!isSvcError(error, 'MSP_REFUSED') || (error.data as { readonly status: number }).status !== 404) throw error
      was_node = false
    }
    const was_member = membership.remove()
    const text = was_node ? `${id} has left the mesh.` : `The control plane did not know ${id}.`
    return { was_node, was_member, text }
  }
}

export function maintenanceHandler({ client }: HandlerParts): Handler<typeof maintenanceOperation> {
  return async ({ node, state, for_ms, until_unix_ms }, { signal }) => {
    const body = {
      node_id: node,
      maintenance: state === 'on',
      ...(for_ms === undefined ? null : { maintenance_for_ms: for_ms }),
      ...(until_unix_ms === undefined ? null : { maintenance_until_unix_ms: until_unix_ms })
    }
    await client.call('admin', 'POST', '/admin/maintenance', body, signal)
    return { node, state, text: `Maintenance of ${node} is ${state}.` }
  }
}

export function quarantineHandler({ client }: HandlerParts): Handler<typeof quarantineOperation> {
  return async ({ node, state }, { signal }) => {
    await client.call('admin', 'POST', '/admin/quarantine', { node_id: node, quarantined: state === 'on' }, signal)
    return { node, state, text: `Quarantine of ${node} is ${state}.` }
  }
}

export function revokeHandler({ client }: HandlerParts): Handler<typeof revokeOperation> {
  return async ({ lease }, { signal }) => {
    await client.call('admin', 'POST', '/admin/exec-lease/revoke', { lease_id: lease }, signal)
    return { lease, text: `Lease ${lease} has ended.` }
  }
}

/** Returns the exec leases; null if the token may not list them. */
async function leasesOf(client: ControlClient, signal: AbortSignal): Promise<ExecLeaseList['leases'] | null> {
  try {
    return ((await client.call('admin', 'GET', '/exec/leases', undefined, signal)) as ExecLeaseList).leases
  } catch (error) {
    if (isSvcError(error, 'MSP_REFUSED')) return null
    throw error
  }
}

function statusNode(node: NodeRecord, now: number): StatusNode {
  const { id, version, quarantined, maintenance, capabilities, last_seen_unix_ms, gpu_total_count } = node
  return {
    id,
    state: quarantined === true ? 'quarantined' : maintenance === true ? 'maintenance' : 'ready',
    seen_seconds_ago: Math.max(0, Math.round((now - last_seen_unix_ms) / 1_000)),
    version,
    labels: capabilities.labels ?? [],
    gpus: gpu_total_count ?? null,
    models: node.loaded_llm_models ?? []
  }
}

import type { Coordination, HttpHandlers, MeshAccess, MeshSettings, TokenBuckets } from '@svc/contracts'
import { parseMeshPublicKey } from '@svc/contracts/mesh-signature'
import type { Logger } from '@svc/plugin-sdk'
import { Bearers } from './bearers.ts'
import { Bootstrap } from './bootstrap.ts'
import { clientAddresses } from './client-address.ts'
import { controlRoutes } from './control-routes.ts'
import { controlServer } from './control-server.ts'
import { ExecLeases } from './exec-leases.ts'
import { HostGuard } from './host-guard.ts'
import { InboxWaiters } from './inbox-waiters.ts'
import { JwtBearers } from './jwt.ts'
import { Mailbox } from './mailbox.ts'
import { NodeLists, nodeLimit } from './node-list.ts'
import { NodeRegistry } from './node-registry.ts'
import { RateLimit } from './rate-limit.ts'
import { MeshScope } from './scope.ts'
import type { Settings } from './settings.ts'
import { viewRoutes } from './views-routes.ts'

export interface BuildParts {
  readonly config: Settings
  readonly mesh: MeshSettings
  readonly store: Coordination
  readonly wrong: TokenBuckets
  readonly ready: () => Promise<string | null>
  readonly log: Logger
}

export interface Control {
  readonly handlers: HttpHandlers
  /** Access control for other protocols on the listener. */
  readonly access: MeshAccess
  readonly scope: MeshScope
  readonly nodes: NodeRegistry
  readonly mailbox: Mailbox
  readonly leases: ExecLeases
  readonly waiters: InboxWaiters
  readonly store: () => Coordination
  /** False if every caller is accepted. */
  readonly requiresToken: boolean
}

/** Builds a control plane from its settings. Throws `MSC_SETTINGS_INVALID` or `MSH_KEY_INVALID`. */
export function buildControl({ config, mesh, store, wrong, ready, log }: BuildParts): Control {
  const current = () => store
  const scope = new MeshScope(mesh.scopeId)
  const tokens = mesh.roleTokens()
  const leaseMs = clamp(config.a2a_lease_ms, 1_000, 3_600_000)
  const verifyKey = config.worker_result_verify_key
  const bearers = new Bearers({
    tokens,
    jwt: config.jwt_hmac_secret === undefined ? null : new JwtBearers(config.jwt_hmac_secret, current),
    wrong
  })
  const lists = new NodeLists({ store: current, scope, pruneMs: config.server_stale_prune_ms })
  const nodes = new NodeRegistry({
    store: current,
    scope,
    limit: nodeLimit(lists),
    onChange: () => lists.changed()
  })
  const mailbox = new Mailbox({
    store: current,
    scope,
    nodes,
    leaseMs,
    maxMessages: clamp(config.a2a_max_messages, 1, 500_000),
    verifyKey: verifyKey === undefined ? null : parseMeshPublicKey(verifyKey, 'SVC_MESH_WORKER_RESULT_VERIFY_KEY'),
    reuseKeys: mesh.reuseKeysAfterAck
  })
  const leases = new ExecLeases({ store: current, scope, nodes, leaseMs })
  const waiters = new InboxWaiters(current)
  const routes = [
    ...controlRoutes({
      nodes,
      lists,
      mailbox,
      waiters,
      leases,
      bootstrap: new Bootstrap({
        store: current,
        scope,
        token: config.bootstrap_token ?? null,
        expiresAt: config.bootstrap_expires_unix_ms ?? null,
        meshToken: tokens.mesh ?? null
      }),
      wrong: wrong.another(),
      now: () => store.now()
    }),
    ...viewRoutes({ store: current, scope, nodes })
  ]
  const perSecond = config.http_rate_limit_per_sec
  const guard = new HostGuard({
    host: config.host,
    allowedHosts: config.allowed_hosts,
    hasTokens: bearers.areRequired
  })
  const addresses = clientAddresses(config.trusted_proxies)
  const limit = config.http_rate_limit
    ? new RateLimit({ perSecond, burst: config.http_rate_limit_burst ?? 2 * perSecond, store: current })
    : null
  const access: MeshAccess = {
    admit: request => guard.admit(request),
    async identify(request) {
      guard.admit(request)
      const client = addresses.keyOf(request)
      await limit?.take(client)
      return bearers.identify(request, client)
    }
  }
  const handlers = controlServer({
    routes,
    guard,
    bearers,
    addresses,
    limit,
    maxBodyBytes: config.http_max_body_bytes,
    ready,
    log
  })
  return {
    handlers,
    access,
    scope,
    nodes,
    mailbox,
    leases,
    waiters,
    store: current,
    requiresToken: bearers.areRequired
  }
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most)
}

import t from 'tap'
import { isHttpStatus, MeshClient, unfitness } from '#root'
import { eventually, openControl, openHost, TOKEN, WORKS } from './bed.ts'

const NOW = 1_800_000_000_000
const node = { id: 'a', version: '1', last_seen_unix_ms: NOW, capabilities: {} }

t.test('the first reason in the order of the protocol counts', async t => {
  const at = (fields: object, isStale = false) => unfitness({ ...node, ...fields }, NOW, isStale)
  const gpu = { capabilities: { gpu_cuda: true }, gpu_readiness_ok: false }
  t.equal(unfitness(undefined, NOW, false), 'holder_not_in_registry')
  t.equal(at({}), null)
  t.equal(at({ maintenance: true, quarantined: true, ...gpu }, true), 'holder_heartbeat_stale')
  t.equal(at({ maintenance: true, quarantined: true, ...gpu }), 'holder_in_maintenance')
  t.equal(at({ maintenance: true, maintenance_until_unix_ms: NOW, quarantined: true, ...gpu }), 'holder_quarantined')
  t.equal(at(gpu), 'holder_gpu_not_ready')
  t.equal(at({ gpu_readiness_ok: false }), null, 'a node without a GPU need not be ready')
  t.equal(at({ capabilities: { gpu_cuda: true } }), null, 'a node without a probe counts as ready')
})

t.test('leases of missing and unfit holders are revoked if the settings say so, and reported', async t => {
  const control = await openControl(t)
  const client = new MeshClient({
    settings: { controlUrls: [control.url], token: () => TOKEN },
    controlUrl: () => null,
    timeoutMs: () => 10_000
  })
  const report = (id: string, more: object = {}) => ({ id, version: '1', capabilities: {}, ...more })
  await client.join(report('gone'))
  await client.join(report('sick', { capabilities: { gpu_cuda: true }, gpu_readiness_ok: false }))
  await client.join(report('fit'))
  const gone = await client.grant('gone', 'job:1')
  const sick = await client.grant('sick', 'job:2')
  const fit = await client.grant('fit', 'job:3')
  await client.leave('gone')
  const watcher = await openHost(t, {
    name: 'watcher',
    url: control.url,
    orchestrator: { ...WORKS, mesh_exec_lease_reconcile: true, mesh_exec_lease_auto_revoke: true },
    mesh: { telemetry: true }
  })
  await eventually(async () => ((await client.leases()).length === 1 ? true : null))
  t.match(await client.leases(), [{ lease_id: fit.lease_id }])
  const rows = await eventually(async () => {
    const { rows } = await watcher.database.query(
      "SELECT metadata_json FROM research_metrics WHERE metadata_json LIKE '%mesh_exec_lease_reconcile%' ORDER BY id"
    )
    return rows.length === 2 ? rows : null
  })
  t.match(
    rows.map(([json]) => JSON.parse(String(json)).details),
    [
      {
        reason: 'holder_not_in_registry',
        lease_id: gone.lease_id,
        holder_node_id: 'gone',
        scope_key: 'job:1',
        expires_unix_ms: Number,
        auto_revoke_attempted: true,
        auto_revoke_ok: true
      },
      { reason: 'holder_gpu_not_ready', lease_id: sick.lease_id, auto_revoke_ok: true }
    ]
  )
  const error = await client.renewLease(sick.lease_id, 'sick').catch((error: unknown) => error)
  t.ok(isHttpStatus(error, 404))
})

t.test('without the revoke, leases are only reported', async t => {
  const control = await openControl(t)
  const client = new MeshClient({
    settings: { controlUrls: [control.url], token: () => TOKEN },
    controlUrl: () => null,
    timeoutMs: () => 10_000
  })
  await client.join({ id: 'gone', version: '1', capabilities: {} })
  await client.grant('gone', 'job:1')
  await client.leave('gone')
  const watcher = await openHost(t, {
    name: 'watcher',
    url: control.url,
    orchestrator: { ...WORKS, mesh_exec_lease_reconcile: true }
  })
  const line = await eventually(() => {
    return watcher.kernel.log.find(({ message }) => message.includes('holder of an exec lease')) ?? null
  })
  t.match(line, {
    level: 'warn',
    fields: { reason: 'holder_not_in_registry', auto_revoke_attempted: false, auto_revoke_ok: null }
  })
  t.equal((await client.leases()).length, 1)
})

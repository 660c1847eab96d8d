import t from 'tap'
import { DELEGATES, eventually, openControl, openHost, TOKEN, WORKS } from './bed.ts'

t.test('a host joins, sends heartbeats, sees the others, and leaves', async t => {
  const control = await openControl(t)
  const one = await openHost(t, { name: 'one', url: control.url, orchestrator: WORKS, mesh: { labels: ['pool=a'] } })
  const two = await openHost(t, { name: 'two', url: control.url, orchestrator: WORKS })
  const cache = await eventually(async () => {
    const section = await one.section('mesh_federation_cache')
    return section?.node_count === 1 ? section : null
  })
  t.match(cache, {
    ok: true,
    control_url: control.url,
    schedulable_after: 1,
    nodes: [{ node_id: 'two', heartbeat_stale: false, maintenance: false, quarantined: false }]
  })
  t.match(one.tasks.remote.nodes(), [{ node_id: 'two', source: 'mesh' }])
  const snapshot = await one.section('mesh_snapshot')
  t.match(snapshot, { ok: true, schema_version: 1, node_count: 2 })
  t.match(snapshot.nodes[0], { id: 'one', capabilities: { labels: ['pool=a'], arch: String, cpu_cores: Number } })
  const seenAt = async () => (await control.store.nodes.find('default', 'two'))?.seenAt ?? 0
  const first = await seenAt()
  await eventually(async () => ((await seenAt()) > first ? true : null))
  await two.close()
  t.equal(await control.store.nodes.find('default', 'two'), null)
  await eventually(() => (one.tasks.remote.nodes().length === 0 ? true : null))
})

t.test('a node in quarantine or maintenance is listed, but not schedulable', async t => {
  const control = await openControl(t)
  const one = await openHost(t, { name: 'one', url: control.url, orchestrator: WORKS })
  await openHost(t, { name: 'two', url: control.url, orchestrator: WORKS })
  const remote = () => one.tasks.remote.nodes()
  await eventually(() => (remote().length === 1 ? true : null))
  await control.store.nodes.flag('default', 'two', { quarantined: true })
  await eventually(() => (remote()[0]?.quarantined === true ? true : null))
  await control.store.nodes.flag('default', 'two', { quarantined: false, maintenance: true })
  await eventually(() => (remote()[0]?.maintenance === true && remote()[0]?.quarantined === false ? true : null))
  t.match(await one.section('mesh_federation_cache'), { schedulable_after: 0 })
})

t.test('a failed poll clears the nodes, which is a drop, and is shown with its error', async t => {
  const control = await openControl(t)
  const one = await openHost(t, {
    name: 'one',
    url: control.url,
    orchestrator: { ...WORKS, mesh_rebalance_on_remote_schedulable_drop: true, mesh_routing_experimental: true }
  })
  const two = await openHost(t, { name: 'two', url: control.url, orchestrator: WORKS })
  await eventually(() => (one.tasks.remote.nodes().length === 1 ? true : null))
  await control.close()
  const cache = await eventually(async () => {
    const section = await one.section('mesh_federation_cache')
    return section.ok ? null : section
  })
  t.match(cache, {
    node_count: 0,
    nodes: [],
    schedulable_before: 1,
    schedulable_after: 0,
    error: /GET \/v1\/mesh\/nodes/
  })
  t.same(one.tasks.remote.nodes(), [])
  t.match(await one.section('mesh_snapshot'), { ok: false, schema_version: 1, node_count: 0, error: String })
  const text = JSON.stringify(one.kernel.log)
  t.match(text, /mesh_remote_schedulable_decreased/)
  t.notMatch(text, TOKEN)
  await two.close()
})

t.test('the status leaves out nodes that were not seen for longer than the limit', async t => {
  const control = await openControl(t)
  await control.store.nodes.put('default', 'old', '{"id":"old","capabilities":{},"version":"1"}', null)
  const one = await openHost(t, {
    name: 'one',
    url: control.url,
    orchestrator: WORKS,
    mesh: { max_stale_ms: 1_500 }
  })
  const ids = async () => (await one.section('mesh_snapshot')).nodes.map(({ id }: { id: string }) => id)
  await eventually(async () => ((await ids()).includes('one') ? true : null))
  await eventually(async () => ((await ids()).includes('old') ? null : true))
  t.same(await ids(), ['one'])
})

t.test('telemetry rows tell of publication, join and status, and never of a token', async t => {
  const control = await openControl(t)
  const one = await openHost(t, { name: 'one', url: control.url, orchestrator: WORKS, mesh: { telemetry: true } })
  const rows = async () => {
    const { rows } = await one.database.query(
      "SELECT session_id, metadata_json FROM research_metrics WHERE metric_type = 'mesh_control_event' ORDER BY id"
    )
    return rows as readonly (readonly [string, string])[]
  }
  await eventually(async () => ((await rows()).length >= 2 ? true : null))
  await one.section('mesh_snapshot')
  const found = await eventually(async () => {
    const all = await rows()
    return all.length >= 3 ? all : null
  })
  const { repositoryId } = one.tasks
  t.same(
    found.map(([, json]) => JSON.parse(json).name),
    ['local_registry_publish', 'mesh_http_join_ok', 'orchestrator_status_snapshot']
  )
  for (const [session, json] of found) {
    t.equal(session, `mesh:${repositoryId}`)
    t.match(JSON.parse(json), { repository_id: repositoryId, details: {} })
    t.notMatch(json, TOKEN)
  }
})

t.test('a host without a control URL shows no mesh, and joins once it has one', async t => {
  const control = await openControl(t)
  const one = await openHost(t, {
    name: 'one',
    orchestrator: { ...DELEGATES, ...WORKS },
    mesh: { enabled: false },
    node: {}
  })
  t.equal(await one.section('mesh_snapshot'), undefined)
  t.equal(await one.section('mesh_federation_cache'), undefined)
  const task = await one.submit()
  t.match(one.tasks.task(task), { status: { kind: 'Queued' }, placement_reason: 'local_queue_default' })
  await one.joinMesh(control.url)
  await eventually(async () => ((await control.store.nodes.find('default', 'one')) === null ? null : true))
  t.match(await one.section('mesh_snapshot'), { ok: true })
})

import { mkdir, readdir, readFile, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ownIdentity } from '@svc/contracts'
import fc from 'fast-check'
import t from 'tap'
import {
  CachedGpuProbe,
  hasReadyGpu,
  hintOf,
  holderId,
  isNodeRecord,
  KnownNodes,
  modelServers,
  nodeReportOf,
  probeGpus,
  type RunProgram,
  remoteNodeOf,
  steadyMemory,
  takeNodeSeat
} from '#root'

const NOW = 1_800_000_000_000
/** Without an answer of a control plane, it compares the clock of this machine. */
const known = new KnownNodes()
const FIELDS = [
  'id',
  'capabilities',
  'last_seen_unix_ms',
  'maintenance',
  'maintenance_until_unix_ms',
  'quarantined',
  'workload_classes',
  'gpu_total_count',
  'gpu_readiness_ok',
  'gpu_readiness_reason'
]
const none = new AbortController().signal

/** A `nvidia-smi` with these GPUs. */
const smi =
  (gpus: readonly { readonly errors: string }[], cuda = '12.8'): RunProgram =>
  async (program, args) => {
    if (program !== 'nvidia-smi') throw new Error('no such program')
    if (args[0] === '-q') return `Driver Version : 580.65.06\nCUDA Version                          : ${cuda}\n`
    if (args[0]?.includes('ecc')) return gpus.map(({ errors }, index) => `${index}, ${errors}`).join('\n')
    return gpus.map((_, index) => `${index}, NVIDIA H100, 81559, 580.65.06`).join('\n')
  }
const missing: RunProgram = async () => {
  throw new Error('ENOENT')
}

t.test('a healthy GPU is ready, and driver and CUDA versions are reported', async t => {
  const run = smi([{ errors: '0' }, { errors: '[N/A]' }])
  t.same(await probeGpus({ declared: false, readiness: true, run, now: () => NOW }, none), {
    gpu_total_count: 2,
    gpu_healthy_count: 2,
    gpu_allocatable_count: 2,
    gpu_inventory_source: 'nvidia-smi',
    gpu_truth_layer: 'driver',
    nvidia_driver_version: '580.65.06',
    cuda_driver_version: '12.8',
    gpu_readiness_ok: true,
    gpu_readiness_reason: 'ready',
    gpu_readiness_checked_unix_ms: NOW
  })
})

t.test('GPUs with uncorrected errors are not healthy, and a host with only such GPUs is not ready', async t => {
  const half = await probeGpus({ declared: false, readiness: true, run: smi([{ errors: '0' }, { errors: '3' }]) }, none)
  t.match(half, { gpu_total_count: 2, gpu_healthy_count: 1, gpu_readiness_ok: true })
  const broken = await probeGpus({ declared: false, readiness: true, run: smi([{ errors: '1' }]) }, none)
  t.match(broken, { gpu_healthy_count: 0, gpu_readiness_ok: false, gpu_readiness_reason: 'uncorrected_errors' })
})

t.test('a host without driver or GPU is not ready, and without the probe the fields stay empty', async t => {
  t.match(await probeGpus({ declared: false, readiness: true, run: missing }, none), {
    gpu_readiness_ok: false,
    gpu_readiness_reason: 'no_driver'
  })
  t.match(await probeGpus({ declared: false, readiness: true, run: smi([]) }, none), { gpu_readiness_reason: 'no_gpu' })
  t.same(await probeGpus({ declared: false, readiness: false, run: missing }, none), {})
  const off = await probeGpus({ declared: false, readiness: false, run: smi([{ errors: '0' }]) }, none)
  t.equal(off.gpu_total_count, 1)
  t.notOk(Object.keys(off).some(key => key.startsWith('gpu_readiness')))
})

t.test('a probe is repeated after five minutes, and after a failure', async t => {
  let now = 0
  let probes = 0
  const cached = new CachedGpuProbe(
    async () => {
      probes += 1
      if (probes === 1) throw new Error('aborted')
      return { gpu_total_count: probes }
    },
    () => now
  )
  await t.rejects(cached.facts(none))
  t.same(await cached.facts(none), { gpu_total_count: 2 })
  now = 299_999
  t.same(await cached.facts(none), { gpu_total_count: 2 })
  now = 300_000
  t.same(await cached.facts(none), { gpu_total_count: 3 })
})

t.test('a declared GPU is not probed for an inventory', async t => {
  const facts = await probeGpus({ declared: true, readiness: false, run: missing }, none)
  t.match(facts, { gpu_total_count: 1, gpu_inventory_source: 'settings', gpu_truth_layer: 'declared' })
})

t.test('a record has what the settings advertise, and leaves out what is absent', async t => {
  const advertise = { gpu: true, vulkan: false, webgpu: false, npu: true, deviceClass: 'desktop' }
  const report = nodeReportOf({
    id: 'box',
    version: '1.2.3',
    settings: { scopeId: null, labels: ['pool=a'], advertise },
    listenAddress: null,
    visibility: null,
    inbox: null,
    gpus: {},
    loadedModels: null,
    environment: { HOSTNAME: 'box', SVC_GPU_MODEL: 'H100', SVC_GPU_VRAM_MB: '81559' }
  })
  t.match(report, {
    id: 'box',
    version: '1.2.3',
    capabilities: {
      hostname: 'box',
      gpu_cuda: true,
      npu: true,
      device_class: 'desktop',
      labels: ['pool=a'],
      min_vram_mb: 81559
    }
  })
  for (const absent of ['scope_id', 'listen_addr', 'visibility', 'loaded_llm_models', 'quarantined'])
    t.notOk(absent in report, absent)
  t.notOk('gpu_vulkan' in report.capabilities)
})

t.test('the free memory is reported again when it changed by an eighth of all memory', async t => {
  const gib = 2 ** 30
  const free = (amount: number) => steadyMemory(amount * gib, 64 * gib) / gib
  t.equal(free(2_040.5), 2_040)
  t.equal(free(2_047.9), 2_040)
  t.equal(free(2_032.1), 2_040)
  t.equal(free(2_048.3), 2_048)
  t.equal(free(2_040.4), 2_048)
  t.equal(free(2_039.9), 2_039)
})

t.test('the holder of leases is named after the node, the scope, or the program', async t => {
  t.equal(holderId('box', 'team'), 'orch-box')
  t.equal(holderId(null, 'team'), 'orch-team')
  t.equal(holderId(null, null), 'orch-orchestrator-host')
})

t.test('a hint says whether a node is stale, in maintenance or quarantined, at the time of the poll', async t => {
  const node = { id: 'a', capabilities: {}, version: '1', last_seen_unix_ms: NOW - 60_000 }
  t.match(hintOf(node, NOW, false), { heartbeat_stale: false, maintenance: false, quarantined: false })
  t.match(hintOf(node, NOW, true), { heartbeat_stale: true })
  t.equal(known.isStale(node, NOW, 60_000), false)
  t.equal(known.isStale(node, NOW + 1, 60_000), true)
  t.equal(known.isStale(node, NOW + 1, 0), false)
  t.match(hintOf({ ...node, quarantined: true, maintenance: true }, NOW, false), {
    maintenance: true,
    quarantined: true
  })
  t.match(hintOf({ ...node, maintenance: true, maintenance_until_unix_ms: NOW }, NOW, false), { maintenance: false })
})

t.test('values of a wrong type in a record count as absent', async t => {
  const node = {
    id: 'a',
    version: '1',
    last_seen_unix_ms: 'yesterday',
    capabilities: { gpu_cuda: 'yes', cpu_cores: 8, labels: ['workload=train', 'x'], extra: 1 },
    gpu_readiness_ok: 'maybe',
    gpu_total_count: '2'
  }
  const hint = hintOf(node as never, NOW, known.isStale(node as never, NOW, 1))
  t.same(hint.capabilities, { cpu_cores: 8, labels: ['workload=train', 'x'] })
  t.same(hint.training_labels, ['workload=train'])
  t.ok(hint.heartbeat_stale)
  t.notOk('gpu_readiness_ok' in hint)
  t.notOk('gpu_total_count' in hint)
  t.notOk(isNodeRecord({ id: 7 }))
  t.notOk(isNodeRecord(null))
})

t.test('a node has a ready GPU unless its probe says otherwise', async t => {
  const node = { id: 'a', version: '1', last_seen_unix_ms: NOW, capabilities: { gpu_cuda: true } }
  t.ok(remoteNodeOf(hintOf(node, NOW, false)).has_gpu)
  t.notOk(hasReadyGpu(hintOf({ ...node, gpu_readiness_ok: false }, NOW, false)))
  t.notOk(remoteNodeOf(hintOf({ ...node, capabilities: {} }, NOW, false)).has_gpu)
  t.ok(remoteNodeOf(hintOf({ ...node, capabilities: {}, gpu_allocatable_count: 1 }, NOW, false)).has_gpu)
})

t.test('each process of a machine gets a separate number, and releases it', async t => {
  const folder = join(t.testdir({}), 'processes')
  const seats = await Promise.all([takeNodeSeat(folder), takeNodeSeat(folder), takeNodeSeat(folder)])
  t.same(seats.map(({ number }) => number).sort(), [1, 2, 3])
  const second = seats.find(({ number }) => number === 2)
  await second?.release()
  const again = await takeNodeSeat(folder)
  t.equal(again.number, 2)
  await second?.release()
  t.match(await readdir(folder), { length: 3 }, 'a released seat does not remove that of its successor')
  for (const seat of [...seats, again]) await seat.release()
  t.same(await readdir(folder), [])
})

t.test('the number of a process that ended is free at once, and that of an unknown process after a minute', async t => {
  const folder = t.testdir({})
  await mkdir(folder, { recursive: true })
  const own = ownIdentity()
  const [boot, namespace] = own.start?.split(' ') ?? []
  await writeFile(join(folder, 'seat-1.json'), JSON.stringify({ ...own, start: `${boot} ${namespace} 1` }))
  await writeFile(join(folder, 'seat-2.json'), JSON.stringify({ ...own, host: 'another' }))
  const first = await takeNodeSeat(folder)
  t.equal(first.number, 1)
  const third = await takeNodeSeat(folder)
  t.equal(third.number, 3)
  const past = new Date(Date.now() - 120_000)
  await utimes(join(folder, 'seat-2.json'), past, past)
  const second = await takeNodeSeat(folder)
  t.equal(second.number, 2)
  t.match(JSON.parse(await readFile(join(folder, 'seat-2.json'), 'utf8')), { pid: process.pid })
  for (const seat of [first, second, third]) await seat.release()
})

t.test(
  'nodes that advertise an address and loaded models are model servers, unless they may not receive work',
  async t => {
    const node = (id: string, more: object = {}) => ({
      id,
      version: '1',
      last_seen_unix_ms: NOW,
      capabilities: {},
      listen_addr: `http://${id}:11435/`,
      loaded_llm_models: ['toy'],
      ...more
    })
    const nodes = [
      node('good'),
      node('ünïcode', { listen_addr: 'https://10.0.0.2/base' }),
      node('quarantined', { quarantined: true }),
      node('stale', { last_seen_unix_ms: NOW - 120_000 }),
      node('idle', { loaded_llm_models: [] }),
      node('wrong', { listen_addr: 'file:///etc/passwd' }),
      node('secret', { listen_addr: 'http://user:pass@host' }),
      node('self')
    ]
    const hints = nodes
      .filter(({ id }) => id !== 'self')
      .map(each => hintOf(each, NOW, known.isStale(each, NOW, 60_000)))
    const last = { polled_unix_ms: NOW, hints, schedulable_before: 0, schedulable_after: 0, error: null }
    t.same(modelServers({ last, nodes }).list(), [
      { name: 'good', url: 'http://good:11435', api: 'svc', models: ['toy'] },
      { name: '_n_code', url: 'https://10.0.0.2/base', api: 'svc', models: ['toy'] }
    ])
    t.same(modelServers({ last: null, nodes: [] }).list(), [])
  }
)

t.test('no record makes the conversion of a node list throw', async () => {
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...FIELDS), fc.jsonValue(), { maxKeys: 12 }), record => {
      if (!isNodeRecord(record)) return true
      const hint = hintOf(record, NOW, known.isStale(record, NOW, 60_000))
      return remoteNodeOf(hint).node_id === record.id && Array.isArray(hint.labels)
    })
  )
})

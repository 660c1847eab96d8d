import t from 'tap'
import {
  type AdvertisedCapabilities,
  advertisedOf,
  type HostFacts,
  hostFacts,
  mergeCapabilities,
  probeHost
} from '#routing'

const NOTHING: AdvertisedCapabilities = { gpu: false, vulkan: false, webgpu: false, npu: false }
const FACTS: HostFacts = { parallelism: 8, arch: 'x64', environment: {}, hostname: 'box' }

t.test('rule 1: configured capabilities are preserved', async t => {
  const configured = { routing_tier: 'fast', multi_modal: true, labels: ['x'], prefer_gpu_compute: true }
  t.same(mergeCapabilities(configured, {}), configured)
})

t.test('rule 2: cores, architecture and host name come from the host, if known', async t => {
  const configured = { cpu_cores: 64, arch: 'mips', hostname: 'other' }
  const probe = { cpu_cores: 8, arch: 'x86_64', hostname: 'box' }
  t.same(mergeCapabilities(configured, probe), probe)
  t.same(mergeCapabilities(configured, { cpu_cores: 8 }), { ...configured, cpu_cores: 8 })
})

t.test('rule 3: configured labels come first, without duplicates', async t => {
  const { labels } = mergeCapabilities({ labels: ['b', 'a', 'b'] }, { labels: ['c', 'a', 'd', 'c'] })
  t.same(labels, ['b', 'a', 'c', 'd'])
})

t.test('rule 4: flags come from settings or host; the device class comes from the host if not configured', async t => {
  t.same(mergeCapabilities({ gpu_cuda: true, npu: false }, { gpu_cuda: false, npu: true, gpu_vulkan: false }), {
    gpu_cuda: true,
    npu: true
  })
  t.same(mergeCapabilities({ gpu_cuda: false }, {}), {}, 'false flags are left out')
  t.equal(mergeCapabilities({ device_class: 'mine' }, { device_class: 'probe' }).device_class, 'mine')
  t.equal(mergeCapabilities({}, { device_class: 'probe' }).device_class, 'probe')
})

t.test('rule 5: memory and minimum cores come from the host only if not configured', async t => {
  const probe = { min_vram_mb: 16_000, min_cpu_cores: 8 }
  t.same(mergeCapabilities({ min_vram_mb: 0 }, probe), { min_vram_mb: 0, min_cpu_cores: 8 })
  t.same(mergeCapabilities({ min_cpu_cores: 2 }, probe), { min_cpu_cores: 2, min_vram_mb: 16_000 })
})

t.test('a probe contains the advertised devices', async t => {
  t.same(mergeCapabilities({}, probeHost(NOTHING, FACTS)), {
    cpu_cores: 8,
    min_cpu_cores: 8,
    arch: 'x86_64',
    hostname: 'box'
  })
  const all = { gpu: true, vulkan: true, webgpu: true, npu: true, device_class: 'desktop' }
  t.match(mergeCapabilities({}, probeHost(all, FACTS)), {
    gpu_cuda: true,
    gpu_vulkan: true,
    gpu_webgpu: true,
    npu: true,
    device_class: 'desktop'
  })
})

t.test('the host name comes from the environment, or else from the system', async t => {
  const name = (environment: HostFacts['environment']) => probeHost(NOTHING, { ...FACTS, environment }).hostname
  t.equal(name({ HOSTNAME: 'one', COMPUTERNAME: 'two' }), 'one')
  t.equal(name({ HOSTNAME: ' ', COMPUTERNAME: 'two' }), 'two')
  t.equal(name({}), 'box')
})

t.test('GPU memory counts only together with the GPU model', async t => {
  const vram = (environment: HostFacts['environment']) => probeHost(NOTHING, { ...FACTS, environment }).min_vram_mb
  t.equal(vram({ SVC_GPU_MODEL: 'X', SVC_GPU_VRAM_MB: '16000' }), 16_000)
  t.equal(vram({ SVC_GPU_VRAM_MB: '16000' }), undefined)
  t.equal(vram({ SVC_GPU_MODEL: 'X' }), undefined)
  t.equal(vram({ SVC_GPU_MODEL: '', SVC_GPU_VRAM_MB: '16000' }), undefined)
  for (const nonsense of ['0', '-1', 'much', '', '1.5'])
    t.equal(vram({ SVC_GPU_MODEL: 'X', SVC_GPU_VRAM_MB: nonsense }), undefined, nonsense)
})

t.test('the advertised devices come from the settings', async t => {
  const settings = {
    host_advertise_gpu: true,
    host_advertise_vulkan: false,
    host_advertise_webgpu: true,
    host_advertise_npu: false,
    host_device_class: 'desktop'
  }
  t.same(mergeCapabilities({}, probeHost(advertisedOf(settings), FACTS)), {
    cpu_cores: 8,
    min_cpu_cores: 8,
    arch: 'x86_64',
    hostname: 'box',
    gpu_cuda: true,
    gpu_webgpu: true,
    device_class: 'desktop'
  })
})

t.test('the facts of the current host include cores and a name', async t => {
  const { cpu_cores = 0, hostname, arch } = probeHost(NOTHING, hostFacts())
  t.ok(cpu_cores >= 1)
  t.ok(hostname)
  t.ok(arch)
})

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

t.test('1: what is configured stays', async t => {
  const configured = { routing_tier: 'fast', multi_modal: true, labels: ['x'], prefer_gpu_compute: true }
  t.same(mergeCapabilities(configured, {}), configured)
})

t.test('2: cores, architecture and name are those of the host, where it knows them', async t => {
  const configured = { cpu_cores: 64, arch: 'mips', hostname: 'other' }
  const probe = { cpu_cores: 8, arch: 'x86_64', hostname: 'box' }
  t.same(mergeCapabilities(configured, probe), probe)
  t.same(mergeCapabilities(configured, { cpu_cores: 8 }), { ...configured, cpu_cores: 8 })
})

t.test('3: labels that are configured come first, and none twice', async t => {
  const { labels } = mergeCapabilities({ labels: ['b', 'a', 'b'] }, { labels: ['c', 'a', 'd', 'c'] })
  t.same(labels, ['b', 'a', 'c', 'd'])
})

t.test('4: a flag is set where either says so, and the class of the device where none is configured', async t => {
  t.same(mergeCapabilities({ gpu_cuda: true, npu: false }, { gpu_cuda: false, npu: true, gpu_vulkan: false }), {
    gpu_cuda: true,
    npu: true
  })
  t.same(mergeCapabilities({ gpu_cuda: false }, {}), {}, 'a flag that is not set is not there')
  t.equal(mergeCapabilities({ device_class: 'mine' }, { device_class: 'probe' }).device_class, 'mine')
  t.equal(mergeCapabilities({}, { device_class: 'probe' }).device_class, 'probe')
})

t.test('5: memory and least cores are filled in only where they are not configured', async t => {
  const probe = { min_vram_mb: 16_000, min_cpu_cores: 8 }
  t.same(mergeCapabilities({ min_vram_mb: 0 }, probe), { min_vram_mb: 0, min_cpu_cores: 8 })
  t.same(mergeCapabilities({ min_cpu_cores: 2 }, probe), { min_cpu_cores: 2, min_vram_mb: 16_000 })
})

t.test('the host has what is advertised of it', async t => {
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

t.test('the name is that of the environment, then that of the system', async t => {
  const name = (environment: HostFacts['environment']) => probeHost(NOTHING, { ...FACTS, environment }).hostname
  t.equal(name({ HOSTNAME: 'one', COMPUTERNAME: 'two' }), 'one')
  t.equal(name({ HOSTNAME: ' ', COMPUTERNAME: 'two' }), 'two')
  t.equal(name({}), 'box')
})

t.test('memory of a GPU counts only together with its name', async t => {
  const vram = (environment: HostFacts['environment']) => probeHost(NOTHING, { ...FACTS, environment }).min_vram_mb
  t.equal(vram({ SVC_GPU_MODEL: 'X', SVC_GPU_VRAM_MB: '16000' }), 16_000)
  t.equal(vram({ SVC_GPU_VRAM_MB: '16000' }), undefined)
  t.equal(vram({ SVC_GPU_MODEL: 'X' }), undefined)
  t.equal(vram({ SVC_GPU_MODEL: '', SVC_GPU_VRAM_MB: '16000' }), undefined)
  for (const nonsense of ['0', '-1', 'much', '', '1.5'])
    t.equal(vram({ SVC_GPU_MODEL: 'X', SVC_GPU_VRAM_MB: nonsense }), undefined, nonsense)
})

t.test('what is advertised is what the settings say', async t => {
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

t.test('the host that this runs on has cores and a name', async t => {
  const { cpu_cores = 0, hostname, arch } = probeHost(NOTHING, hostFacts())
  t.ok(cpu_cores >= 1)
  t.ok(hostname)
  t.ok(arch)
})

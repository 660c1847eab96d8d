import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import {
  type ConfiguredGpu,
  type CudaProvider,
  capturesRuns,
  cudaObstacle,
  Devices,
  type Host,
  libraryCommand,
  neededLibraries,
  parseDevice,
  providerFiles,
  type Survey,
  webgpuObstacle
} from '#device'
import { findLibrary, ownRequire } from '#ort'
import { bareHost, nvidiaHost, sharedLibrary } from '../support/hosts.ts'
import { temporaryFolder } from '../support/models.ts'

const linux = process.platform === 'linux' ? {} : { skip: 'devices are searched for on Linux' }

function devicesOf(
  host: Host,
  libraryDirectory: string,
  more: { native?: boolean; configuredGpu?: ConfiguredGpu } = {}
) {
  const notes: string[] = []
  const devices = new Devices({
    host,
    libraryDirectory,
    require: ownRequire(),
    core: findLibrary(ownRequire()),
    native: true,
    onFallback: note => void notes.push(note),
    ...more
  })
  return { devices, notes }
}

t.test('parses device names', async t => {
  t.same(parseDevice('auto'), { kind: 'auto' })
  t.same(parseDevice('best'), { kind: 'auto' })
  t.same(parseDevice('cuda'), { kind: 'cuda', index: 0 })
  t.same(parseDevice('cuda:3'), { kind: 'cuda', index: 3 })
  t.same(parseDevice('webgpu'), { kind: 'webgpu' })
  for (const name of ['', 'gpu', 'cuda:', 'cuda:-1', 'cuda:1x', 'CPU']) {
    t.throws(() => parseDevice(name), { code: 'INF_DEVICE_UNAVAILABLE' }, name)
  }
})

t.test('without a driver, rejects cuda, and auto selects the CPU with one notice', linux, async t => {
  const card = { '/sys/bus/pci/devices/0000:01:00.0/vendor': '0x10de\n', '/etc/os-release': 'ID=ubuntu\n' }
  const { devices, notes } = devicesOf(await bareHost(t, { files: card }), await temporaryFolder(t))
  await t.rejects(devices.open('cuda'), {
    code: 'INF_DEVICE_UNAVAILABLE',
    message: /^Device cuda is not available: there is no NVIDIA driver .*; available: cpu$/,
    hint: 'Run: sudo ubuntu-drivers install',
    data: { device: 'cuda', missing: ['NVIDIA driver'], available: ['cpu'] }
  })
  for (const name of ['auto', 'best', 'auto']) t.equal((await devices.open(name)).id, 'cpu')
  t.match(notes, [/^Models run on the CPU: there is no NVIDIA driver .*sudo ubuntu-drivers install$/])
})

t.test('does not suggest a driver for a machine without an NVIDIA card', linux, async t => {
  const files = { '/sys/bus/pci/devices/0000:00:02.0/vendor': '0x8086\n' }
  const { devices } = devicesOf(await bareHost(t, { files }), await temporaryFolder(t))
  await t.rejects(devices.open('cuda:1'), { message: /no NVIDIA GPU/, hint: /^Use one of cpu, or auto/ })
})

t.test('with a driver but no provider, names the install command', linux, async t => {
  const folder = await temporaryFolder(t)
  const { devices } = devicesOf(await nvidiaHost(t), folder)
  await t.rejects(devices.open('cuda:1'), {
    message: new RegExp(`CUDA provider is not in ${folder}`),
    hint: 'Run: svc gpu install',
    data: { missing: [providerFiles.plugin] }
  })
  await t.rejects(devices.open('cuda:2'), {
    message: /there is no GPU 2, but cuda:0 \(NVIDIA H200\), cuda:1 \(NVIDIA L4\)/
  })
  t.same(
    (await devices.list()).map(({ id }) => id),
    ['cpu']
  )
})

t.test('names missing libraries of the provider', linux, async t => {
  const folder = await temporaryFolder(t)
  const needed = ['libcudart.so.13', 'libcublas.so.13', 'libcublasLt.so.13', 'libcuda.so.1', 'libc.so.6']
  await writeFile(join(folder, providerFiles.plugin), sharedLibrary(needed))
  const host = await nvidiaHost(t, {
    files: { '/usr/local/cuda-13.0/lib64/libcublas.so.13': '', '/usr/lib64/libcuda.so.1': '' }
  })
  const { devices } = devicesOf(host, folder)
  await t.rejects(devices.open('cuda'), {
    message: /needs libcudart\.so\.13, libcublasLt\.so\.13, which are missing/,
    hint: `Run: pip install --target ${folder} nvidia-cuda-runtime nvidia-cublas`
  })
  await mkdir(join(folder, 'nvidia', 'cu13', 'lib'), { recursive: true })
  for (const name of needed.slice(0, 3)) await writeFile(join(folder, 'nvidia', 'cu13', 'lib', name), '')
  const found = await devices.survey()
  t.equal(cudaObstacle(found, 0, 'linux'), null)
  t.equal(found.driver?.version, '580.65.06')
  const places = Object.fromEntries(found.provider?.needs.map(need => [need.name, need.found?.onLoaderPath]) ?? [])
  t.same(places, {
    'libcudart.so.13': false,
    'libcublas.so.13': false,
    'libcublasLt.so.13': false,
    'libcuda.so.1': true
  })
  t.same((await devices.list()).map(({ id, description }) => `${id} ${description}`).slice(1), [
    'cuda:0 NVIDIA H200, 143771 MB',
    'cuda:1 NVIDIA L4, 23034 MB'
  ])
  // The files are empty, so loading fails: cuda throws, and auto falls back to the CPU.
  await t.rejects(devices.open('cuda'), { code: 'INF_DEVICE_UNAVAILABLE', hint: 'Run: svc doctor gpu' })
  t.equal((await devices.open('auto')).id, 'cpu')
})

t.test('does not query the driver if the settings describe the GPU', linux, async t => {
  const host = await nvidiaHost(t)
  const { devices } = devicesOf(host, await temporaryFolder(t), { configuredGpu: { model: 'H200', memoryMb: 1000 } })
  const { driver } = await devices.survey()
  t.same(driver?.gpus, [{ index: 0, model: 'H200', memoryMb: 1000, freeMb: null }])
  t.notOk(host.started.includes('nvidia-smi'))
})

t.test('the bundled provider needs its shared library, and reports a failed load', linux, async t => {
  const folder = await temporaryFolder(t)
  await writeFile(join(folder, providerFiles.bundled), sharedLibrary([]))
  const { devices } = devicesOf(await nvidiaHost(t), folder)
  t.equal((await devices.survey()).provider, null)
  await writeFile(join(folder, providerFiles.shared), 'no library')
  t.equal((await devices.survey()).provider?.form, 'bundled')
  await t.rejects(devices.open('cuda'), { code: 'INF_DEVICE_UNAVAILABLE', message: /Cuda|CUDA/ })
})

t.test('the worker runtime does not support GPUs', async t => {
  const { devices, notes } = devicesOf(await nvidiaHost(t), await temporaryFolder(t), { native: false })
  t.equal((await devices.open('auto')).id, 'cpu')
  t.same(notes, [])
  for (const name of ['cuda', 'webgpu', 'metal']) {
    await t.rejects(devices.open(name), { code: 'INF_DEVICE_UNAVAILABLE', message: /worker runtime/ })
  }
})

t.test('reports obstacles to WebGPU', async t => {
  const loader = { name: 'libvulkan.so.1', path: '/usr/lib/libvulkan.so.1', version: '1.3.239', onLoaderPath: true }
  const survey = (vulkan: Survey['vulkan']): Survey => ({
    card: null,
    driver: null,
    provider: null,
    vulkan,
    libraryDirectory: '/gpu',
    distribution: 'debian'
  })
  t.match(webgpuObstacle(survey({ loader: null, drivers: [] }), 'linux'), { command: /libvulkan1/ })
  t.match(webgpuObstacle(survey({ loader, drivers: [] }), 'linux'), { missing: ['Vulkan driver'] })
  t.equal(webgpuObstacle(survey({ loader, drivers: ['/x.json'] }), 'linux'), null)
  t.equal(webgpuObstacle(survey({ loader: null, drivers: [] }), 'darwin'), null)
  t.match(cudaObstacle(survey({ loader, drivers: [] }), 0, 'darwin'), { reason: /Linux/ })
})

t.test("finds Vulkan drivers in the loader's search path", linux, async t => {
  const files = { '/usr/share/vulkan/icd.d/nvidia_icd.json': '{}', '/usr/lib64/libvulkan.so.1': '' }
  const installed = devicesOf(await bareHost(t, { files }), await temporaryFolder(t))
  t.match((await installed.devices.survey()).vulkan.drivers, ['/usr/share/vulkan/icd.d/nvidia_icd.json'])
  const environment = { VK_DRIVER_FILES: '/a.json:/b.json' }
  const named = devicesOf(await bareHost(t, { files, environment }), await temporaryFolder(t))
  t.same((await named.devices.survey()).vulkan.drivers, ['/a.json', '/b.json'])
})

t.test('names the PyPI packages of CUDA 12 and 13 libraries', async t => {
  const twelve = libraryCommand(['libcudart.so.12', 'libcurand.so.10'], '/g')
  t.equal(twelve, 'pip install --target /g nvidia-cuda-runtime-cu12 nvidia-curand-cu12')
  t.equal(libraryCommand(['libcudnn.so.9'], '/g'), 'pip install --target /g nvidia-cudnn-cu13')
  t.equal(libraryCommand(['libother.so.1'], '/g'), null)
  const provider: CudaProvider = {
    form: 'plugin',
    path: '/g/x.so',
    folder: '/g',
    needs: [{ name: 'libcuda.so.1', found: null }]
  }
  const vulkan = { loader: null, drivers: [] }
  const driver = { version: '580', gpus: [] }
  const found: Survey = { card: true, driver, provider, vulkan, libraryDirectory: '/g', distribution: 'fedora' }
  t.match(cudaObstacle(found, 0, 'linux'), { missing: ['libcuda.so.1'], command: 'sudo dnf install akmod-nvidia' })
})

t.test('reads the dependencies of a library from its file', async t => {
  const file = join(await temporaryFolder(t), 'lib.so')
  await writeFile(file, sharedLibrary(['libone.so.1', 'libtwo.so']))
  t.same(await neededLibraries(file), ['libone.so.1', 'libtwo.so'])
  for (const content of ['', 'text', '\x7fELF', '\x7fELF\x02\x01\x01']) {
    await writeFile(file, content)
    t.equal(await neededLibraries(file), null)
  }
  if (process.platform !== 'linux') return
  t.ok((await neededLibraries(findLibrary(ownRequire())))?.includes('libc.so.6'))
})

t.test('captures runs on WebGPU by default, and on CUDA on request', async t => {
  const table = (['auto', 'on', 'off'] as const).map(choice => [
    capturesRuns(choice, 'webgpu'),
    capturesRuns(choice, 'cuda')
  ])
  t.same(table, [
    [true, false],
    [true, true],
    [false, false]
  ])
})

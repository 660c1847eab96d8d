import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { testKernel } from '@svc/plugin-sdk/testing'
import t from 'tap'
import { diagnose, providerFiles, type Survey } from '#device'
import { ownRequire, packageVersion } from '#ort'
import plugin from '#plugin'
import { doctorGpu, installGpu, installHandler, runInstall } from '#provider'
import { gpuOptions } from '#root'
import { wheel } from '../support/archives.ts'
import { sharedLibrary } from '../support/hosts.ts'
import { temporaryFolder } from '../support/models.ts'

const core = packageVersion(ownRequire())

t.test('svc gpu install installs a wheel from the project, and reports the result', async t => {
  const kernel = await testKernel([plugin])
  t.teardown(() => kernel.close())
  const capi = 'onnxruntime/capi'
  const content = wheel(`onnxruntime_gpu-${core}`, {
    [`${capi}/${providerFiles.bundled}`]: sharedLibrary(['libcudart.so.13']),
    [`${capi}/${providerFiles.shared}`]: sharedLibrary([])
  })
  await writeFile(join(kernel.root, 'gpu.whl'), content)
  const installed = await kernel.call(installGpu, { from: 'gpu.whl' })
  const directory = join(kernel.root, '.vox/gpu')
  t.match(installed, { directory, form: 'bundled', version: core, text: /^The CUDA provider .* is in / })
  t.ok((await readdir(directory)).includes(providerFiles.bundled))
  await t.rejects(kernel.call(installGpu, { from: 'absent.whl' }), { code: 'INF_PROVIDER_INVALID' })
  await t.rejects(kernel.call(installGpu, { from: 'gpu.whl', sha256: 'f'.repeat(64) }), {
    code: 'INF_PROVIDER_INVALID',
    message: /SHA-256/
  })
})

t.test('svc doctor gpu reports the device in use; a requested CPU is healthy', async t => {
  const settings = { 'inference-onnx': { device: 'cpu', gpu_library_directory: await temporaryFolder(t) } }
  const kernel = await testKernel([plugin], { settings })
  t.teardown(() => kernel.close())
  const report = await kernel.call(doctorGpu, {})
  t.match(report, { healthy: true, device: 'cpu', requested: 'cpu', missing: [], command: null })
  t.ok(report.findings.some(({ subject, status }) => subject === 'device' && status === 'ok'))
})

const bare: Survey = {
  card: false,
  driver: null,
  provider: null,
  vulkan: { loader: null, drivers: [] },
  libraryDirectory: '/gpu',
  distribution: 'debian'
}
const linux = process.platform === 'linux' ? {} : { skip: 'missing parts are reported on Linux' }

t.test('an unusable GPU is unhealthy, and the report names the next command', linux, async t => {
  const facts = { requested: 'auto', request: { kind: 'auto' } as const, opened: { id: 'cpu' }, runtime: 'onnxruntime' }
  t.match(diagnose({ ...facts, survey: bare }), {
    healthy: true,
    device: 'cpu',
    command: null,
    findings: [{}, {}, { status: 'absent', detail: 'no NVIDIA GPU found' }, { status: 'absent' }, { status: 'absent' }]
  })
  t.match(diagnose({ ...facts, survey: { ...bare, card: true } }), {
    healthy: false,
    missing: ['NVIDIA driver'],
    command: 'sudo apt-get install nvidia-driver'
  })
  const driver = { version: '580.1', gpus: [{ index: 0, model: 'H200', memoryMb: 143_771, freeMb: 1 }] }
  const withDriver = { ...bare, card: true, driver }
  t.match(diagnose({ ...facts, survey: withDriver }), {
    healthy: false,
    command: 'svc gpu install',
    findings: [{ subject: 'device', status: 'error' }, {}, { status: 'ok', detail: /580\.1: cuda:0 H200 143771 MB/ }]
  })
  const path = '/usr/lib/libcudart.so.13'
  const found = { name: 'libcudart.so.13', path, version: '13.0.88', onLoaderPath: true }
  const provider = {
    form: 'plugin' as const,
    path: '/gpu/p.so',
    folder: '/gpu',
    needs: [
      { name: 'libcudart.so.13', found },
      { name: 'libcublas.so.13', found: null }
    ]
  }
  const partly = diagnose({ ...facts, survey: { ...withDriver, provider } })
  t.match(partly, { healthy: false, missing: ['libcublas.so.13'], command: 'pip install --target /gpu nvidia-cublas' })
  t.match(
    partly.findings.filter(({ subject }) => subject.startsWith('lib')),
    [
      { status: 'ok', detail: '/usr/lib/libcudart.so.13, version 13.0.88' },
      { status: 'error', detail: 'missing', hint: /nvidia-cublas/ }
    ]
  )
  const whole = { ...provider, needs: [{ name: 'libcudart.so.13', found }] }
  const working = { ...facts, opened: { id: 'cuda:0' }, survey: { ...withDriver, provider: whole } }
  t.match(diagnose(working), { healthy: true, device: 'cuda:0', command: null })
})

t.test('a requested device that fails is unhealthy', async t => {
  const opened = { error: new Error('Device webgpu is not available: it crashed') }
  const facts = { requested: 'webgpu', request: { kind: 'webgpu' } as const, opened, survey: bare, runtime: 'x' }
  t.match(diagnose(facts), { healthy: false, device: '', findings: [{ status: 'error', detail: /crashed/ }] })
})

t.test('the settings describe a GPU only if both model and memory are set', async t => {
  t.same(gpuOptions('/gpu', {}), { libraryDirectory: '/gpu' })
  t.same(gpuOptions('/gpu', { gpu_model: 'H200' }), { libraryDirectory: '/gpu' })
  t.same(gpuOptions('/gpu', { gpu_model: 'H200', gpu_vram_mb: 1000, vram_override_gb: 1.5 }), {
    libraryDirectory: '/gpu',
    configuredGpu: { model: 'H200', memoryMb: 1000 },
    memoryBytes: 1.5 * 2 ** 30
  })
})

t.test('svc gpu install without an NVIDIA GPU downloads only with --without-gpu', linux, async t => {
  const survey = async () => bare
  const options = {
    engine: { surveyDevices: survey },
    projectRoot: '/',
    directory: '/gpu',
    core: { path: '/', version: core }
  }
  const install = installHandler(options as never)
  await t.rejects(async () => install({} as never, {} as never), {
    code: 'INF_GPU_ABSENT',
    hint: /--without-gpu/
  })
})

t.test('svc gpu install asks on a terminal if there is no NVIDIA GPU, and only y confirms', linux, async t => {
  const folder = await temporaryFolder(t)
  let surveys = 0
  const engine = {
    async surveyDevices() {
      surveys += 1
      return bare
    }
  }
  // The missing runtime ends a confirmed installation before its download.
  const run = runInstall({ engine, projectRoot: folder, directory: folder, core: null } as never)
  const answer = async (typed: string | null, { isTTY = true, json = false } = {}) => {
    const stdin = Object.assign(new PassThrough(), { isTTY })
    const stderr = new PassThrough()
    const shown = text(stderr)
    stdin.end(typed ?? undefined)
    const io = { stdin, stdout: new PassThrough(), stderr, json, signal: new AbortController().signal }
    const outcome = await Promise.resolve(run({}, io)).catch((error: { code: string }) => error.code)
    stderr.end()
    return [outcome, await shown] as const
  }
  for (const typed of ['\n', 'n\n', 'maybe\n', null]) {
    const [code, shown] = await answer(typed)
    t.equal(code, 1, JSON.stringify(typed))
    t.match(shown, /no NVIDIA GPU was found.*\[y\/N\].*nothing was installed/s)
  }
  t.equal((await answer('y\n'))[0], 'INF_RUNTIME_UNAVAILABLE')
  t.equal((await answer('YES\n'))[0], 'INF_RUNTIME_UNAVAILABLE')
  t.same(await answer('y\n', { isTTY: false }), ['INF_GPU_ABSENT', ''])
  t.same(await answer('y\n', { json: true }), ['INF_GPU_ABSENT', ''])
  t.equal(surveys, 8)
})

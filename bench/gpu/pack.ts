/**
 * Packs bench/gpu for a machine without a network: the code as one file, packages with native parts, Node.js, a
 * tokenizer, and the CUDA provider if it is installed. Writes compressed pieces, and a script that unpacks and runs
 * them.
 *
 *   node --import tsx --conditions=svc-source bench/gpu/pack.ts --out FOLDER [--piece-mb 15] [--gpu .vox/gpu]
 */
import { execFile } from 'node:child_process'
import { createReadStream, createWriteStream, existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { parseArgs, promisify } from 'node:util'
import { build } from 'esbuild'
import { findLibrary, ownRequire } from '../../plugins/inference-onnx/src/ort/library.ts'

const { values: options } = parseArgs({
  options: {
    out: { type: 'string', default: '.vox/bench/gpu-pack' },
    gpu: { type: 'string', default: '.vox/gpu' },
    'piece-mb': { type: 'string', default: '15' }
  }
})
const root = resolve(import.meta.dirname, '../..')
const require = ownRequire()
const MEGABYTE = 2 ** 20

const RUN = `#!/bin/sh
# Joins the pieces and runs the measurement: sh run.sh [options of bench/gpu/main.ts]
set -e
here=$(cd "$(dirname "$0")" && pwd)
work=\${GPU_BENCH_WORK:-/tmp/svc-gpu-bench}
mkdir -p "$work"
[ -e "$work/unpacked" ] || { cat "$here"/pack.* | tar -xJf - -C "$work"; touch "$work/unpacked"; }
cd "$work"
libraries=$(python3 -c 'import glob, sys
print(":".join(sorted({f for p in sys.path for f in glob.glob(p + "/nvidia/*/lib")})))' 2>/dev/null || true)
export LD_LIBRARY_PATH="$libraries:$LD_LIBRARY_PATH" GPU_BENCH_PEER="$work/peer.py"
exec ./node main.mjs --tokenizer tokenizer --folder models --gpu-library-directory gpu "$@"
`

async function fill(folder: string): Promise<void> {
  await build({
    entryPoints: [join(root, 'bench/gpu/main.ts')],
    outfile: join(folder, 'main.mjs'),
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    conditions: ['svc-source'],
    external: ['koffi', 'onnxruntime-node'],
    banner: {
      js: "import { createRequire as makeRequire } from 'node:module'; const require = makeRequire(import.meta.url);"
    },
    logLevel: 'warning'
  })
  await cp(process.execPath, join(folder, 'node'))
  await cp(join(root, 'bench/gpu/peer.py'), join(folder, 'peer.py'))
  await mkdir(join(folder, 'tokenizer'))
  for (const name of ['tokenizer.json', 'tokenizer_config.json']) {
    await cp(join(root, 'plugins/model-server/models/vox-tiny', name), join(folder, 'tokenizer', name))
  }
  const entry = require.resolve('koffi')
  const koffi = entry.slice(0, entry.lastIndexOf(join('node_modules', 'koffi')) + join('node_modules', 'koffi').length)
  const native = `koffi-${process.platform}-${process.arch}`
  await cp(koffi, join(folder, 'node_modules/koffi'), { recursive: true, dereference: true })
  const nativeFolder = join(dirname(koffi), '@koromix', native)
  await cp(nativeFolder, join(folder, 'node_modules/@koromix', native), { recursive: true, dereference: true })
  const library = findLibrary(require)
  const ort = dirname(require.resolve('onnxruntime-node/package.json'))
  const packed = join(folder, 'node_modules/onnxruntime-node')
  await cp(join(ort, 'package.json'), join(packed, 'package.json'))
  await cp(library, join(packed, library.slice(ort.length)))
  const gpu = resolve(options.gpu)
  await mkdir(join(folder, 'gpu'))
  const provider = (name: string) => /^libonnxruntime.*\.so/.test(name)
  if (existsSync(gpu)) {
    await cp(gpu, join(folder, 'gpu'), {
      recursive: true,
      filter: path => path === gpu || provider(path.slice(gpu.length + 1))
    })
  } else {
    process.stderr.write(
      `${gpu} does not exist; run svc gpu install first, or copy the provider to the machine separately\n`
    )
  }
}

const out = resolve(options.out)
const folder = await mkdtemp(join(tmpdir(), 'svc-gpu-pack-'))
try {
  await fill(folder)
  await rm(out, { recursive: true, force: true })
  await mkdir(out, { recursive: true })
  const archive = `${folder}.tar.xz`
  await promisify(execFile)('tar', ['-cJf', archive, '-C', folder, '.'], { env: { ...process.env, XZ_OPT: '-3 -T0' } })
  const size = Number(options['piece-mb']) * MEGABYTE
  let piece = 0
  for (let start = 0; ; start += size, piece++) {
    const name = `pack.${String(piece).padStart(3, '0')}`
    const reader = createReadStream(archive, { start, end: start + size - 1 })
    const writer = createWriteStream(join(out, name))
    await pipeline(reader, writer)
    if (writer.bytesWritten < size) break
  }
  await rm(archive)
  await writeFile(join(out, 'run.sh'), RUN, { mode: 0o755 })
  process.stdout.write(`${piece + 1} pieces and run.sh are in ${out}\n`)
} finally {
  await rm(folder, { recursive: true, force: true })
}

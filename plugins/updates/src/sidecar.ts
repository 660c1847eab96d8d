import { chmod, copyFile, mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { assertDigest, download } from './download.ts'
import type { Release, ReleaseSource } from './release.ts'
import type { Toolchain } from './toolchain.ts'
import { unpack } from './unpack.ts'

const NAME = /^openclaw-(?:gateway-)?/
const ARCHIVE = /\.(?:tar\.gz|tgz|tar)$/
const MAX_FILES = 10_000

export interface SidecarOptions {
  readonly toolchain: Pick<Toolchain, 'downloadFile'>
  readonly source: ReleaseSource
  readonly release: Release
  /** Digests of checksums.txt by name. */
  readonly digests: ReadonlyMap<string, string>
  readonly triple: string | null
  /** Folder of the unpacked version; the sidecar becomes `bin/openclaw-gateway`. */
  readonly folder: string
  readonly maxBytes: number
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/** Installs the gateway sidecar of a release for this machine, if there is one. Throws as an installation does. */
export async function installSidecar(options: SidecarOptions): Promise<void> {
  const { toolchain, source, release, digests, triple, folder, maxBytes, timeoutMs, signal } = options
  const names = [...digests.keys()].filter(each => triple !== null && NAME.test(each) && each.includes(triple))
  // The longer prefix is the more specific one.
  const name = names.find(each => each.startsWith('openclaw-gateway-')) ?? names[0]
  const asset = name === undefined ? null : source.asset(release, name)
  if (name === undefined || asset === null) return
  const file = await toolchain.downloadFile()
  const scratch = join(folder, '.sidecar')
  try {
    const digest = await download({ source, asset, file, maxBytes, timeoutMs, signal })
    assertDigest(name, digest, digests.get(name) as string)
    let program = file
    if (ARCHIVE.test(name)) {
      await mkdir(scratch)
      await unpack(file, scratch, { maxBytes: maxBytes * 4, maxFiles: MAX_FILES, strip: false }, signal)
      program = await programIn(scratch)
    }
    const target = join(folder, 'bin', 'openclaw-gateway')
    await copyFile(program, target)
    await chmod(target, 0o755)
  } finally {
    await rm(file, { force: true })
    await rm(scratch, { recursive: true, force: true })
  }
}

async function programIn(folder: string): Promise<string> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const found = entries.find(each => each.isFile() && each.name.startsWith('openclaw'))
  if (found === undefined) throw new Error('its archive has no program openclaw-gateway')
  return join(found.parentPath, found.name)
}

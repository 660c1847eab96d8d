import { rm } from 'node:fs/promises'
import { defined, errorMessage, isSvcError, type Logger } from '@svc/plugin-sdk'
import { parseChecksums } from './checksums.ts'
import { missing } from './choose.ts'
import { assertDigest, download } from './download.ts'
import { updateErrors } from './errors.ts'
import { fetchText } from './guarded-fetch.ts'
import { type Asset, CHECKSUMS, type Release, type ReleaseSource } from './release.ts'
import { installSidecar } from './sidecar.ts'
import { assertSigned, SIGNATURE } from './signature.ts'
import type { Installed, Toolchain } from './toolchain.ts'
import { unpack } from './unpack.ts'
import { checkRuns, installDependencies, readFacts } from './unpacked.ts'

const MAX_TEXT_BYTES = 1_048_576
const MAX_FILES = 200_000
/** Size of an unpacked archive compared with the limit of the download. */
const UNPACKED_FACTOR = 4

/** Steps of an installation, in their order. A step that is not needed is left out. */
export const INSTALL_STEPS = [
  'checksums',
  'signature',
  'download',
  'verify',
  'unpack',
  'dependencies',
  'check',
  'sidecar',
  'place',
  'switch',
  'record',
  'clean'
] as const

export type InstallStep = (typeof INSTALL_STEPS)[number]

export interface InstallOptions {
  readonly toolchain: Toolchain
  readonly source: ReleaseSource
  readonly release: Release
  readonly archives: readonly Asset[]
  readonly checksums: Asset
  /** Ed25519 public key that must have signed the checksums; null: releases need no signature. */
  readonly publicKey: string | null
  readonly triple: string | null
  readonly sidecar: boolean
  readonly keepVersions: number
  readonly maxBytes: number
  readonly timeoutMs: number
  readonly log: Pick<Logger, 'warn'>
  /** Called before each step. */
  readonly onStep: (step: InstallStep) => void
  readonly signal: AbortSignal
}

/**
 * Installs a release next to the running version, and makes it the current one. Whenever the process is killed, the
 * current version is the old or the new one, complete; the next installation removes the rest.
 *
 * Throws the errors `UPD_…`; the current version is then unchanged.
 */
export async function install(options: InstallOptions): Promise<Installed> {
  const { toolchain, onStep, keepVersions } = options
  return guarded(toolchain, () =>
    toolchain.exclusively(async () => {
      const installed = await prepare(options)
      onStep('switch')
      await toolchain.switchTo(installed.directory)
      onStep('record')
      await toolchain.record()
      onStep('clean')
      await toolchain.prune(keepVersions)
      return installed
    })
  )
}

/** Makes the previous version the current one again. Throws `UPD_NO_PREVIOUS`. */
export async function rollBack(
  toolchain: Toolchain
): Promise<{ readonly from: Installed | null; readonly to: Installed }> {
  return guarded(toolchain, () =>
    toolchain.exclusively(async () => {
      const from = await toolchain.current()
      const to = await toolchain.previous()
      if (to === null)
        throw updateErrors.create('UPD_NO_PREVIOUS', `${toolchain.home} has no version before the current one`, {
          hint: 'install a version with svc upgrade --apply --version TAG'
        })
      await toolchain.switchTo(to.directory)
      await toolchain.record()
      return { from, to }
    })
  )
}

/** Returns a complete version, installed before or now. */
async function prepare(options: InstallOptions): Promise<Installed> {
  const { toolchain, source, release, archives, checksums, maxBytes, timeoutMs, onStep, signal } = options
  onStep('checksums')
  const text = await smallFile(options, checksums)
  if (text === null) throw missing(release, CHECKSUMS)
  if (options.publicKey !== null) {
    onStep('signature')
    const signature = source.asset(release, SIGNATURE)
    assertSigned(text, signature && (await smallFile(options, signature)), options.publicKey, release.tag)
  }
  const digests = parseChecksums(text)
  const archive = archives.find(({ name }) => digests.has(name))
  const expected = archive === undefined ? undefined : digests.get(archive.name)
  if (archive === undefined || expected === undefined)
    throw missing(release, `line for ${archives.map(({ name }) => name).join(' or ')} in ${CHECKSUMS}`)
  const directory = `${release.tag}-${expected.slice(0, 16)}`
  const present = await toolchain.read(directory)
  if (present !== null) return present
  const file = await toolchain.downloadFile()
  const partial = await toolchain.partial()
  try {
    onStep('download')
    const digest = await download({ source, asset: archive, file, maxBytes, timeoutMs, signal })
    onStep('verify')
    assertDigest(archive.name, digest, expected)
    onStep('unpack')
    await unpack(file, partial, { maxBytes: maxBytes * UNPACKED_FACTOR, maxFiles: MAX_FILES, strip: true }, signal)
    const { dependencies } = await readFacts(partial, release)
    if (dependencies === 'npm') {
      onStep('dependencies')
      await installDependencies(partial, signal)
    }
    onStep('check')
    await checkRuns(partial, release, signal)
    if (options.sidecar) {
      onStep('sidecar')
      await tryInstallSidecar(options, digests, partial)
    }
    onStep('place')
    const installed: Installed = {
      directory,
      tag: release.tag,
      version: release.version,
      asset: archive.name,
      sha256: expected,
      installed_at: new Date().toISOString()
    }
    await toolchain.place(partial, installed)
    return installed
  } finally {
    await rm(file, { force: true })
    await rm(partial, { recursive: true, force: true })
  }
}

/** Returns a file of at most 1 MiB; null if it does not exist. */
async function smallFile({ source, timeoutMs, signal }: InstallOptions, asset: Asset): Promise<string | null> {
  const { credentials } = source
  const { url, headers } = asset
  const { text } = await fetchText(url, MAX_TEXT_BYTES, { ...defined({ headers }), credentials, timeoutMs, signal })
  return text
}

/** Installs the sidecar if the release has one. Its failure does not stop the installation. */
async function tryInstallSidecar(
  options: InstallOptions,
  digests: ReadonlyMap<string, string>,
  partial: string
): Promise<void> {
  try {
    await installSidecar({ ...options, digests, folder: partial })
  } catch (error) {
    options.signal.throwIfAborted()
    options.log.warn('the gateway sidecar of the release is not installed', { reason: errorMessage(error) })
  }
}

async function guarded<A>(toolchain: Toolchain, run: () => Promise<A>): Promise<A> {
  if (process.platform === 'win32')
    throw updateErrors.create(
      'UPD_UNSUPPORTED',
      'releases cannot be installed on Windows, whose links are not atomic',
      {
        hint: 'update a source checkout with --source repo'
      }
    )
  try {
    return await run()
  } catch (cause) {
    if (isSvcError(cause) || (cause as Error).name === 'AbortError') throw cause
    throw updateErrors.create('UPD_INSTALL_FAILED', `cannot change ${toolchain.home}: ${errorMessage(cause)}`, {
      cause,
      at: { file: toolchain.home },
      hint: 'make room on the disk and the folder writable, or set plugins.updates.home'
    })
  }
}

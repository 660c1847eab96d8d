import { randomUUID } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { defined } from '@svc/plugin-sdk'
import semver from 'semver'
import { chooseRelease, isBreaking, isNewer } from './choose.ts'
import { releaseSource } from './providers.ts'
import type { Release, ReleaseSource } from './release.ts'
import type { Settings } from './settings.ts'

/** Result of the last check, in `last-check.json` of the toolchain folder: for all projects of the user. */
export interface LastCheck {
  /** Unix milliseconds. */
  readonly checked_at: number
  readonly source: string
  readonly tag: string
  readonly version: string
  /** Tag that the user does not want to hear of again. */
  readonly ignored?: string
}

/** Options of a search, which replace settings. */
export interface SearchOptions {
  readonly provider?: Settings['provider']
  readonly repo?: string
  readonly base_url?: string
  readonly version?: string
  readonly channel?: Settings['channel']
  readonly allow_prerelease?: boolean
}

export interface Found {
  readonly source: ReleaseSource
  readonly release: Release
  readonly newer: boolean
  readonly breaking: boolean
}

/** Asks the provider for the release that the settings and options select. Throws the errors `UPD_…`. */
export async function search(
  settings: Settings,
  { allow_prerelease = false, ...options }: SearchOptions,
  current: string,
  signal: AbortSignal
): Promise<Found> {
  const used = { ...settings, ...defined(options) }
  const source = releaseSource(used)
  const releases = await source.list(used.version, signal)
  const release = chooseRelease(releases, {
    channel: used.channel,
    allowPrerelease: allow_prerelease,
    tag: used.version
  })
  return {
    source,
    release,
    newer: isNewer(release.version, current),
    breaking: isBreaking(current, release.version)
  }
}

const FILE = 'last-check.json'

export async function readLastCheck(home: string): Promise<LastCheck | null> {
  try {
    const value = JSON.parse(await readFile(join(home, FILE), 'utf8')) as Partial<LastCheck>
    const { checked_at, source, tag, version, ignored } = value
    if (typeof checked_at !== 'number' || [source, tag].some(each => typeof each !== 'string')) return null
    if (semver.valid(version) === null) return null
    return { checked_at, source, tag, version, ...defined({ ignored }) } as LastCheck
  } catch {
    return null
  }
}

/** Keeps the tag that the user ignores. Throws errors of the file system. */
export async function writeLastCheck(home: string, check: Partial<LastCheck>): Promise<LastCheck> {
  const before = await readLastCheck(home)
  const next = { ...before, ...check } as LastCheck
  await mkdir(home, { recursive: true })
  const file = join(home, FILE)
  const part = `${file}.${randomUUID()}`
  await writeFile(part, JSON.stringify(next))
  await rename(part, file)
  return next
}

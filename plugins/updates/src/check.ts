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

export const CHECK_FILE = 'last-check.json'
/** A separate file, so that a check at the same time does not lose what the user ignores. */
export const IGNORED_FILE = 'ignored.json'

/** Returns the last check; null if there was none, or if its file is damaged. */
export async function readLastCheck(home: string): Promise<LastCheck | null> {
  const { checked_at, source, tag, version, ignored: before } = await readFields(home, CHECK_FILE)
  if (typeof checked_at !== 'number' || typeof source !== 'string' || typeof tag !== 'string') return null
  if (typeof version !== 'string' || semver.valid(version) === null) return null
  const ignored = (await readFields(home, IGNORED_FILE)).tag ?? before
  return { checked_at, source, tag, version, ...(typeof ignored === 'string' ? { ignored } : {}) }
}

/** Stores the result of a check. Throws errors of the file system. */
export async function writeLastCheck(home: string, check: Omit<LastCheck, 'ignored'>): Promise<LastCheck> {
  const { ignored } = (await readLastCheck(home)) ?? {}
  const next = { ...check, ...defined({ ignored }) }
  await writeFields(home, CHECK_FILE, next)
  return next
}

/** Stores the tag that the user ignores, also before the first check. Throws errors of the file system. */
export async function writeIgnored(home: string, tag: string): Promise<void> {
  await writeFields(home, IGNORED_FILE, { tag })
}

/** Returns the fields of a JSON file of the toolchain folder; none if it is missing or damaged. */
export async function readFields(home: string, name: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    const value: unknown = JSON.parse(await readFile(join(home, name), 'utf8'))
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

/** Replaces a file at once. Throws errors of the file system. */
export async function writeFields(home: string, name: string, value: object): Promise<void> {
  await mkdir(home, { recursive: true })
  const file = join(home, name)
  const part = `${file}.${randomUUID()}`
  await writeFile(part, JSON.stringify(value))
  await rename(part, file)
}

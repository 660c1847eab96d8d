import semver from 'semver'
import { updateErrors } from './errors.ts'
import { type Asset, archiveNames, CHECKSUMS, type Release, type ReleaseSource } from './release.ts'

export interface Choice {
  readonly channel: 'stable' | 'next'
  readonly allowPrerelease: boolean
  /** Tag; undefined for the newest release of the channel. */
  readonly tag: string | undefined
}

/** Returns the release with the highest version that the choice admits. Throws `UPD_RELEASE_UNKNOWN`. */
export function chooseRelease(releases: readonly Release[], { channel, allowPrerelease, tag }: Choice): Release {
  const admitted = releases.filter(
    each => tag !== undefined || channel === 'next' || allowPrerelease || !each.prerelease
  )
  const [newest] = admitted.toSorted((a, b) => semver.compareBuild(b.version, a.version))
  if (newest !== undefined) return newest
  const what = tag === undefined ? `no release of the channel ${channel}` : `no release with the tag ${tag}`
  throw updateErrors.create('UPD_RELEASE_UNKNOWN', `there is ${what}, or its tag is not a version such as v1.2.3`, {
    hint: tag === undefined ? 'pass --allow-prerelease or --channel next, or check --repo' : 'check --version'
  })
}

/** Whether a release needs `--allow-breaking`: its major version differs from the running one. */
export function isBreaking(current: string, next: string): boolean {
  return semver.valid(current) !== null && semver.major(current) !== semver.major(next)
}

/** Whether a version is newer than another one. */
export function isNewer(version: string, than: string): boolean {
  return semver.valid(than) === null || semver.gt(version, than)
}

/**
 * Returns the archives of a release for a machine, best first, and its list of checksums. Throws `UPD_ASSET_MISSING`.
 * A provider without a list of files returns all names: the list of checksums decides which exist.
 */
export function chooseAssets(
  source: ReleaseSource,
  release: Release,
  triple: string | null
): { readonly archives: readonly Asset[]; readonly checksums: Asset } {
  const names = archiveNames(release.tag, triple)
  const archives = names.flatMap(name => source.asset(release, name) ?? [])
  if (archives.length === 0) throw missing(release, names.join(' or '))
  const checksums = source.asset(release, CHECKSUMS)
  if (checksums === null) throw missing(release, CHECKSUMS)
  return { archives, checksums }
}

export function missing({ tag }: Pick<Release, 'tag'>, what: string) {
  return updateErrors.create('UPD_ASSET_MISSING', `the release ${tag} has no ${what}`, {
    hint: 'choose another release with --version, or build from source with --source repo'
  })
}

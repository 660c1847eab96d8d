/** Release of a provider. */
export interface Release {
  /** Tag, such as `v1.2.3`. */
  readonly tag: string
  /** Version of the tag, without `v`. */
  readonly version: string
  /** True if the provider marks it as a prerelease, or if its version has a prerelease part. */
  readonly prerelease: boolean
  /** Null: the provider has no list of files. */
  readonly assets: readonly Asset[] | null
}

export interface Asset {
  readonly name: string
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Headers that only the server of one origin receives: files of a release may be on any server. */
export interface Credentials {
  readonly origin: string
  readonly headers: Readonly<Record<string, string>>
}

export interface ReleaseSource {
  /** Shown in reports, such as `github:owner/name`. */
  readonly description: string
  /** Token for the server of the provider; null for none. */
  readonly credentials: Credentials | null
  /** Returns the releases, newest first, or only the one with the tag. */
  list(tag: string | undefined, signal: AbortSignal): Promise<readonly Release[]>
  /** Returns a file of a release; null if it is not in the list. */
  asset(release: Release, name: string): Asset | null
}

export const CHECKSUMS = 'checksums.txt'

/** Returns the names of the archives for a machine, best first. */
export function archiveNames(tag: string, triple: string | null): string[] {
  return [...(triple === null ? [] : [`svc-${tag}-${triple}.tar.gz`]), `svc-${tag}.tgz`]
}

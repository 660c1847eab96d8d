import { readFileSync, statSync } from 'node:fs'
import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type PluginManifest, SDK_VERSION } from '@svc/plugin-sdk'
import type { EncodedError } from '../isolation/remote-error.ts'
import { replaceFile } from '../loader/replace-file.ts'

/** Version of the stored format and of the compilation. An index of another version is ignored. */
const FORMAT = `2 sdk ${SDK_VERSION}`
/** Resolution of file times in milliseconds. A second write within one tick leaves the time unchanged. */
const TICK_MS = 10
/** Number of compiled bundles to keep for a plugin. The running one may be old after several failed reloads. */
const KEPT_BUNDLES = 16

/** State of a file: path, modification time in milliseconds, size in bytes. */
export type Stamp = readonly [path: string, mtimeMs: number, size: number]

export interface IndexEntry {
  /** File that the plugin was loaded from. */
  readonly entry: string
  readonly stamps: readonly Stamp[]
  readonly manifest: PluginManifest
  /** Source files of the plugin; empty for a built plugin. */
  readonly inputs: readonly string[]
  readonly fingerprint: string
}

/** Stored failure of a module body that takes long to detect. */
export interface IndexFailure {
  readonly entry: string
  readonly stamps: readonly Stamp[]
  readonly inputs: readonly string[]
  /** Time limit of the failed run in milliseconds. */
  readonly limitMs: number
  readonly error: EncodedError
}

/**
 * Cache of manifests and compiled sources, so that a start compiles and describes only changed plugins. Manifests are
 * in `plugins.index.json`, compiled sources next to it. An entry is valid while its files keep their stamps.
 *
 * An unreadable cache counts as empty. If the cache cannot be written, it lasts only as long as the process.
 */
export class PluginIndex {
  readonly #directory: string | null
  readonly #entries: Map<string, IndexEntry>
  readonly #failures: Map<string, IndexFailure>
  #changed = false

  /** `directory`: cache folder; null keeps the index in memory. */
  constructor(directory: string | null) {
    this.#directory = directory
    const { entries = {}, failures = {} } = directory === null ? {} : read(join(directory, 'plugins.index.json'))
    this.#entries = new Map(Object.entries(entries))
    this.#failures = new Map(Object.entries(failures))
  }

  /** Returns the entry of a package, or undefined if a file that it depends on changed. */
  fresh(root: string, entry: string): IndexEntry | undefined {
    const known = this.#entries.get(root)
    return known?.entry === entry && isFresh(known.stamps) ? known : undefined
  }

  /** Returns the entry of the last valid version of a package, even if it is out of date. */
  last(root: string): IndexEntry | undefined {
    return this.#entries.get(root)
  }

  set(root: string, entry: IndexEntry): void {
    this.#entries.set(root, entry)
    this.#failures.delete(root)
    this.#changed = true
  }

  /** Returns the stored failure of a package, unless its files changed or the time limit was raised. */
  failure(root: string, entry: string, limitMs: number): IndexFailure | undefined {
    const known = this.#failures.get(root)
    return known?.entry === entry && known.limitMs >= limitMs && isFresh(known.stamps) ? known : undefined
  }

  fail(root: string, failure: IndexFailure): void {
    this.#failures.set(root, failure)
    this.#changed = true
  }

  forgetFailure(root: string): void {
    if (this.#failures.delete(root)) this.#changed = true
  }

  /**
   * Writes a compiled source to a file named by its digest, so that a failed reload does not overwrite running code.
   * Returns the path, or null if the file cannot be written.
   */
  async writeBundle(name: string, digest: string, text: string): Promise<string | null> {
    const file = this.#bundle(name, digest)
    if (file === null) return null
    try {
      await replaceFile(file, text)
      await this.#removeOldBundles(name)
      return file
    } catch {
      return null
    }
  }

  async readBundle(name: string, digest: string): Promise<{ readonly file: string; readonly text: string } | null> {
    const file = this.#bundle(name, digest)
    return file === null
      ? null
      : readFile(file, 'utf8').then(
          text => ({ file, text }),
          () => null
        )
  }

  /** Removes entries of packages that no longer exist. */
  retain(roots: ReadonlySet<string>): void {
    for (const known of [this.#entries, this.#failures])
      for (const root of known.keys()) if (!roots.has(root)) this.#changed = known.delete(root)
  }

  async save(): Promise<void> {
    if (!this.#changed || this.#directory === null) return
    this.#changed = false
    const content = JSON.stringify({
      format: FORMAT,
      entries: Object.fromEntries(this.#entries),
      failures: Object.fromEntries(this.#failures)
    })
    await replaceFile(join(this.#directory, 'plugins.index.json'), content).catch(() => {})
  }

  #bundle(name: string, digest: string): string | null {
    return this.#directory === null ? null : join(this.#directory, 'bundles', `${name}-${digest}.cjs`)
  }

  async #removeOldBundles(name: string): Promise<void> {
    const directory = join(this.#directory as string, 'bundles')
    const own = new RegExp(`^${name}-[0-9a-f]+\\.cjs$`)
    const files = (await readdir(directory)).filter(file => own.test(file)).map(file => join(directory, file))
    const dated = files.map(file => ({ file, mtimeMs: statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0 }))
    const old = dated.sort((a, b) => b.mtimeMs - a.mtimeMs).slice(KEPT_BUNDLES)
    await Promise.all(old.map(({ file }) => rm(file, { force: true })))
  }
}

/**
 * Returns stamps of files that were read since `begun` (milliseconds since the epoch). The stamp of a file that may
 * have changed in between never matches.
 */
export function stamp(paths: Iterable<string>, begun: number): Stamp[] {
  return [...new Set(paths)].map(path => {
    const stats = statSync(path, { throwIfNoEntry: false })
    const settled = stats !== undefined && stats.mtimeMs < begun - TICK_MS
    return [path, settled ? stats.mtimeMs : -1, stats?.size ?? -1]
  })
}

export function isFresh(stamps: readonly Stamp[]): boolean {
  return stamps.every(([path, mtimeMs, size]) => {
    const stats = statSync(path, { throwIfNoEntry: false })
    return stats !== undefined && stats.mtimeMs === mtimeMs && stats.size === size
  })
}

interface Content {
  readonly entries?: Record<string, IndexEntry>
  readonly failures?: Record<string, IndexFailure>
}

function read(file: string): Content {
  try {
    const content = JSON.parse(readFileSync(file, 'utf8')) as Content & { format?: string }
    if (content.format !== FORMAT) return {}
    return { entries: stamped(content.entries), failures: stamped(content.failures) }
  } catch {
    return {}
  }
}

function stamped<A extends { readonly stamps: readonly Stamp[] }>(entries: Record<string, A> = {}): Record<string, A> {
  return Object.fromEntries(Object.entries(entries).filter(([, entry]) => Array.isArray(entry?.stamps)))
}

import { readFileSync, statSync } from 'node:fs'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type PluginManifest, SDK_VERSION } from '@svc/plugin-sdk'

/** Changes whenever what is stored, or how plugins are compiled, changes. */
const FORMAT = `1 sdk ${SDK_VERSION}`
/** File systems stamp with the tick of their clock; a file stamped within it could be written again unnoticed. */
const TICK_MS = 10

/** Path, modification time in milliseconds, size in bytes. */
export type Stamp = readonly [path: string, mtimeMs: number, size: number]

export interface IndexEntry {
  readonly stamps: readonly Stamp[]
  readonly manifest: PluginManifest
  /** Sources of the plugin; empty for a built one. */
  readonly inputs: readonly string[]
  readonly fingerprint: string
}

/**
 * What is known of plugins from earlier runs, so that a start loads and compiles nothing that did not change: manifests
 * in `plugins.index.json`, compiled sources beside it. Every entry holds as long as its files keep their stamps.
 *
 * A cache that cannot be read is begun anew; one that cannot be written lasts as long as the process.
 */
export class PluginIndex {
  readonly #directory: string | null
  readonly #entries: Map<string, IndexEntry>
  #changed = false

  /** `directory`: where to keep it; null for memory alone. */
  constructor(directory: string | null) {
    this.#directory = directory
    this.#entries = new Map(Object.entries(directory === null ? {} : read(join(directory, 'plugins.index.json'))))
  }

  /** What is known of the package, unless one of its files changed since. */
  fresh(root: string): IndexEntry | undefined {
    const entry = this.#entries.get(root)
    return entry !== undefined && isFresh(entry.stamps) ? entry : undefined
  }

  /** What was known when the package last made sense. */
  last(root: string): IndexEntry | undefined {
    return this.#entries.get(root)
  }

  set(root: string, entry: IndexEntry): void {
    this.#entries.set(root, entry)
    this.#changed = true
  }

  /** Where the compiled source of a plugin is kept; null without a directory. */
  bundleFile(name: string): string | null {
    return this.#directory === null ? null : join(this.#directory, 'bundles', `${name}.cjs`)
  }

  /** Keeps a compiled source; null when it could not be written. */
  async writeBundle(name: string, text: string): Promise<string | null> {
    const file = this.bundleFile(name)
    return file !== null && (await replaceFile(file, text)) ? file : null
  }

  readBundle(name: string): Promise<string | null> {
    const file = this.bundleFile(name)
    return file === null ? Promise.resolve(null) : readFile(file, 'utf8').catch(() => null)
  }

  async save(): Promise<void> {
    if (!this.#changed || this.#directory === null) return
    this.#changed = false
    const content = JSON.stringify({ format: FORMAT, entries: Object.fromEntries(this.#entries) })
    await replaceFile(join(this.#directory, 'plugins.index.json'), content)
  }
}

/** Stamps of files read since `begun` (milliseconds since the epoch); one that may have changed in between never matches. */
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

function read(file: string): Record<string, IndexEntry> {
  try {
    const content = JSON.parse(readFileSync(file, 'utf8')) as { format?: string; entries?: Record<string, IndexEntry> }
    return content.format === FORMAT ? (content.entries ?? {}) : {}
  } catch {
    return {}
  }
}

/** Readers see the old file or the new one. False when it cannot be written. */
async function replaceFile(file: string, text: string): Promise<boolean> {
  const temporary = `${file}.${process.pid}`
  try {
    await mkdir(join(file, '..'), { recursive: true })
    await writeFile(temporary, text)
    await rename(temporary, file)
    return true
  } catch {
    return false
  }
}

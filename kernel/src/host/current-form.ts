import { existsSync, readdirSync, statSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import type { PluginPackage } from '../loader/plugin-package.ts'

/** Limit of files to compare with a build. */
const MAX_FILES = 2_000
const IGNORED: ReadonlySet<string> = new Set(['node_modules', 'dist'])

interface PackageUse {
  /** True if the package was last loaded from its source in this project. */
  readonly fromSource: boolean
  /** Returns true if the source did not change since then. */
  unchanged(): boolean
  /** True if the package belongs to the installation. */
  readonly installed: boolean
  /** Resolves to true if a server runs for the project. */
  isServed(): Promise<boolean>
}

/**
 * True if a command should use the source of a package that also has a build: if the running server does, as with
 * `svc serve --watch`, or if no server runs and the source is newer than the build. A build of the installation or in
 * `node_modules` counts as up to date.
 */
export async function isSourceCurrent(found: PluginPackage, use: PackageUse): Promise<boolean> {
  const { fromSource, installed } = use
  if (installed || found.root.split(sep).includes('node_modules')) return fromSource && (await use.isServed())
  if (fromSource && use.unchanged()) return true
  return isSourceNewer(found) ? fromSource || !(await use.isServed()) : fromSource && (await use.isServed())
}

function isSourceNewer({ plugin, source, pages }: PluginPackage): boolean {
  const builtMs = statSync(plugin, { throwIfNoEntry: false })?.mtimeMs
  if (source === null) return false
  const folders = [...new Set([source, ...Object.values(pages)].map(file => dirname(file)))].filter(existsSync)
  return builtMs !== undefined && hasNewer(folders, builtMs)
}

/** True if a file in the folders was modified after `sinceMs`, milliseconds since the epoch. */
function hasNewer(folders: string[], sinceMs: number): boolean {
  let seen = 0
  for (const folder of folders) {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name)
      if (entry.name.startsWith('.') || IGNORED.has(entry.name)) continue
      if (entry.isDirectory()) folders.push(path)
      else if ((statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0) > sinceMs) return true
      seen += 1
      if (seen > MAX_FILES) return false
    }
  }
  return false
}

/** True if a daemon runs for the project. */
export async function isServed(projectRoot: string): Promise<boolean> {
  // Loaded on demand: most commands do not depend on it.
  const { readDaemonState } = await import('@svc/contracts')
  return (await readDaemonState(projectRoot)) !== null
}

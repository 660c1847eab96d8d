import { readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type ConfigSources, keyText, type Resolved, setGuards } from '@svc/config'
import { makePrivateFolder } from '@svc/plugin-sdk/folders'
import type { KernelLogger } from '../core/logger.ts'
import type { PluginCatalog } from './catalog.ts'
import type { ResolvedConfig } from './plugin-config.ts'
import { REREAD_MS, SETTLED_MS } from './unfinished-saves.ts'

/**
 * Keys of guards (secrets and settings with `x-guards`) that files set in the last configuration of a server. A server
 * that starts while a file is half-written has no earlier configuration in memory to compare with. Only keys are
 * stored, no values. If the cache folder is read-only, nothing is remembered.
 */
export class KnownGuards {
  readonly #file: string

  /** `state`: state folder of the project. */
  constructor(state: string) {
    this.#file = join(state, 'cache', 'guards.json')
  }

  /** Returns the remembered keys that have no value now. Keys of plugins that were not read are ignored. */
  missing(resolved: Resolved): readonly string[] {
    const known = this.#read().filter(key => hasSection(resolved, key))
    if (known.length === 0) return []
    const set = new Set(setGuards(resolved))
    return known.filter(key => !set.has(key))
  }

  /** Replaces the remembered keys, except those of plugins that were not read. */
  remember(resolved: Resolved): void {
    const others = this.#read().filter(key => !hasSection(resolved, key))
    const text = JSON.stringify([...others, ...setGuards(resolved, 'files')].sort())
    if (text === JSON.stringify(this.#read())) return
    try {
      makePrivateFolder(dirname(this.#file))
      const draft = `${this.#file}.${process.pid}`
      writeFileSync(draft, text, { mode: 0o600 })
      renameSync(draft, this.#file)
    } catch {
      // Without the file, the next start does not wait.
    }
  }

  #read(): readonly string[] {
    try {
      const keys: unknown = JSON.parse(readFileSync(this.#file, 'utf8'))
      return Array.isArray(keys) ? keys.filter(key => typeof key === 'string') : []
    } catch {
      return []
    }
  }
}

function hasSection({ sections }: Resolved, key: string): boolean {
  return sections.some(({ prefix }) => prefix.length === 0 || key.startsWith(`${keyText(prefix)}.`))
}

interface Configured {
  readonly catalog: PluginCatalog
  readonly config: ResolvedConfig
}

/**
 * Reads the configuration again while a guard of the last server is missing and a file is so new that it may be
 * half-written. Returns at once if no guard is missing or no file is new.
 */
export async function settledConfig(
  first: Configured,
  resolve: (catalog: PluginCatalog) => ResolvedConfig,
  openLog: () => Promise<Pick<KernelLogger, 'warn'>>
): Promise<Configured> {
  const guards = new KnownGuards(first.catalog.state)
  let isReported = false
  for (let current = first; ; ) {
    const missing = guards.missing(current.config.resolved).join(', ')
    const recent = recentFiles(current.catalog.sources).join(', ')
    if (missing === '' || recent === '') return current
    if (!isReported) {
      const log = await openLog()
      log.warn(
        `${missing}: set in the last run, but not now; waiting until ${recent} is unchanged for ${SETTLED_MS} ms`
      )
    }
    isReported = true
    await pause(REREAD_MS)
    const catalog = await current.catalog.again()
    current = { catalog, config: resolve(catalog) }
  }
}

/**
 * Returns configuration files that were written after they were read, or shortly before. Times far in the future are
 * ignored: the clock was set back.
 */
function recentFiles({ files, readAt }: ConfigSources): readonly string[] {
  return files.filter(file => {
    const written = statSync(file, { throwIfNoEntry: false })?.mtimeMs
    return written !== undefined && written > readAt - SETTLED_MS && written < Date.now() + SETTLED_MS
  })
}

import { randomUUID } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Cache of the plugins of this repository, compiled from their sources by earlier tests. */
const KEPT = fileURLToPath(new URL('../node_modules/.cache/svc-plugins', import.meta.url))
const INDEX = 'plugins.index.json'
const BUNDLES = 'bundles'

const cacheOf = (project: string): string => join(project, '.vox', 'cache')

/**
 * Gives a project that was not opened yet the compiled plugins of earlier tests. The kernel checks whether a source has
 * changed since, so an old cache costs time only. Compiling and describing four plugins takes seconds.
 */
export function takeCompiledPlugins(project: string): void {
  const cache = cacheOf(project)
  if (existsSync(cache) || !existsSync(KEPT)) return
  try {
    mkdirSync(cache, { recursive: true })
    cpSync(KEPT, cache, { recursive: true })
  } catch {
    // Another process replaces it. A plugin without its file is compiled.
  }
}

/** Keeps the compiled plugins of a project that was closed, if they are not those that it took. */
export function keepCompiledPlugins(project: string): void {
  const cache = cacheOf(project)
  const compiled = read(join(cache, INDEX))
  if (compiled === null || compiled === read(join(KEPT, INDEX))) return
  const next = `${KEPT}.${randomUUID()}`
  const last = `${next}.last`
  try {
    mkdirSync(next, { recursive: true })
    for (const name of [INDEX, BUNDLES]) cpSync(join(cache, name), join(next, name), { recursive: true })
    if (existsSync(KEPT)) renameSync(KEPT, last)
    renameSync(next, KEPT)
  } catch {
    // Another process keeps its own.
  } finally {
    for (const folder of [next, last]) rmSync(folder, { recursive: true, force: true })
  }
}

function read(file: string): string | null {
  return existsSync(file) ? readFileSync(file, 'utf8') : null
}

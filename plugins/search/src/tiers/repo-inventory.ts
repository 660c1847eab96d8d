import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { protection, type SearchTier, type SearchTierHit } from '@svc/contracts'
import { isStopWord } from '../plan/words.ts'

const MIN_FILES = 100
/** Age from which the inventory is walked again. */
const FRESH_MS = 5_000
/** Paths that are scored before other work runs. */
const BATCH = 2_000
const MAX_TOKENS = 24
const IN_PATH = 1
const AT_END = 1.3

export interface InventoryParts {
  readonly projectRoot: string
  readonly settings: () => { readonly repo_max_files: number; readonly repo_skip_dirs: readonly string[] }
}

export interface InventoryList {
  /** Relative to the project, with forward slashes. */
  readonly paths: readonly string[]
  /** True if there are more files than the limit. */
  readonly truncated: boolean
}

/** Paths of the project's files. Links are not followed, and folders of the skip list are left out. */
export class RepoInventory {
  readonly #parts: InventoryParts
  #list: { readonly key: string; readonly until: number; readonly paths: Promise<InventoryList> } | null = null

  constructor(parts: InventoryParts) {
    this.#parts = parts
  }

  /** Lists at most `repo_max_files` paths, at least 100. The list may be 5 seconds old. */
  list(): Promise<InventoryList> {
    const { repo_max_files, repo_skip_dirs } = this.#parts.settings()
    const maxFiles = Math.max(MIN_FILES, repo_max_files)
    const key = JSON.stringify([maxFiles, repo_skip_dirs])
    const now = performance.now()
    if (this.#list === null || this.#list.key !== key || this.#list.until < now) {
      const paths = walk(this.#parts.projectRoot, maxFiles, new Set(repo_skip_dirs))
      this.#list = { key, until: now + FRESH_MS, paths }
    }
    return this.#list.paths
  }

  /** Returns paths that contain words of the query, best first. */
  async search(query: string, limit: number, signal: AbortSignal): Promise<readonly SearchTierHit[]> {
    const tokens = pathTokens(query)
    if (tokens.length === 0) return []
    const { paths } = await this.list()
    const scored: { path: string; score: number }[] = []
    for (let at = 0; at < paths.length; at += BATCH) {
      signal.throwIfAborted()
      for (const path of paths.slice(at, at + BATCH)) {
        const score = pathScore(path, tokens)
        if (score > 0) scored.push({ path, score })
      }
      await new Promise(resolve => setImmediate(resolve))
    }
    return scored
      .sort((a, b) => b.score - a.score || a.path.length - b.path.length || (a.path < b.path ? -1 : 1))
      .slice(0, limit)
      .map(({ path, score }) => ({
        key: path,
        title: path,
        text: path,
        score,
        provenance: path,
        factors: [`words of the query in the path: ${score.toFixed(1)}`]
      }))
  }
}

export function repoInventoryTier(inventory: RepoInventory): SearchTier {
  return {
    name: 'repo_path',
    corpus: 'repo_inventory',
    query: ({ query, limit }, signal) => inventory.search(query, limit, signal)
  }
}

/** Words of a query as they may occur in a path, such as `src/plugin.ts`. */
export function pathTokens(query: string): readonly string[] {
  const tokens = query
    .toLowerCase()
    .split(/[\s"'`,;?!()<>|]+/)
    .map(token => token.replace(/^[.:/-]+(?=\w)|[.:/-]+$/g, ''))
    .filter(token => token.length > 1 && !isStopWord(token))
  return [...new Set(tokens)].slice(0, MAX_TOKENS)
}

/** 1 for each token in the path, and 1.3 more if the path ends with it or a part begins with it. */
export function pathScore(path: string, tokens: readonly string[]): number {
  const folded = path.toLowerCase()
  let score = 0
  for (const token of tokens) {
    if (!folded.includes(token)) continue
    score += IN_PATH
    if (folded.endsWith(token) || folded.includes(`/${token}`)) score += AT_END
  }
  return score
}

async function walk(root: string, maxFiles: number, skipped: ReadonlySet<string>): Promise<InventoryList> {
  const paths: string[] = []
  const folders = ['']
  for (let folder = folders.shift(); folder !== undefined; folder = folders.shift()) {
    const entries = await readdir(join(root, folder), { withFileTypes: true }).catch(() => [])
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`
      if (entry.isDirectory() && !skipped.has(entry.name)) folders.push(path)
      if (!entry.isFile() || protection(path) !== null) continue
      if (paths.length === maxFiles) return { paths, truncated: true }
      paths.push(path)
    }
  }
  return { paths, truncated: false }
}

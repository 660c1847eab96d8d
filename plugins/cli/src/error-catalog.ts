import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { errorDocs, type PluginManifest } from '@svc/plugin-sdk'

export interface ErrorEntry {
  readonly code: string
  readonly status: number
  readonly meaning: string
  /** Null for codes of plugins that only declare a meaning. */
  readonly advice: string | null
  readonly owner: string
}

/** Row of `errors.json`: owner, status, meaning, advice. */
type Row = readonly [owner: string, status: number, meaning: string, advice: string]

/**
 * Returns the codes of svc, which `npm run docs` copies from docs/errors.md to `errors.json` of this package, and those
 * that operations of other plugins declare; sorted by code.
 */
export async function readErrorCatalog(
  packageRoot: string,
  manifests: readonly PluginManifest[]
): Promise<readonly ErrorEntry[]> {
  const rows = JSON.parse(await readFile(join(packageRoot, 'errors.json'), 'utf8')) as Readonly<Record<string, Row>>
  const entries = new Map<string, ErrorEntry>()
  for (const [code, [owner, status, meaning, advice]] of Object.entries(rows))
    entries.set(code, { code, status, meaning, advice, owner })
  for (const { name, operations } of manifests) {
    for (const [code, { message, status = 500 }] of operations.flatMap(({ errors }) => Object.entries(errors))) {
      if (!entries.has(code)) entries.set(code, { code, status, meaning: message, advice: null, owner: name })
    }
  }
  return [...entries.values()].sort((a, b) => (a.code < b.code ? -1 : 1))
}

export function errorText(entry: ErrorEntry): string {
  const { code, status, meaning, advice, owner } = entry
  const docs = errorDocs(entry)
  return [
    `${code} (HTTP ${status}, ${owner})`,
    '',
    meaning,
    ...(advice === null ? [] : ['', advice]),
    ...(docs === undefined ? [] : ['', docs])
  ].join('\n')
}

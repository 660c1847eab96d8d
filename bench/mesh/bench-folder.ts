import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Folder of the packages of peers, which later runs use again. */
export const PEERS = join(import.meta.dirname, '../../node_modules/.cache/svc-bench-mesh')

/** Creates a folder that other users may enter, because the database server runs as one. */
export function openFolder(name: string): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), `svc-bench-mesh-${name}-`))
  chmodSync(path, 0o755)
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

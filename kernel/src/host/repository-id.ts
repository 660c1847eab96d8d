import { createHash } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { basename } from 'node:path'

/**
 * Returns the name of the project's folder with an 8-digit hash of its path, so that two checkouts have different ids.
 */
export function repositoryIdOf(projectRoot: string): string {
  const path = realpathSync(projectRoot)
  return `${basename(path)}-${createHash('sha256').update(path).digest('hex').slice(0, 8)}`
}

import { createHash } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { basename } from 'node:path'

/** Name of the project's folder and eight hex digits of its real path: readable, and different for two checkouts. */
export function repositoryIdOf(projectRoot: string): string {
  const path = realpathSync(projectRoot)
  return `${basename(path)}-${createHash('sha256').update(path).digest('hex').slice(0, 8)}`
}

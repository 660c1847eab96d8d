import { randomUUID } from 'node:crypto'
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { makePrivateFolder } from '@svc/plugin-sdk/folders'

/** Writes a small file atomically; readers see the old or the new content. Only this user can read it and its folder. */
export function writePrivate(path: string, text: string): void {
  makePrivateFolder(dirname(path))
  const draft = `${path}.${randomUUID()}.tmp`
  try {
    writeFileSync(draft, text, { mode: 0o600 })
    renameSync(draft, path)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
}

/** Returns the JSON object in a file; null if the file is missing or holds anything else. Throws other system errors. */
export function readObject(path: string): Readonly<Record<string, unknown>> | null {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null
  } catch {
    return null
  }
}

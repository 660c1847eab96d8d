import { rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { makePrivateFolder } from '@svc/plugin-sdk/folders'

/** Writes a file atomically: readers see the old or the new content. Creates its folder. Only this user can read it. */
export async function replaceFile(file: string, text: string | Uint8Array): Promise<void> {
  const temporary = `${file}.${process.pid}.tmp`
  makePrivateFolder(dirname(file))
  try {
    await writeFile(temporary, text, { mode: 0o600 })
    await rename(temporary, file)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

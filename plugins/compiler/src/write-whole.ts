import { realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { errorMessage } from '@svc/plugin-sdk'
import { compilerErrors } from './errors.ts'

/**
 * Replaces or creates a file atomically: readers see the old content or the new one. If the path is a symbolic link,
 * its target is written. Throws `CMP_FILE_UNWRITABLE`.
 */
export async function writeWhole(path: string, text: string): Promise<void> {
  const file = await realpath(path).catch(() => path)
  const temporary = `${file}.${process.pid}.tmp`
  const { mode } = await stat(file).catch(() => ({ mode: 0o666 }))
  try {
    await writeFile(temporary, text, { mode, flag: 'wx' })
    await rename(temporary, file)
  } catch (cause) {
    await rm(temporary, { force: true })
    const reason = errorMessage(cause)
    throw compilerErrors.create('CMP_FILE_UNWRITABLE', `${path} cannot be written: ${reason}`, {
      hint: 'make the file and its folder writable; nothing was changed',
      at: { file: path },
      cause
    })
  }
}

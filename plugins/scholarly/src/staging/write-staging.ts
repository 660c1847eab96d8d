import { randomBytes } from 'node:crypto'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { PlannedFile, PublicationManifest } from '@svc/contracts'
import { errorMessage } from '@svc/plugin-sdk'
import { scholarlyErrors } from '../errors.ts'
import { CHECKSUMS_FILE, checksumsText, generatedFiles } from './content.ts'

/**
 * Writes the files of a submission and their checksums into a folder, and returns them. Other files in the folder stay.
 * Each file is replaced at once; the checksums are written last. Throws `SCH_STAGING_FAILED`, and `RemoteFailure` for
 * content that no file can be written from.
 */
export async function writeStaging(folder: string, manifest: PublicationManifest): Promise<readonly PlannedFile[]> {
  const files = generatedFiles(manifest)
  const checksums = checksumsText(files)
  try {
    await mkdir(folder, { recursive: true })
    for (const { name, text } of files) await replaceFile(folder, name, text)
    await replaceFile(folder, CHECKSUMS_FILE, checksums)
  } catch (error) {
    throw scholarlyErrors.create('SCH_STAGING_FAILED', `staging folder ${folder}: ${errorMessage(error)}`, {
      cause: error,
      hint: 'choose another folder with --out'
    })
  }
  return files.map(({ name, bytes, sha3_256 }) => ({ name, bytes, sha3_256 }))
}

async function replaceFile(folder: string, name: string, text: string): Promise<void> {
  const temporary = join(folder, `.${name}.${randomBytes(6).toString('hex')}`)
  try {
    const handle = await open(temporary, 'wx', 0o644)
    try {
      await handle.writeFile(text)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(temporary, join(folder, name))
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

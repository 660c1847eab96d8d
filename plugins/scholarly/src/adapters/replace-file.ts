import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { RemoteFailure } from '@svc/contracts'
import { errorMessage } from '@svc/plugin-sdk'

/**
 * Replaces a file: readers see the old or the new content, also after the end of the process. Throws
 * {@link RemoteFailure} with class `transient` and code `write_failed`, such as for a full disk; the old file stays.
 */
export async function replaceFile(path: string, content: string | Uint8Array): Promise<void> {
  const draft = `${path}.${crypto.randomUUID()}.tmp`
  try {
    await mkdir(dirname(path), { recursive: true })
    await writeFile(draft, content, { flush: true })
    await rename(draft, path)
  } catch (error) {
    await rm(draft, { force: true }).catch(() => undefined)
    throw new RemoteFailure(
      `${path}: the file cannot be written: ${errorMessage(error)}; free space, or choose another folder`,
      {
        failureClass: 'transient',
        code: 'write_failed'
      }
    )
  }
}

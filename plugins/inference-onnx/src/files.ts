import { access, readFile, stat } from 'node:fs/promises'
import { isSvcError } from '@svc/plugin-sdk'
import { inferenceErrors } from './errors.ts'

/** Converts a file system error to an `INF_RUN_DIR_*` error that names the file; returns other errors unchanged. */
export function fileError(error: unknown, file: string): unknown {
  if (isSvcError(error) || !(error instanceof Error) || !('code' in error)) return error
  if (error.code === 'ENOENT') return fileMissing(file)
  return inferenceErrors.create('INF_RUN_DIR_UNREADABLE', `${file} could not be read: ${error.message}`, {
    at: { file },
    data: { file, cause: error.code },
    cause: error
  })
}

export function fileMissing(file: string, hint = 'Add the file, or name another run directory.') {
  return inferenceErrors.create('INF_RUN_DIR_FILE_MISSING', `${file} is missing`, {
    at: { file },
    data: { file },
    hint
  })
}

/** Throws `INF_RUN_DIR_NOT_FOUND` if a path is not a folder. `shown`: the folder at the beginning of the message. */
export async function requireFolder(path: string, shown: string, hint: string): Promise<void> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null
    throw fileError(error, path)
  })
  if (found?.isDirectory()) return
  const reason = found === null ? 'does not exist' : 'is not a directory'
  throw inferenceErrors.create('INF_RUN_DIR_NOT_FOUND', `${shown} ${reason}`, { at: { file: path }, hint })
}

export function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false
  )
}

/** Reads a JSON object. Throws `INF_RUN_DIR_FILE_MISSING`, `_UNREADABLE` or `_MALFORMED`. */
export async function readJsonObject(file: string): Promise<Record<string, unknown>> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    throw fileError(error, file)
  }
  let value: unknown
  let reason = 'it does not contain a JSON object'
  try {
    value = JSON.parse(text)
  } catch (error) {
    reason = (error as Error).message
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw inferenceErrors.create('INF_RUN_DIR_MALFORMED', `${file} is not valid: ${reason}`, {
      at: { file },
      data: { file, offset: 0 }
    })
  }
  return value as Record<string, unknown>
}

/** Like {@link readJsonObject}, but returns null for a missing file. */
export async function readOptionalJsonObject(file: string): Promise<Record<string, unknown> | null> {
  try {
    return await readJsonObject(file)
  } catch (error) {
    if (isSvcError(error, 'INF_RUN_DIR_FILE_MISSING')) return null
    throw error
  }
}

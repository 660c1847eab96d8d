import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { errors } from '../errors.ts'
import { gigabytes } from '../memory-budget.ts'

/** Throws `MSV_PULL_SPACE` if the disk of a folder has less free space than needed. Sizes in bytes. */
export async function requireSpace(folder: string, needed: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder)
  if (bavail * bsize < needed) throw tooSmall(folder, needed, bavail * bsize)
}

/** True if a disk or its quota is full, or a file exceeds what the file system or a limit of the process allows. */
export function isDiskFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT', 'EFBIG'].includes(String((error as NodeJS.ErrnoException | null)?.code))
}

/** Returns the error for a full disk. `missing`: bytes of the file that are left; null if unknown. */
export async function noSpace(path: string, missing: number | null, cause?: unknown): Promise<Error> {
  if ((cause as NodeJS.ErrnoException | undefined)?.code === 'EFBIG') {
    const message = `${path} cannot grow: its file system, or a limit of the process (ulimit -f), allows no larger files`
    return errors.create('MSV_PULL_SPACE', message, { cause, hint: HINT })
  }
  const { bavail, bsize } = await statfs(dirname(path))
  return missing === null
    ? errors.create('MSV_PULL_SPACE', `the disk of ${dirname(path)} is full`, { hint: HINT })
    : tooSmall(dirname(path), missing, bavail * bsize)
}

const HINT = 'Free some space, or set plugins.model-server.models_folder to another disk; then run the command again.'

function tooSmall(folder: string, needed: number, free: number): Error {
  return errors.create(
    'MSV_PULL_SPACE',
    `the disk of ${folder} needs ${gigabytes(needed)} more and has ${gigabytes(free)}: ${gigabytes(Math.max(0, needed - free))} are missing`,
    { data: { needed, free }, hint: HINT }
  )
}

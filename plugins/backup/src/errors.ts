import { errorTable } from '@svc/plugin-sdk'

export const backupErrors = errorTable({
  BKP_BUSY: { message: 'Another process writes or restores a backup of this project.', status: 409 },
  BKP_CHANGED: { message: 'A file became shorter while it was copied.', status: 409 },
  BKP_DAMAGED: { message: 'An archive is damaged, incomplete, or holds what no backup holds.', status: 422 },
  BKP_DISK_FULL: { message: 'A backup or its restore does not fit on the disk.', status: 507 },
  BKP_EXISTS: {
    message: 'The file or folder exists, and a backup or restore never overwrites it unasked.',
    status: 409
  },
  BKP_FAILED: { message: 'A file of a backup cannot be read or written.', status: 500 },
  BKP_FORMAT_NEWER: { message: 'A later version of svc wrote the archive.', status: 409 },
  BKP_KEY_INVALID: { message: 'A recipient or an identity is not a key of age.', status: 400 },
  BKP_KEY_REQUIRED: { message: 'An archive is encrypted, or would hold keys, and no key was named.', status: 400 },
  BKP_KEY_WRONG: { message: 'No passphrase or identity opens the archive.', status: 403 },
  BKP_NO_ENGINE: {
    message: 'Databases cannot be copied or checked, since the plugin database does not run.',
    status: 503
  },
  BKP_OPTIONS: { message: 'Options of a backup or restore do not belong together.', status: 400 },
  BKP_PART_CONFLICT: { message: 'A part of the archive does not fit what is there.', status: 409 },
  BKP_SERVED: { message: 'A process serves the project or has its files open.', status: 409 }
})

const FULL = new Set(['ENOSPC', 'EDQUOT', 'EFBIG'])

/** Returns the error of a failed write or read, with a code. `what`: file or folder. */
export function fileError(error: unknown, what: string): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException
  if (code !== undefined && FULL.has(code))
    return backupErrors.create('BKP_DISK_FULL', `${what}: the disk is full`, {
      cause: error,
      hint: 'free space, or name another folder; nothing was left behind'
    })
  if (code === 'DBS_FULL')
    return backupErrors.create('BKP_DISK_FULL', `${what}: the disk is full`, { cause: error, hint: 'free space' })
  if (syscall !== undefined)
    return backupErrors.create('BKP_FAILED', `${what}: ${(error as Error).message}`, { cause: error })
  return error
}

/** Returns the error of an archive that cannot be used. */
export function damaged(why: string): Error {
  return backupErrors.create('BKP_DAMAGED', `the archive cannot be used: ${why}`, { hint: 'use another backup' })
}

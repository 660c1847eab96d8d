import { randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { secretErrors } from '@svc/contracts'
import { errorMessage } from '@svc/plugin-sdk'

/** Writes a file that only this user can read, in one step. A symbolic link stays one. Throws `SEC_STORE_FAILED`. */
export function writePrivateFile(path: string, text: string): void {
  const target = targetOf(path)
  const draft = `${target}.${process.pid}.${randomBytes(4).toString('hex')}`
  try {
    mkdirSync(dirname(target), { recursive: true, mode: 0o700 })
    writeFileSync(draft, text, { mode: 0o600, flag: 'wx', flush: true })
    chmodSync(draft, 0o600)
    renameSync(draft, target)
  } catch (error) {
    rmSync(draft, { force: true })
    throw secretErrors.create('SEC_STORE_FAILED', `${path}: ${errorMessage(error)}`, {
      at: { file: path },
      hint: 'correct the permissions of the file and its folder, and the free space',
      cause: error
    })
  }
}

function targetOf(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

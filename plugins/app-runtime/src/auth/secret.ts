import { hkdfSync, randomBytes } from 'node:crypto'
import { chmod, link, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { DatabaseStore } from '@svc/contracts'
import { errorMessage } from '@svc/plugin-sdk'
import { runErrors } from '../errors.ts'

/** Secrets that sign what the program issues. The first signs, and all verify. */
export interface AuthSecrets {
  readonly all: readonly Uint8Array[]
}

/** Length of a generated secret in bytes. */
const BYTES = 32

/** Rights that only the owner of the file may have. */
const RIGHTS_OF_OTHERS = 0o077

/**
 * Returns the secrets of the settings, or else the one of the file `.vox/auth-secret`, which is made once. Throws
 * `RUN_AUTH_UNAVAILABLE` if the file cannot be used, and for a remote database without the setting, since processes on
 * other machines could not verify what this one signs.
 */
export async function openAuthSecrets(
  configured: readonly string[],
  projectRoot: string,
  { mode }: Pick<DatabaseStore, 'mode'>
): Promise<AuthSecrets> {
  if (configured.length > 0) return { all: configured.map(each => Buffer.from(each, 'utf8')) }
  if (mode === 'remote' || mode === 'replica') {
    const message =
      'plugins.app-runtime.auth.secret: it is not set, but processes that share a remote database need one secret'
    throw runErrors.create('RUN_AUTH_UNAVAILABLE', message, { hint: 'set it to at least 32 random characters' })
  }
  const file = join(projectRoot, '.vox', 'auth-secret')
  try {
    return { all: [Buffer.from(await ownSecret(file), 'utf8')] }
  } catch (error) {
    throw runErrors.create('RUN_AUTH_UNAVAILABLE', `${file}: ${errorMessage(error)}`, {
      hint: 'correct the file, or set plugins.app-runtime.auth.secret',
      cause: error
    })
  }
}

/** Derives a key for one purpose, so that a value signed for one is not valid for another. */
export function derivedKey(secret: Uint8Array, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, Buffer.alloc(0), `svc ${purpose}`, BYTES))
}

async function ownSecret(file: string): Promise<string> {
  const known = await readSecret(file)
  if (known !== null) return known
  await mkdir(join(file, '..'), { recursive: true })
  const temporary = `${file}.${process.pid}.${randomBytes(4).toString('hex')}`
  try {
    await writeFile(temporary, randomBytes(BYTES).toString('base64url'), { mode: 0o600, flag: 'wx', flush: true })
    // Fails if another process was faster; a half-written file is never visible.
    await link(temporary, file).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  } finally {
    await rm(temporary, { force: true })
  }
  const made = await readSecret(file)
  if (made === null) throw new Error('the file was removed while it was made')
  return made
}

async function readSecret(file: string): Promise<string | null> {
  let text: string
  try {
    text = (await readFile(file, 'utf8')).trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  if (text.length < BYTES) throw new Error('the secret is shorter than 32 characters')
  const { mode } = await stat(file)
  if (process.platform !== 'win32' && (mode & RIGHTS_OF_OTHERS) !== 0) await chmod(file, 0o600)
  return text
}

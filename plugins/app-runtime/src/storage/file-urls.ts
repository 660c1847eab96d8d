import { createHmac, timingSafeEqual } from 'node:crypto'
import { derivedKey } from '../auth/secret.ts'
import { safeName } from './file-info.ts'

/** Path of the route that sends files. */
export const FILES_PATH = '/api/files/'

/** Signs the paths of files, so that a client with a path can load the file until it expires. */
export class FileUrls {
  /** The first key signs, and all verify. */
  readonly #keys: readonly Uint8Array[]

  constructor(keys: readonly Uint8Array[]) {
    this.#keys = keys
  }

  static of(secrets: readonly Uint8Array[]): FileUrls {
    return new FileUrls(secrets.map(secret => derivedKey(secret, 'file urls')))
  }

  get keys(): readonly Uint8Array[] {
    return this.#keys
  }

  /** Returns the path of a file. `expires`: Unix milliseconds. */
  sign(id: string, name: string, expires: number): string {
    const seconds = Math.floor(expires / 1000)
    const [key] = this.#keys
    const signature = key === undefined ? '' : signatureOf(key, id, seconds).toString('base64url')
    return `${FILES_PATH}${id}/${encodeURIComponent(safeName(name))}?expires=${seconds}&signature=${signature}`
  }

  /** Returns the Unix seconds until which a path is valid; null if the signature is wrong or has expired. */
  verify(id: string, expires: string, signature: string, now: number): number | null {
    const seconds = Number(expires)
    if (!/^\d{1,12}$/.test(expires) || seconds * 1000 <= now) return null
    const given = Buffer.from(signature, 'base64url')
    const isValid = this.#keys.some(key => {
      const expected = signatureOf(key, id, seconds)
      return given.length === expected.length && timingSafeEqual(given, expected)
    })
    return isValid ? seconds : null
  }
}

function signatureOf(key: Uint8Array, id: string, seconds: number): Buffer {
  return createHmac('sha256', key).update(`${id}\n${seconds}`).digest()
}

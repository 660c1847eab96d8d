import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

const IV_BYTES = 12
const TAG_BYTES = 16

/**
 * Encrypts the address of an upload for a checkpoint: who knows the address can upload. The key is derived from the
 * refresh token, which is stored elsewhere, so that a checkpoint gives no access. AES-256-GCM.
 */
export function sealSession(address: string, refreshToken: string, attemptKey: string): string {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv('aes-256-gcm', keyOf(refreshToken, attemptKey), iv)
  const text = Buffer.concat([cipher.update(address, 'utf8'), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), text]).toString('base64')
}

/** Returns the address, or null if it was encrypted with another refresh token or was damaged. */
export function openSession(sealed: string, refreshToken: string, attemptKey: string): string | null {
  const bytes = Buffer.from(sealed, 'base64')
  if (bytes.length <= IV_BYTES + TAG_BYTES) return null
  try {
    const iv = bytes.subarray(0, IV_BYTES)
    const decipher = createDecipheriv('aes-256-gcm', keyOf(refreshToken, attemptKey), iv, { authTagLength: TAG_BYTES })
    decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
    return decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
  } catch {
    return null
  }
}

function keyOf(refreshToken: string, attemptKey: string): Buffer {
  return Buffer.from(hkdfSync('sha256', refreshToken, attemptKey, 'svc news youtube upload', 32))
}

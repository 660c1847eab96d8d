import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { type AuthSecrets, derivedKey } from '../secret.ts'

/** State of a sign-in between leaving for the OpenID provider and coming back. */
export interface SignInState {
  readonly provider: string
  readonly state: string
  readonly nonce: string
  readonly verifier: string
  /** Path of this origin to open at the end. */
  readonly next: string
  /** Id of the session whose user gets the identity; null for a sign-in. */
  readonly link: string | null
  readonly expiresAtMs: number
}

/** Time within which a sign-in must be finished, in milliseconds. */
export const SIGN_IN_MS = 10 * 60_000

const IV_BYTES = 12
const TAG_BYTES = 16

/** Encrypts the state of a sign-in for the cookie of the browser that began it, so that no other one can finish it. */
export function sealState(state: SignInState, { all }: AuthSecrets): string {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv('aes-256-gcm', keyOf(all[0] as Uint8Array), iv)
  const sealed = Buffer.concat([cipher.update(JSON.stringify(state), 'utf8'), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url')
}

/** Returns the state in a cookie; null if it is forged or outdated. */
export function openState(text: string, { all }: AuthSecrets, now = Date.now()): SignInState | null {
  const bytes = Buffer.from(text, 'base64url')
  if (bytes.length <= IV_BYTES + TAG_BYTES) return null
  for (const secret of all) {
    try {
      const decipher = createDecipheriv('aes-256-gcm', keyOf(secret), bytes.subarray(0, IV_BYTES))
      decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
      const opened = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()])
      const state = JSON.parse(opened.toString('utf8')) as SignInState
      return state.expiresAtMs > now ? state : null
    } catch {
      // Another secret of the list may have sealed it.
    }
  }
  return null
}

function keyOf(secret: Uint8Array): Buffer {
  return derivedKey(secret, 'openid sign-in')
}

import { createHash, createSecretKey, type KeyObject } from 'node:crypto'
import type { Coordination, MeshRole } from '@svc/contracts'
import { jwtVerify } from 'jose'
import { roleOf } from './roles.ts'

/** Tolerated difference of clocks in seconds. */
const LEEWAY_SECONDS = 60
/** Largest time in Unix milliseconds that the store has to keep. */
const MAX_TIME_MS = 8_640_000_000_000_000

/** Verifies bearers that are HS256 tokens with the claims `role`, `jti` and `exp`. Each `jti` is accepted once. */
export class JwtBearers {
  readonly #key: KeyObject
  readonly #store: () => Pick<Coordination, 'useOnce'>

  constructor(secret: string, store: () => Pick<Coordination, 'useOnce'>) {
    this.#key = createSecretKey(secret, 'utf8')
    this.#store = store
  }

  /** Returns the role; null if the token is invalid, expired or was used before. Throws errors of the store. */
  async verify(token: string): Promise<MeshRole | null> {
    const claims = await this.#claims(token)
    if (claims === null) return null
    const { role, jti, exp } = claims
    const [isFresh] = await this.#store().useOnce([usedJwtId(jti, exp)])
    return isFresh === true ? role : null
  }

  async #claims(token: string): Promise<{ role: MeshRole; jti: string; exp: number } | null> {
    try {
      const { payload } = await jwtVerify(token, this.#key, {
        algorithms: ['HS256'],
        requiredClaims: ['exp', 'jti'],
        clockTolerance: LEEWAY_SECONDS
      })
      const role = roleOf(payload.role)
      const { jti, exp } = payload
      if (role === null || typeof jti !== 'string' || jti === '' || exp === undefined) return null
      return { role, jti, exp }
    } catch {
      return null
    }
  }
}

/** Returns whether a bearer has the form of a JWT: three parts with dots. */
export function isJwt(token: string): boolean {
  return /^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)
}

/**
 * Returns the entry of the store that records a used token. `exp`: its expiry in Unix seconds. Only a digest of the id is
 * stored, since the length of an id is not limited.
 */
export function usedJwtId(jti: string, exp: number): { readonly value: string; readonly expiresAt: number } {
  const expiresAt = Math.min(Math.max(0, Math.ceil((exp + LEEWAY_SECONDS) * 1_000)), MAX_TIME_MS)
  return { value: `mesh-jti:${createHash('sha256').update(jti).digest('base64url')}`, expiresAt }
}

import type { Identity } from '@svc/contracts'
import type { JWTPayload, JWTVerifyGetKey, JWTVerifyOptions } from 'jose'
import type { AuthSecrets } from './secret.ts'
import type { Verified, Verifier } from './verifier.ts'

/** A server whose tokens prove identities. */
export interface TokenIssuer {
  readonly issuer: string
  readonly audience: string
  /** URL of its public keys. */
  readonly jwks: string
  readonly algorithms: readonly string[]
  /** Prefix of the ids of its users, which keeps them apart from those of other issuers. */
  readonly id_prefix: string
  /** Claim with the roles; a dot enters an object. */
  readonly roles_claim: string
}

export interface JwtOptions {
  readonly secrets: AuthSecrets
  /** Required issuer and audience of tokens with an own secret; undefined: any. */
  readonly issuer: string | undefined
  readonly audience: string | undefined
  readonly issuers: readonly TokenIssuer[]
}

const COMPACT = /^[\w-]+\.[\w-]+\.[\w-]+$/

/** Time for which a verified token is not verified again, in milliseconds: keys may be withdrawn. */
const FRESH_MS = 60_000

/** Time limit for fetching keys, in milliseconds. */
const KEYS_TIMEOUT_MS = 5_000

/** Verifies JSON Web Tokens: HS256 with an own secret, or the algorithms of an issuer with its public keys. */
export class JwtVerifier implements Verifier {
  readonly provider = 'jwt'
  readonly #options: JwtOptions
  readonly #keys = new Map<string, JWTVerifyGetKey>()

  constructor(options: JwtOptions) {
    this.#options = options
  }

  acceptsBearer(token: string): boolean {
    return COMPACT.test(token)
  }

  ofRequest(): null {
    return null
  }

  async verify(token: string): Promise<Verified> {
    const jose = await import('jose')
    let issuer: TokenIssuer | undefined
    try {
      // Read only to choose the keys; they then verify the claim.
      const { iss } = jose.decodeJwt(token)
      issuer = this.#options.issuers.find(each => each.issuer === iss)
    } catch {
      return { problem: 'invalid' }
    }
    try {
      const payload = issuer === undefined ? await this.#own(token) : await this.#of(issuer, token)
      return payload === null ? { problem: 'invalid' } : verified(payload, issuer)
    } catch (error) {
      if (error instanceof jose.errors.JWTExpired) return { problem: 'expired' }
      // The keys of the issuer could not be fetched: that is no fault of the caller.
      if (error instanceof jose.errors.JWKSTimeout || !(error instanceof jose.errors.JOSEError)) throw error
      if (error.code === 'ERR_JOSE_GENERIC') throw error
      return { problem: 'invalid' }
    }
  }

  async #own(token: string): Promise<JWTPayload | null> {
    const { jwtVerify, errors } = await import('jose')
    const { secrets, issuer, audience } = this.#options
    const options: JWTVerifyOptions = {
      algorithms: ['HS256'],
      requiredClaims: ['sub', 'exp'],
      ...(issuer === undefined ? {} : { issuer }),
      ...(audience === undefined ? {} : { audience })
    }
    for (const secret of secrets.all) {
      try {
        return (await jwtVerify(token, secret, options)).payload
      } catch (error) {
        // Another secret of the list may have signed the token.
        if (!(error instanceof errors.JWSSignatureVerificationFailed)) throw error
      }
    }
    return null
  }

  async #of({ issuer, audience, jwks, algorithms }: TokenIssuer, token: string): Promise<JWTPayload> {
    const { createRemoteJWKSet, jwtVerify } = await import('jose')
    let keys = this.#keys.get(jwks)
    if (keys === undefined) {
      keys = createRemoteJWKSet(new URL(jwks), { timeoutDuration: KEYS_TIMEOUT_MS })
      this.#keys.set(jwks, keys)
    }
    const options = { issuer, audience, algorithms: [...algorithms], requiredClaims: ['sub', 'exp'] }
    return (await jwtVerify(token, keys, options)).payload
  }
}

function verified(payload: JWTPayload, issuer: TokenIssuer | undefined): Verified {
  const { sub, exp } = payload
  if (typeof sub !== 'string' || sub === '' || exp === undefined) return { problem: 'invalid' }
  const identity: Identity = {
    id: `${issuer?.id_prefix ?? ''}${sub}`,
    roles: textsOf(claimAt(payload, issuer?.roles_claim ?? 'roles') ?? payload.role),
    scopes: textsOf(payload.scope ?? payload.scopes ?? payload.scp),
    claims: payload,
    provider: 'jwt'
  }
  return { identity, freshMs: Math.max(0, Math.min(FRESH_MS, exp * 1000 - Date.now())) }
}

function claimAt(claims: unknown, path: string): unknown {
  if (typeof claims !== 'object' || claims === null) return undefined
  // A claim may be called like a URL, with dots in it.
  if (Object.hasOwn(claims, path)) return (claims as Record<string, unknown>)[path]
  const dot = path.indexOf('.')
  if (dot < 0) return undefined
  const [head, rest] = [path.slice(0, dot), path.slice(dot + 1)]
  return Object.hasOwn(claims, head) ? claimAt((claims as Record<string, unknown>)[head], rest) : undefined
}

/** Reads roles or scopes: a list, or one text with spaces in between. */
function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return value.split(' ').filter(each => each !== '')
  return Array.isArray(value) ? value.filter(each => typeof each === 'string') : []
}

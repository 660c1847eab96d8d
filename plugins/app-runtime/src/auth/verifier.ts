import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { HttpCaller, Identity } from '@svc/contracts'

/** Part of a request that may prove an identity. */
export interface ProofRequest {
  readonly method: string
  readonly headers: IncomingHttpHeaders
  /** Token of the header `Authorization: Bearer`; null without one, and if it is the token of the service. */
  readonly bearer: string | null
}

/** Outcome of the check of a proof. `invalid` and `expired` never say more: a caller must not learn what is wrong. */
export type Verified =
  | {
      readonly identity: Identity
      /** Milliseconds for which the result may be reused. */
      readonly freshMs: number
    }
  | { readonly problem: 'invalid' | 'expired' }

/** Verifies the proofs of one provider. */
export interface Verifier {
  readonly provider: 'session' | 'jwt' | 'api_key'
  /** True if a bearer token has the form of this provider's proofs. */
  acceptsBearer(token: string): boolean
  /**
   * Returns the proof in another part of the request, such as a cookie; null if there is none. `header`: the header that
   * the guard names.
   */
  ofRequest(request: ProofRequest, header: string | null): string | null
  /** Throws if it cannot check the proof now. */
  verify(proof: string): Promise<Verified>
}

/** Returns the part of a request that may prove an identity. */
export function proofRequest(
  { method = 'GET', headers }: IncomingMessage,
  { principal }: Pick<HttpCaller, 'principal'>
): ProofRequest {
  const { authorization } = headers
  // The token of the service proves no identity in the program.
  const isNone = authorization === undefined || hasServiceToken({ principal })
  return { method, headers, bearer: isNone ? null : bearerOf(authorization) }
}

/** True if the header `Authorization` is the token of the service, which programs must not see. */
export function hasServiceToken({ principal }: Pick<HttpCaller, 'principal'>): boolean {
  return principal.id === 'bearer'
}

/** Returns the token of an Authorization header. The scheme is case-insensitive (RFC 9110, 11.1). */
export function bearerOf(authorization: string): string | null {
  return /^bearer +(\S+)$/i.exec(authorization)?.[1] ?? null
}

const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * True if a cookie of the request may count: requests that change something must come from a page of this origin, which
 * browsers say in `Sec-Fetch-Site` or `Origin`. Pages of other ports of this machine are another origin.
 */
export function mayUseCookies({ method, headers }: Pick<ProofRequest, 'method' | 'headers'>): boolean {
  if (SAFE.has(method)) return true
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin'
  const { origin, host } = headers
  return origin !== undefined && (origin === `http://${host}` || origin === `https://${host}`)
}

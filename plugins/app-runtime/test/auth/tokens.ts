import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import type { Test } from 'tap'

/** Secret that the tests set as `auth.secret`. */
export const SECRET = 'a secret of at least thirty-two characters'

/** Signs a token with an own secret, valid for an hour unless the claims say otherwise. */
export async function ownToken(claims: JWTPayload = {}, secret = SECRET, alg = 'HS256'): Promise<string> {
  const now = Math.floor(Date.now() / 1000)
  return new SignJWT({ sub: 'ann', exp: now + 3600, ...claims })
    .setProtectedHeader({ alg })
    .sign(new TextEncoder().encode(secret))
}

/** A server with the public keys of an issuer, which signs tokens. */
export interface Issuer {
  readonly url: string
  sign(claims?: JWTPayload | Record<string, unknown>): Promise<string>
  /** The public key as a text, as a confused verifier would use it for HS256. */
  readonly publicText: string
}

export async function openIssuer(t: Test): Promise<Issuer> {
  const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true })
  const jwk = { ...(await exportJWK(publicKey)), kid: 'one', alg: 'RS256' }
  const server = createServer((_, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ keys: [jwk] }))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`
  return {
    url,
    publicText: JSON.stringify(jwk),
    sign: async (claims = {}) => {
      const now = Math.floor(Date.now() / 1000)
      return new SignJWT({ iss: 'https://issuer.example', aud: 'app', sub: 'bob', exp: now + 3600, ...claims })
        .setProtectedHeader({ alg: 'RS256', kid: 'one' })
        .sign(privateKey)
    }
  }
}

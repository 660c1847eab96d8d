import { isLoopback } from '@svc/contracts'
import { errorMessage } from '@svc/plugin-sdk'
import type * as OAuth from 'oauth4webapi'
import { runErrors } from '../../errors.ts'
import { SIGN_IN_MS, type SignInState } from './sign-in-state.ts'

export interface OpenIdSettings {
  readonly issuer: string
  readonly client_id: string
  readonly client_secret?: string
  readonly scopes: string
  /** Whether a first sign-in with the verified address of a user is one of that user. */
  readonly link_by_email: boolean
}

/** Claims of a user whom an OpenID provider has verified. */
export type OpenIdClaims = Readonly<Record<string, unknown>> & { readonly sub: string; readonly iss: string }

/** Time limit of a request to the provider, in milliseconds. */
const TIMEOUT_MS = 10_000
/** Time for which the metadata of a provider is kept, in milliseconds. */
const METADATA_MS = 3_600_000

/** Signs users in with an OpenID provider: authorization code flow with PKCE, state and nonce. */
export class OpenIdProvider {
  readonly name: string
  readonly #settings: OpenIdSettings
  #server: { readonly metadata: OAuth.AuthorizationServer; readonly at: number } | null = null

  constructor(name: string, settings: OpenIdSettings) {
    this.name = name
    this.#settings = settings
  }

  /** Spellings of the issuer in claims. */
  get issuers(): readonly string[] {
    const issuer = this.#settings.issuer.replace(/\/$/, '')
    return [issuer, `${issuer}/`]
  }

  get linksByEmail(): boolean {
    return this.#settings.link_by_email
  }

  /** Returns the address at the provider to which a browser is sent, and the state of the sign-in. */
  async begin(
    redirectUri: string,
    next: string,
    link: SignInState['link'] = null
  ): Promise<{ readonly url: URL; readonly state: SignInState }> {
    const oauth = await import('oauth4webapi')
    const { authorization_endpoint } = await this.#metadata(oauth)
    if (authorization_endpoint === undefined) throw this.#unavailable('it has no authorization endpoint')
    const [state, nonce, verifier] = [
      oauth.generateRandomState(),
      oauth.generateRandomNonce(),
      oauth.generateRandomCodeVerifier()
    ]
    const url = new URL(authorization_endpoint)
    const parameters = {
      client_id: this.#settings.client_id,
      redirect_uri: redirectUri,
      response_type: 'code',
      scope: this.#settings.scopes,
      state,
      nonce,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256'
    }
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
    const expiresAtMs = Date.now() + SIGN_IN_MS
    return { url, state: { provider: this.name, state, nonce, verifier, next, link, expiresAtMs } }
  }

  /**
   * Exchanges the code of the callback, and returns the claims of the user. Throws `RUN_UNAUTHORIZED` for an answer that
   * does not belong to the sign-in, and `RUN_AUTH_UNAVAILABLE` if the provider does not respond.
   */
  async finish(callback: URL, redirectUri: string, pending: SignInState): Promise<OpenIdClaims> {
    const oauth = await import('oauth4webapi')
    const server = await this.#metadata(oauth)
    const client: OAuth.Client = { client_id: this.#settings.client_id }
    const options = this.#options(oauth)
    try {
      // Checks the state, and the issuer in the answer, which identifies the provider.
      const parameters = oauth.validateAuthResponse(server, client, callback, pending.state)
      const response = await oauth.authorizationCodeGrantRequest(
        server,
        client,
        this.#clientAuth(oauth, server),
        parameters,
        redirectUri,
        pending.verifier,
        options
      )
      const tokens = await oauth.processAuthorizationCodeResponse(server, client, response, {
        expectedNonce: pending.nonce,
        requireIdToken: true
      })
      await oauth.validateApplicationLevelSignature(server, response, options)
      const claims = oauth.getValidatedIdTokenClaims(tokens)
      if (claims === undefined) throw this.#refused()
      return { ...(await this.#moreClaims(oauth, server, client, tokens.access_token, claims)), ...claims }
    } catch (error) {
      if (error instanceof oauth.AuthorizationResponseError) {
        throw runErrors.create(
          'RUN_UNAUTHORIZED',
          `${this.name}: the provider did not sign the user in: ${error.error}`
        )
      }
      const isOfAnswer = error instanceof oauth.OperationProcessingError || error instanceof oauth.ResponseBodyError
      if (isOfAnswer || error instanceof oauth.WWWAuthenticateChallengeError) throw this.#refused(error)
      throw this.#unavailable(errorMessage(error), error)
    }
  }

  /** Returns the claims that some providers send only on request. */
  async #moreClaims(
    oauth: typeof OAuth,
    server: OAuth.AuthorizationServer,
    client: OAuth.Client,
    token: string,
    { sub, email }: OAuth.IDToken
  ): Promise<Readonly<Record<string, unknown>>> {
    if (email !== undefined || server.userinfo_endpoint === undefined) return {}
    const response = await oauth.userInfoRequest(server, client, token, this.#options(oauth))
    return oauth.processUserInfoResponse(server, client, sub, response)
  }

  #clientAuth(oauth: typeof OAuth, { token_endpoint_auth_methods_supported: methods }: OAuth.AuthorizationServer) {
    const { client_secret: secret } = this.#settings
    if (secret === undefined) return oauth.None()
    const isBasic = methods === undefined || methods.includes('client_secret_basic')
    return isBasic ? oauth.ClientSecretBasic(secret) : oauth.ClientSecretPost(secret)
  }

  async #metadata(oauth: typeof OAuth): Promise<OAuth.AuthorizationServer> {
    const known = this.#server
    if (known !== null && performance.now() - known.at < METADATA_MS) return known.metadata
    const issuer = new URL(this.#settings.issuer)
    try {
      const response = await oauth.discoveryRequest(issuer, { ...this.#options(oauth), algorithm: 'oidc' })
      const metadata = await oauth.processDiscoveryResponse(issuer, response)
      this.#server = { metadata, at: performance.now() }
      return metadata
    } catch (error) {
      if (known !== null) return known.metadata
      throw this.#unavailable(errorMessage(error), error)
    }
  }

  /** Only a provider on this machine may be reached without TLS. */
  #options(oauth: typeof OAuth) {
    const { hostname } = new URL(this.#settings.issuer)
    return { signal: () => AbortSignal.timeout(TIMEOUT_MS), [oauth.allowInsecureRequests]: isLoopback(hostname) }
  }

  #refused(cause?: unknown): Error {
    return runErrors.create('RUN_UNAUTHORIZED', `${this.name}: the answer does not belong to this sign-in`, {
      hint: 'sign in again',
      ...(cause === undefined ? {} : { cause })
    })
  }

  #unavailable(reason: string, cause?: unknown): Error {
    return runErrors.create('RUN_AUTH_UNAVAILABLE', `${this.name}: the OpenID provider cannot be used: ${reason}`, {
      hint: 'try again later',
      ...(cause === undefined ? {} : { cause })
    })
  }
}

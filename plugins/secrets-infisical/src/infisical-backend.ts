import {
  type IssuedToken,
  type SecretBackend,
  SecretLogin,
  SecretServer,
  type SecretServerAnswer,
  secretErrors
} from '@svc/contracts'
import type { Settings } from './settings.ts'

const server = new SecretServer('Infisical')

/** Reads secrets of one project and environment over the HTTP API of Infisical. */
export class InfisicalBackend implements SecretBackend {
  readonly #settings: Settings
  /** Null with a token, or without both parts of a login. */
  readonly #login: SecretLogin | null

  constructor(settings: Settings, now: () => number = Date.now) {
    this.#settings = settings
    const { token, client_id: clientId, client_secret: clientSecret } = settings
    const isUsed = token === undefined && clientId !== undefined && clientSecret !== undefined
    this.#login = isUsed ? new SecretLogin(() => this.#logIn({ clientId, clientSecret }), now) : null
  }

  async resolve(name: string, signal?: AbortSignal): Promise<string> {
    const { address, environment, path } = this.#settings
    const base = server.baseUrl(address)
    // A URL would lose them as segments of a path.
    if (name === '.' || name === '..') throw this.#notFound(name)
    const token = await this.#token(signal)
    let answer = await this.#read(base, name, token, signal)
    if (answer.status === 401 && this.#login !== null) {
      // The server may have ended the login before its time.
      await this.#login.end(token)
      answer = await this.#read(base, name, await this.#token(signal), signal)
    }
    if (answer.status === 404) throw this.#notFound(name)
    if (answer.status === 401 || answer.status === 403)
      throw server.unavailable(
        `the server refuses the token with status ${answer.status}`,
        'use a token that may read the project'
      )
    if (answer.status !== 200)
      throw server.unavailable(`status ${answer.status} for ${name}`, 'check the address and the project')
    const { secretValue: value } = (answer.body?.secret ?? {}) as { secretValue?: unknown }
    if (typeof value === 'string') return value
    throw server.unavailable(
      `the answer for ${name} in ${environment}${path} has no value`,
      'check the address; it is that of the server, without /api'
    )
  }

  async #read(base: string, name: string, token: string, signal?: AbortSignal): Promise<SecretServerAnswer> {
    const { project_id, environment, path, timeout_ms } = this.#settings
    const query = new URLSearchParams({ environment, secretPath: path })
    if (project_id !== undefined) query.set('workspaceId', project_id)
    const url = `${base}/api/v3/secrets/raw/${encodeURIComponent(name)}?${query}`
    return server.send(url, { method: 'GET', headers: { authorization: `Bearer ${token}` } }, timeout_ms, signal)
  }

  async #token(signal?: AbortSignal): Promise<string> {
    const token = this.#settings.token ?? (await this.#login?.token(signal))
    if (token !== undefined) return token
    throw server.unavailable(
      'neither a token nor both parts of a login are set',
      'set INFISICAL_TOKEN, or plugins.secrets-infisical.client_id and client_secret'
    )
  }

  async #logIn(credentials: object): Promise<IssuedToken> {
    const headers = { 'content-type': 'application/json' }
    const request = { method: 'POST', headers, body: JSON.stringify(credentials) }
    const url = `${server.baseUrl(this.#settings.address)}/api/v1/auth/universal-auth/login`
    const { status, body } = await server.send(url, request, this.#settings.timeout_ms)
    const { accessToken: token, expiresIn: lifetimeS } = body ?? {}
    if (status !== 200 || typeof token !== 'string' || typeof lifetimeS !== 'number')
      throw server.unavailable(`the login failed with status ${status}`, 'check the client id and the client secret')
    return { token, lifetimeS }
  }

  #notFound(name: string): Error {
    const { environment, path } = this.#settings
    return secretErrors.create(
      'SEC_NOT_FOUND',
      `secret://infisical/${name}: the environment ${environment} has no secret of that name in ${path}`,
      { hint: 'plugins.secrets-infisical.environment and path select the place' }
    )
  }
}

import { type SecretBackend, SecretServer, type SecretServerAnswer, secretErrors } from '@svc/contracts'
import type { Settings } from './settings.ts'

/** Part of the lifetime of a login after which a new one is made. */
const RENEW_AT = 0.8

const server = new SecretServer('Infisical')

interface Login {
  readonly token: string
  readonly untilMs: number
}

/** Reads secrets of one project and environment over the HTTP API of Infisical. */
export class InfisicalBackend implements SecretBackend {
  readonly #settings: Settings
  readonly #now: () => number
  #login: Promise<Login> | null = null

  constructor(settings: Settings, now: () => number = Date.now) {
    this.#settings = settings
    this.#now = now
  }

  async resolve(name: string, signal?: AbortSignal): Promise<string> {
    let answer = await this.#read(name, signal)
    // The server may have ended the login before its time.
    if (answer.status === 401 && this.#login !== null) {
      this.#login = null
      answer = await this.#read(name, signal)
    }
    const { environment, path } = this.#settings
    if (answer.status === 404)
      throw secretErrors.create(
        'SEC_NOT_FOUND',
        `secret://infisical/${name}: the environment ${environment} has no secret of that name in ${path}`,
        { hint: 'plugins.secrets-infisical.environment and path select the place' }
      )
    if (answer.status === 401 || answer.status === 403)
      throw server.unavailable(
        `the server refuses the token with status ${answer.status}`,
        'use a token that may read the project'
      )
    if (answer.status !== 200)
      throw server.unavailable(`status ${answer.status} for ${name}`, 'check the address and the project')
    const value = (answer.body?.secret as { secretValue?: unknown } | undefined)?.secretValue
    if (typeof value === 'string') return value
    throw server.unavailable(
      `the answer for ${name} has no value`,
      'check the address; it is that of the server, without /api'
    )
  }

  async #read(name: string, signal?: AbortSignal): Promise<SecretServerAnswer> {
    const { address, project_id, environment, path, timeout_ms } = this.#settings
    const base = server.baseUrl(address)
    const query = new URLSearchParams({ environment, secretPath: path })
    if (project_id !== undefined) query.set('workspaceId', project_id)
    const url = `${base}/api/v3/secrets/raw/${encodeURIComponent(name)}?${query}`
    const headers = { authorization: `Bearer ${await this.#token(base, signal)}` }
    return server.send(url, { method: 'GET', headers }, timeout_ms, signal)
  }

  async #token(base: string, signal?: AbortSignal): Promise<string> {
    const { token, client_id: clientId, client_secret: clientSecret } = this.#settings
    if (token !== undefined) return token
    if (clientId === undefined || clientSecret === undefined)
      throw server.unavailable(
        'neither a token nor both parts of a login are set',
        'set INFISICAL_TOKEN, or plugins.secrets-infisical.client_id and client_secret'
      )
    const known = await this.#login?.catch(() => null)
    if (known != null && known.untilMs > this.#now()) return known.token
    const login = this.#logIn(base, { clientId, clientSecret }, signal)
    this.#login = login
    login.catch(() => {
      if (this.#login === login) this.#login = null
    })
    return (await login).token
  }

  async #logIn(base: string, credentials: object, signal?: AbortSignal): Promise<Login> {
    const headers = { 'content-type': 'application/json' }
    const request = { method: 'POST', headers, body: JSON.stringify(credentials) }
    const url = `${base}/api/v1/auth/universal-auth/login`
    const { status, body } = await server.send(url, request, this.#settings.timeout_ms, signal)
    const { accessToken: token, expiresIn: seconds } = body ?? {}
    if (status !== 200 || typeof token !== 'string' || typeof seconds !== 'number')
      throw server.unavailable(`the login failed with status ${status}`, 'check the client id and the client secret')
    return { token, untilMs: this.#now() + seconds * 1_000 * RENEW_AT }
  }
}

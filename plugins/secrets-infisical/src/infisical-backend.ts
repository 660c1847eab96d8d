import {
  type IssuedToken,
  type SecretBackend,
  SecretLogin,
  type SecretProgram,
  SecretServer,
  type SecretServerAnswer,
  secretErrors
} from '@svc/contracts'
import { readWithProgram } from './infisical-cli.ts'
import type { Settings } from './settings.ts'

const server = new SecretServer('Infisical')

export interface InfisicalDependencies {
  /** The vendor's program. */
  readonly program: SecretProgram
  /** Milliseconds since the epoch. Default: the clock of the system. */
  now?(): number
}

/**
 * Reads secrets of one project and environment over the HTTP API of Infisical. If there is no token or no connection, the
 * vendor's program reads them.
 */
export class InfisicalBackend implements SecretBackend {
  readonly #settings: Settings
  readonly #dependencies: InfisicalDependencies
  /** Null with a token, or without both parts of a login. */
  readonly #login: SecretLogin | null
  /** Whether the server is older than version 4 of the API. */
  #isLegacy = false

  constructor(settings: Settings, dependencies: InfisicalDependencies) {
    this.#settings = settings
    this.#dependencies = dependencies
    const { token, client_id: clientId, client_secret: clientSecret } = settings
    const isUsed = token === undefined && clientId !== undefined && clientSecret !== undefined
    const now = dependencies.now ?? Date.now
    this.#login = isUsed ? new SecretLogin(() => this.#logIn({ clientId, clientSecret }), now) : null
  }

  async resolve(name: string, signal?: AbortSignal): Promise<string> {
    const { address, cli } = this.#settings
    const base = server.baseUrl(address)
    // A URL would lose them as segments of a path.
    if (name === '.' || name === '..') throw this.#notFound(name)
    if (cli === 'always') return this.#resolveWithProgram(name, base, null, signal)
    let problem: Error
    try {
      const token = this.#settings.token ?? (await this.#login?.token(signal))
      if (token !== undefined) return await this.#resolveOverHttp(name, base, token, signal)
      problem = server.unavailable(
        'neither a token nor both parts of a login are set',
        'set INFISICAL_TOKEN, or plugins.secrets-infisical.client_id and client_secret'
      )
    } catch (error) {
      if (!server.isUnreachable(error)) throw error
      problem = error
    }
    if (cli === 'never') throw problem
    return this.#resolveWithProgram(name, base, problem, signal)
  }

  /** `problem`: why the secret could not be read over HTTP, which is thrown if the program is not installed. */
  async #resolveWithProgram(
    name: string,
    address: string,
    problem: Error | null,
    signal?: AbortSignal
  ): Promise<string> {
    const { token, project_id: projectId, environment, path, timeout_ms: timeoutMs } = this.#settings
    // The program cannot log in by Universal Auth without printing a token.
    if (this.#login !== null) throw problem ?? server.unavailable('cli = "always" needs a token', 'set INFISICAL_TOKEN')
    const request = { name, address, token, projectId, environment, path, timeoutMs }
    const value = await readWithProgram(this.#dependencies.program, request, signal)
    if (value === undefined) throw this.#notFound(name)
    if (value !== null) return value
    throw (
      problem ??
      server.unavailable(
        'the program infisical is not installed',
        'install it, or set plugins.secrets-infisical.cli_path'
      )
    )
  }

  async #resolveOverHttp(name: string, base: string, token: string, signal?: AbortSignal): Promise<string> {
    const { environment, path } = this.#settings
    let answer = await this.#read(base, name, token, signal)
    if (answer.status === 401 && this.#login !== null) {
      // The server may have ended the login before its time.
      await this.#login.end(token)
      answer = await this.#read(base, name, await this.#login.token(signal), signal)
    }
    if (answer.status === 404) throw this.#notFound(name)
    if (answer.status === 401 || answer.status === 403)
      throw server.unavailable(
        `the server refuses the token with status ${answer.status}`,
        'use a token that may read the project'
      )
    if (answer.status !== 200)
      throw server.unavailable(`status ${answer.status} for ${name}`, 'check the address and the project')
    const { secretValue: value, secretValueHidden: isHidden } = (answer.body?.secret ?? {}) as Record<string, unknown>
    if (isHidden === true)
      throw server.unavailable(
        `the token may see that ${name} exists, but not its value`,
        'use a token with the right to read values'
      )
    if (typeof value === 'string') return value
    throw server.unavailable(
      `the answer for ${name} in ${environment}${path} has no value`,
      'check the address; it is that of the server, without /api'
    )
  }

  /** Reads with version 4 of the API, or with version 3 on servers that have no other. */
  async #read(base: string, name: string, token: string, signal?: AbortSignal): Promise<SecretServerAnswer> {
    const { project_id, environment, path } = this.#settings
    const place = { environment, secretPath: path }
    const get = (route: string, query: Record<string, string>): Promise<SecretServerAnswer> =>
      this.#get(`${base}/api/${route}/${encodeURIComponent(name)}?${new URLSearchParams(query)}`, token, signal)
    if (project_id !== undefined && !this.#isLegacy) {
      const answer = await get('v4/secrets', { ...place, projectId: project_id, viewSecretValue: 'true' })
      if (!isRouteMissing(answer)) return answer
    }
    // Only version 3 takes the project from the service token.
    const project = project_id === undefined ? {} : { workspaceId: project_id }
    const answer = await get('v3/secrets/raw', { ...place, ...project })
    this.#isLegacy = !isRouteMissing(answer)
    return answer
  }

  #get(url: string, token: string, signal?: AbortSignal): Promise<SecretServerAnswer> {
    const { timeout_ms } = this.#settings
    return server.send(url, { method: 'GET', headers: { authorization: `Bearer ${token}` } }, timeout_ms, signal)
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

/** Whether the server does not know the route. An answer about a secret has the id of the request. */
function isRouteMissing({ status, body }: SecretServerAnswer): boolean {
  return status === 404 && body?.reqId === undefined
}

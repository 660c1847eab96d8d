import {
  type IssuedToken,
  type SecretBackend,
  SecretLogin,
  type SecretProgram,
  SecretServer,
  type SecretServerAnswer,
  secretErrors
} from '@svc/contracts'
import type { Settings } from './settings.ts'
import { readWithProgram } from './vault-cli.ts'

const UNAUTHORIZED = 403
const SEALED = 503

const server = new SecretServer('Vault')

interface Place {
  readonly path: string
  readonly field: string
}

export interface VaultDependencies {
  /** Returns the token that the vendor's program stored; null without one. */
  storedToken(): string | null
  /** The vendor's program. */
  readonly program: SecretProgram
  /** Milliseconds since the epoch. Default: the clock of the system. */
  now?(): number
}

/**
 * Reads fields of secrets of the engine KV, version 1 or 2, over the HTTP API of Vault and OpenBao. If there is no token
 * or no connection, the vendor's program reads them.
 */
export class VaultBackend implements SecretBackend {
  readonly #settings: Settings
  readonly #dependencies: VaultDependencies
  /** Null without the credentials of an AppRole, or with a token. */
  readonly #login: SecretLogin | null

  constructor(settings: Settings, dependencies: VaultDependencies) {
    this.#settings = settings
    this.#dependencies = dependencies
    const { token, role_id, secret_id } = settings
    const isUsed = token === undefined && role_id !== undefined && secret_id !== undefined
    const now = dependencies.now ?? Date.now
    this.#login = isUsed ? new SecretLogin(() => this.#logIn({ role_id, secret_id }), now) : null
  }

  async resolve(name: string, signal?: AbortSignal): Promise<string> {
    const place = this.#placeOf(name)
    const base = this.#base()
    if (this.#settings.cli === 'always') return this.#resolveWithProgram(name, place, base, null, signal)
    let token: string | null
    try {
      token = await this.#token(signal)
      if (token !== null) return await this.#resolveOverHttp(name, place, base, token, signal)
    } catch (error) {
      if (this.#settings.cli === 'never' || !server.isUnreachable(error)) throw error
      return this.#resolveWithProgram(name, place, base, error, signal)
    }
    const problem = server.unavailable(
      'neither a token nor both parts of an AppRole are set',
      'set VAULT_TOKEN, or VAULT_ROLE_ID and VAULT_SECRET_ID'
    )
    if (this.#settings.cli === 'never') throw problem
    return this.#resolveWithProgram(name, place, base, problem, signal)
  }

  /** `problem`: why the secret could not be read over HTTP, which is thrown if the program is not installed. */
  async #resolveWithProgram(
    name: string,
    place: Place,
    address: string,
    problem: Error | null,
    signal?: AbortSignal
  ): Promise<string> {
    const { token, mount, namespace, timeout_ms: timeoutMs } = this.#settings
    // The program cannot log in by AppRole without writing a token to a file.
    if (this.#login !== null) throw problem ?? server.unavailable('cli = "always" needs a token', 'set VAULT_TOKEN')
    const request = { name, ...place, mount, address, token, namespace, timeoutMs }
    const value = await readWithProgram(this.#dependencies.program, request, signal)
    if (value !== null) return value
    throw (
      problem ??
      server.unavailable('neither vault nor bao is installed', 'install one, or set plugins.secrets-vault.cli_path')
    )
  }

  async #resolveOverHttp(
    name: string,
    { path, field }: Place,
    base: string,
    token: string,
    signal?: AbortSignal
  ): Promise<string> {
    let answer = await this.#read(base, path, token, signal)
    if (answer.status === UNAUTHORIZED && this.#login !== null) {
      // The server may have ended the login before its time.
      await this.#login.end(token)
      answer = await this.#read(base, path, await this.#login.token(signal), signal)
    }
    if (answer.status === 404) throw this.#missing(name, path, answer)
    if (answer.status === UNAUTHORIZED)
      throw server.unavailable(
        `the token has ended, or may not read ${path}`,
        'use a valid token whose policy includes the path'
      )
    if (answer.status !== 200)
      throw server.unavailable(
        `status ${answer.status} for ${path}${answer.status === SEALED ? ', as of a sealed server' : ''}`,
        'svc secrets backend-status; vault status shows its state'
      )
    const fields = this.#fieldsOf(answer)
    if (fields === null)
      throw server.unavailable(
        `${path} is not a secret of the engine KV version ${this.#settings.kv_version}`,
        'set plugins.secrets-vault.mount and kv_version'
      )
    if (!Object.hasOwn(fields, field)) throw this.#notFound(name, `the path ${path} has no field ${field}`)
    const value = fields[field]
    if (typeof value === 'string') return value
    throw server.unavailable(`the field ${field} of ${path} is not a text`, 'store it as a text')
  }

  #base(): string {
    const { address } = this.#settings
    if (address === undefined)
      throw server.unavailable('no server is configured', 'set VAULT_ADDR, or plugins.secrets-vault.address')
    return server.baseUrl(address)
  }

  #read(base: string, path: string, token: string, signal?: AbortSignal): Promise<SecretServerAnswer> {
    const { mount, kv_version, timeout_ms } = this.#settings
    const url = `${base}/v1/${encodePath(mount)}${kv_version === 1 ? '' : '/data'}/${encodePath(path)}`
    return server.send(url, { method: 'GET', headers: this.#headers(token) }, timeout_ms, signal)
  }

  /** Returns the fields of a secret; null if the answer is not one of the engine. */
  #fieldsOf({ body }: SecretServerAnswer): Readonly<Record<string, unknown>> | null {
    const { data } = body ?? {}
    const fields = this.#settings.kv_version === 1 ? data : recordOf(data)?.data
    return recordOf(fields)
  }

  /** Distinguishes a secret that does not exist from settings that name the wrong place. */
  #missing(name: string, path: string, { body }: SecretServerAnswer): Error {
    const { mount, kv_version } = this.#settings
    const says = (list: unknown, start: string): boolean =>
      Array.isArray(list) && list.some(each => String(each).startsWith(start))
    if (says(body?.errors, 'no handler for route'))
      return server.unavailable(`the server has no mount ${mount}`, 'set plugins.secrets-vault.mount')
    if (says(body?.warnings, 'Invalid path for a versioned K/V'))
      return server.unavailable(`the mount ${mount} has version 2 of the engine KV`, 'set kv_version to 2')
    return this.#notFound(
      name,
      `the path ${path} does not exist in version ${kv_version} of the engine KV at ${mount}, or its version was deleted`
    )
  }

  async #token(signal?: AbortSignal): Promise<string | null> {
    return this.#settings.token ?? (await this.#login?.token(signal)) ?? this.#dependencies.storedToken()
  }

  async #logIn(credentials: object): Promise<IssuedToken> {
    const { approle_mount, timeout_ms } = this.#settings
    const headers = { ...this.#headers(null), 'content-type': 'application/json' }
    const url = `${this.#base()}/v1/auth/${encodePath(approle_mount)}/login`
    const request = { method: 'POST', headers, body: JSON.stringify(credentials) }
    const { status, body } = await server.send(url, request, timeout_ms)
    const { client_token: token, lease_duration: seconds } = recordOf(body?.auth) ?? {}
    if (status !== 200 || typeof token !== 'string')
      throw server.unavailable(
        `the login by AppRole failed with status ${status}`,
        'check VAULT_ROLE_ID and VAULT_SECRET_ID'
      )
    // 0: the token does not expire.
    return { token, lifetimeS: typeof seconds === 'number' && seconds > 0 ? seconds : Number.POSITIVE_INFINITY }
  }

  #headers(token: string | null): Record<string, string> {
    const { namespace } = this.#settings
    return {
      'x-vault-request': 'true',
      ...(token === null ? {} : { 'x-vault-token': token }),
      ...(namespace === undefined ? {} : { 'x-vault-namespace': namespace })
    }
  }

  #placeOf(name: string): Place {
    const at = name.lastIndexOf('#')
    const path = at === -1 ? this.#settings.path : name.slice(0, at)
    const field = name.slice(at + 1)
    if (path.split('/').some(part => part === '' || part === '.' || part === '..') || field === '')
      throw this.#notFound(name, 'the name is not FIELD or PATH#FIELD')
    return { path, field }
  }

  #notFound(name: string, why: string): Error {
    return secretErrors.create('SEC_NOT_FOUND', `secret://vault/${name}: ${why}`, {
      hint: 'vault kv put stores it; plugins.secrets-vault.mount, path and kv_version select the place'
    })
  }
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : null
}

function encodePath(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/')
}

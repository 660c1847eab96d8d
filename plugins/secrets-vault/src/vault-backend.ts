import {
  type IssuedToken,
  type SecretBackend,
  SecretLogin,
  SecretServer,
  type SecretServerAnswer,
  secretErrors
} from '@svc/contracts'
import type { Settings } from './settings.ts'

const UNAUTHORIZED = 403
const SEALED = 503

const server = new SecretServer('Vault')

/** Reads fields of secrets of the engine KV, version 1 or 2, over the HTTP API of Vault and OpenBao. */
export class VaultBackend implements SecretBackend {
  readonly #settings: Settings
  /** Returns the token of the vendor's command line program; null without one. */
  readonly #storedToken: () => string | null
  /** Null without the credentials of an AppRole, or with a token. */
  readonly #login: SecretLogin | null

  constructor(settings: Settings, storedToken: () => string | null, now: () => number = Date.now) {
    this.#settings = settings
    this.#storedToken = storedToken
    const { token, role_id, secret_id } = settings
    const isUsed = token === undefined && role_id !== undefined && secret_id !== undefined
    this.#login = isUsed ? new SecretLogin(() => this.#logIn({ role_id, secret_id }), now) : null
  }

  async resolve(name: string, signal?: AbortSignal): Promise<string> {
    const { path, field } = this.#placeOf(name)
    const base = this.#base()
    const token = await this.#token(signal)
    let answer = await this.#read(base, path, token, signal)
    if (answer.status === UNAUTHORIZED && this.#login !== null) {
      // The server may have ended the login before its time.
      await this.#login.end(token)
      answer = await this.#read(base, path, await this.#token(signal), signal)
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

  /** Tells a secret that does not exist from settings that name the wrong place. */
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

  async #token(signal?: AbortSignal): Promise<string> {
    const token = this.#settings.token ?? (await this.#login?.token(signal)) ?? this.#storedToken()
    if (token !== null) return token
    throw server.unavailable(
      'neither a token nor both parts of an AppRole are set',
      'set VAULT_TOKEN, or VAULT_ROLE_ID and VAULT_SECRET_ID'
    )
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

  #placeOf(name: string): { readonly path: string; readonly field: string } {
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

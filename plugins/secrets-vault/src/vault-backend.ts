import { type SecretBackend, SecretServer, type SecretServerAnswer, secretErrors } from '@svc/contracts'
import type { Settings } from './settings.ts'

/** Part of the lease of a login after which a new one is made. */
const RENEW_AT = 0.8
const UNAUTHORIZED = 403

const server = new SecretServer('Vault')

interface Login {
  readonly token: string
  readonly untilMs: number
}

/** Reads fields of secrets of the engine KV version 2, over the HTTP API of Vault and OpenBao. */
export class VaultBackend implements SecretBackend {
  readonly #settings: Settings
  /** Returns the token of the vendor's command line program; null without one. */
  readonly #storedToken: () => string | null
  readonly #now: () => number
  #login: Promise<Login> | null = null

  constructor(settings: Settings, storedToken: () => string | null, now: () => number = Date.now) {
    this.#settings = settings
    this.#storedToken = storedToken
    this.#now = now
  }

  async resolve(name: string, signal?: AbortSignal): Promise<string> {
    const { path, field } = this.#placeOf(name)
    let answer = await this.#read(path, signal)
    // The server may have ended the login before its time.
    if (answer.status === UNAUTHORIZED && this.#login !== null) {
      this.#login = null
      answer = await this.#read(path, signal)
    }
    if (answer.status === 404) throw this.#notFound(name, `the path ${path} does not exist, or its version was deleted`)
    if (answer.status === UNAUTHORIZED)
      throw server.unavailable(`the token may not read ${path}`, 'use a token whose policy includes the path')
    if (answer.status !== 200)
      throw server.unavailable(
        `status ${answer.status} for ${path}`,
        'svc secrets backend-status; vault status shows its state'
      )
    const fields = (answer.body?.data as { data?: unknown } | undefined)?.data
    if (typeof fields !== 'object' || fields === null)
      throw server.unavailable(`${path} is not a secret of the engine KV version 2`, 'set plugins.secrets-vault.mount')
    if (!Object.hasOwn(fields, field)) throw this.#notFound(name, `the path ${path} has no field ${field}`)
    const value = (fields as Record<string, unknown>)[field]
    if (typeof value === 'string') return value
    throw server.unavailable(`the field ${field} of ${path} is not a text`, 'store it as a text')
  }

  async #read(path: string, signal?: AbortSignal): Promise<SecretServerAnswer> {
    const { address, mount, timeout_ms } = this.#settings
    if (address === undefined)
      throw server.unavailable('no server is configured', 'set VAULT_ADDR, or plugins.secrets-vault.address')
    const base = server.baseUrl(address)
    const url = `${base}/v1/${encodePath(mount)}/data/${encodePath(path)}`
    return server.send(
      url,
      { method: 'GET', headers: this.#headers(await this.#token(base, signal)) },
      timeout_ms,
      signal
    )
  }

  async #token(base: string, signal?: AbortSignal): Promise<string> {
    const { token, role_id, secret_id } = this.#settings
    if (token !== undefined) return token
    if (role_id !== undefined && secret_id !== undefined) return this.#approle(base, role_id, secret_id, signal)
    const stored = this.#storedToken()
    if (stored !== null) return stored
    throw server.unavailable(
      'neither a token nor both parts of an AppRole are set',
      'set VAULT_TOKEN, or VAULT_ROLE_ID and VAULT_SECRET_ID'
    )
  }

  /** Concurrent calls share a login. A failed one is not kept. */
  async #approle(base: string, role_id: string, secret_id: string, signal?: AbortSignal): Promise<string> {
    const known = await this.#login?.catch(() => null)
    if (known != null && known.untilMs > this.#now()) return known.token
    const login = this.#logIn(base, { role_id, secret_id }, signal)
    this.#login = login
    login.catch(() => {
      if (this.#login === login) this.#login = null
    })
    return (await login).token
  }

  async #logIn(base: string, credentials: object, signal?: AbortSignal): Promise<Login> {
    const { approle_mount, timeout_ms } = this.#settings
    const headers = { ...this.#headers(null), 'content-type': 'application/json' }
    const url = `${base}/v1/auth/${encodePath(approle_mount)}/login`
    const request = { method: 'POST', headers, body: JSON.stringify(credentials) }
    const { status, body } = await server.send(url, request, timeout_ms, signal)
    const { client_token: token, lease_duration: seconds } = (body?.auth ?? {}) as Record<string, unknown>
    if (status !== 200 || typeof token !== 'string')
      throw server.unavailable(
        `the login by AppRole failed with status ${status}`,
        'check VAULT_ROLE_ID and VAULT_SECRET_ID'
      )
    // 0: the token does not expire.
    const lease = typeof seconds === 'number' && seconds > 0 ? seconds : Number.POSITIVE_INFINITY
    return { token, untilMs: this.#now() + lease * 1_000 * RENEW_AT }
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
      hint: 'vault kv put stores it; plugins.secrets-vault.mount and path select the place'
    })
  }
}

function encodePath(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/')
}

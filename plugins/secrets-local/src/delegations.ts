import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { InStatement, Row } from '@libsql/client/http'
import {
  DELEGATION_SCOPES,
  type DelegationRequest,
  type DelegationScope,
  type VaultDelegation,
  vaultErrors
} from '@svc/contracts'
import { authenticate, digest } from './crypto.ts'
import type { VaultDatabase } from './database.ts'

const ID_BYTES = 9
const TOKEN_BYTES = 32
const MAX_LISTED = 1_000

export interface Grant {
  readonly delegation: VaultDelegation
  readonly token: string
  readonly statement: InStatement
}

/** Delegations of one account. Rows are authenticated with the key-encryption key, so that no one can forge one. */
export class Delegations {
  readonly #database: VaultDatabase
  readonly #account: string
  readonly #now: () => number

  constructor(database: VaultDatabase, account: string, now: () => number) {
    this.#database = database
    this.#account = account
    this.#now = now
  }

  /** Returns a new delegation with its token, and the statement that stores it. */
  grant(secret: string, { agent, scopes, ttlMs, by: parent }: DelegationRequest, key: Uint8Array): Grant {
    const id = randomBytes(ID_BYTES).toString('base64url')
    const token = `${id}.${randomBytes(TOKEN_BYTES).toString('base64url')}`
    const issuedAtMs = this.#now()
    const delegation = {
      ...{ id, secret, agent, scopes: [...scopes], parent, issuedAtMs },
      ...{ expiresAtMs: issuedAtMs + ttlMs, revokedAtMs: null }
    }
    const hash = digest([token])
    const statement = {
      sql:
        'INSERT INTO clavis_agent_delegations (delegation_id, account_id, secret_id, scope_bits, parent_context, ' +
        'child_context, token_hash, issued_at_ms, expires_at_ms, checksum_hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
      args: [
        ...[id, this.#account, secret, bitsOf(scopes), parent, agent, hash, issuedAtMs, delegation.expiresAtMs],
        this.#seal(delegation, hash, key)
      ]
    }
    return { delegation, token, statement }
  }

  async list(): Promise<VaultDelegation[]> {
    const rows = await this.#database.read(
      'SELECT * FROM clavis_agent_delegations WHERE account_id = ? ORDER BY issued_at_ms DESC, delegation_id LIMIT ?',
      [this.#account, MAX_LISTED]
    )
    return rows.map(toDelegation)
  }

  /** Returns a delegation, also one that {@link list} leaves out; undefined if there is none. */
  async find(id: string): Promise<VaultDelegation | undefined> {
    const row = await this.#row(id)
    return row === undefined ? undefined : toDelegation(row)
  }

  revocation(id: string): InStatement {
    const now = this.#now()
    return {
      sql:
        'UPDATE clavis_agent_delegations SET revoked_at_ms = ? WHERE account_id = ? AND delegation_id = ? ' +
        'AND revoked_at_ms IS NULL AND expires_at_ms > ?',
      args: [now, this.#account, id, now]
    }
  }

  /** Returns the delegation of a token with a right. Throws `SEV_DELEGATION_INVALID`. */
  async check(token: string, scope: DelegationScope, keyOf: () => Promise<Uint8Array>): Promise<VaultDelegation> {
    const [id = ''] = token.split('.')
    const row = await this.#row(id)
    // The same answer for an unknown id and a wrong token.
    if (row === undefined || !isEqual(digest([token]), String(row.token_hash))) throw refuse('it is unknown')
    const delegation = toDelegation(row)
    const { revokedAtMs, expiresAtMs, scopes, secret } = delegation
    if (!isEqual(this.#seal(delegation, String(row.token_hash), await keyOf()), String(row.checksum_hash)))
      throw refuse('another program changed it')
    if (revokedAtMs !== null) throw refuse('it was revoked')
    if (expiresAtMs <= this.#now()) throw refuse(`it expired at ${new Date(expiresAtMs).toISOString()}`)
    if (!scopes.includes(scope)) throw refuse(`it does not include the right to ${scope} ${secret}`)
    return delegation
  }

  async #row(id: string): Promise<Row | undefined> {
    const [row] = await this.#database.read(
      'SELECT * FROM clavis_agent_delegations WHERE account_id = ? AND delegation_id = ?',
      [this.#account, id]
    )
    return row
  }

  #seal(
    { id, secret, agent, scopes, parent, issuedAtMs, expiresAtMs }: VaultDelegation,
    hash: string,
    key: Uint8Array
  ): string {
    return authenticate([this.#account, id, secret, agent, bitsOf(scopes), parent, hash, issuedAtMs, expiresAtMs], key)
  }
}

function toDelegation(row: Row): VaultDelegation {
  const bits = Number(row.scope_bits)
  return {
    id: String(row.delegation_id),
    secret: String(row.secret_id),
    agent: String(row.child_context),
    scopes: DELEGATION_SCOPES.filter((_scope, index) => (bits & (1 << index)) !== 0),
    parent: String(row.parent_context),
    issuedAtMs: Number(row.issued_at_ms),
    expiresAtMs: Number(row.expires_at_ms),
    revokedAtMs: row.revoked_at_ms === null ? null : Number(row.revoked_at_ms)
  }
}

function bitsOf(scopes: readonly DelegationScope[]): number {
  return DELEGATION_SCOPES.reduce((bits, scope, index) => bits | (scopes.includes(scope) ? 1 << index : 0), 0)
}

function isEqual(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length === b.length && timingSafeEqual(a, b)
}

function refuse(why: string): Error {
  return vaultErrors.create('SEV_DELEGATION_INVALID', `the delegation cannot be used: ${why}`, {
    hint: 'svc secrets delegate NAME --agent ID creates a delegation'
  })
}

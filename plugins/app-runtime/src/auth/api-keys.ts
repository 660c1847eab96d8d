import { createHash, randomBytes, randomUUID } from 'node:crypto'
import type { DatabaseStore } from '@svc/contracts'
import { runErrors } from '../errors.ts'
import type { ProofRequest, Verified, Verifier } from './verifier.ts'

/** First characters of an API key, by which it is recognised, also by scanners for leaked secrets. */
const PREFIX = 'vxk_'
const FORM = /^vxk_[\w-]{43}$/
const BYTES = 32

/** Time for which a key is not looked up again, in milliseconds; a revoked key is valid for at most that time. */
const FRESH_MS = 2_000

const TABLE = `CREATE TABLE IF NOT EXISTS program_tokens (
  token_id TEXT PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  subject TEXT NOT NULL,
  roles_json TEXT NOT NULL,
  scopes_json TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL,
  expires_at_ms INTEGER
)`

/** An API key, without its text, which is not stored. */
export interface ApiKey {
  readonly id: string
  readonly subject: string
  readonly roles: readonly string[]
  readonly scopes: readonly string[]
  readonly createdAtMs: number
  readonly expiresAtMs: number | null
}

/** API keys in the database of a program; only their SHA-256 is stored. */
export class ApiKeys {
  readonly #store: Pick<DatabaseStore, 'query' | 'execute'>
  #isPrepared = false

  constructor(store: Pick<DatabaseStore, 'query' | 'execute'>) {
    this.#store = store
  }

  /** Creates a key, and returns it with its text, which cannot be read again. */
  async create(
    key: Pick<ApiKey, 'subject' | 'roles' | 'scopes' | 'expiresAtMs'>
  ): Promise<ApiKey & { readonly text: string }> {
    await this.#prepare()
    const text = `${PREFIX}${randomBytes(BYTES).toString('base64url')}`
    const made = { ...key, id: randomUUID(), createdAtMs: Date.now() }
    await this.#store.execute(
      'INSERT INTO program_tokens (token_id, hash, subject, roles_json, scopes_json, created_at_ms, expires_at_ms) VALUES (?, ?, ?, ?, ?, ?, ?)',
      [
        made.id,
        hashOf(text),
        made.subject,
        JSON.stringify(made.roles),
        JSON.stringify(made.scopes),
        made.createdAtMs,
        made.expiresAtMs
      ]
    )
    return { ...made, text }
  }

  /** Returns the keys, newest first. */
  async list(): Promise<ApiKey[]> {
    await this.#prepare()
    const { rows } = await this.#store.query(
      // toestub-ignore(scaling/sql-without-limit) - an operator lists the keys that operators created
      `SELECT ${COLUMNS} FROM program_tokens ORDER BY created_at_ms DESC, token_id`
    )
    return rows.map(keyOf)
  }

  /** Removes a key. Throws `RUN_TOKEN_UNKNOWN`. */
  async revoke(id: string): Promise<void> {
    await this.#prepare()
    const { changes } = await this.#store.execute('DELETE FROM program_tokens WHERE token_id = ?', [id])
    if (changes === 0) {
      throw runErrors.create('RUN_TOKEN_UNKNOWN', `there is no API key ${id}`, {
        hint: 'svc auth token list shows the keys'
      })
    }
  }

  /** Returns the key with a text; null if there is none. */
  async find(text: string): Promise<ApiKey | null> {
    await this.#prepare()
    const { rows } = await this.#store.query(`SELECT ${COLUMNS} FROM program_tokens WHERE hash = ?`, [hashOf(text)])
    const [row] = rows
    return row === undefined ? null : keyOf(row)
  }

  /** Creates the table, unless it exists. */
  async #prepare(): Promise<void> {
    if (this.#isPrepared) return
    const { rows } = await this.#store.query(
      "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'program_tokens'"
    )
    if (rows.length === 0) await this.#store.execute(TABLE)
    this.#isPrepared = true
  }
}

const COLUMNS = 'token_id, subject, roles_json, scopes_json, created_at_ms, expires_at_ms'

function keyOf(row: readonly unknown[]): ApiKey {
  const [id, subject, roles, scopes, createdAt, expiresAt] = row
  return {
    id: String(id),
    subject: String(subject),
    roles: JSON.parse(String(roles)) as string[],
    scopes: JSON.parse(String(scopes)) as string[],
    createdAtMs: Number(createdAt),
    expiresAtMs: expiresAt === null ? null : Number(expiresAt)
  }
}

/** A key has 256 random bits, so that its hash needs neither salt nor repetition, and can be looked up by an index. */
function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** Verifies API keys: in `Authorization`, in `x-api-key`, or in the header that a guard names. */
export class ApiKeyVerifier implements Verifier {
  readonly provider = 'api_key'
  readonly #keys: Pick<ApiKeys, 'find'>

  constructor(keys: Pick<ApiKeys, 'find'>) {
    this.#keys = keys
  }

  acceptsBearer(token: string): boolean {
    return token.startsWith(PREFIX)
  }

  ofRequest({ headers }: ProofRequest, header: string | null): string | null {
    const value = headers[header ?? 'x-api-key']
    return typeof value === 'string' ? value : null
  }

  async verify(text: string): Promise<Verified> {
    const key = FORM.test(text) ? await this.#keys.find(text) : null
    if (key === null) return { problem: 'invalid' }
    const left = key.expiresAtMs === null ? FRESH_MS : key.expiresAtMs - Date.now()
    if (left <= 0) return { problem: 'expired' }
    const { id, subject, roles, scopes } = key
    return {
      identity: { id: subject, roles, scopes, claims: { key: id }, provider: 'api_key' },
      freshMs: Math.min(FRESH_MS, left)
    }
  }
}

import { createHash, randomBytes, randomUUID } from 'node:crypto'
import type { DatabaseStore, ProgramUsers, SqlValue, ThreadConnection } from '@svc/contracts'
import { quoted, tableName } from '../../schema/names.ts'
import type { EndedIdentities } from '../ended-identities.ts'
import { SESSIONS_TABLE, userTables } from '../users/user-tables.ts'

/** First characters of the token of a session, by which it is recognised. */
export const SESSION_PREFIX = 'vxs_'
const FORM = /^vxs_[\w-]{43}$/
const TOKEN_BYTES = 32

const DAY_MS = 86_400_000
/** Time after its last use at which a session ends, in milliseconds. */
const SESSION_MS = 30 * DAY_MS
/** A session is extended at most once in this time, so that reading requests rarely write. */
const EXTEND_MS = DAY_MS
/** Maximum number of sessions of one user; a further one ends the oldest. */
const MAX_SESSIONS = 100
/** Maximum length of the stored name of a browser. */
const MAX_AGENT = 200

/** A session without its token, of which only the hash is stored. */
export interface Session {
  readonly id: string
  /** Id of the user: of the row, or at the OpenID provider for a program without a table of users. */
  readonly subject: string
  readonly provider: 'session' | 'oauth'
  readonly claims: Readonly<Record<string, unknown>>
  readonly roles: readonly string[]
  /** Time of the sign-in. */
  readonly createdAtMs: number
  readonly expiresAtMs: number
}

export interface SessionSummary {
  readonly id: string
  readonly agent: string | null
  readonly createdAtMs: number
  readonly expiresAtMs: number
}

export interface NewSession extends Pick<Session, 'subject' | 'provider'> {
  readonly claims?: Session['claims']
  /** Header `User-Agent`, by which users recognise their sessions. */
  readonly agent: string | undefined
}

export interface SessionsOptions {
  readonly store: Pick<DatabaseStore, 'query' | 'execute' | 'batch'>
  /** Connection of this thread, on which a session is found without a message to another one; null if there is none. */
  readonly connection: Pick<ThreadConnection, 'row'> | null
  readonly users: ProgramUsers | null
  /** Announces the end of a session. */
  readonly ended?: EndedIdentities
  readonly now?: () => number
}

/** Sessions of the users of a program, in its database. */
export class Sessions {
  readonly #store: SessionsOptions['store']
  readonly #connection: SessionsOptions['connection']
  readonly #ended: EndedIdentities | undefined
  readonly #now: () => number
  readonly #realm: string
  readonly #find: string
  readonly #rolesOf: (stored: SqlValue) => string[]
  #isPrepared = false

  constructor({ store, connection, users, ended, now = Date.now }: SessionsOptions) {
    this.#store = store
    this.#connection = connection
    this.#ended = ended
    this.#now = now
    this.#realm = users === null ? '' : tableName(users.table)
    const roles = users?.roles ?? null
    this.#rolesOf = roles === 'roles' ? listOf : stored => (typeof stored === 'string' && stored !== '' ? [stored] : [])
    // A session without its user counts as none.
    const from =
      users === null
        ? `${SESSIONS_TABLE} AS s`
        : `${SESSIONS_TABLE} AS s JOIN ${quoted(this.#realm)} AS u ON u."_id" = CAST(s.subject AS INTEGER)`
    const role = roles === null ? 'NULL' : `u.${quoted(roles)}`
    this.#find = `SELECT s.session_id, s.subject, s.provider, s.claims_json, s.created_at_ms, s.expires_at_ms, ${role} FROM ${from} WHERE s.hash = ? AND s.realm = ?`
  }

  /** True if sessions are found without waiting, so that they need not be remembered. */
  get isSynchronous(): boolean {
    return this.#connection !== null
  }

  /** Creates the tables, unless they exist. A program with a table of users creates them with it. */
  async prepare(): Promise<void> {
    if (this.#isPrepared) return
    const { rows } = await this.#store.query('SELECT 1 FROM sqlite_master WHERE name = ?', [SESSIONS_TABLE])
    if (rows.length === 0) await this.#store.batch(userTables.map(sql => ({ sql })))
    this.#isPrepared = true
  }

  /** Begins a session, and returns its token, which cannot be read again. */
  async create({
    subject,
    provider,
    claims = {},
    agent
  }: NewSession): Promise<{ readonly id: string; readonly token: string }> {
    await this.prepare()
    const token = `${SESSION_PREFIX}${randomBytes(TOKEN_BYTES).toString('base64url')}`
    const id = randomUUID()
    const now = this.#now()
    const of = [this.#realm, subject]
    await this.#store.batch([
      { sql: `DELETE FROM ${SESSIONS_TABLE} WHERE expires_at_ms <= ?`, parameters: [now] },
      {
        sql: `INSERT INTO ${SESSIONS_TABLE} (hash, session_id, realm, subject, provider, claims_json, agent, created_at_ms, expires_at_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        parameters: [
          hashOf(token),
          id,
          ...of,
          provider,
          JSON.stringify(claims),
          agent?.slice(0, MAX_AGENT) ?? null,
          now,
          now + SESSION_MS
        ]
      },
      {
        sql: `DELETE FROM ${SESSIONS_TABLE} WHERE hash IN (SELECT hash FROM ${SESSIONS_TABLE} WHERE realm = ? AND subject = ? ORDER BY created_at_ms DESC, rowid DESC LIMIT -1 OFFSET ${MAX_SESSIONS})`,
        parameters: of
      }
    ])
    return { id, token }
  }

  /** Returns the session of a token, also one that has ended by time; null if there is none. Extends it. */
  find(token: string): Session | null | Promise<Session | null> {
    if (!FORM.test(token)) return null
    const hash = hashOf(token)
    if (this.#connection !== null && this.#isPrepared) {
      return this.#found(this.#connection.row(this.#find, [hash, this.#realm]), hash)
    }
    return this.prepare()
      .then(() => this.#store.query(this.#find, [hash, this.#realm]))
      .then(({ rows }) => this.#found(rows[0] ?? null, hash))
  }

  /** Returns the sessions of a user, newest first. */
  async list(subject: string): Promise<SessionSummary[]> {
    await this.prepare()
    const { rows } = await this.#store.query(
      `SELECT session_id, agent, created_at_ms, expires_at_ms FROM ${SESSIONS_TABLE} WHERE realm = ? AND subject = ? AND expires_at_ms > ? ORDER BY created_at_ms DESC, rowid DESC`,
      [this.#realm, subject, this.#now()]
    )
    return rows.map(([id, agent, created, expires]) => ({
      id: String(id),
      agent: agent === null ? null : String(agent),
      createdAtMs: Number(created),
      expiresAtMs: Number(expires)
    }))
  }

  /** Ends a session of a user. Returns false if the user has no such session. */
  async end(subject: string, id: string): Promise<boolean> {
    const { changes } = await this.#store.execute(
      `DELETE FROM ${SESSIONS_TABLE} WHERE session_id = ? AND realm = ? AND subject = ?`,
      [id, this.#realm, subject]
    )
    this.#ended?.end(({ claims }) => claims.session === id)
    return changes > 0
  }

  /** Ends all sessions of a user but one. */
  async endAll(subject: string, exceptId = ''): Promise<void> {
    await this.#store.execute(`DELETE FROM ${SESSIONS_TABLE} WHERE realm = ? AND subject = ? AND session_id <> ?`, [
      this.#realm,
      subject,
      exceptId
    ])
    this.#ended?.end(({ id, claims }) => id === subject && claims.session !== undefined && claims.session !== exceptId)
  }

  #found(row: readonly SqlValue[] | null, hash: string): Session | null {
    if (row === null) return null
    const [id, subject, provider, claims, createdAt, expiresAt, roles = null] = row
    const expiresAtMs = Number(expiresAt)
    const now = this.#now()
    const extended = now + SESSION_MS
    if (expiresAtMs > now && extended - expiresAtMs > EXTEND_MS) {
      // A failure costs nothing: a later request extends the session.
      this.#store
        .execute(`UPDATE ${SESSIONS_TABLE} SET expires_at_ms = ? WHERE hash = ?`, [extended, hash])
        .catch(() => undefined)
    }
    return {
      id: String(id),
      subject: String(subject),
      provider: provider === 'oauth' ? 'oauth' : 'session',
      claims: JSON.parse(String(claims)) as Session['claims'],
      roles: this.#rolesOf(roles),
      createdAtMs: Number(createdAt),
      expiresAtMs
    }
  }
}

/** A token has 256 random bits, so that its hash needs neither salt nor repetition, and can be looked up by an index. */
function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}

function listOf(stored: SqlValue): string[] {
  if (typeof stored !== 'string') return []
  const list: unknown = JSON.parse(stored)
  return Array.isArray(list) ? list.filter(each => typeof each === 'string') : []
}

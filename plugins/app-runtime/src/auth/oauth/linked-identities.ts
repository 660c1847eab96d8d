import type { DatabaseStore, ProgramUsers } from '@svc/contracts'
import { runErrors } from '../../errors.ts'
import { quoted, tableName } from '../../schema/names.ts'
import { IDENTITIES_TABLE } from '../users/user-tables.ts'
import type { OpenIdProvider } from './openid-provider.ts'

/** A proof with which a user signs in. */
export interface LinkedIdentity {
  /** `password`, or the name of an OpenID provider; its issuer if the provider is not set up. */
  readonly provider: string
  readonly createdAtMs: number
}

/** Proofs with which the users of a program sign in: a password, and identities at OpenID providers. */
export class LinkedIdentities {
  readonly #store: Pick<DatabaseStore, 'query' | 'execute' | 'batch'>
  readonly #realm: string

  constructor(store: Pick<DatabaseStore, 'query' | 'execute' | 'batch'>, { table }: ProgramUsers) {
    this.#store = store
    this.#realm = tableName(table)
  }

  /** Returns the user with an identity at a provider; null if there is none. `subject`: issuer, a space, and id. */
  async userOf(subject: string): Promise<string | null> {
    const { rows } = await this.#store.query(
      `SELECT user_id FROM ${IDENTITIES_TABLE} WHERE realm = ? AND provider = 'oauth' AND subject = ?`,
      [this.#realm, subject]
    )
    const [known] = rows[0] ?? []
    return known === undefined ? null : String(known)
  }

  /** Returns the user with a value of a column; null if there is none. */
  async userWith(column: string, value: string): Promise<string | null> {
    const { rows } = await this.#store.query(`SELECT "_id" FROM ${quoted(this.#realm)} WHERE ${quoted(column)} = ?`, [
      value
    ])
    const [known] = rows[0] ?? []
    return known === undefined ? null : String(known)
  }

  /** Links an identity to a user. Throws `RUN_CONSTRAINT` if it is linked to another one. */
  async link(user: string, subject: string): Promise<void> {
    await this.#store.execute(...this.#insert(user, subject))
    const linked = await this.userOf(subject)
    if (linked === user) return
    throw runErrors.create('RUN_CONSTRAINT', 'the identity at the OpenID provider belongs to another user', {
      hint: 'sign in as that user and unlink it there first'
    })
  }

  /**
   * Links an identity to a user and removes all other proofs, in one transaction: who set the password, or linked
   * another identity, may not be the owner of the address.
   */
  async linkAlone(user: string, subject: string): Promise<void> {
    const [insert, values] = this.#insert(user, subject)
    const remove = `DELETE FROM ${IDENTITIES_TABLE} WHERE realm = ? AND user_id = ?
AND NOT (provider = 'oauth' AND subject = ?)`
    await this.#store.batch([
      { sql: insert, parameters: values },
      { sql: remove, parameters: [this.#realm, Number(user), subject] }
    ])
  }

  /** Nothing is inserted if the identity is known, or the user was deleted. */
  #insert(user: string, subject: string): [string, (string | number)[]] {
    const sql = `INSERT INTO ${IDENTITIES_TABLE} (realm, provider, subject, user_id, secret, created_at_ms)
SELECT ?, 'oauth', ?, "_id", NULL, ? FROM ${quoted(this.#realm)} WHERE "_id" = ? ON CONFLICT DO NOTHING`
    return [sql, [this.#realm, subject, Date.now(), Number(user)]]
  }

  /** Removes the identities of a user at a provider. Throws `RUN_NOT_FOUND`, and `RUN_CONSTRAINT` for the last proof. */
  async unlink(user: string, provider: OpenIdProvider): Promise<void> {
    const isOfProvider = (of: string): string =>
      `${of}.provider = 'oauth' AND (${provider.issuers.map(() => `substr(${of}.subject, 1, ?) = ?`).join(' OR ')})`
    const prefixes = provider.issuers.flatMap(issuer => [issuer.length + 1, `${issuer} `])
    const own = [this.#realm, Number(user)]
    const { changes } = await this.#store.execute(
      `DELETE FROM ${IDENTITIES_TABLE} WHERE realm = ? AND user_id = ? AND ${isOfProvider(IDENTITIES_TABLE)}
AND EXISTS (SELECT 1 FROM ${IDENTITIES_TABLE} AS o WHERE o.realm = ? AND o.user_id = ? AND NOT (${isOfProvider('o')}))`,
      [...own, ...prefixes, ...own, ...prefixes]
    )
    if (changes > 0) return
    const linked = await this.of(user, [provider])
    if (linked.some(each => each.provider === provider.name)) {
      throw runErrors.create('RUN_CONSTRAINT', `${provider.name} is the only way in which the user can sign in`, {
        hint: 'link another provider first'
      })
    }
    throw runErrors.create('RUN_NOT_FOUND', `the user has no identity at ${provider.name}`)
  }

  /** Returns the proofs of a user, the oldest first. */
  async of(user: string, providers: Iterable<OpenIdProvider>): Promise<LinkedIdentity[]> {
    const known = [...providers]
    const { rows } = await this.#store.query(
      `SELECT provider, subject, created_at_ms FROM ${IDENTITIES_TABLE} WHERE realm = ? AND user_id = ? ORDER BY created_at_ms`,
      [this.#realm, Number(user)]
    )
    return rows.map(([kind, subject, createdAt]) => {
      const issuer = String(subject).split(' ', 1)[0] ?? ''
      const name = known.find(({ issuers }) => issuers.includes(issuer))?.name ?? issuer
      return { provider: kind === 'password' ? 'password' : name, createdAtMs: Number(createdAt) }
    })
  }
}

import { coordinationSql as crd, inWriteTransaction, type NewItem, type ThreadConnection } from '@svc/contracts'
import { prepareTables } from '../workflows/prepare-tables.ts'
import { mailboxQueue } from '../workflows/run-queue.ts'
import type { ActorMessage, ActorStore, StoredAddress } from './actor-store.ts'

/** SQL of the oldest message of each instance that is not abandoned. */
const FIRST_MESSAGES = `SELECT m.actor, m.instance, m.spawned_json, m.not_before_ms FROM actor_mailbox m
  WHERE m.id IN (SELECT min(id) FROM actor_mailbox WHERE program = :program AND given_up_at_ms IS NULL
    GROUP BY actor, instance)`

/** Returns the item of a mailbox that has messages. */
export function mailboxItem(program: string, { actor, id, args }: StoredAddress): NewItem & { readonly key: string } {
  return { queue: mailboxQueue(program), key: `${actor}/${id}`, body: JSON.stringify({ actor, id, args }) }
}

/** Actors in a database, whose write lock serialises handlers. */
export class SqlActorStore implements ActorStore {
  readonly #connection: ThreadConnection
  readonly #program: string

  /** `program` separates the actors of programs in the same database. */
  constructor(connection: ThreadConnection, program: string) {
    this.#connection = connection
    this.#program = program
  }

  get inTransaction(): boolean {
    return this.#connection.inTransaction
  }

  transaction<A>(run: () => A): A {
    prepareTables(this.#connection)
    return inWriteTransaction(this.#connection, run)
  }

  load(key: string): string | null {
    prepareTables(this.#connection)
    const row = this.#connection.row('SELECT value FROM actor_state WHERE key = ?', [this.#key(key)])
    return row === null || row[0] === null ? null : String(row[0])
  }

  save(key: string, text: string): void {
    prepareTables(this.#connection)
    this.#connection.execute(
      'INSERT INTO actor_state (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value',
      [this.#key(key), text]
    )
  }

  post(mailbox: StoredAddress, event: string, args: string, now: number): void {
    prepareTables(this.#connection)
    const { actor, id, args: spawned } = mailbox
    inWriteTransaction(this.#connection, () => {
      this.#connection.execute(
        `INSERT INTO actor_mailbox (program, actor, instance, spawned_json, event, args_json, not_before_ms)
          VALUES (?, ?, ?, ?, ?, ?, ?)`,
        [this.#program, actor, id, spawned, event, args, now]
      )
      // A mailbox with messages has an item already; while that waits for a retry, later messages wait, too.
      crd.runInThread(this.#connection, crd.putItems([mailboxItem(this.#program, mailbox)]))
    })
  }

  next(actor: string, id: string, now: number): ActorMessage | null {
    prepareTables(this.#connection)
    const row = this.#connection.row(
      `SELECT id, event, args_json, attempts, not_before_ms FROM actor_mailbox
        WHERE program = ? AND actor = ? AND instance = ? AND given_up_at_ms IS NULL ORDER BY id LIMIT 1`,
      [this.#program, actor, id]
    )
    if (row === null || Number(row[4]) > now) return null
    return { id: Number(row[0]), event: String(row[1]), args: String(row[2]), attempts: Number(row[3]) }
  }

  remove(message: number): void {
    this.#connection.execute('DELETE FROM actor_mailbox WHERE id = ?', [message])
  }

  failed(message: number, error: string, again: number | null, now: number): void {
    this.#connection.execute(
      `UPDATE actor_mailbox SET attempts = attempts + 1, last_error = ?, not_before_ms = ?, given_up_at_ms = ?
        WHERE id = ?`,
      [error, again ?? now, again === null ? now : null, message]
    )
  }

  waiting(now: number): readonly StoredAddress[] {
    prepareTables(this.#connection)
    return this.#connection.rows(FIRST_MESSAGES, { program: this.#program }).flatMap(([actor, id, args, notBefore]) => {
      return Number(notBefore) > now ? [] : [{ actor: String(actor), id: String(id), args: String(args) }]
    })
  }

  nextDue(): number | null {
    prepareTables(this.#connection)
    const row = this.#connection.row(`SELECT min(not_before_ms) FROM (${FIRST_MESSAGES})`, { program: this.#program })
    return row === null || row[0] === null ? null : Number(row[0])
  }

  #key(key: string): string {
    return `${this.#program}/${key}`
  }
}

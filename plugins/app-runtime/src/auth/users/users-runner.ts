import { ON_SIGN_UP, type Program, type ProgramUsers, type SqlParameter } from '@svc/contracts'
import { isSvcError } from '@svc/plugin-sdk'
import type { ProgramDatabase } from '../../database/program-database.ts'
import { ProgramTables } from '../../database/program-tables.ts'
import { columnsOf, insertSql } from '../../database/table-operations.ts'
import type { TableShape } from '../../database/table-shape.ts'
import { display } from '../../interpreter/display.ts'
import { fail } from '../../interpreter/failure.ts'
import type { Interpreter, RunningProgram } from '../../interpreter/interpreter.ts'
import type { Limits } from '../../interpreter/machine.ts'
import { type RecordValue, Tagged } from '../../interpreter/value.ts'
import { type EndpointResponse, failed, OK, type Turn } from '../../serving/endpoint-runner.ts'
import { refusalStatus } from '../../serving/refusal-status.ts'
import type { Codec } from '../../wire/codec.ts'
import { printJson } from '../../wire/json-text.ts'
import { codedMismatch, type WireTypes } from '../../wire/wire-types.ts'
import { IDENTITIES_TABLE } from './user-tables.ts'

/** Work on users for a thread of the program, as JSON. */
export type UsersWork =
  | {
      readonly op: 'sign_up'
      /** Columns of the new user. */
      readonly row: Readonly<Record<string, unknown>>
      readonly provider: 'password' | 'oauth'
      /** Id at the OpenID provider; null with a password. */
      readonly subject: string | null
      /** Hash of the password; null without one. */
      readonly secret: string | null
    }
  | { readonly op: 'row'; readonly id: string }

export interface UsersRunnerParts {
  readonly program: Program
  readonly users: ProgramUsers
  readonly interpreter: Interpreter
  readonly types: WireTypes
  readonly limits: Limits
  readonly database: ProgramDatabase
  readonly evaluate: ConstructorParameters<typeof ProgramTables>[1]
}

/** Status of the JSON null: there is no such user. */
const NO_USER: EndpointResponse = { status: OK, body: 'null', failure: null }

/** Creates and reads users in a thread of the program. The program itself is the caller, so no row rule applies. */
export class UsersRunner {
  readonly #parts: UsersRunnerParts
  readonly #shape: TableShape
  readonly #row: Codec

  constructor(parts: UsersRunnerParts) {
    const { program, users, types, evaluate } = parts
    const shape = new ProgramTables(program, evaluate).shape(users.table)
    if (shape === undefined) throw new TypeError(`the program has no table ${users.table}`)
    this.#parts = parts
    this.#shape = shape
    this.#row = types.codec({ Named: users.table })
  }

  run(text: string, turn: Turn): EndpointResponse {
    const { interpreter, limits } = this.#parts
    try {
      return interpreter.within(limits, program => {
        turn.running(program)
        const work = JSON.parse(text) as UsersWork
        return work.op === 'row' ? this.#userOf(work.id) : this.#signUp(program, work, turn)
      })
    } catch (thrown) {
      if (isSvcError(thrown, 'RUN_ARGUMENTS')) {
        const { message, data } = thrown
        const { message: plain = message } = (data ?? {}) as { readonly message?: string }
        return { status: 400, body: printJson({ error: plain, code: thrown.code }), failure: null }
      }
      return failed(thrown)
    }
  }

  #userOf(id: string): EndpointResponse {
    const found = /^\d{1,15}$/.test(id) ? this.#read(Number(id)) : null
    return found === null ? NO_USER : { status: OK, body: printJson(this.#row.encode(found)), failure: null }
  }

  /** Stores a user and its proof, and calls `on_sign_up`, in one transaction. */
  #signUp(program: RunningProgram, work: Extract<UsersWork, { op: 'sign_up' }>, turn: Turn): EndpointResponse {
    const { database, users } = this.#parts
    const keeps = ({ status }: EndpointResponse): boolean => {
      const isKept = status === OK
      if (isKept) turn.committing()
      return isKept
    }
    const response = database.transaction(
      'write',
      () => {
        const id = this.#insert(program, work.row)
        database.execute(
          users.table,
          `INSERT INTO ${IDENTITIES_TABLE} (realm, provider, subject, user_id, secret, created_at_ms) VALUES (?, ?, ?, ?, ?, ?)`,
          [this.#realm, work.provider, work.subject ?? String(id), id, work.secret, Date.now()]
        )
        const user = this.#read(id)
        if (user === null) return fail('RUN_DATABASE', `the new row of ${users.table} does not exist`)
        if (users.hasOnSignUp) {
          const outcome = program.function(ON_SIGN_UP, [user])
          if (outcome instanceof Tagged && outcome.tag === 'Error') return refused(outcome)
        }
        // The function may have changed the row.
        return {
          status: OK,
          body: printJson({ id: String(id), user: this.#row.encode(this.#read(id) ?? user) }),
          failure: null
        }
      },
      keeps
    )
    turn.committed()
    return response
  }

  #insert(program: RunningProgram, json: Readonly<Record<string, unknown>>): number | bigint {
    const shape = this.#shape
    let parameters: SqlParameter[]
    try {
      const row = shape.fromJson(json)
      columnsOf(shape, row)
      parameters = shape.columns.map(column => {
        const value = row.get(column.name) ?? (column.fallback ? program.evaluate(column.fallback) : undefined)
        if (value !== undefined) return shape.encode(column, value)
        return column.nullable ? null : fail('RUN_ARGUMENTS', `${shape.name} needs a value for ${column.name}`)
      })
    } catch (thrown) {
      throw codedMismatch('RUN_ARGUMENTS', thrown)
    }
    const { lastInsertId } = this.#parts.database.execute(shape.name, insertSql(shape, false), parameters)
    return lastInsertId ?? fail('RUN_DATABASE', `the new row of ${shape.name} has no id`)
  }

  #read(id: number | bigint): RecordValue | null {
    const { sql, whole, id: key, name } = this.#shape
    const row = this.#parts.database.row(name, `SELECT ${whole.sql} FROM ${sql} WHERE ${key.quoted} = ?`, [id])
    return row === null ? null : whole.read(row)
  }

  get #realm(): string {
    return this.#shape.sql.slice(1, -1)
  }
}

function refused(outcome: Tagged): EndpointResponse {
  const reason = outcome.fields[0] ?? null
  const status = refusalStatus(reason)
  // An Error without a status refuses the sign-up, which is no failure of the program.
  return {
    status: status === 500 ? 422 : status,
    body: printJson({ error: display(reason), code: 'RUN_REFUSED' }),
    failure: null
  }
}

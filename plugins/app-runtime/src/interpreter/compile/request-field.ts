import type { Hir } from '@svc/contracts'
import { fail } from '../failure.ts'
import type { Eval } from '../machine.ts'
import { NONE, type RecordValue, some } from '../value.ts'
import { type BodyCompiler, unsupported } from './body-compiler.ts'

/**
 * Compiles `request.user` and `request.account`: the identity of the caller and its row in the table of users, or their
 * Options in a function that also admits anonymous callers. Returns null for any other member.
 */
export function requestField(body: BodyCompiler, { object, name, type, start }: Hir.Field): Eval | null {
  if (object.kind !== 'Request') return null
  const isOption = type.kind === 'named' && type.name === 'Option'
  if (name === 'account') return accountField(body, isOption, start)
  if (name !== 'user') return null
  const { machine } = body
  if (!isOption) return () => machine.request.user ?? fail('RUN_UNAUTHORIZED', 'the caller has no identity', start)
  return () => {
    const { user } = machine.request
    return user === null ? NONE : some(user)
  }
}

/** Providers whose identities have the id of a row in the table of users. */
const OF_USERS: ReadonlySet<string> = new Set(['session', 'oauth', 'test'])

function accountField({ machine, names: { users, tables } }: BodyCompiler, isOption: boolean, at: number): Eval {
  const shape = users === null ? undefined : tables.shape(users.table)
  if (shape === undefined) return unsupported('request.account in a program without a table of users', at)
  const sql = `SELECT ${shape.whole.sql} FROM ${shape.sql} WHERE ${shape.id.quoted} = ?`
  // Read by the program itself: no rule hides users from themselves.
  const read = (): RecordValue | null => {
    const { identity } = machine.request.caller
    if (identity === null || !OF_USERS.has(identity.provider) || !/^\d{1,15}$/.test(identity.id)) return null
    machine.charge(ACCOUNT_STEPS)
    const row = machine.host.database?.row(shape.name, sql, [Number(identity.id)]) ?? null
    return row === null ? null : shape.whole.read(row)
  }
  if (!isOption) return () => read() ?? fail('RUN_UNAUTHORIZED', 'the caller is no user of the program', at)
  return () => {
    const user = read()
    return user === null ? NONE : some(user)
  }
}

const ACCOUNT_STEPS = 20

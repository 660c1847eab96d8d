import type { Identity } from '@svc/contracts'
import { FileConnection } from '@svc/plugin-database/testing'
import t from 'tap'
import { ProgramDatabase } from '#database'
import { type Caller, Interpreter, RequestContext, type Value } from '#interpreter'
import { freshFile, makeTables } from '../database/with-tables.ts'
import { hostOf, LIMITS, programFrom } from '../run-program.ts'

export interface WithCaller {
  /** Calls a function for a caller; without one, for the program itself. */
  call(caller: Caller | null, name: string, ...args: Value[]): Value
  /** Returns the result, or the code of the failure. */
  outcome(caller: Caller | null, name: string, ...args: Value[]): Value
}

export function identity(id: string, roles: readonly string[] = []): Identity {
  return { id, roles, scopes: [], claims: {}, provider: 'session' }
}

/** A caller with an identity; null for an anonymous one. */
export function callerOf(identity: Identity | null): Caller {
  return { identity, isSystem: false, parts: null }
}

/** Compiles a program, and creates its tables in a new file. */
export function withCaller(text: string): WithCaller {
  const program = programFrom(text)
  const file = freshFile()
  const connection = new FileConnection({ file, busyTimeoutMs: 2000, synchronous: 'normal' })
  t.teardown(() => connection.close())
  makeTables(connection, program)
  const database = new ProgramDatabase({ connection, location: file, capabilities: { fts: true, vector: true } })
  const interpreter = new Interpreter(program, { ...hostOf([]), database })
  const call: WithCaller['call'] = (caller, name, ...args) =>
    interpreter.within(LIMITS, running => {
      if (caller !== null) running.handle(new RequestContext(caller))
      return running.function(name, args)
    })
  return {
    call,
    outcome(...args) {
      try {
        return call(...args)
      } catch (error) {
        return (error as { readonly code: string }).code
      }
    }
  }
}

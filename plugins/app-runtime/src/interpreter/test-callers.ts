import type { Identity } from '@svc/contracts'
import { fail, RunError } from './failure.ts'
import type { Machine } from './machine.ts'
import type { Caller } from './request.ts'
import { typeName } from './type-name.ts'
import { type Callable, isList, isRecord, Json, type Value } from './value.ts'

/** Calls a function of a test as another caller. Throws `RUN_UNSUPPORTED` outside tests. */
export function callAs(machine: Machine, caller: Caller, run: Callable): Value {
  if (!machine.isTest) fail('RUN_UNSUPPORTED', 'only a test can set its caller')
  return machine.as(caller, () => run.call([], -1))
}

const REFUSALS: ReadonlySet<string> = new Set(['RUN_UNAUTHORIZED', 'RUN_FORBIDDEN'])

/** Calls a function of a test, and returns whether a guard refuses the caller. Throws `RUN_UNSUPPORTED` outside tests. */
export function isRefused(machine: Machine, run: Callable): boolean {
  if (!machine.isTest) fail('RUN_UNSUPPORTED', 'only a test can ask whether a guard refuses')
  const { depth } = machine
  try {
    run.call([], -1)
    return false
  } catch (thrown) {
    if (!(thrown instanceof RunError) || !REFUSALS.has(thrown.code)) throw thrown
    machine.depth = depth
    return true
  }
}

/** Reads an identity: its id, or a record with `id`, and perhaps `roles`, `scopes` and `claims`. */
export function identityOf(value: Value): Identity {
  if (typeof value === 'string') return { id: value, roles: [], scopes: [], claims: {}, provider: 'test' }
  if (!isRecord(value)) return fail('RUN_TYPE', `an identity is a str or an Identity, found ${typeName(value)}`)
  const id = value.get('id')
  if (typeof id !== 'string') return fail('RUN_TYPE', 'the id of an identity is a str')
  const claims = value.get('claims')
  const provider = value.get('provider')
  return {
    id,
    roles: texts(value.get('roles'), 'roles'),
    scopes: texts(value.get('scopes'), 'scopes'),
    claims: claims instanceof Json ? (claims.data as Identity['claims']) : {},
    provider: typeof provider === 'string' ? provider : 'test'
  }
}

function texts(value: Value | undefined, name: string): readonly string[] {
  if (value === undefined) return []
  if (isList(value) && value.every(each => typeof each === 'string')) return value
  return fail('RUN_TYPE', `${name} of an identity are a List of str`)
}

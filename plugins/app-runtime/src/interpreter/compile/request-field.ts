import type { HirExpression, HirParam } from '@svc/contracts'
import { fail } from '../failure.ts'
import type { Eval } from '../machine.ts'
import { NONE, some } from '../value.ts'
import type { BodyCompiler } from './body-compiler.ts'

/**
 * Compiles `request.user`: the identity of the caller, or its Option in a function that also admits anonymous callers.
 * Returns null for any other member.
 */
export function requestField(body: BodyCompiler, object: HirExpression, field: string, at: number): Eval | null {
  if (field !== 'user' || !('Ident' in object) || object.Ident[0] !== 'request' || !isImplicit(body)) return null
  const { machine, names } = body
  if (names.isIdentified) {
    return () => machine.request.user ?? fail('RUN_UNAUTHORIZED', 'the caller has no identity', at)
  }
  return () => {
    const { user } = machine.request
    return user === null ? NONE : some(user)
  }
}

/** True if `request` is the request, and not a name of the program. */
function isImplicit({ scope, names }: BodyCompiler): boolean {
  const local = scope.lookup('request')
  if (local === undefined) return names.hasRequest
  return (local.declaration as Partial<HirParam>).id === IMPLICIT_ID
}

/** Id of the parameters that `routeParameters` adds. */
const IMPLICIT_ID = -1

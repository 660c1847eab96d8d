import type { Declaration, Module } from '../syntax/ast.ts'
import type { Member } from '../syntax/ast-expressions.ts'
import { guardOf } from '../syntax/guard-decorators.ts'
import { usersDecorator } from '../syntax/on-sign-up.ts'
import { option } from './builtin-types.ts'
import type { Context } from './context.ts'
import { ANY, ERROR, named, type Type } from './type.ts'

/**
 * Returns the type of `request.user` and `request.account`: the caller of a guarded function, an Option if the guard
 * is optional. Null for other members.
 */
export function callerType(context: Context, { object, property, start, end }: Member): Type | null {
  if (object.kind !== 'Identifier' || object.name !== 'request') return null
  if (property.text !== 'user' && property.text !== 'account') return null
  if (context.scopes.lookup('request')?.kind !== 'implicit') return null
  const auth = authOf(context.item)
  if (auth === null) {
    const message = `\`request.${property.text}\` needs a proven identity, but the function has no \`@auth\``
    const suggestions = ['add `@auth`, or `@auth(optional: true)` if callers may be anonymous']
    context.report('auth.unguarded', message, { start, end }, { suggestions })
    return ERROR
  }
  const type = property.text === 'user' ? identity(context) : account(context)
  return auth.isOptional ? option(type) : type
}

function authOf(item: Declaration) {
  return 'decorators' in item ? (guardOf(item.decorators)?.auth ?? null) : null
}

function identity({ natives }: Context): Type {
  const def = natives.type('Identity')
  return def === undefined ? ANY : named(def)
}

/** The row of the caller in the table of users. */
function account({ module, declarations }: Context): Type {
  const table = usersTable(module)
  const def = table === undefined ? undefined : declarations.def(table)
  return def === undefined ? ANY : named(def)
}

function usersTable({ items }: Module): string | undefined {
  for (const item of items) {
    if (item.kind === 'Table' && usersDecorator(item) !== undefined) return item.name.text
  }
  return undefined
}

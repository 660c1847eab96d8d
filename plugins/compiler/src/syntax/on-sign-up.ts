import { ON_SIGN_UP } from '@svc/contracts'
import type { Decorator, FunctionDeclaration, Module, Table } from './ast.ts'

/** Returns the decorator that makes a table the users of the program. */
export function usersDecorator({ decorators }: Table): Decorator | undefined {
  return decorators.find(({ name }) => name.text === 'auth')
}

/** Returns the function that sign-ups call; undefined if there is none, or the program has no users. */
export function onSignUpOf({ items }: Module): FunctionDeclaration | undefined {
  if (!items.some(item => item.kind === 'Table' && usersDecorator(item) !== undefined)) return undefined
  return items.find((item): item is FunctionDeclaration => item.kind === 'Function' && item.name.text === ON_SIGN_UP)
}

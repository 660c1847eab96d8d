import type { Identity } from '@svc/contracts'
import { fail } from './failure.ts'
import { typeName } from './type-name.ts'
import { isInt, isList, isRecord, Json, type Value } from './value.ts'

/** Returns an identity as a record of the language. */
export function identityValue({ id, roles, scopes, claims, provider }: Identity): Value {
  return new Map<string, Value>([
    ['id', id],
    ['roles', roles],
    ['scopes', scopes],
    ['claims', new Json(claims)],
    ['provider', provider]
  ])
}

/** Reads an identity: its id, which may be that of a row, or a record with `id`, and perhaps `roles`, `scopes` and `claims`. */
export function identityOf(value: Value): Identity {
  if (typeof value === 'string' || isInt(value)) {
    return { id: String(value), roles: [], scopes: [], claims: {}, provider: 'test' }
  }
  if (!isRecord(value)) return fail('RUN_TYPE', `an identity is an id or an Identity, found ${typeName(value)}`)
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

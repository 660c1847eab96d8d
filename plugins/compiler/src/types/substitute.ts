import { answer, fn, named, type RigidType, record, resolved, type Type, tuple } from './type.ts'

export type Substitution = ReadonlyMap<RigidType, Type>

/** Replaces type parameters. Types without parameters are returned as they are. */
export function substitute(type: Type, by: Substitution): Type {
  if (by.size === 0) return type
  const inner = resolved(type)
  switch (inner.kind) {
    case 'rigid':
      return by.get(inner) ?? inner
    case 'named': {
      const args = substituteAll(inner.args, by)
      return args === inner.args ? inner : named(inner.def, args)
    }
    case 'tuple': {
      const items = substituteAll(inner.items, by)
      return items === inner.items ? inner : tuple(items)
    }
    case 'fn': {
      const types = inner.params.map(each => each.type)
      const params = substituteAll(types, by)
      const result = substitute(inner.result, by)
      if (params === types && result === inner.result) return inner
      return fn(
        inner.params.map((each, index) => ({ ...each, type: params[index] as Type })),
        result
      )
    }
    case 'record': {
      const fields = new Map<string, Type>()
      let isSame = true
      for (const [name, field] of inner.fields) {
        const replaced = substitute(field, by)
        isSame &&= replaced === field
        fields.set(name, replaced)
      }
      return isSame ? inner : record(fields)
    }
    case 'answer': {
      const value = substitute(inner.value, by)
      return value === inner.value ? inner : answer(value)
    }
    default:
      return inner
  }
}

function substituteAll(types: readonly Type[], by: Substitution): readonly Type[] {
  let replaced: Type[] | null = null
  for (const [index, type] of types.entries()) {
    const next = substitute(type, by)
    if (next !== type && replaced === null) replaced = types.slice(0, index)
    replaced?.push(next)
  }
  return replaced ?? types
}

/** Replaces the parameters of a definition by the arguments of one of its types. */
export function withArguments(type: Type, generics: readonly RigidType[], args: readonly Type[]): Type {
  if (generics.length === 0) return type
  return substitute(type, new Map(generics.map((each, index) => [each, args[index] ?? each])))
}

import { type Diagnostic, diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Module, Type, TypeDeclaration } from '../../syntax/ast.ts'

/** Reports types of which no value can be made, since each value needs another one of the same type. */
export function checkInhabited({ items }: Module): Diagnostic[] {
  const declared = new Map<string, TypeDeclaration>()
  for (const item of items)
    if (item.kind === 'Type' && !declared.has(item.name.text)) declared.set(item.name.text, item)
  const inhabited = inhabitedTypes(declared)
  return [...declared.values()].flatMap(type => {
    if (inhabited.has(type.name.text) || type.definition.form === 'alias') return []
    const { text } = type.name
    const message = `no value of \`${text}\` can be made: each one needs another value that needs a \`${text}\``
    const suggestions = ['make the member an `Option` or a `List`, or add an alternative without it']
    return diagnostic('lint.uninhabited_type', message, type.name, { suggestions })
  })
}

/** Returns the names of the types that have a value, from those that need no other type to those that need them. */
function inhabitedTypes(declared: ReadonlyMap<string, TypeDeclaration>): ReadonlySet<string> {
  const inhabited = new Set<string>()
  /** Types that wait for the type of a name. */
  const waiting = new Map<string, TypeDeclaration[]>()
  const open = [...declared.values()]
  for (let type = open.pop(); type !== undefined; type = open.pop()) {
    const name = type.name.text
    if (inhabited.has(name)) continue
    const generics = new Set(type.generics.map(({ text }) => text))
    const missing = missingName(type, each => generics.has(each) || !declared.has(each) || inhabited.has(each))
    if (missing === null) {
      inhabited.add(name)
      open.push(...(waiting.get(name) ?? []))
      waiting.delete(name)
    } else {
      for (const each of missing) {
        const others = waiting.get(each)
        if (others === undefined) waiting.set(each, [type])
        else others.push(type)
      }
    }
  }
  return inhabited
}

type HasValue = (name: string) => boolean

/** Returns names of types whose values would help to make a value of this type; null if it has a value. */
function missingName({ definition }: TypeDeclaration, hasValue: HasValue): string[] | null {
  switch (definition.form) {
    case 'alias':
      return missingIn(definition.type, hasValue)
    case 'struct':
      return firstMissing(
        definition.fields.map(({ type }) => type),
        hasValue
      )
    case 'variants': {
      const all: string[] = []
      for (const { fields } of definition.variants) {
        const missing = firstMissing(
          fields.map(({ type }) => type),
          hasValue
        )
        if (missing === null) return null
        all.push(...missing)
      }
      return definition.variants.length === 0 ? null : all
    }
  }
}

function firstMissing(types: readonly Type[], hasValue: HasValue): string[] | null {
  for (const type of types) {
    const missing = missingIn(type, hasValue)
    if (missing !== null) return missing
  }
  return null
}

/** Builtin types with arguments, like `List`, have values without values of their arguments, except `Result`. */
function missingIn(type: Type, hasValue: HasValue): string[] | null {
  if (type.kind === 'TupleType') return firstMissing(type.items, hasValue)
  if (type.kind !== 'NamedType' || type.path.length !== 1) return null
  const name = type.path[0]?.text ?? ''
  return hasValue(name) ? null : [name]
}

import { type Diagnostic, diagnostic } from '../diagnostics/diagnostic.ts'
import type { Module, NamedType, Type } from '../syntax/ast.ts'
import { type AnyNode, walk } from '../syntax/walk.ts'

/**
 * Reports files inside of other column types. Unused files are found by their columns, so a file in a list would be
 * removed although a row contains it.
 */
export function checkFileColumns({ items }: Module): Diagnostic[] {
  const isOwn = items.some(item => 'name' in item && item.name !== null && item.name.text === 'File')
  if (isOwn) return []
  const types = new Map(items.flatMap(item => (item.kind === 'Type' ? [[item.name.text, item] as const] : [])))
  const holders = new Map<string, boolean>()

  /** True if a declared type contains a file, directly or through other types. */
  const holds = (name: string): boolean => {
    const known = holders.get(name)
    if (known !== undefined) return known
    // A recursive type contains what its other members do.
    holders.set(name, false)
    const declaration = types.get(name)
    const found = declaration !== undefined && contains(declaration.definition)
    holders.set(name, found)
    return found
  }
  const contains = (root: object): boolean => {
    let isFound = false
    walk(root as AnyNode, node => {
      if (node.kind === 'NamedType') {
        const name = nameOf(node as NamedType)
        isFound ||= name === 'File' || (name !== null && holds(name))
      }
      return !isFound
    })
    return isFound
  }

  return items.flatMap(item =>
    item.kind !== 'Table'
      ? []
      : item.fields.flatMap(({ name, type }) =>
          isFileColumn(type) || !contains(type)
            ? []
            : [
                diagnostic(
                  'typecheck.db.type',
                  `the column \`${name.text}\` contains files within another type`,
                  type,
                  {
                    suggestions: ['write `File` or `Option[File]`; for several files, a table with a row for each']
                  }
                )
              ]
        )
  )
}

function isFileColumn(type: Type): boolean {
  const [first] = type.kind === 'NamedType' ? type.args : []
  const inner = type.kind === 'OptionalType' ? type.inner : nameOf(type) === 'Option' ? (first ?? type) : type
  return nameOf(inner) === 'File'
}

function nameOf(type: Type): string | null {
  return type.kind === 'NamedType' && type.path.length === 1 ? (type.path[0]?.text ?? null) : null
}

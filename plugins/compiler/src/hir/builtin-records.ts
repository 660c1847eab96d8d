import type { HirNamedField, HirType, HirTypeDeclaration } from '@svc/contracts'
import type { Module, NamedType } from '../syntax/ast.ts'
import { walk } from '../syntax/walk.ts'

interface BuiltinRecord {
  readonly name: string
  readonly generics: readonly string[]
  readonly fields: readonly HirNamedField[]
}

const STR: HirType = { Named: 'str' }

/** Records that every program has. A type of the program with the same name replaces them. */
const RECORDS: readonly BuiltinRecord[] = [
  {
    name: 'Page',
    generics: ['T'],
    fields: [
      ['items', { Generic: ['List', [{ Named: 'T' }]] }],
      ['next', { Generic: ['Option', [STR]] }]
    ]
  },
  {
    name: 'File',
    generics: [],
    fields: [
      ['id', STR],
      ['name', STR],
      ['content_type', STR],
      ['size', { Named: 'int' }]
    ]
  }
]

/**
 * Returns the declarations of the builtin records that a module uses, so that the types of its results are described
 * like those it declares. `inferred`: names that it uses without writing them.
 */
export function builtinRecords(module: Module, source: string, inferred: ReadonlySet<string>): HirTypeDeclaration[] {
  const used = RECORDS.filter(
    ({ name }) => !isDeclared(module, name) && (inferred.has(name) || (source.includes(name) && isNamed(module, name)))
  )
  return used.map(({ name, generics, fields }) => ({
    name,
    variants: [],
    fields,
    ...(generics.length > 0 ? { generics } : {}),
    is_pub: false,
    is_builtin: true,
    span: { start: 0, end: 0 }
  }))
}

function isDeclared({ items }: Module, name: string): boolean {
  return items.some(item => 'name' in item && item.name !== null && item.name.text === name)
}

function isNamed(module: Module, name: string): boolean {
  let isFound = false
  walk(module, node => {
    if (node.kind === 'NamedType') {
      const { path } = node as NamedType
      isFound ||= path.length === 1 && path[0]?.text === name
    }
    return !isFound
  })
  return isFound
}

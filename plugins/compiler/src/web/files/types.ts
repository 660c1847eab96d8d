import type { HirTypeDeclaration, HirVariant } from '@svc/contracts'
import type { EmittedFile } from '../../typescript/emitted-file.ts'
import { header } from '../../typescript/header.ts'
import { propertyKey, valueName } from '../../typescript/names.ts'
import { TypeImports } from '../../typescript/types.ts'
import type { WebModule } from '../web-module.ts'

/** Declaration of `Result`, which programs do not declare themselves. */
export const RESULT_TYPE = `/** A value or an error. */
export type Result<T, E = string> =
  | { readonly _tag: 'Ok'; readonly value: T }
  | { readonly _tag: 'Err'; readonly value: E }
`

const RESULT = `${RESULT_TYPE}
export function Ok<T>(value: T): Result<T, never> {
  return { _tag: 'Ok', value }
}

export function Err<E>(value: E): Result<never, E> {
  return { _tag: 'Err', value }
}
`

/**
 * Generates `types.ts`: records as interfaces, and alternatives as unions discriminated by `_tag`, with a constructor
 * for each. null if the program declares no types and no other module needs `Result` (`usesResult`).
 */
export function typesFile({ hir, types, name }: WebModule, usesResult: boolean): EmittedFile | null {
  if (hir.types.length === 0 && !usesResult) return null
  const imports = new TypeImports('./types')
  const declarations = hir.types.map(declaration => {
    const { generics = [] } = declaration
    const scope = new Set(generics)
    const print = (type: Parameters<typeof types.print>[0]): string => types.print(type, imports, scope)
    return [declarationText(declaration, print), ...constructorsOf(declaration, print)].join('\n')
  })
  const needsResult = usesResult || imports.uses('./types', 'Result')
  const isOwn = hir.types.some(type => type.name === 'Result')
  const parts = [
    imports
      .lines()
      .map(line => `${line}\n`)
      .join(''),
    ...declarations,
    ...(needsResult && !isOwn ? [withoutNames(hir.types)] : [])
  ].filter(part => part !== '')
  return { path: 'types.ts', text: [header(name), ...parts].join('\n').replace(/\n*$/, '\n') }
}

type Print = (type: HirVariant['fields'][number][1]) => string

/** Returns the declaration of a type without its constructors. */
export function declarationText(declaration: HirTypeDeclaration, print: Print): string {
  const { name, variants, fields, alias, generics = [] } = declaration
  const open = generics.length === 0 ? '' : `<${generics.join(', ')}>`
  if (alias !== undefined) return `export type ${name}${open} = ${print(alias)}\n`
  if (fields !== undefined) {
    const members = fields.map(([field, type]) => `  readonly ${propertyKey(field)}: ${print(type)}\n`)
    return `export interface ${name}${open} {\n${members.join('')}}\n`
  }
  const cases = variants.map(variant => `  | { ${membersOf(variant, print).join('; ')} }`)
  return `export type ${name}${open} =\n${cases.join('\n')}\n`
}

function constructorsOf({ name, variants, generics = [], fields, alias }: HirTypeDeclaration, print: Print): string[] {
  if (alias !== undefined || fields !== undefined) return []
  return variants.map(variant => constructorOf(variant, name, generics, print))
}

function membersOf({ name, fields }: HirVariant, print: Print): string[] {
  return [
    `readonly _tag: '${name}'`,
    ...fields.map(([field, type]) => `readonly ${propertyKey(field)}: ${print(type)}`)
  ]
}

function constructorOf(variant: HirVariant, type: string, generics: readonly string[], print: Print): string {
  const { name, fields } = variant
  if (fields.length === 0) {
    const open = generics.length === 0 ? '' : `<${generics.map(() => 'never').join(', ')}>`
    return `export const ${name}: ${type}${open} = { _tag: '${name}' }\n`
  }
  const open = generics.length === 0 ? '' : `<${generics.join(', ')}>`
  const params = fields.map(([field, of]) => `${valueName(field)}: ${print(of)}`)
  const entries = fields.map(([field]) => {
    const value = valueName(field)
    return value === field ? field : `${field}: ${value}`
  })
  const result = `{ _tag: '${name}', ${entries.join(', ')} }`
  return `export function ${name}${open}(${params.join(', ')}): ${type}${open} {\n  return ${result}\n}\n`
}

/** Leaves out the constructors `Ok` and `Err` if the program declares variants with these names. */
function withoutNames(types: readonly HirTypeDeclaration[]): string {
  const declared = new Set(types.flatMap(({ variants }) => variants.map(({ name }) => name)))
  const parts = RESULT.split(/\n(?=export function)/)
  return parts.filter(part => !declared.has(/^export function (\w+)/.exec(part)?.[1] ?? '')).join('\n')
}

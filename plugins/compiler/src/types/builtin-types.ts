import { type NamedType, named, rigid, type Type, type TypeDef, type TypeDefKind } from './type.ts'

function define(kind: TypeDefKind, name: string, ...generics: string[]): TypeDef {
  return { kind, name, generics: generics.map(rigid), declaration: null, fields: null, variants: null }
}

const primitive = (name: string): TypeDef => define('primitive', name)

export const LIST = define('builtin', 'List', 'T')
export const MAP = define('builtin', 'Map', 'K', 'V')
export const SET = define('builtin', 'Set', 'T')
export const STREAM = define('builtin', 'Stream', 'T')
export const OPTION = define('builtin', 'Option', 'T')
export const RESULT = define('builtin', 'Result', 'T', 'E')
/** The row id of a table. Ids and ints convert to each other. */
export const ID = define('builtin', 'Id', 'T')

/** A page of rows, with the cursor of the next one. */
export const PAGE = define('builtin', 'Page', 'T')

export const INT = named(primitive('int'))
export const FLOAT = named(primitive('float'))
export const STR = named(primitive('str'))
export const BOOL = named(primitive('bool'))
export const CHAR = named(primitive('char'))
export const DEC = named(primitive('dec'))
export const UNIT = named(primitive('Unit'))
export const ELEMENT = named(primitive('Element'))

/** A vector or a matrix of floats. Its values are written as lists of floats; only a host computes with them. */
export const TENSOR = named(define('builtin', 'Tensor'))

export const list = (item: Type): Type => named(LIST, [item])
export const option = (value: Type): Type => named(OPTION, [value])
export const map = (key: Type, value: Type): Type => named(MAP, [key, value])
export const set = (item: Type): Type => named(SET, [item])
export const id = (row: Type): Type => named(ID, [row])
/** The type of an error is `str` unless a second argument names another. */
export const result = (value: Type, error: Type = STR): Type => named(RESULT, [value, error])

const [ITEM] = PAGE.generics
PAGE.fields = new Map(
  ITEM === undefined
    ? []
    : [
        ['items', { name: 'items', type: list(ITEM), isOptional: false, field: null }],
        ['next', { name: 'next', type: option(STR), isOptional: false, field: null }]
      ]
)

const defOf = (type: Type): TypeDef => (type as NamedType).def

/** Definitions of the types that every program has, by each of their names. The table of natives adds records. */
export const BUILTIN_DEFS: ReadonlyMap<string, TypeDef> = new Map([
  ...[INT, FLOAT, STR, BOOL, CHAR, DEC, UNIT, ELEMENT].map(type => [defOf(type).name, defOf(type)] as const),
  ...[LIST, MAP, SET, STREAM, OPTION, RESULT, ID, PAGE].map(def => [def.name, def] as const),
  ['unit', defOf(UNIT)],
  ['list', LIST],
  ['map', MAP]
])

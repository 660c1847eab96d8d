import type { HirModule, HirType } from '@svc/contracts'

/**
 * Storage of a column: `id` and `bool` are integers, `char` and `dec` text, `json` is JSON text, `file` is the id of a
 * stored file, and a `vector` is an array of 32-bit floats.
 */
export type ColumnKind = 'int' | 'bool' | 'id' | 'float' | 'str' | 'char' | 'dec' | 'json' | 'file' | 'vector'

export interface ColumnType {
  readonly kind: ColumnKind
  /** SQL type: `INTEGER`, `REAL`, `TEXT` or `F32_BLOB(3)`. */
  readonly sql: string
  readonly nullable: boolean
  /** Declared type, with aliases resolved and `Option` removed. */
  readonly declared: string
}

const NAMED: Readonly<Record<string, ColumnKind>> = {
  int: 'int',
  bool: 'bool',
  float: 'float',
  str: 'str',
  char: 'char',
  dec: 'dec'
}

const SQL: Readonly<Record<Exclude<ColumnKind, 'vector'>, string>> = {
  int: 'INTEGER',
  bool: 'INTEGER',
  id: 'INTEGER',
  float: 'REAL',
  str: 'TEXT',
  char: 'TEXT',
  dec: 'TEXT',
  json: 'TEXT',
  file: 'TEXT'
}

/** Returns the storage of a declared type. */
export function columnType(type: HirType, module: Pick<HirModule, 'types'>): ColumnType {
  const resolved = resolveAlias(type, module)
  const optional = optionOf(resolved)
  if (optional !== null) return { ...plainType(resolveAlias(optional, module), module), nullable: true }
  return { ...plainType(resolved, module), nullable: false }
}

function plainType(type: HirType, module: Pick<HirModule, 'types'>): Omit<ColumnType, 'nullable'> {
  const declared = typeText(type)
  if (isFile(type, module)) return { kind: 'file', sql: SQL.file, declared }
  const size = vectorSize(type)
  if (size !== null) return { kind: 'vector', sql: `F32_BLOB(${size})`, declared }
  const kind = kindOf(type)
  return { kind, sql: SQL[kind], declared }
}

/** True for the builtin type of files, which a type of the program with the same name replaces. */
export function isFile(type: HirType, { types }: Pick<HirModule, 'types'>): boolean {
  if (typeof type === 'string' || !('Named' in type) || type.Named !== 'File') return false
  return types.some(({ name, is_builtin }) => name === 'File' && is_builtin === true)
}

function kindOf(type: HirType): Exclude<ColumnKind, 'vector'> {
  if (type === 'Decimal') return 'dec'
  if (typeof type === 'string') return 'json'
  if ('Generic' in type) return type.Generic[0] === 'Id' ? 'id' : 'json'
  const kind = 'Named' in type && Object.hasOwn(NAMED, type.Named) ? NAMED[type.Named] : undefined
  return kind === undefined || kind === 'vector' ? 'json' : kind
}

/** Returns the dimension of a `Tensor` of fixed length; null for other types. */
function vectorSize(type: HirType): number | null {
  if (typeof type === 'string' || !('Generic' in type)) return null
  const [name, args] = type.Generic
  const [size] = args
  if (name !== 'Tensor' || args.length !== 1 || typeof size !== 'object' || !('Named' in size)) return null
  const length = Number(size.Named)
  return Number.isInteger(length) && length > 0 ? length : null
}

/** Resolves a chain of aliases. */
function resolveAlias(type: HirType, { types }: Pick<HirModule, 'types'>): HirType {
  let resolved = type
  // The bound ends a cycle of aliases, which has no meaning.
  for (let depth = 0; depth <= types.length; depth += 1) {
    if (typeof resolved === 'string' || !('Named' in resolved)) return resolved
    const { Named } = resolved
    const alias = types.find(({ name }) => name === Named)?.alias
    if (alias === undefined) return resolved
    resolved = alias
  }
  return resolved
}

function optionOf(type: HirType): HirType | null {
  if (typeof type === 'string' || !('Generic' in type) || type.Generic[0] !== 'Option') return null
  return type.Generic[1][0] ?? null
}

/** Returns a type in source syntax. */
export function typeText(type: HirType): string {
  if (type === 'Unit') return 'Unit'
  if (type === 'Decimal') return 'dec'
  if ('Named' in type) return type.Named
  if ('Generic' in type) return `${type.Generic[0]}[${type.Generic[1].map(typeText).join(', ')}]`
  if ('Tuple' in type) return `(${type.Tuple.map(typeText).join(', ')})`
  const [params, result] = type.Function
  return `fn(${params.map(typeText).join(', ')}) to ${typeText(result)}`
}

import { type Hir, type HirModule, type HirNamedField, type HirType, TypeNames, unreachable } from '@svc/contracts'
import { runErrors } from '../errors.ts'
import { Opaque, type Value } from '../interpreter/value.ts'
import { isFile } from '../schema/column-type.ts'
import { isFileId } from '../storage/file-info.ts'
import type { Codec } from './codec.ts'
import { listCodec, mapCodec, optionCodec, resultCodec, tupleCodec } from './compound-codecs.ts'
import { choiceCodec, type Member, recordCodec } from './declared-codecs.ts'
import { inPart, Mismatch, mismatch, shownJson } from './mismatch.ts'
import { BOOL, CHAR, DEC, FLOAT, INT, STR, UNIT, wrong } from './plain-codecs.ts'
import { JSON_VALUE, untypedCodec } from './untyped-codec.ts'

export interface WireOptions {
  /** Defaults of struct members. */
  readonly defaults?: readonly { readonly type: string; readonly field: string; readonly code: Hir.Body }[]
  /** Evaluates a default. Without this function, members with a default are required. */
  readonly evaluate?: (code: Hir.Body) => Value
}

/**
 * JSON form of a program's types. Structs and rows are objects, variants `{"_tag": "Name", …}`, an Option is its value
 * or null, a Result `{"_tag": "Ok", "value": …}` or `{"_tag": "Err", …}`. Decimals are strings, and Unit is null.
 * `parseJson` and `printJson` keep all digits of ints.
 */
export class WireTypes {
  readonly #names: TypeNames
  readonly #options: WireOptions
  readonly #codecs = new Map<string, Codec>()
  readonly #checks = new Map<Hir.Type, Codec | null>()
  readonly #untyped: Codec
  readonly #hostTypes: ReadonlySet<string>
  /** True if `File` is the type of stored files, and not a type of the program. */
  readonly #hasFiles: boolean

  constructor(module: HirModule, options: WireOptions = {}) {
    this.#names = new TypeNames(module)
    this.#options = options
    this.#hasFiles = isFile({ Named: 'File' }, module)
    this.#hostTypes = new Set([...HOST_TYPES, ...[...module.actors, ...module.agents].map(({ name }) => name)])
    this.#untyped = untypedCodec(tag => {
      const type = this.#names.typeOfConstructor(tag)
      return type === undefined ? undefined : this.codec(type)
    })
  }

  /** Returns the type that a name stands for, if it is an alias. */
  unaliased(type: HirType | null): HirType | null {
    return type === null ? null : this.#names.unaliased(type)
  }

  /**
   * Encodes a value to JSON with bigints. Throws `RUN_RESULT` if the value has another type. With the type null, any
   * value except a function is accepted.
   */
  encode(value: Value, type: HirType | null): unknown {
    return withCode('RUN_RESULT', () => this.codec(type).encode(value))
  }

  /**
   * Decodes JSON to a value; undefined means missing. Throws `RUN_ARGUMENTS`, whose data has the path and the expected
   * and found types. `name` is the parameter's name, the start of the path.
   */
  decode(json: unknown, type: HirType | null, name: string | null = null): Value {
    return withCode('RUN_ARGUMENTS', () => {
      const codec = this.codec(type)
      try {
        if (json === undefined && !codec.isOptional) mismatch(codec.name, 'nothing')
        return codec.decode(json)
      } catch (thrown) {
        throw name === null ? thrown : inPart(thrown, name)
      }
    })
  }

  /** Returns the codec of a type, for many values. The codec throws a {@link Mismatch} instead of a coded error. */
  codec(type: HirType | null): Codec {
    if (type === null) return this.#untyped
    const key = JSON.stringify(type)
    const known = this.#codecs.get(key)
    if (known !== undefined) return known
    const codec = this.#compile(type)
    this.#codecs.set(key, codec)
    return codec
  }

  /** Returns the codec that checks values of a type; null if every value has it. */
  codecOf(type: Hir.Type): Codec | null {
    const known = this.#checks.get(type)
    if (known !== undefined) return known
    const codec = this.#checkOf(type)
    this.#checks.set(type, codec)
    return codec
  }

  #checkOf(type: Hir.Type): Codec | null {
    const part = (each: Hir.Type): Codec => this.codecOf(each) ?? this.#untyped
    switch (type.kind) {
      case 'any':
      case 'param':
      case 'never':
      case 'fn':
        return null
      case 'unit':
        return UNIT
      case 'tuple':
        return tupleCodec(type.items.map(part))
      case 'record': {
        const members = type.fields.map(([name, each]) => ({ name, codec: part(each), fallback: null }))
        return recordCodec('a record', () => members, { isPartial: false })
      }
      case 'named':
        return this.#checkOfNamed(type.name, type.args.map(part), type)
      default:
        return unreachable(type)
    }
  }

  #checkOfNamed(name: string, args: readonly Codec[], type: Hir.Type): Codec | null {
    const [first, second] = args
    if (first !== undefined) {
      switch (name) {
        case 'List':
        case 'Set':
          return listCodec(first, `${name}[${first.name}]`)
        case 'Option':
          return optionCodec(first)
        case 'Result':
          return resultCodec(first, second ?? STR)
        case 'Map':
          return second === undefined ? null : mapCodec(first, second)
      }
    }
    if (this.#hostTypes.has(name)) return hostCodec(name)
    const codec = this.codec(wireType(type))
    return codec === this.#untyped ? null : codec
  }

  #compile(type: HirType): Codec {
    if (type === 'Unit') return UNIT
    if (type === 'Decimal') return DEC
    if ('Tuple' in type) return tupleCodec(type.Tuple.map(each => this.codec(each)))
    if ('Function' in type) return this.#untyped
    const [name, args] = 'Named' in type ? [type.Named, []] : type.Generic
    return this.#declared(name, args) ?? this.#builtIn(name, args)
  }

  #declared(name: string, args: readonly HirType[]): Codec | undefined {
    const declared = this.#names.resolve(name, args)
    switch (declared?.kind) {
      case 'alias':
        return this.codec(declared.type)
      case 'row':
        return recordCodec(name, () => this.#rowMembers(name, declared.fields), { isPartial: true })
      case 'struct':
        return recordCodec(name, () => this.#members(name, declared.fields), { isPartial: false })
      case 'choice':
        return choiceCodec(name, () =>
          declared.variants.map(variant => ({ name: variant.name, members: this.#members(null, variant.fields) }))
        )
      case undefined:
        return undefined
    }
  }

  #builtIn(name: string, args: readonly HirType[]): Codec {
    const [first = null, second = null] = args
    switch (name) {
      case 'int':
      case 'Id':
        return INT
      case 'float':
        return FLOAT
      case 'str':
        return STR
      case 'char':
        return CHAR
      case 'bool':
        return BOOL
      case 'dec':
        return DEC
      case 'unit':
        return UNIT
      case 'Json':
      case 'JsonBody':
        return JSON_VALUE
      case 'List':
      case 'list':
      case 'Set':
        return listCodec(this.codec(first), `${name}[${this.codec(first).name}]`)
      case 'Tensor':
        return tensorCodec(first)
      case 'Option':
        return optionCodec(this.codec(first))
      case 'Result':
        return resultCodec(this.codec(first), second === null ? STR : this.codec(second))
      case 'Map':
      case 'map':
        return mapCodec(first === null ? STR : this.codec(first), this.codec(second))
      default:
        return this.#untyped
    }
  }

  #rowMembers(table: string, fields: readonly HirNamedField[]): Member[] {
    // A row passed as an argument may have no `_id` yet.
    return [{ name: '_id', codec: optionalId(), fallback: null }, ...this.#members(table, fields)]
  }

  #members(of: string | null, fields: readonly HirNamedField[]): Member[] {
    const { defaults = [], evaluate } = this.#options
    return fields.map(([name, type]) => {
      const given = of === null ? undefined : defaults.find(each => each.type === of && each.field === name)
      if (of === 'File' && name === 'id' && this.#hasFiles) return { name, codec: FILE_ID, fallback: null }
      const fallback = given === undefined || evaluate === undefined ? null : () => evaluate(given.code)
      return { name, codec: this.codec(type), fallback }
    })
  }
}

/** Codec of the id of a stored file. Whether the file exists is known when a row refers to it. */
const FILE_ID: Codec = {
  ...STR,
  name: 'the id of a stored file',
  decode: json => (typeof json === 'string' && isFileId(json) ? json : mismatch(FILE_ID.name, shownJson(json)))
}

/** Types of the host whose values have methods. */
const HOST_TYPES = ['Regex', 'Match', 'Request', 'Response']

/** Returns the codec of a host object or an actor, which JSON cannot represent. */
function hostCodec(name: string): Codec {
  return {
    name,
    isOptional: false,
    decode: json => mismatch(name, shownJson(json)),
    encode: value => wrong(name, value),
    check: value => (value instanceof Opaque && value.type === name ? value : wrong(name, value))
  }
}

/** Returns a type in the form of a declaration. Types that no declaration can have are `_`, which has every value. */
function wireType(type: Hir.Type): HirType {
  switch (type.kind) {
    case 'named':
      return type.args.length === 0 ? { Named: type.name } : { Generic: [type.name, type.args.map(wireType)] }
    case 'tuple':
      return { Tuple: type.items.map(wireType) }
    case 'unit':
      return 'Unit'
    case 'fn':
    case 'record':
    case 'param':
    case 'any':
    case 'never':
      return { Named: '_' }
    default:
      return unreachable(type)
  }
}

/** Returns the codec of a vector, whose dimension is part of its type. */
function tensorCodec(size: HirType | null): Codec {
  const length = typeof size === 'object' && size !== null && 'Named' in size ? Number(size.Named) : Number.NaN
  return listCodec(
    FLOAT,
    `Tensor[${Number.isInteger(length) ? length : '_'}]`,
    Number.isInteger(length) ? length : null
  )
}

function optionalId(): Codec {
  return {
    name: 'int',
    isOptional: true,
    decode: json => (json === undefined || json === null ? null : INT.decode(json)),
    encode: value => (value === null ? null : INT.encode(value)),
    check: (value, meter) => (value === null ? null : INT.check(value, meter))
  }
}

function withCode<A>(code: 'RUN_ARGUMENTS' | 'RUN_RESULT', run: () => A): A {
  try {
    return run()
  } catch (thrown) {
    throw codedMismatch(code, thrown)
  }
}

/** Converts a mismatch to an error with a code; other errors stay unchanged. */
export function codedMismatch(code: 'RUN_ARGUMENTS' | 'RUN_RESULT', thrown: unknown): unknown {
  if (thrown instanceof Mismatch) {
    const { reason, pathText: path, expected, found } = thrown
    return runErrors.create(code, reason, {
      data: { path, expected, found },
      hint:
        code === 'RUN_ARGUMENTS' ? 'pass a value of the declared type' : 'return a value of the declared result type'
    })
  }
  // A stack overflow: the type or the JSON is nested too deeply.
  if (!(thrown instanceof RangeError)) return thrown
  return runErrors.create(code, 'the value is nested too deep')
}

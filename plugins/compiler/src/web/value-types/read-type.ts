import type { Field, Module, Type } from '../../syntax/ast.ts'
import { ANY, type GenericName, generic, type PlainName, plain, UNIT, type ValueType } from './type.ts'

const PLAIN: Readonly<Record<string, PlainName>> = {
  int: 'int',
  float: 'float',
  str: 'str',
  bool: 'bool',
  char: 'char',
  unit: 'Unit',
  Unit: 'Unit',
  Element: 'Element'
}

const GENERIC: Readonly<Record<string, readonly [GenericName, arity: number]>> = {
  List: ['List', 1],
  list: ['List', 1],
  Option: ['Option', 1],
  Result: ['Result', 2],
  Map: ['Map', 2],
  map: ['Map', 2],
  Set: ['Set', 1],
  Stream: ['Stream', 1]
}

/** Resolves type annotations of one module. */
export class TypeReader {
  readonly #declared = new Map<string, ValueType>()
  readonly #fields = new Map<object, ReadonlyMap<string, ValueType>>()

  constructor({ items }: Module) {
    for (const item of items) {
      // toestub-ignore(stringly-typed-enum) - the kind is a union of these texts
      if (item.kind === 'Table') this.#declare(item.name.text, { kind: 'row', table: item })
      else if (item.kind === 'Actor' || item.kind === 'Agent') {
        this.#declare(item.name.text, { kind: 'actor', declaration: item })
      } else if (item.kind === 'Type') {
        // Fields of a generic type depend on its arguments, and an alias may be recursive.
        const isKnown = item.generics.length === 0 && item.definition.form !== 'alias'
        this.#declare(item.name.text, isKnown ? { kind: 'declared', declaration: item } : ANY)
      }
    }
  }

  #declare(name: string, type: ValueType): void {
    if (!this.#declared.has(name)) this.#declared.set(name, type)
  }

  /** Returns the fields of a type; null if they are unknown. */
  fieldsOf(type: ValueType): ReadonlyMap<string, ValueType> | null {
    if (type.kind === 'record') return type.fields
    if (type.kind === 'row') {
      const { table } = type
      return this.#cached(table, () => [['_id', plain('int')], ...this.#read(table.fields)])
    }
    if (type.kind !== 'declared' || type.declaration.definition.form !== 'struct') return null
    const { fields } = type.declaration.definition
    return this.#cached(type.declaration, () => this.#read(fields))
  }

  #read(fields: readonly Field[]): [string, ValueType][] {
    return fields.map(({ name, type }) => [name.text, this.read(type)])
  }

  #cached(declaration: object, fields: () => [string, ValueType][]): ReadonlyMap<string, ValueType> {
    const known = this.#fields.get(declaration) ?? new Map(fields())
    this.#fields.set(declaration, known)
    return known
  }

  declared(name: string): ValueType | undefined {
    return this.#declared.get(name)
  }

  /** Returns the type of an annotation. Type parameters and unknown names are of any type. */
  read(type: Type | null): ValueType {
    switch (type?.kind) {
      case 'NamedType': {
        const name = type.path.length === 1 ? (type.path[0]?.text ?? '') : ''
        const args = type.args.map(arg => this.read(arg))
        const declared = this.#declared.get(name)
        if (declared !== undefined) return declared
        if (Object.hasOwn(PLAIN, name)) return plain(PLAIN[name] as PlainName)
        if (name === 'Id') return plain('int')
        if (!Object.hasOwn(GENERIC, name)) return ANY
        const [kind, arity] = GENERIC[name] as readonly [GenericName, number]
        return generic(kind, ...Array.from({ length: arity }, (_, index) => args[index] ?? ANY))
      }
      case 'OptionalType':
        return generic('Option', this.read(type.inner))
      case 'FunctionType': {
        const result = type.result === null ? UNIT : this.read(type.result)
        return { kind: 'function', params: type.params.map(param => this.read(param)), result }
      }
      case 'TupleType':
        return { kind: 'tuple', items: type.items.map(item => this.read(item)) }
      case 'UnitType':
        return UNIT
      case 'DecimalType':
        return plain('dec')
      default:
        return ANY
    }
  }
}

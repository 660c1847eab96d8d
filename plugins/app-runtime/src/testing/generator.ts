import type { HirType, HirTypeDeclaration, Program } from '@svc/contracts'
import { Decimal } from '../interpreter/decimal.ts'
import { error, Float, NONE, ok, some, Tagged, Tuple, type Value } from '../interpreter/value.ts'

/** Ints that often reveal bugs. */
const EDGES = [0, 1, -1, 2 ** 31 - 1, -(2 ** 31), Number.MAX_SAFE_INTEGER, (1n << 63n) - 1n, -(1n << 63n)] as const

const CHARACTERS = ['a', 'b', 'Z', '0', ' ', '_', '"', '\\', '\n', "'", 'é', '漢', '😀', ';', '<']

/** Maximum depth of recursive types. */
const MAX_DEPTH = 4

/** Generates random values of the language's types. */
export class Generator {
  readonly #types: ReadonlyMap<string, HirTypeDeclaration>
  readonly #random: () => number

  constructor(program: Program, random: () => number) {
    this.#types = new Map(program.module.types.map(type => [type.name, type]))
    this.#random = random
  }

  /** True if values of a type can be generated. A parameter without a type gets ints. */
  knows(type: HirType | null, depth = 0): boolean {
    if (type === null || typeof type === 'string' || depth > MAX_DEPTH) return true
    if ('Tuple' in type) return type.Tuple.every(item => this.knows(item, depth + 1))
    if ('Function' in type) return false
    if ('Generic' in type) {
      const [name, args] = type.Generic
      return GENERICS.has(name.toLowerCase()) && args.every(arg => this.knows(arg, depth + 1))
    }
    const declaration = this.#types.get(type.Named)
    if (declaration === undefined) return SIMPLE.has(type.Named)
    const { variants, fields = [], alias, generics = [] } = declaration
    if (generics.length > 0) return false
    if (alias !== undefined) return this.knows(alias, depth + 1)
    return [...fields, ...variants.flatMap(variant => variant.fields)].every(([, each]) => this.knows(each, depth + 1))
  }

  /** Generates a value. `size` controls the length of lists and strs, and the magnitude of ints. */
  value(type: HirType | null, size: number, depth = 0): Value {
    if (type === null) return this.#int(size)
    if (type === 'Unit') return null
    if (type === 'Decimal') return new Decimal(BigInt(this.#below(200_001) - 100_000), this.#below(4))
    if ('Tuple' in type) return new Tuple(type.Tuple.map(item => this.value(item, size, depth + 1)))
    if ('Generic' in type) return this.#generic(type.Generic[0].toLowerCase(), type.Generic[1], size, depth)
    return 'Named' in type ? this.#named(type.Named, size, depth) : null
  }

  #generic(
    name: string,
    [first = null, second = null]: readonly (HirType | null)[],
    size: number,
    depth: number
  ): Value {
    const length = depth > MAX_DEPTH ? 0 : this.#below(size + 1)
    switch (name) {
      case 'list':
        return Array.from({ length }, () => this.value(first, size / 2, depth + 1))
      case 'map':
        return new Map(Array.from({ length }, () => [this.#text(size), this.value(second, size / 2, depth + 1)]))
      case 'option':
        return this.#below(4) === 0 || depth > MAX_DEPTH ? NONE : some(this.value(first, size, depth + 1))
      case 'result':
        return this.#below(4) === 0 ? error(this.#text(size)) : ok(this.value(first, size, depth + 1))
      default:
        return this.#below(1000) + 1
    }
  }

  #named(name: string, size: number, depth: number): Value {
    const declaration = this.#types.get(name)
    if (declaration !== undefined) return this.#declared(declaration, size, depth)
    switch (name) {
      case 'float':
        return new Float(this.#below(4) === 0 ? this.#below(3) - 1 : (this.#random() - 0.5) * 10 ** this.#below(10))
      case 'str':
        return this.#text(size)
      case 'char':
        return this.#pick(CHARACTERS)
      case 'bool':
        return this.#below(2) === 0
      case 'dec':
        return this.value('Decimal', size)
      case 'Unit':
      case 'unit':
        return null
      default:
        return this.#int(size)
    }
  }

  #declared({ alias, fields, variants }: HirTypeDeclaration, size: number, depth: number): Value {
    if (alias !== undefined) return this.value(alias, size, depth + 1)
    if (fields !== undefined) return new Map(fields.map(([key, type]) => [key, this.value(type, size, depth + 1)]))
    const leaves = variants.filter(variant => variant.fields.length === 0)
    const variant = this.#pick(depth > MAX_DEPTH && leaves.length > 0 ? leaves : variants)
    const values = variant.fields.map(([, type]) => this.value(type, size / 2, depth + 1))
    return new Tagged(
      variant.name,
      values,
      variant.fields.map(([field]) => field)
    )
  }

  #int(size: number): number | bigint {
    if (this.#below(8) === 0) return this.#pick(EDGES)
    const range = Math.ceil(size ** 3) + 2
    return this.#below(2 * range + 1) - range
  }

  #text(size: number): string {
    return Array.from({ length: this.#below(size + 1) }, () => this.#pick(CHARACTERS)).join('')
  }

  #pick<A>(items: readonly A[]): A {
    return items[this.#below(items.length)] as A
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * Math.max(1, Math.floor(limit)))
  }
}

const GENERICS = new Set(['list', 'map', 'option', 'result', 'id'])
const SIMPLE = new Set(['int', 'float', 'str', 'bool', 'char', 'dec', 'Unit', 'unit', 'any'])

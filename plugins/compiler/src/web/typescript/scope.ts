import { RESERVED_NAMES } from '../../typescript/reserved-names.ts'
import type { ValueType } from '../value-types/type.ts'

/** A program variable in TypeScript. */
export interface Binding {
  /** TypeScript name. */
  readonly name: string
  readonly type: ValueType
  /** Name of the setter; null if the variable is constant, or assigned directly. */
  readonly setter: string | null
  /** True if the variable can be assigned. */
  readonly isVariable: boolean
  /** True if the variable is in scope in the whole component. */
  readonly isOuter: boolean
  /** True if a call of the variable returns a promise. */
  readonly isAsync: boolean
}

export interface Declared {
  readonly type: ValueType
  readonly isVariable?: boolean
  readonly isAsync?: boolean
  readonly as?: string
}

/** Names in scope. No name shadows another, since TypeScript's scopes differ from the program's. */
export class Scope {
  readonly #outer: Scope | null
  readonly #bindings = new Map<string, Binding>()
  readonly #used = new Set<string>()

  constructor(outer: Scope | null = null, used: Iterable<string> = []) {
    this.#outer = outer
    for (const name of used) this.#used.add(name)
  }

  inner(): Scope {
    return new Scope(this)
  }

  /** Returns a scope for the same TypeScript block. */
  overlay(): Scope {
    return new OverlayScope(this)
  }

  lookup(name: string): Binding | undefined {
    return this.#bindings.get(name) ?? this.#outer?.lookup(name)
  }

  /** Declares a variable. Returns its TypeScript name, which is chosen on the first declaration. */
  declare(name: string, { type, isVariable = false, isAsync = false, as }: Declared): Binding {
    return this.#bind(name, {
      name: as ?? this.fresh(name),
      type,
      setter: null,
      isVariable,
      isOuter: this.#outer === null,
      isAsync
    })
  }

  /** Declares a component state, which is assigned by a call of its setter. */
  declareState(name: string, type: ValueType): Binding & { readonly setter: string } {
    const binding = {
      name: this.fresh(name),
      type,
      setter: this.fresh(`set_${name}`),
      isVariable: false,
      isOuter: true,
      isAsync: false
    }
    this.#bind(name, binding)
    return binding
  }

  /** Binds a name to another binding in the rest of the scope. */
  replace(name: string, binding: Binding): void {
    this.#bind(name, binding)
  }

  /** Returns an unused name. */
  fresh(preferred: string): string {
    const base = preferred === '_' || preferred === '' ? 'unused' : preferred
    // Reserved words are renamed in the same way everywhere in a build.
    let name = RESERVED_NAMES.has(base) ? `${base}_` : base
    for (let number = 2; RESERVED_NAMES.has(name) || this.#isUsed(name); number++) name = `${base}_${number}`
    this.#used.add(name)
    return name
  }

  #isUsed(name: string): boolean {
    const outer = this.#outer
    return this.#used.has(name) || (outer === null ? false : outer.#isUsed(name))
  }

  #bind(name: string, binding: Binding): Binding {
    this.#bindings.set(name, binding)
    return binding
  }
}

class OverlayScope extends Scope {
  readonly #block: Scope

  constructor(block: Scope) {
    super(block)
    this.#block = block
  }

  override fresh(preferred: string): string {
    return this.#block.fresh(preferred)
  }
}

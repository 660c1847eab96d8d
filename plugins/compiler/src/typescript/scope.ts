import type { Hir } from '@svc/contracts'
import { RESERVED_NAMES } from './reserved-names.ts'

/** A variable of the program in TypeScript. */
export interface Binding {
  readonly local: Hir.LocalId
  /** TypeScript name, or code that reads the value. */
  readonly name: string
  readonly type: Hir.Type
  /** Name of the setter; null if the variable is constant, or assigned directly. */
  readonly setter: string | null
  /** True if the variable can be assigned. */
  readonly isVariable: boolean
  /** True if the variable is in scope in the whole component. */
  readonly isOuter: boolean
  /** True if a call of the variable returns a promise. */
  readonly isAsync: boolean
}

/** Names in scope. No name shadows another, since TypeScript's scopes differ from the program's. */
export class Scope {
  readonly #outer: Scope | null
  readonly #bindings = new Map<string, Binding>()
  readonly #used = new Set<string>()
  readonly #isOverlay: boolean

  constructor(outer: Scope | null = null, used: Iterable<string> = [], isOverlay = false) {
    this.#outer = outer
    this.#isOverlay = isOverlay
    for (const name of used) this.#used.add(name)
  }

  get isOuter(): boolean {
    return this.#outer === null
  }

  inner(): Scope {
    return new Scope(this)
  }

  /** Returns a scope for the same TypeScript block. */
  overlay(): Scope {
    return new Scope(this, [], true)
  }

  /** Returns the variable that has a name here, for placeholders in strings of a view. */
  lookup(name: string): Binding | undefined {
    return this.#bindings.get(name) ?? this.#outer?.lookup(name)
  }

  bind(name: string, binding: Binding): void {
    this.#bindings.set(name, binding)
  }

  /** Returns an unused name. */
  fresh(preferred: string): string {
    if (this.#isOverlay && this.#outer !== null) return this.#outer.fresh(preferred)
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
}

/** Scope of exported constants, which keep their names. */
export class ExportScope extends Scope {
  readonly #names: ReadonlyMap<string, string>

  /** `names`: the exported name of each variable. */
  constructor(names: ReadonlyMap<string, string>) {
    super()
    this.#names = names
  }

  override fresh(preferred: string): string {
    return this.#names.get(preferred) ?? super.fresh(preferred)
  }
}

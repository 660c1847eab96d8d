import type { ValueType } from '../../check/types/type.ts'
import { RESERVED_NAMES } from './reserved-names.ts'

/** A variable of the program in the TypeScript that is made of it. */
export interface Binding {
  /** Its name there. */
  readonly name: string
  readonly type: ValueType
  /** Setter; null when the variable is constant or plain assignment works. */
  readonly setter: string | null
  /** Whether it may get another value. */
  readonly isVariable: boolean
  /** Whether it is known in all of a component, and not in a part of it. */
  readonly isOuter: boolean
  /** Whether calling it gives a promise. */
  readonly isAsync: boolean
}

export interface Declared {
  readonly type: ValueType
  readonly isVariable?: boolean
  readonly isAsync?: boolean
  readonly as?: string
}

/** Names that are known at one place. A name never hides another one, which TypeScript would read differently. */
export class Scope {
  readonly #outer: Scope | null
  readonly #bindings = new Map<string, Binding>()
  readonly #taken = new Set<string>()

  constructor(outer: Scope | null = null, taken: Iterable<string> = []) {
    this.#outer = outer
    for (const name of taken) this.#taken.add(name)
  }

  inner(): Scope {
    return new Scope(this)
  }

  /** Names in the same block of TypeScript. */
  overlay(): Scope {
    return new OverlayScope(this)
  }

  lookup(name: string): Binding | undefined {
    return this.#bindings.get(name) ?? this.#outer?.lookup(name)
  }

  /** Gives a variable its name, or the one that was made for it before. */
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

  /** A value of a component that is assigned to by calling its setter. */
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

  /** Lets a name mean something else from here on. */
  replace(name: string, binding: Binding): void {
    this.#bind(name, binding)
  }

  /** A name that nothing here has. */
  fresh(wanted: string): string {
    const base = wanted === '_' || wanted === '' ? 'unused' : wanted
    // Reserved words of TypeScript are renamed as everywhere in a build.
    let name = RESERVED_NAMES.has(base) ? `${base}_` : base
    for (let number = 2; RESERVED_NAMES.has(name) || this.#isTaken(name); number++) name = `${base}_${number}`
    this.#taken.add(name)
    return name
  }

  #isTaken(name: string): boolean {
    const outer = this.#outer
    return this.#taken.has(name) || (outer === null ? false : outer.#isTaken(name))
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

  override fresh(wanted: string): string {
    return this.#block.fresh(wanted)
  }
}

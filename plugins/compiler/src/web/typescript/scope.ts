import type { ValueType } from '../../check/types/type.ts'
import { RESERVED_NAMES } from './reserved-names.ts'

/** A program variable in its TypeScript form. */
export interface Binding {
  /** Its TypeScript name. */
  readonly name: string
  readonly type: ValueType
  /** Setter; null when the variable is constant or plain assignment works. */
  readonly setter: string | null
  /** True if it can be assigned. */
  readonly isVariable: boolean
  /** True if it is in scope in the whole component. */
  readonly isOuter: boolean
  /** True if calling it returns a promise. */
  readonly isAsync: boolean
}

export interface Declared {
  readonly type: ValueType
  readonly isVariable?: boolean
  readonly isAsync?: boolean
  readonly as?: string
}

/** Names in scope at one place. A name never shadows another one, since TypeScript scopes differ. */
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

  /** Names in the same TypeScript block. */
  overlay(): Scope {
    return new OverlayScope(this)
  }

  lookup(name: string): Binding | undefined {
    return this.#bindings.get(name) ?? this.#outer?.lookup(name)
  }

  /** Returns the name of a variable; chooses one on the first call. */
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

  /** A component value that is assigned by calling its setter. */
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

  /** Rebinds a name from here on. */
  replace(name: string, binding: Binding): void {
    this.#bind(name, binding)
  }

  /** An unused name. */
  fresh(wanted: string): string {
    const base = wanted === '_' || wanted === '' ? 'unused' : wanted
    // Reserved TypeScript words are renamed as in the whole build.
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

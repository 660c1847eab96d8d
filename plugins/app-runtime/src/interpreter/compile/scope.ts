/** Facts about the variables of a function, by their declarations, from the first pass over it. */
export class VariableUses {
  /** Mutable variables that a closure captures. */
  readonly cells = new Set<object>()
  /** Variables whose list or record is changed by assignments, which need not copy it each time. */
  readonly changed = new Set<object>()

  /** True if the function must be compiled again, now that the uses are known. */
  get needsSecondPass(): boolean {
    return this.cells.size > 0 || this.changed.size > 0
  }
}

/** A variable of a function. */
export interface Local {
  readonly name: string
  readonly slot: number
  /** True if the slot holds a cell, because a closure captures the mutable variable. */
  readonly isCell: boolean
  readonly isMutable: boolean
  /** Slot of the list or record that only this variable refers to, so that it can be changed in place; -1 if not tracked. */
  readonly ownerSlot: number
  /** Identifies the variable in the second pass. */
  readonly declaration: object
}

/** Scopes of a function or a closure, and the slots of its frame. */
export class FunctionScope {
  readonly parent: FunctionScope | null
  /** Captured variables: `from` in the enclosing function, `to` in this one. */
  readonly captures: { readonly from: Local; readonly to: Local }[] = []
  size = 0
  readonly #uses: VariableUses
  readonly #blocks: Map<string, Local>[] = [new Map()]

  /** `lookup` adds the declarations of captured mutable variables to `uses`. */
  constructor(parent: FunctionScope | null, uses: VariableUses) {
    this.parent = parent
    this.#uses = uses
  }

  enter(): void {
    this.#blocks.push(new Map())
  }

  leave(): void {
    this.#blocks.pop()
  }

  declare(name: string, declaration: object, isMutable = false): Local {
    const isCell = this.#uses.cells.has(declaration)
    const slot = this.size++
    const ownerSlot = !isCell && this.#uses.changed.has(declaration) ? this.size++ : -1
    const local = { name, slot, isCell, isMutable, ownerSlot, declaration }
    this.#blocks.at(-1)?.set(name, local)
    return local
  }

  /** Records that an assignment changes the list or record of a variable. */
  changes({ declaration, isMutable }: Local): void {
    if (isMutable) this.#uses.changed.add(declaration)
  }

  /** Allocates a slot without a name. */
  temporary(): number {
    return this.size++
  }

  lookup(name: string): Local | undefined {
    for (let at = this.#blocks.length - 1; at >= 0; at--) {
      const local = this.#blocks[at]?.get(name)
      if (local !== undefined) return local
    }
    const outer = this.parent?.lookup(name)
    if (outer === undefined) return undefined
    if (outer.isMutable) this.#uses.cells.add(outer.declaration)
    const to = { ...outer, slot: this.size++, ownerSlot: -1 }
    this.#blocks[0]?.set(name, to)
    this.captures.push({ from: outer, to })
    return to
  }

  /** Returns the variables of the innermost block. */
  locals(): Iterable<Local> {
    return this.#blocks.at(-1)?.values() ?? []
  }
}

/** Holder of a captured mutable variable. */
export class Cell {
  value: unknown

  constructor(value: unknown) {
    this.value = value
  }
}

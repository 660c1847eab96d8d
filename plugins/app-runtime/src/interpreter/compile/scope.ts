/** A variable of a function. */
export interface Local {
  readonly name: string
  readonly slot: number
  /** True if the slot holds a cell, because a closure captures the mutable variable. */
  readonly isCell: boolean
  readonly isMutable: boolean
  /** Identifies the variable in the second pass. */
  readonly declaration: object
}

/** Scopes of a function or a closure, and the slots of its frame. */
export class FunctionScope {
  readonly parent: FunctionScope | null
  /** Captured variables: `from` in the enclosing function, `to` in this one. */
  readonly captures: { readonly from: Local; readonly to: Local }[] = []
  size = 0
  readonly #cells: Set<object>
  readonly #blocks: Map<string, Local>[] = [new Map()]

  /** `lookup` adds the declarations of captured mutable variables to `cells`. */
  constructor(parent: FunctionScope | null, cells: Set<object>) {
    this.parent = parent
    this.#cells = cells
  }

  enter(): void {
    this.#blocks.push(new Map())
  }

  leave(): void {
    this.#blocks.pop()
  }

  declare(name: string, declaration: object, isMutable = false): Local {
    const local = { name, slot: this.size++, isCell: this.#cells.has(declaration), isMutable, declaration }
    this.#blocks.at(-1)?.set(name, local)
    return local
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
    if (outer.isMutable) this.#cells.add(outer.declaration)
    const to = { ...outer, slot: this.size++ }
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

import type { Hir } from '@svc/contracts'
import type { Value } from '../value.ts'

/** A variable of a function, as its compiled code accesses it. */
export interface Variable {
  readonly slot: number
  /** True if the slot holds a {@link Cell}, because a lambda captures the mutable variable. */
  readonly isCell: boolean
  /** True if the list or record that only this variable refers to is known, so that it can be changed in place. */
  readonly isTracked: boolean
  /** Slot of that list or record; -1 if it is not tracked, or a cell has it. */
  readonly ownerSlot: number
}

/** Slots of a function or a lambda. The first slots are its parameters. */
export class Frame {
  readonly locals: readonly Hir.Local[]
  /** Captured slots: `from` of the enclosing function, `to` of this one. */
  readonly captures: { readonly from: number; readonly to: number }[] = []
  size = 0
  readonly #parent: Frame | null
  readonly #variables: (Variable | undefined)[] = []
  #stateSlot = -1

  constructor(locals: readonly Hir.Local[], parent: Frame | null) {
    this.locals = locals
    this.#parent = parent
  }

  /** Returns a variable that this function declares. */
  declare(id: Hir.LocalId): Variable {
    const known = this.#variables[id]
    if (known !== undefined) return known
    const { isMutable, isCaptured, type } = this.locals[id] as Hir.Local
    const slot = this.size++
    const isCell = isMutable && isCaptured
    const isTracked = isMutable && mayHaveParts(type)
    return this.#set(id, { slot, isCell, isTracked, ownerSlot: isTracked && !isCell ? this.size++ : -1 })
  }

  /** Returns a variable of this function or of an enclosing one, which is then captured. */
  variable(id: Hir.LocalId): Variable {
    const known = this.#variables[id]
    if (known !== undefined) return known
    if (this.#parent === null) return this.declare(id)
    const { slot: from, isCell, isTracked } = this.#parent.variable(id)
    const to = this.size++
    this.captures.push({ from, to })
    return this.#set(id, { slot: to, isCell, isTracked: isTracked && isCell, ownerSlot: -1 })
  }

  /** Slot of the state of the actor or agent whose handler this function, or an enclosing one, is. */
  get stateSlot(): number {
    if (this.#stateSlot >= 0) return this.#stateSlot
    this.#stateSlot = this.size++
    if (this.#parent !== null) this.captures.push({ from: this.#parent.stateSlot, to: this.#stateSlot })
    return this.#stateSlot
  }

  /** True if the code reads or writes the state of an actor or an agent. */
  get usesState(): boolean {
    return this.#stateSlot >= 0
  }

  /** Allocates a slot without a name. */
  temporary(): number {
    return this.size++
  }

  #set(id: Hir.LocalId, variable: Variable): Variable {
    this.#variables[id] = variable
    return variable
  }
}

const WITHOUT_PARTS: ReadonlySet<string> = new Set([
  'int',
  'float',
  'str',
  'char',
  'bool',
  'dec',
  'Id',
  'Option',
  'Result'
])

/** True if a value of the type may be a list or a record, which assignments to its parts change. */
export function mayHaveParts(type: Hir.Type): boolean {
  switch (type.kind) {
    case 'named':
      return !WITHOUT_PARTS.has(type.name)
    case 'record':
    case 'param':
    case 'any':
      return true
    case 'fn':
    case 'tuple':
    case 'unit':
    case 'never':
      return false
  }
}

/** Holder of a captured mutable variable. */
export class Cell {
  value: Value
  /** The value, if it is a list or record that nothing else refers to. */
  owned: Value = null

  constructor(value: Value) {
    this.value = value
  }
}

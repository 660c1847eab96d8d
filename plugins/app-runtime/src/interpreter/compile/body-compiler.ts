import type { HirBlock, HirExpression } from '@svc/contracts'
import { fail } from '../failure.ts'
import { type Eval, JUMP, type Machine } from '../machine.ts'
import type { Value } from '../value.ts'
import type { ProgramNames } from './program-names.ts'
import { Cell, FunctionScope, type Local, type VariableUses } from './scope.ts'

/** Compilers of expressions and statements, passed in to avoid an import cycle. */
export interface Forms {
  /** The compiled code may return {@link JUMP}. `isDiscarded` means that its value is unused. */
  expression(body: BodyCompiler, expression: HirExpression, isDiscarded: boolean): Eval
  /** The value is that of the last statement if it is an expression, else null. */
  sequence(body: BodyCompiler, statements: HirBlock, isDiscarded?: boolean): Eval
}

/** Compiles one function body into closures over the slots of its frame, each node once. */
export class BodyCompiler {
  readonly machine: Machine
  readonly names: ProgramNames
  readonly scope: FunctionScope
  /** Nodes in the current basic block. Their steps are charged when the block is entered. */
  weight = 0
  /** True if the compiled code may return {@link JUMP}. */
  jumps = false
  /** True if the compiled code may throw {@link JUMP} from inside an expression. */
  throwsJump = false
  readonly forms: Forms
  readonly #uses: VariableUses

  constructor(
    machine: Machine,
    names: ProgramNames,
    forms: Forms,
    uses: VariableUses,
    parent: FunctionScope | null = null
  ) {
    this.forms = forms
    this.machine = machine
    this.names = names
    this.scope = new FunctionScope(parent, uses)
    this.#uses = uses
  }

  /** Returns a compiler for a closure in this body. */
  inner(): BodyCompiler {
    return new BodyCompiler(this.machine, this.names, this.forms, this.#uses, this.scope)
  }

  /** Compiles a basic block, whose steps are charged when it runs. `at` is the position of a step-limit error. */
  metered(compile: () => Eval, at = -1): Eval {
    const before = this.weight
    this.weight = 1
    const run = compile()
    const { weight, machine } = this
    this.weight = before
    return frame => {
      machine.fuel -= weight
      if (machine.fuel < 0) machine.refuel(at)
      return run(frame)
    }
  }

  /** Compiles, and reports if the compiled part may return {@link JUMP}. */
  trackJumps(compile: () => Eval): readonly [run: Eval, jumps: boolean] {
    const before = this.jumps
    this.jumps = false
    const run = compile()
    const { jumps } = this
    this.jumps = before || jumps
    return [run, jumps]
  }

  /** Compiles the body of a loop or a function: a thrown {@link JUMP} is returned instead. */
  catchJumps(compile: () => Eval): Eval {
    const before = this.throwsJump
    this.throwsJump = false
    const run = compile()
    const throws = this.throwsJump
    this.throwsJump = before
    if (!throws) return run
    this.jumps = true
    return frame => {
      try {
        return run(frame)
      } catch (thrown) {
        if (thrown === JUMP) return JUMP
        throw thrown
      }
    }
  }

  /** Compiles an operand: a returned {@link JUMP} is thrown instead. */
  value(expression: HirExpression): Eval {
    const before = this.jumps
    this.jumps = false
    const run = this.statement(expression)
    const { jumps } = this
    this.jumps = before
    if (!jumps) return run
    this.throwsJump = true
    return frame => {
      const value = run(frame)
      if (value === JUMP) throw JUMP
      return value
    }
  }

  /** Compiles an expression in the position of a statement. It may return {@link JUMP}. */
  statement(expression: HirExpression, isDiscarded = false): Eval {
    this.weight++
    return this.forms.expression(this, expression, isDiscarded)
  }

  /** Compiles a block with its own scope. */
  block(statements: HirBlock, isDiscarded = false): Eval {
    this.scope.enter()
    const run = this.metered(() => this.forms.sequence(this, statements, isDiscarded))
    this.scope.leave()
    return run
  }
}

export function constant(value: Value): Eval {
  return () => value
}

/** Returns the read of a variable. Its value may then have another reference, so it is no longer changed in place. */
export function readLocal(local: Local): Eval {
  const { slot, ownerSlot } = local
  if (ownerSlot < 0) return peekLocal(local)
  return frame => {
    frame[ownerSlot] = null
    return frame[slot] as Value
  }
}

/** Returns the read of a variable whose value is only looked into. */
export function peekLocal({ slot, isCell }: Local): Eval {
  if (isCell) return frame => (frame[slot] as unknown as Cell).value as Value
  return frame => frame[slot] as Value
}

export function writeLocal({ slot, isCell }: Local): (frame: Value[], value: Value) => void {
  if (!isCell) {
    return (frame, value) => {
      frame[slot] = value
    }
  }
  return (frame, value) => {
    ;(frame[slot] as unknown as Cell).value = value
  }
}

/** Returns the initialization of a variable. A captured one gets a new cell each time. */
export function bindLocal({ slot, isCell }: Local): (frame: Value[], value: Value) => void {
  if (!isCell) {
    return (frame, value) => {
      frame[slot] = value
    }
  }
  return (frame, value) => {
    frame[slot] = new Cell(value) as unknown as Value
  }
}

/** Returns code that throws when executed, so that the rest of the program can run. */
export function unsupported(label: string, at: number): Eval {
  return () => fail('RUN_UNSUPPORTED', `${label} cannot be run here`, at)
}

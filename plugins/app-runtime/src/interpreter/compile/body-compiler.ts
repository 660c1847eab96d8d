import type { Hir } from '@svc/contracts'
import { fail } from '../failure.ts'
import { type CallFrame, type Eval, JUMP, type Machine } from '../machine.ts'
import type { Value } from '../value.ts'
import { Cell, Frame, type Variable } from './frame.ts'
import type { ProgramNames } from './program-names.ts'

/** Compilers of expressions and statements, passed in to avoid an import cycle. */
export interface Forms {
  /** The compiled code may return {@link JUMP}. `isDiscarded` means that its value is unused. */
  expression(body: BodyCompiler, node: Hir.Expr, isDiscarded: boolean): Eval
  /** The value is that of the last statement if it is an expression, else null. */
  block(body: BodyCompiler, block: Hir.Block, isDiscarded: boolean): Eval
}

/** Compiles one function body into closures over the slots of its frame, each node once. */
export class BodyCompiler {
  readonly machine: Machine
  readonly names: ProgramNames
  readonly frame: Frame
  /** Nodes in the current basic block. Their steps are charged when the block is entered. */
  weight = 0
  /** True if the compiled code may return {@link JUMP}. */
  jumps = false
  /** True if the compiled code may throw {@link JUMP} from inside an expression. */
  throwsJump = false
  readonly #forms: Forms

  constructor(machine: Machine, names: ProgramNames, forms: Forms, frame: Frame) {
    this.#forms = forms
    this.machine = machine
    this.names = names
    this.frame = frame
  }

  /** Returns a compiler for a lambda in this body. */
  inner(): BodyCompiler {
    return new BodyCompiler(this.machine, this.names, this.#forms, new Frame(this.frame.locals, this.frame))
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
  value(node: Hir.Expr): Eval {
    return this.asValue(() => this.statement(node))
  }

  /** Compiles an operand of whose value only a part is used: its list or record gets no other reference. */
  peek(node: Hir.Expr): Eval {
    if (node.kind !== 'Local') return this.value(node)
    this.weight++
    return peekVariable(this.frame.variable(node.local))
  }

  asValue(compile: () => Eval): Eval {
    const before = this.jumps
    this.jumps = false
    const run = compile()
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
  statement(node: Hir.Expr, isDiscarded = false): Eval {
    this.weight++
    return this.#forms.expression(this, node, isDiscarded)
  }

  /** Compiles statements as a part of the current basic block. */
  statements(block: Hir.Block, isDiscarded = false): Eval {
    return this.#forms.block(this, block, isDiscarded)
  }

  /** Compiles statements as a basic block. */
  block(block: Hir.Block, isDiscarded = false): Eval {
    return this.metered(() => this.statements(block, isDiscarded))
  }
}

export function constant(value: Value): Eval {
  return () => value
}

/** Returns the read of a variable. Its value may then have another reference, so it is no longer changed in place. */
export function readVariable(variable: Variable): Eval {
  const { slot, isCell, isTracked, ownerSlot } = variable
  if (!isTracked) return peekVariable(variable)
  if (!isCell) {
    return frame => {
      frame[ownerSlot] = null
      return frame[slot] as Value
    }
  }
  return frame => {
    const cell = cellIn(frame, slot)
    cell.owned = null
    return cell.value
  }
}

/** Returns the read of a variable whose value is only looked into. */
export function peekVariable({ slot, isCell }: Variable): Eval {
  if (isCell) return frame => cellIn(frame, slot).value
  return frame => frame[slot] as Value
}

export type Write = (frame: CallFrame, value: Value) => void

export function writeVariable({ slot, isCell }: Variable): Write {
  if (!isCell) {
    return (frame, value) => {
      frame[slot] = value
    }
  }
  return (frame, value) => {
    cellIn(frame, slot).value = value
  }
}

/** Returns the initialization of a variable. A captured one gets a new cell each time. */
export function bindVariable({ slot, isCell }: Variable): Write {
  if (!isCell) {
    return (frame, value) => {
      frame[slot] = value
    }
  }
  return (frame, value) => {
    frame[slot] = new Cell(value) as unknown as Value
  }
}

export function cellIn(frame: CallFrame, slot: number): Cell {
  return frame[slot] as unknown as Cell
}

/** Returns code that throws when executed, so that the rest of the program can run. */
export function unsupported(label: string, at: number): Eval {
  return () => fail('RUN_UNSUPPORTED', `${label} cannot be run here`, at)
}

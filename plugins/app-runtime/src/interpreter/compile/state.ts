import type { Hir } from '@svc/contracts'
import type { CallFrame, Eval } from '../machine.ts'
import type { Value } from '../value.ts'
import type { BodyCompiler } from './body-compiler.ts'
import { mayHaveParts } from './frame.ts'

/** State of an actor or agent in a slot of its handlers. */
export class HandlerState {
  readonly fields: Map<string, Value>
  /** Arguments of `spawn` by parameter. */
  readonly params: ReadonlyMap<string, Value>
  /** Lists and records of fields that nothing else refers to. */
  readonly owned = new Map<string, Value>()

  constructor(fields: Map<string, Value>, params: ReadonlyMap<string, Value>) {
    this.fields = fields
    this.params = params
  }

  read(name: string): Value {
    const value = this.fields.get(name)
    return value === undefined ? (this.params.get(name) ?? null) : value
  }
}

export function stateIn(frame: CallFrame, slot: number): HandlerState {
  return frame[slot] as unknown as HandlerState
}

/** Returns the read of a state field. Its value may then have another reference, so it is no longer changed in place. */
export function compileStateRead({ frame: { stateSlot } }: BodyCompiler, { field, type }: Hir.StateRead): Eval {
  if (!mayHaveParts(type)) return frame => stateIn(frame, stateSlot).read(field)
  return frame => {
    const state = stateIn(frame, stateSlot)
    state.owned.delete(field)
    return state.read(field)
  }
}

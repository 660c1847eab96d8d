import type { Value } from '../interpreter/value.ts'
import type { MeshStep } from './mesh-steps.ts'

/** Thrown to end the turn of a waiting workflow, which runs again from its start after the wait. */
export class Suspension {
  /** Milliseconds since 1970; null if the run waits for a signal. */
  readonly wakeAt: number | null
  readonly signal: string | null
  /** Work for the mesh, whose answer is the signal; null if the signal comes from elsewhere. */
  readonly meshStep: MeshStep | null

  constructor(wakeAt: number | null, signal: string | null, meshStep: MeshStep | null = null) {
    this.wakeAt = wakeAt
    this.signal = signal
    this.meshStep = meshStep
  }
}

/** Thrown to end a turn with `workflow.continue_as_new`: the run begins again, with these arguments. */
export class Continuation {
  readonly args: readonly Value[]

  constructor(args: readonly Value[]) {
    this.args = args
  }
}

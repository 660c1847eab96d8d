import type { PlacingTask, RemotePlacement, RemotePlacer } from '@svc/contracts'

/** A placement that the test answers. */
export interface Pending {
  readonly task: PlacingTask
  readonly signal: AbortSignal
  resolve(placement?: RemotePlacement): void
  reject(error: Error): void
}

/** Placer that wants every task, unless the test says otherwise, and places it when the test answers. */
export class FakePlacer implements RemotePlacer {
  readonly name: string
  readonly pending: Pending[] = []
  wants: RemotePlacer['wants'] = () => true
  /** Answers immediately, if set. */
  answer: ((task: PlacingTask) => RemotePlacement) | null = null

  constructor(name = 'fake') {
    this.name = name
  }

  place(task: PlacingTask, signal: AbortSignal): Promise<RemotePlacement> {
    return new Promise((resolve, reject) => {
      this.pending.push({ task, signal, resolve: (placement = PLACED) => resolve(placement), reject })
      if (this.answer === null) return
      try {
        resolve(this.answer(task))
      } catch (error) {
        reject(error)
      }
    })
  }

  /** Resolves with the placement that comes next. */
  async next(): Promise<Pending> {
    for (;;) {
      const pending = this.pending.shift()
      if (pending !== undefined) return pending
      await new Promise(setImmediate)
    }
  }
}

export const PLACED: RemotePlacement = {
  lease_id: '7',
  mesh_node_id: 'gpu-1',
  claimer_node_id: 'orch-1',
  message_id: 9
}

import type { PlacingTask, RemotePlacement, RemotePlacer, TaskView } from '@svc/contracts'
import { errorMessage, withTimeout } from '@svc/plugin-sdk'
import { confirmHold, fallBack, heldWith } from '../state/holds.ts'
import type { PlacementPort } from '../state/ports.ts'
import type { CommandRunner } from './command-runner.ts'
import type { TaskSignals } from './task-signals.ts'

/** Default maximum duration of one placement in milliseconds. */
const PLACE_TIMEOUT_MS = 60_000

export interface PlacingDependencies {
  /** Current placers, in the order in which they are asked. */
  readonly placers: () => readonly RemotePlacer[]
  readonly maxVramMb: () => number | null
  readonly runner: CommandRunner
  readonly signals: TaskSignals
  /** Maximum duration of one placement in milliseconds; default 60,000. */
  readonly timeoutMs?: number | undefined
  readonly report: (operation: string, error: unknown) => void
}

/** Places new tasks on other machines: chooses a placer while a task is created, and calls it afterwards. */
export class Placing implements PlacementPort {
  readonly #deps: PlacingDependencies

  constructor(deps: PlacingDependencies) {
    this.#deps = deps
  }

  /** False without placers, the common and fast case. */
  get isPossible(): boolean {
    return this.#deps.placers().length > 0
  }

  get maxVramMb(): number | null {
    return this.#deps.maxVramMb()
  }

  placerFor(task: TaskView): string | null {
    for (const placer of this.#deps.placers()) {
      try {
        if (placer.wants(task) === true) return placer.name
      } catch (error) {
        this.#deps.report(`placer ${placer.name}`, error)
      }
    }
    return null
  }

  /**
   * Places a held task, and confirms its hold. If that fails, the task is queued locally. Resolves when either is
   * durable. A placement that comes after the deadline, or after the end of the hold, is withdrawn.
   */
  async place(task: PlacingTask): Promise<void> {
    const { runner, signals, timeoutMs = PLACE_TIMEOUT_MS } = this.#deps
    const { id, remote } = task
    const key = remote.idempotency_key
    // The task may have been cancelled while its creation was made durable.
    if (!(await runner.runWithoutLimit(world => heldWith(world, id, key) !== null))) return
    const confirm = (placement: RemotePlacement) =>
      runner.runWithoutLimit((world, changes) => confirmHold(world, changes, id, remote, placement))
    let placed: Promise<RemotePlacement> | undefined
    let placement: RemotePlacement
    try {
      placement = await withTimeout(timeoutMs, signal => (placed = this.#call(task, signal)), {
        signal: signals.of(id, true),
        error: () => new Error(`the task was not placed within ${timeoutMs / 1_000} s`)
      })
    } catch (error) {
      const reason = errorMessage(error)
      await runner.runWithoutLimit((world, changes) => fallBack(world, changes, id, key, reason))
      // A placer that ignores its signal may still place the task; its work is then withdrawn.
      placed?.then(confirm).catch(() => {})
      return
    }
    await confirm(placement)
  }

  async #call(task: PlacingTask, signal: AbortSignal): Promise<RemotePlacement> {
    const placer = this.#deps.placers().find(({ name }) => name === task.remote.placer)
    if (placer === undefined) throw new Error(`the placer ${task.remote.placer} is gone`)
    return checked(await placer.place(task, signal))
  }
}

/** Returns only the declared fields of a placement. Throws a `TypeError` if one has a wrong type. */
function checked(placement: RemotePlacement): RemotePlacement {
  const { lease_id, mesh_node_id, claimer_node_id, message_id } = placement
  for (const [name, value] of Object.entries({ lease_id, mesh_node_id, claimer_node_id }))
    if (value !== undefined && typeof value !== 'string') throw new TypeError(`${name} of a placement is not a string`)
  if (message_id !== undefined && !Number.isSafeInteger(message_id))
    throw new TypeError('message_id of a placement is not an integer')
  return {
    ...(lease_id === undefined ? null : { lease_id }),
    ...(mesh_node_id === undefined ? null : { mesh_node_id }),
    ...(claimer_node_id === undefined ? null : { claimer_node_id }),
    ...(message_id === undefined ? null : { message_id })
  }
}

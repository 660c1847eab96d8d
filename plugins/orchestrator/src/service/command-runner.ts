import { orchestrationErrors, type TaskEnd } from '@svc/contracts'
import type { Committer } from '../durable/committer.ts'
import { StateChanges } from '../state/changes.ts'
import type { Withdrawal } from '../state/holds.ts'
import type { IdSource } from '../state/ports.ts'
import type { World } from '../state/world.ts'
import type { StartStep } from '../steps.ts'

/** Function that checks its input, changes the state, and records the changes. */
export type Command<A> = (world: World, changes: StateChanges) => A

export interface RunnerDependencies {
  readonly world: World
  /** Called for each change, since the committer exists only after the state is loaded. */
  readonly committer: () => Committer
  readonly ids: IdSource
  /** Called for each ended task, in order, once its end is durable. */
  readonly onEnded: (end: TaskEnd) => Promise<void>
  /** Starts a step of the recorded call that runs now; default: nothing is recorded. */
  readonly step?: StartStep
  /** Called for each withdrawal of remote work, once it is durable. */
  readonly onWithdrawn?: (withdrawal: Withdrawal) => void
  /** Receives errors that no caller waits for. */
  readonly report: (operation: string, error: unknown) => void
}

/** Longest timer of Node.js, used to wait without a limit. */
const NO_LIMIT_MS = 2 ** 31 - 1

/** Public interface of {@link CommandRunner}. */
export type Runner = Pick<CommandRunner, 'run' | 'runAhead' | 'runWithIds' | 'runWithoutLimit' | 'note' | 'apply'>

/**
 * Runs commands. Each changes the state atomically; its promise resolves once the changes are durable. After the state
 * has moved to another core, further commands run there.
 */
export class CommandRunner {
  readonly #deps: RunnerDependencies
  #closed = false
  #successor: Runner | null = null
  /** Resolves when the ends of all tasks so far have been reported. */
  #notifying: Promise<void> = Promise.resolve()

  constructor(deps: RunnerDependencies) {
    this.#deps = deps
  }

  /** Runs a command. Rejects with its error, or with `ORC_QUEUE_FULL`, `ORC_NOT_DURABLE` or `ORC_CLOSED`. */
  run<A>(command: Command<A>): Promise<A> {
    if (this.#successor !== null) return this.#successor.run(command)
    return this.#run(command, 'usual')
  }

  /**
   * Runs a command that finishes earlier work: it is not rejected if too many changes wait. Rejects with
   * `ORC_NOT_DURABLE`, after which the change still waits, or with `ORC_CLOSED`.
   */
  runWithoutLimit<A>(command: Command<A>): Promise<A> {
    if (this.#successor !== null) return this.#successor.runWithoutLimit(command)
    return this.#run(command, 'without limit')
  }

  /**
   * Runs a command that a restart undoes anyway. Resolves once earlier changes of the same records are durable; the
   * command's own change is written later.
   */
  runAhead<A>(command: Command<A>): Promise<A> {
    if (this.#successor !== null) return this.#successor.runAhead(command)
    return this.#run(command, 'ahead')
  }

  #run<A>(command: Command<A>, how: 'usual' | 'ahead' | 'without limit'): Promise<A> {
    const changes = new StateChanges()
    let result: A
    try {
      this.#assertOpen()
      if (how !== 'without limit') this.#deps.committer().assertRoom()
      result = command(this.#deps.world, changes)
    } catch (error) {
      // A rejected command may still emit events.
      if (!changes.isEmpty) this.apply(changes, 'events of a rejected command')
      return Promise.reject(error)
    }
    const step = this.#deps.step?.('commit') ?? null
    const done = how === 'ahead' ? this.#deps.committer().commitAhead(changes) : this.#commit(changes)
    if (step === null) return done.then(() => result)
    return done.then(
      () => {
        step.end()
        return result
      },
      error => {
        step.end(error)
        throw error
      }
    )
  }

  /** Runs a command that assigns ids, once enough ids are available. */
  runWithIds<A>(command: Command<A>): Promise<A> {
    const missing = this.#deps.ids.ready()
    // Other commands may have used up the new ids meanwhile, so check again.
    return missing === null ? this.run(command) : missing.then(() => this.runWithIds(command))
  }

  /** Runs a command that has no caller and never fails. After the close, its changes are not persisted. */
  note(operation: string, command: Command<void>): void {
    if (this.#successor !== null) {
      this.#successor.note(operation, command)
      return
    }
    const changes = new StateChanges()
    command(this.#deps.world, changes)
    if (!this.#closed) this.apply(changes, operation)
  }

  /** Persists changes that were already made; no caller waits. */
  apply(changes: StateChanges, operation: string): void {
    if (changes.isEmpty && changes.ended.length === 0 && changes.withdrawn === null) return
    this.#commit(changes).catch(error => this.#deps.report(operation, error))
  }

  /** Runs further commands on another core, which has the state now. Pending commands finish here. */
  handTo(successor: Runner): void {
    this.#successor = successor
  }

  /** Resolves when the ends of all tasks so far have been reported. */
  get notified(): Promise<void> {
    return this.#notifying
  }

  /** Delays `notified` until `before` has resolved, too. */
  notifyAfter(before: Promise<void>): void {
    this.#notifying = Promise.all([before, this.#notifying]).then(() => undefined)
  }

  /** Rejects further commands. Resolves when the ends of all tasks have been reported. */
  close(): Promise<void> {
    this.#closed = true
    return this.#notifying
  }

  #assertOpen(): void {
    if (this.#closed) throw orchestrationErrors.create('ORC_CLOSED', 'Orchestrator is closed: it accepts no commands')
  }

  #commit(changes: StateChanges): Promise<void> {
    const committer = this.#deps.committer()
    const done = committer.commit(changes)
    const { ended, withdrawn } = changes
    if (ended.length > 0 || withdrawn !== null) {
      // If the caller times out, the change still waits; report the ends once it is durable.
      const durable = done.catch(() => committer.commit(changes, { waitMs: NO_LIMIT_MS }))
      if (ended.length > 0) this.#notify(ended, durable)
      if (withdrawn !== null) this.#notifyWithdrawn(withdrawn, durable)
    }
    return done
  }

  #notifyWithdrawn(withdrawn: readonly Withdrawal[], durable: Promise<void>): void {
    durable.then(
      () => {
        for (const each of withdrawn) this.#deps.onWithdrawn?.(each)
      },
      error => this.#deps.report('withdrawing remote work', error)
    )
  }

  #notify(ends: readonly TaskEnd[], durable: Promise<void>): void {
    const before = this.#notifying
    this.#notifying = durable.then(
      async () => {
        await before
        for (const end of ends) {
          await this.#deps.onEnded(end).catch(error => this.#deps.report(`the end of task ${end.task_id}`, error))
        }
      },
      error => this.#deps.report('reporting ended tasks', error)
    )
  }
}

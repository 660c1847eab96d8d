import { orchestrationErrors, type TaskEnd } from '@svc/contracts'
import type { Committer } from '../durable/committer.ts'
import { StateChanges } from '../state/changes.ts'
import type { IdSource } from '../state/ports.ts'
import type { World } from '../state/world.ts'

/** Checks, changes the state, and records the changes. */
export type Command<A> = (world: World, changes: StateChanges) => A

export interface RunnerDependencies {
  readonly world: World
  /** Read for each change, since it exists only after the state was loaded. */
  readonly committer: () => Committer
  readonly ids: IdSource
  /** Called for each task that ended, in their order, after its end is durable. */
  readonly onEnded: (end: TaskEnd) => Promise<void>
  /** Receives failures without a caller. */
  readonly report: (what: string, error: unknown) => void
}

/** Longer than any wait: a change is persisted even if its caller timed out. */
const NO_LIMIT_MS = 2 ** 31 - 1

/** Interface for other parts. */
export type Runner = Pick<CommandRunner, 'run' | 'runAhead' | 'runWithIds' | 'note' | 'apply'>

/**
 * Runs commands. Each changes the state atomically, and is answered when its changes are durable. After its state was
 * exported, late commands run on the new core.
 */
export class CommandRunner {
  readonly #deps: RunnerDependencies
  #closed = false
  #successor: Runner | null = null
  /** Tasks whose ends are being reported. */
  #notifying: Promise<void> = Promise.resolve()

  constructor(deps: RunnerDependencies) {
    this.#deps = deps
  }

  /** Rejects with the command's error, and with `ORC_QUEUE_FULL`, `ORC_NOT_DURABLE` and `ORC_CLOSED`. */
  run<A>(command: Command<A>): Promise<A> {
    if (this.#successor !== null) return this.#successor.run(command)
    return this.#run(command, false)
  }

  /**
   * {@link CommandRunner.run}, for a command that a restart undoes anyway: it is answered when the state that it read
   * is durable; its own change follows later.
   */
  runAhead<A>(command: Command<A>): Promise<A> {
    if (this.#successor !== null) return this.#successor.runAhead(command)
    return this.#run(command, true)
  }

  #run<A>(command: Command<A>, isAhead: boolean): Promise<A> {
    const changes = new StateChanges()
    let result: A
    try {
      this.#assertOpen()
      this.#deps.committer().assertRoom()
      result = command(this.#deps.world, changes)
    } catch (error) {
      // A refused command may still emit events.
      if (!changes.isEmpty) this.apply(changes, 'what was refused')
      return Promise.reject(error)
    }
    const done = isAhead ? this.#deps.committer().commitAhead(changes) : this.#commit(changes)
    return done.then(() => result)
  }

  /** {@link CommandRunner.run}, for a command that takes ids. */
  runWithIds<A>(command: Command<A>): Promise<A> {
    const missing = this.#deps.ids.ready()
    // Other waiting commands may have taken all of them.
    return missing === null ? this.run(command) : missing.then(() => this.runWithIds(command))
  }

  /** A command without a caller, which is never refused; after the close it is not reported either. */
  note(what: string, command: Command<void>): void {
    if (this.#successor !== null) {
      this.#successor.note(what, command)
      return
    }
    const changes = new StateChanges()
    command(this.#deps.world, changes)
    if (!this.#closed) this.apply(changes, what)
  }

  /** Persists a change that was made already; without a caller. */
  apply(changes: StateChanges, what: string): void {
    if (changes.isEmpty && changes.ended.length === 0) return
    this.#commit(changes).catch(error => this.#deps.report(what, error))
  }

  /** Another core has the state from now on. Open commands end here. */
  handTo(successor: Runner): void {
    this.#successor = successor
  }

  /** Resolves when the ends of all tasks so far have been reported. */
  get notified(): Promise<void> {
    return this.#notifying
  }

  /** Reports ended tasks in their order. */
  notifyAfter(before: Promise<void>): void {
    this.#notifying = Promise.all([before, this.#notifying]).then(() => undefined)
  }

  /** From now on commands are refused. Resolves when the ends of all tasks have been reported. */
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
    if (changes.ended.length > 0) {
      // A caller that timed out was notified; the change proceeds, and is reported then.
      const durable = done.catch(() => committer.commit(changes, { waitMs: NO_LIMIT_MS }))
      this.#notify(changes.ended, durable)
    }
    return done
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
      error => this.#deps.report('tasks that ended', error)
    )
  }
}

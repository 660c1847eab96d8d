import { type RecordKind, type Restorable, StateChanges } from '#state'

export interface SmallTask {
  readonly id: number
  status: 'Queued' | 'InProgress' | 'Completed'
  /** Number of commands on the task. */
  step: number
  recoveries: number
}

/** Minimal restorable state: tasks, their locks, and a counter of all commands. */
export class SmallState implements Restorable {
  readonly tasks = new Map<number, SmallTask>()
  readonly locks = new Map<string, number>()
  commands = 0
  #restored: number[] = []

  submit(id: number): StateChanges {
    this.tasks.set(id, { id, status: 'Queued', step: 1, recoveries: 0 })
    return this.#changed(id)
  }

  begin(id: number, path = `src/${id}.ts`): StateChanges {
    this.#step(id, 'InProgress')
    this.locks.set(path, id)
    const changes = this.#changed(id)
    changes.touch('lock', path)
    return changes
  }

  complete(id: number): StateChanges {
    this.#step(id, 'Completed')
    const changes = this.#changed(id)
    for (const [path, holder] of this.locks)
      if (holder === id) {
        this.locks.delete(path)
        changes.touch('lock', path)
      }
    return changes
  }

  forget(id: number): StateChanges {
    this.tasks.delete(id)
    return this.#changed(id)
  }

  serialise(kind: RecordKind, key: string): string | null {
    if (kind === 'meta') return String(this.commands)
    const value = kind === 'task' ? this.tasks.get(Number(key)) : this.locks.get(key)
    return value === undefined ? null : JSON.stringify(value)
  }

  restore(kind: RecordKind, key: string, json: string): void {
    const value = JSON.parse(json)
    if (kind === 'meta') this.commands = Math.max(this.commands, value)
    else if (kind === 'lock') this.locks.set(key, value)
    else if (kind === 'task' && typeof value === 'object') {
      this.tasks.set(Number(key), value)
      this.#restored.push(Number(key))
    } else throw new TypeError(`${kind}/${key} is not a record of this state`)
  }

  recovered(): StateChanges {
    const changes = new StateChanges()
    for (const id of this.#restored) {
      const task = this.tasks.get(id)
      if (task?.status !== 'InProgress') continue
      task.status = 'Queued'
      task.recoveries += 1
      changes.touch('task', id)
    }
    for (const [path, holder] of this.locks)
      if (this.tasks.get(holder)?.status !== 'InProgress') {
        this.locks.delete(path)
        changes.touch('lock', path)
      }
    this.#restored = []
    return changes
  }

  #step(id: number, status: SmallTask['status']): void {
    const task = this.tasks.get(id)
    if (task === undefined) throw new Error(`there is no task ${id}`)
    task.status = status
    task.step += 1
  }

  #changed(id: number): StateChanges {
    this.commands += 1
    const changes = new StateChanges()
    changes.touch('task', id)
    changes.touch('meta', 'commands')
    changes.event({ type: 'task_started', task_id: id, agent_id: this.commands })
    return changes
  }
}

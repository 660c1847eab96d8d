import type { ActorMessage, ActorStore, StoredAddress } from './actor-store.ts'

interface KeptMessage extends ActorMessage {
  readonly to: StoredAddress
  readonly notBefore: number
}

/** Actors in memory, for programs without a database. */
export class MemoryActorStore implements ActorStore {
  readonly #states = new Map<string, string>()
  readonly #mailboxes = new Map<string, KeptMessage[]>()
  /** Undo log of the open transaction; null if none is open. */
  #undo: (() => void)[] | null = null
  #count = 0

  get inTransaction(): boolean {
    return this.#undo !== null
  }

  transaction<A>(run: () => A): A {
    if (this.#undo !== null) return run()
    this.#undo = []
    try {
      return run()
    } catch (error) {
      for (const undo of this.#undo.toReversed()) undo()
      throw error
    } finally {
      this.#undo = null
    }
  }

  load(key: string): string | null {
    return this.#states.get(key) ?? null
  }

  save(key: string, text: string): void {
    const before = this.#states.get(key)
    this.#undo?.push(() => {
      if (before === undefined) this.#states.delete(key)
      else this.#states.set(key, before)
    })
    this.#states.set(key, text)
  }

  post(to: StoredAddress, event: string, args: string, now: number): void {
    const key = keyOf(to.actor, to.id)
    const message = { id: ++this.#count, to, event, args, attempts: 0, notBefore: now }
    this.#change(key, [...(this.#mailboxes.get(key) ?? []), message])
  }

  next(actor: string, id: string, now: number): ActorMessage | null {
    const [first] = this.#mailboxes.get(keyOf(actor, id)) ?? []
    return first === undefined || first.notBefore > now ? null : first
  }

  remove(message: number): void {
    for (const [key, messages] of this.#mailboxes) {
      if (!messages.some(({ id }) => id === message)) continue
      this.#change(
        key,
        messages.filter(({ id }) => id !== message)
      )
      return
    }
  }

  failed(message: number, _: string, again: number | null): void {
    if (again === null) {
      this.remove(message)
      return
    }
    for (const [key, messages] of this.#mailboxes) {
      const at = messages.findIndex(({ id }) => id === message)
      const found = messages[at]
      if (found === undefined) continue
      this.#change(key, messages.with(at, { ...found, attempts: found.attempts + 1, notBefore: again }))
      return
    }
  }

  waiting(now: number): readonly StoredAddress[] {
    return [...this.#mailboxes.values()].flatMap(([first]) => {
      return first === undefined || first.notBefore > now ? [] : [first.to]
    })
  }

  nextDue(): number | null {
    const times = [...this.#mailboxes.values()].flatMap(([first]) => (first === undefined ? [] : [first.notBefore]))
    return times.length === 0 ? null : Math.min(...times)
  }

  #change(key: string, messages: KeptMessage[]): void {
    const before = this.#mailboxes.get(key) ?? []
    this.#undo?.push(() => this.#mailboxes.set(key, before))
    if (messages.length === 0 && this.#undo === null) this.#mailboxes.delete(key)
    else this.#mailboxes.set(key, messages)
  }
}

function keyOf(actor: string, id: string): string {
  return `${actor}/${id}`
}

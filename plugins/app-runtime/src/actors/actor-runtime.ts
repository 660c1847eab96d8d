import { randomUUID } from 'node:crypto'
import { type ActorAddress, ActorHandle } from '../interpreter/actor-handle.ts'
import { display } from '../interpreter/display.ts'
import type { Durable } from '../interpreter/durable.ts'
import { fail, RunError } from '../interpreter/failure.ts'
import type { Machine } from '../interpreter/machine.ts'
import { isList, isRecord, NONE, type RecordValue, some, Tagged, type Value } from '../interpreter/value.ts'
import { losslessText, losslessValue } from '../wire/lossless.ts'
import { nextAttempt } from './actor-store.ts'

export interface ActorDefinition {
  readonly name: string
  /** Kind: actor or agent. */
  readonly version: string | null
  /** Initial field values; takes the arguments with their defaults. Throws if `given` does not fit. */
  readonly begin: (given: readonly Value[]) => { readonly args: readonly Value[]; readonly fields: Map<string, Value> }
  readonly handlers: ReadonlyMap<string, HandlerDefinition>
  /** By the version of the stored state. */
  readonly migrations: ReadonlyMap<string, () => void>
}

export interface HandlerDefinition {
  /** True if it is declared to return a Result: an Error then leaves the state unchanged. */
  readonly isResult: boolean
  /** Parameter names. */
  readonly params: readonly string[]
  /** Its body reads the fields from `turn`, and writes them back. undefined means the default. */
  readonly run: (args: readonly (Value | undefined)[]) => Value
}

/** State of a handler call. */
export interface ActorTurn {
  readonly key: string
  readonly args: readonly Value[]
  readonly fields: Map<string, Value>
  /** Value passed to `state_save`. */
  readonly saved: Map<string, Value>
  /** Fields of the older version. */
  readonly before: RecordValue
}

/** Thrown to roll back the transaction of a handler that returns an Error. */
class Refusal {
  readonly value: Value

  constructor(value: Value) {
    this.value = value
  }
}

/**
 * Actors and agents of a program. A handler runs in one transaction that also loads and saves the state of its
 * instance. The store admits one writer at a time, so handlers of an instance are serialised and a failure keeps the
 * last good state.
 */
export class ActorRuntime {
  /** The running handler. */
  turn: ActorTurn | null = null
  /** Generates names for instances spawned by constants, equal in every run. */
  naming: { readonly constant: string; count: number } | null = null
  readonly #machine: Machine
  #durable: Durable
  readonly #definitions = new Map<string, ActorDefinition>()
  readonly #busy = new Set<string>()
  readonly handle = (actor: string, id: string, args: readonly Value[]): ActorHandle => this.#handleOf(actor, id, args)

  constructor(machine: Machine, durable: Durable) {
    this.#machine = machine
    this.#durable = durable
  }

  /** Sets the store for state and messages. */
  use(durable: Durable): void {
    this.#durable = durable
  }

  define(definition: ActorDefinition): void {
    this.#definitions.set(definition.name, definition)
  }

  spawn(actor: string, args: readonly Value[]): ActorHandle {
    this.#machine.workflow?.refuse(`spawn of ${actor}`)
    const { naming } = this
    const id = naming === null ? randomUUID() : `${naming.constant}-${naming.count++}`
    return this.#handleOf(actor, id, args)
  }

  /**
   * Runs a handler and returns its result; undefined means the default. Earlier messages to the
   * instance are handled first.
   */
  ask(address: ActorAddress, event: string, args: readonly (Value | undefined)[]): Value {
    const { actor, id } = address
    this.#machine.workflow?.refuse(`${actor}.${event}`)
    const key = `${actor}/${id}`
    if (this.#busy.has(key)) {
      fail('RUN_ACTOR_BUSY', `${actor}.${event} was called by a handler of the same ${actor}, which would deadlock`)
    }
    const { actors } = this.#durable
    if (actors.inTransaction) this.#handleAll(address)
    else while (this.deliver(address)) this.#machine.charge(1)
    return this.#transaction(() => this.#perform(address, event, args))
  }

  /** Enqueues a message in the open transaction, if any. */
  send(address: ActorAddress, event: string, args: readonly Value[]): null {
    const { actor, id } = address
    this.#machine.workflow?.refuse(`${actor}.send`)
    this.#handler(actor, event)
    const { actors, now, notify } = this.#durable
    actors.post({ actor, id, args: losslessText(address.args) }, event, losslessText(args), now())
    notify?.()
    return null
  }

  /**
   * Handles the oldest message of an instance if it is due. Returns true if there was one. A failed message gets five
   * attempts, and blocks later ones meanwhile.
   */
  deliver(address: ActorAddress): boolean {
    const { actors } = this.#durable
    const { depth } = this.#machine
    const first = actors.next(address.actor, address.id, this.#durable.now())
    if (first === null) return false
    try {
      const done = this.#transaction(() => this.#handleNext(address))
      // The rollback of the Error restored the message as well.
      if (done instanceof Refusal) actors.transaction(() => actors.remove(first.id))
      return true
    } catch (thrown) {
      if (!(thrown instanceof RunError)) throw thrown
      this.#machine.depth = depth
      const now = this.#durable.now()
      const again = nextAttempt(first.attempts + 1, now)
      actors.failed(first.id, `${thrown.code}: ${thrown.message}`, again, now)
      const end = again === null ? 'and is dropped' : `and is retried in ${again - now} ms`
      this.#machine.host.log('warn', `${address.actor}.${first.event} failed, ${end}: ${thrown.message}`)
      if (thrown.code === 'RUN_STEP_LIMIT' || thrown.code === 'RUN_TIME_LIMIT') throw thrown
      return true
    }
  }

  /** Handles all pending messages if there is no scheduler. */
  finish(): void {
    const { actors, notify } = this.#durable
    if (notify !== null) return
    for (;;) {
      const waiting = actors.waiting(this.#durable.now())
      for (const { actor, id, args } of waiting) {
        this.deliver({ actor, id, args: listOf(losslessValue(args, this.handle)) })
      }
      if (waiting.length > 0) continue
      const due = actors.nextDue()
      if (due === null) return
      const left = due - this.#durable.now()
      if (left >= this.#machine.timeLeft() && !this.#durable.skipsTime) return
      this.#durable.sleep(Math.max(left, 1))
    }
  }

  /** `state_load`: for the instance of the running handler, or for the program. */
  load(key: string): Value {
    const { turn } = this
    if (turn !== null) {
      const value = turn.saved.get(key) ?? turn.before.get(key)
      return value === undefined ? NONE : some(value)
    }
    this.#machine.workflow?.refuse('state_load')
    const text = this.#durable.actors.load(`/${key}`)
    return text === null ? NONE : some(losslessValue(text, this.handle))
  }

  /** `state_save`: in the transaction of the running handler, or immediately. */
  save(key: string, value: Value): null {
    const { turn } = this
    if (turn !== null) turn.saved.set(key, value)
    else {
      this.#machine.workflow?.refuse('state_save')
      this.#durable.actors.save(`/${key}`, losslessText(value))
    }
    return null
  }

  /** An Error of a handler in its transaction rolls back the handler's changes. */
  #transaction(run: () => Value | Refusal): Value {
    const { actors } = this.#durable
    if (actors.inTransaction) {
      const done = run()
      return done instanceof Refusal ? done.value : done
    }
    try {
      return actors.transaction(() => {
        const done = run()
        if (done instanceof Refusal) throw done
        return done
      })
    } catch (thrown) {
      if (thrown instanceof Refusal) return thrown.value
      throw thrown
    }
  }

  #perform(
    { actor, id, args: spawned }: ActorAddress,
    event: string,
    args: readonly (Value | undefined)[]
  ): Value | Refusal {
    const definition = this.#definition(actor)
    const handler = this.#handler(actor, event)
    const { actors } = this.#durable
    const key = `${actor}/${id}`
    const kept = actors.load(key)
    const outer = this.turn
    this.#busy.add(key)
    try {
      this.turn = this.#turnOf(definition, key, kept, spawned)
      const turn = this.turn
      const value = handler.run(args)
      if (handler.isResult && value instanceof Tagged && value.tag === 'Error') return new Refusal(value)
      const text = textOf(definition, turn)
      if (text !== kept) actors.save(key, text)
      return value
    } finally {
      this.turn = outer
      this.#busy.delete(key)
    }
  }

  #turnOf(definition: ActorDefinition, key: string, kept: string | null, spawned: readonly Value[]): ActorTurn {
    const nothing: RecordValue = new Map()
    if (kept === null) {
      return { key, ...definition.begin(spawned), saved: new Map(), before: nothing }
    }
    const record = recordOf(losslessValue(kept, this.handle))
    const before = recordOf(record.get('state') ?? null)
    const { args, fields } = definition.begin(listOf(record.get('args') ?? null))
    for (const name of fields.keys()) {
      const value = before.get(name)
      if (value !== undefined) fields.set(name, value)
    }
    const saved = new Map(recordOf(record.get('saved') ?? null))
    const version = record.get('version') ?? null
    const migrate = version === definition.version ? undefined : definition.migrations.get(display(version))
    if (migrate === undefined) return { key, args, fields, saved, before: nothing }
    const turn = { key, args, fields, saved, before }
    this.turn = turn
    migrate()
    return { ...turn, before: nothing }
  }

  #handleNext(address: ActorAddress): Value | Refusal {
    const { actors } = this.#durable
    const message = actors.next(address.actor, address.id, this.#durable.now())
    // Another writer was faster.
    if (message === null) return null
    const done = this.#perform(address, message.event, listOf(losslessValue(message.args, this.handle)))
    actors.remove(message.id)
    return done
  }

  /** In an outer transaction, a failure belongs to its owner. */
  #handleAll(address: ActorAddress): void {
    while (this.#durable.actors.next(address.actor, address.id, this.#durable.now()) !== null) this.#handleNext(address)
  }

  #definition(actor: string): ActorDefinition {
    return this.#definitions.get(actor) ?? fail('RUN_UNDEFINED', `the program has no actor ${actor}`)
  }

  #handler(actor: string, event: string): HandlerDefinition {
    const { handlers } = this.#definition(actor)
    return (
      handlers.get(event) ??
      fail('RUN_UNSUPPORTED', `${actor} has no handler ${event}; it has ${[...handlers.keys()].join(', ')}`)
    )
  }

  #handleOf(actor: string, id: string, args: readonly Value[]): ActorHandle {
    const address = { actor, id, args }
    const handlers = [...(this.#definitions.get(actor)?.handlers ?? [])]
    const asked = handlers.map(([event]) => [event, (given: Value[]) => this.ask(address, event, given)] as const)
    const send = (given: Value[]): Value => {
      const [event, ...rest] = given
      if (typeof event === 'string') return this.send(address, event, rest)
      return fail('RUN_TYPE', `send needs the name of a handler of ${actor}, and its arguments`)
    }
    const params = new Map(handlers.map(([event, handler]) => [event, handler.params]))
    return new ActorHandle(address, { send, ...Object.fromEntries(asked) }, params)
  }
}

function textOf({ version }: ActorDefinition, { args, fields, saved }: ActorTurn): string {
  return losslessText(
    new Map<string, Value>([
      ['version', version],
      ['args', args],
      ['state', fields],
      ['saved', saved]
    ])
  )
}

function recordOf(value: Value): RecordValue {
  return isRecord(value) ? value : new Map()
}

function listOf(value: Value): readonly Value[] {
  return isList(value) ? value : []
}

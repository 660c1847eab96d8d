import { randomUUID } from 'node:crypto'
import { type ActorAddress, ActorHandle } from '../interpreter/actor-handle.ts'
import { display } from '../interpreter/display.ts'
import type { Durable } from '../interpreter/durable.ts'
import { fail, RunError } from '../interpreter/failure.ts'
import type { Machine } from '../interpreter/machine.ts'
import { SYSTEM } from '../interpreter/request.ts'
import { isList, isRecord, NONE, type RecordValue, some, Tagged, type Value } from '../interpreter/value.ts'
import { losslessText, losslessValue } from '../wire/lossless.ts'
import { nextAttempt } from './actor-store.ts'

export interface ActorDefinition {
  readonly name: string
  /** Version of the state; null for an actor. */
  readonly version: string | null
  /** Returns the arguments with defaults, and the initial fields. Throws if `args` do not fit the parameters. */
  readonly begin: (args: readonly Value[]) => { readonly args: readonly Value[]; readonly fields: Map<string, Value> }
  readonly handlers: ReadonlyMap<string, HandlerDefinition>
  /** Migrations by the version of the stored state. */
  readonly migrations: ReadonlyMap<string, () => void>
}

export interface HandlerDefinition {
  /** True if the handler is declared to return a Result: an Error then rolls back its changes. */
  readonly isResult: boolean
  /** Parameter names. */
  readonly params: readonly string[]
  /** Runs the handler, which reads and writes the fields of `turn`. An undefined argument means its default. */
  readonly run: (args: readonly (Value | undefined)[]) => Value
  /** Returns arguments with the types of the parameters. Throws `RUN_TYPE` for others. */
  readonly check: (args: readonly Value[], at: number) => Value[]
}

/** State of a handler call. */
export interface ActorTurn {
  readonly key: string
  readonly args: readonly Value[]
  readonly fields: Map<string, Value>
  /** Values of `state_save` by key. */
  readonly saved: Map<string, Value>
  /** Stored fields of the older version, during a migration. */
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
 * instance. The store has one writer at a time, so handlers of an instance run one after another, and a failure
 * leaves the state unchanged.
 */
export class ActorRuntime {
  /** The running handler. */
  turn: ActorTurn | null = null
  /** The constant that is being evaluated; its `spawn` calls get the same ids in every run. */
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
   * Calls a handler and returns its result. Earlier messages to the instance are handled first.
   * An undefined argument means its default.
   */
  ask(address: ActorAddress, event: string, args: readonly (Value | undefined)[]): Value {
    const { actor, id } = address
    this.#machine.workflow?.refuse(`${actor}.${event}`)
    const key = `${actor}/${id}`
    if (this.#busy.has(key)) {
      fail(
        'RUN_ACTOR_BUSY',
        `${actor}.${event} was called by a handler of the same ${actor}, which would deadlock; call its code as a function`
      )
    }
    const { actors } = this.#durable
    if (actors.inTransaction) this.#handleAll(address)
    else while (this.deliver(address)) this.#machine.charge(1)
    return this.#transaction(() => this.#perform(address, event, args))
  }

  /** Enqueues a message. Joins the open transaction. */
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
   * Handles the oldest message of an instance. Returns false if none is due. A failed message gets five attempts;
   * until the last one, later messages wait. Throws `RUN_STEP_LIMIT` and `RUN_TIME_LIMIT`, after recording the failure.
   */
  deliver(address: ActorAddress): boolean {
    const { actors } = this.#durable
    const { depth } = this.#machine
    const first = actors.next(address.actor, address.id, this.#durable.now())
    if (first === null) return false
    try {
      const done = this.#transaction(() => this.#handleNext(address))
      // The Error rolled back the transaction, and with it the removal of the message.
      if (done instanceof Refusal) actors.transaction(() => actors.remove(first.id))
      return true
    } catch (thrown) {
      if (!(thrown instanceof RunError)) throw thrown
      this.#machine.depth = depth
      const now = this.#durable.now()
      const again = nextAttempt(first.attempts + 1, now)
      actors.failed(first.id, `${thrown.code}: ${thrown.message}`, again, now)
      const end = again === null ? 'and is dropped' : `and is retried in ${again - now} ms`
      this.#machine.host.log({
        level: 'warn',
        text: `${address.actor}.${first.event} failed, ${end}: ${thrown.message}`
      })
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

  /** Implements `state_load`: reads state of the running handler's instance, else of the program. */
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

  /** Implements `state_save`: writes in the transaction of the running handler, else immediately. */
  save(key: string, value: Value): null {
    const { turn } = this
    if (turn !== null) turn.saved.set(key, value)
    else {
      this.#machine.workflow?.refuse('state_save')
      this.#durable.actors.save(`/${key}`, losslessText(value))
    }
    return null
  }

  /** Runs a handler in a transaction, which an Error rolls back. In an outer transaction, nothing is rolled back. */
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
    const stored = actors.load(key)
    const outer = this.turn
    this.#busy.add(key)
    try {
      this.turn = this.#turnOf(definition, key, stored, spawned)
      const turn = this.turn
      const value = this.#machine.as(SYSTEM, () => handler.run(args))
      if (handler.isResult && value instanceof Tagged && value.tag === 'Error') return new Refusal(value)
      const text = textOf(definition, turn)
      if (text !== stored) actors.save(key, text)
      return value
    } finally {
      this.turn = outer
      this.#busy.delete(key)
    }
  }

  #turnOf(definition: ActorDefinition, key: string, stored: string | null, spawned: readonly Value[]): ActorTurn {
    const nothing: RecordValue = new Map()
    if (stored === null) {
      return { key, ...definition.begin(spawned), saved: new Map(), before: nothing }
    }
    const record = recordOf(losslessValue(stored, this.handle))
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
    // Another process has handled the message.
    if (message === null) return null
    const done = this.#perform(address, message.event, listOf(losslessValue(message.args, this.handle)))
    actors.remove(message.id)
    return done
  }

  /** Handles all messages inside an outer transaction, whose owner receives a failure. */
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
    const methods = handlers.map(([event]) => [event, (args: Value[]) => this.ask(address, event, args)] as const)
    const send = (args: Value[]): Value => {
      const [event, ...rest] = args
      if (typeof event === 'string') return this.send(address, event, rest)
      return fail('RUN_TYPE', `send needs the name of a handler of ${actor} as its first argument`)
    }
    const params = new Map(handlers.map(([event, handler]) => [event, handler.params]))
    const checks = new Map(handlers.map(([event, handler]) => [event, handler.check]))
    const check = (method: string, args: readonly Value[], at: number): Value[] => {
      const [event = null, ...rest] = args
      if (method !== 'send' || checks.has('send')) return checks.get(method)?.(args, at) ?? [...args]
      return [event, ...((typeof event === 'string' ? checks.get(event)?.(rest, at) : undefined) ?? rest)]
    }
    return new ActorHandle(address, { send, ...Object.fromEntries(methods) }, params, check)
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

import { Opaque, type Value } from './value.ts'

/** Identity and `spawn` arguments of an actor instance. */
export interface ActorAddress {
  readonly actor: string
  /** Unique among the instances of the actor. */
  readonly id: string
  /** Arguments of `spawn`: the instance is created by its first message. */
  readonly args: readonly Value[]
}

/** Result of `spawn`. Its methods are `send` and the handlers of the actor. */
export class ActorHandle extends Opaque {
  readonly address: ActorAddress
  /** Parameter names by handler name. */
  readonly params: ReadonlyMap<string, readonly string[]>
  /** Returns the arguments of a method with the types of the handler's parameters. Throws `RUN_TYPE`. */
  readonly check: (method: string, args: readonly Value[], at: number) => Value[]

  constructor(
    address: ActorAddress,
    methods: Opaque['methods'],
    params: ActorHandle['params'],
    check: ActorHandle['check']
  ) {
    super(address.actor, methods)
    this.address = address
    this.params = params
    this.check = check
  }
}

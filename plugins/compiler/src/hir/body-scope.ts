import type { Hir } from '@svc/contracts'

/** A variable of a body. The flags are known when the body is lowered. */
interface Variable {
  readonly name: string
  readonly type: Hir.Type
  readonly isMutable: boolean
  isCaptured: boolean
}

/** Meaning of a name in a body that is no name of the module. */
export type Binding =
  | { readonly kind: 'local'; readonly local: Hir.LocalId }
  /** A field of an actor or an agent, or a parameter of `spawn`. */
  | { readonly kind: 'state'; readonly field: string }
  | { readonly kind: 'request' }

interface OpenLambda {
  /** Number of variables when it began: those with smaller ids are of enclosing functions. */
  readonly first: Hir.LocalId
  readonly captures: Set<Hir.LocalId>
}

/** Names and variables of one body. A lookup takes the same time at any depth. */
export class BodyScope {
  readonly #locals: Variable[] = []
  readonly #byName = new Map<string, Binding[]>()
  readonly #bound: string[] = []
  readonly #lambdas: OpenLambda[] = []

  get locals(): readonly Hir.Local[] {
    return this.#locals
  }

  /** Declares a variable and binds its name. */
  declare(name: string, type: Hir.Type, isMutable = false): Hir.LocalId {
    const local = this.#locals.length
    this.#locals.push({ name, type, isMutable, isCaptured: false })
    this.bind(name, { kind: 'local', local })
    return local
  }

  bind(name: string, binding: Binding): void {
    const known = this.#byName.get(name)
    if (known === undefined) this.#byName.set(name, [binding])
    else known.push(binding)
    this.#bound.push(name)
  }

  /** Returns the meaning of a name. A variable of an enclosing function is captured by each lambda in between. */
  lookup(name: string): Binding | undefined {
    const found = this.#byName.get(name)?.at(-1)
    if (found?.kind === 'local') this.#capture(found.local)
    return found
  }

  #capture(local: Hir.LocalId): void {
    for (let depth = this.#lambdas.length - 1; depth >= 0; depth--) {
      const { first, captures } = this.#lambdas[depth] as OpenLambda
      if (local >= first) return
      captures.add(local)
      ;(this.#locals[local] as Variable).isCaptured = true
    }
  }

  /** Runs `lower` in a new scope. */
  within<A>(lower: () => A): A {
    const mark = this.#bound.length
    const lowered = lower()
    while (this.#bound.length > mark) this.#byName.get(this.#bound.pop() as string)?.pop()
    return lowered
  }

  /** Runs `lower` as a lambda. Returns the variables of enclosing functions that it uses, too. */
  lambda<A>(lower: () => A): readonly [lowered: A, captures: readonly Hir.LocalId[]] {
    const open: OpenLambda = { first: this.#locals.length, captures: new Set() }
    this.#lambdas.push(open)
    const lowered = this.within(lower)
    this.#lambdas.pop()
    return [lowered, [...open.captures].sort((a, b) => a - b)]
  }
}

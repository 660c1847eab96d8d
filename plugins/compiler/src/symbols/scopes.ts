import type { Name } from '../syntax/node.ts'

/** A name that is in scope in a part of one body. */
export interface LocalName {
  readonly kind: 'parameter' | 'variable' | 'state' | 'implicit'
  readonly name: Name
  readonly isMutable: boolean
  /** True if `let` declares the name, so that `mut` can make it assignable. */
  readonly canBeMutable: boolean
}

/** Nested scopes. A lookup takes the same time at any depth. */
export class Scopes {
  readonly #byName = new Map<string, LocalName[]>()
  readonly #bound: string[] = []

  bind(local: LocalName): void {
    const { text } = local.name
    const known = this.#byName.get(text)
    if (known === undefined) this.#byName.set(text, [local])
    else known.push(local)
    this.#bound.push(text)
  }

  lookup(name: string): LocalName | undefined {
    return this.#byName.get(name)?.at(-1)
  }

  /** Returns the names in scope, for messages. */
  names(): string[] {
    return [...this.#byName].flatMap(([name, known]) => (known.length > 0 ? [name] : []))
  }

  /** Runs `body` in a nested scope. */
  within(body: () => void): void {
    const { length } = this.#bound
    body()
    while (this.#bound.length > length) this.#byName.get(this.#bound.pop() as string)?.pop()
  }
}

import type { Name } from '../syntax/node.ts'
import type { Type } from './type.ts'

/** A name that is in scope in a part of one body. */
export interface Local {
  readonly kind: 'parameter' | 'variable' | 'state' | 'implicit'
  readonly name: Name
  readonly type: Type
  readonly isMutable: boolean
  /** True if `let` declares the name, so that `mut` can make it assignable. */
  readonly canBeMutable: boolean
}

/** Nested scopes. A lookup takes the same time at any depth. */
export class Scopes {
  readonly #byName = new Map<string, Local[]>()
  readonly #bound: string[] = []

  bind(local: Local): void {
    const { text } = local.name
    const known = this.#byName.get(text)
    if (known === undefined) this.#byName.set(text, [local])
    else known.push(local)
    this.#bound.push(text)
  }

  lookup(name: string): Local | undefined {
    return this.#byName.get(name)?.at(-1)
  }

  /** Returns the names in scope, for messages. */
  names(): string[] {
    return [...this.#byName].flatMap(([name, known]) => (known.length > 0 ? [name] : []))
  }

  /** Returns a mark for `leave`. */
  enter(): number {
    return this.#bound.length
  }

  /** Removes the names that were bound since `enter` returned the mark. */
  leave(mark: number): void {
    while (this.#bound.length > mark) this.#byName.get(this.#bound.pop() as string)?.pop()
  }
}

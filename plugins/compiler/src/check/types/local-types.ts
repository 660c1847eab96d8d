import type { ValueType } from './type.ts'

/** Types of the variables of one body. */
export class LocalTypes {
  readonly #types = new Map<string, ValueType[]>()
  readonly #bound: string[] = []

  bind(name: string, type: ValueType): void {
    const known = this.#types.get(name)
    if (known === undefined) this.#types.set(name, [type])
    else known.push(type)
    this.#bound.push(name)
  }

  lookup(name: string): ValueType | undefined {
    return this.#types.get(name)?.at(-1)
  }

  within<A>(body: () => A): A {
    const { length } = this.#bound
    const result = body()
    while (this.#bound.length > length) this.#types.get(this.#bound.pop() as string)?.pop()
    return result
  }
}

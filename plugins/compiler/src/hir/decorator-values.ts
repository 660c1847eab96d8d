import type { Decorator } from '../syntax/ast.ts'
import type { Expression } from '../syntax/ast-expressions.ts'

/** Values of the decorators of a declaration. */
export class DecoratorValues {
  readonly #decorators: readonly Decorator[]

  constructor(decorators: readonly Decorator[]) {
    this.#decorators = decorators
  }

  has(name: string): boolean {
    return this.#decorators.some(decorator => decorator.name.text === name)
  }

  all(name: string): readonly Decorator[] {
    return this.#decorators.filter(decorator => decorator.name.text === name)
  }

  /** Returns the string argument of a decorator, by name or as the only argument; undefined if there is none. */
  text(name: string, argument: string): string | undefined {
    const decorator = this.#decorators.find(each => each.name.text === name)
    if (decorator === undefined) return undefined
    const args = decorator.args ?? []
    const value = args.find(each => each.name?.text === argument)?.value ?? args.find(each => each.name === null)?.value
    return stringOf(value) ?? decorator.strings[0]?.value
  }
}

function stringOf(value: Expression | undefined): string | undefined {
  return value?.kind === 'String' ? value.value : undefined
}

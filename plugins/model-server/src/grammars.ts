import type { NamedGrammar } from '@svc/contracts'
import { invalid } from './body-reader.ts'
import type { FieldConstraint } from './completions.ts'

/** Grammars that plugins of the current generation provide for requests. */
export class Grammars {
  readonly #defaultName: () => string | undefined
  #byName: ReadonlyMap<string, NamedGrammar> = new Map()

  /** `defaultName`: returns the grammar of requests without a format; called for each request. */
  constructor(defaultName: () => string | undefined = () => undefined) {
    this.#defaultName = defaultName
  }

  replace(grammars: readonly NamedGrammar[]): void {
    this.#byName = new Map(grammars.map(grammar => [grammar.name, grammar]))
  }

  /** Returns the constraint for requests without a format. Throws `MSV_REQUEST_INVALID` if its grammar is missing. */
  byDefault(): FieldConstraint | undefined {
    const name = this.#defaultName()
    return name === undefined ? undefined : this.constraint(name, 'plugins.model-server.grammar')
  }

  /** Returns the constraint of a grammar. Throws `MSV_REQUEST_INVALID`, naming the field and the known grammars. */
  constraint(name: string, field: string): FieldConstraint {
    const grammar = this.#byName.get(name)
    if (grammar !== undefined) return { field, value: { type: 'grammar', grammar: grammar.open() } }
    const known = [...this.#byName.keys()].toSorted().map(each => `'${each}'`)
    const available = known.length === 0 ? 'no plugin provides one' : `available: ${known.join(', ')}`
    throw invalid(`there is no grammar '${name}'; ${available}`, field)
  }
}

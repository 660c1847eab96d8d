import type { NamedGrammar } from '@svc/contracts'
import { invalid } from './body-reader.ts'
import type { FieldConstraint } from './completions.ts'

/** Grammars that plugins offer to requests, of the generation that serves. */
export class Grammars {
  readonly #defaultName: () => string | undefined
  #byName: ReadonlyMap<string, NamedGrammar> = new Map()

  /** `defaultName`: the grammar of requests that name no format of their own, asked for every request. */
  constructor(defaultName: () => string | undefined = () => undefined) {
    this.#defaultName = defaultName
  }

  replace(grammars: readonly NamedGrammar[]): void {
    this.#byName = new Map(grammars.map(grammar => [grammar.name, grammar]))
  }

  /** For a request that names no format. Throws `MSV_REQUEST_INVALID` when the configured grammar is not there. */
  byDefault(): FieldConstraint | undefined {
    const name = this.#defaultName()
    return name === undefined ? undefined : this.constraint(name, 'plugins.model-server.grammar')
  }

  /** Makes the answer a text of the grammar. Throws `MSV_REQUEST_INVALID`, naming the field and what there is. */
  constraint(name: string, field: string): FieldConstraint {
    const grammar = this.#byName.get(name)
    if (grammar !== undefined) return { field, value: { type: 'grammar', grammar: grammar.open() } }
    const known = [...this.#byName.keys()].toSorted().map(each => `'${each}'`)
    const there = known.length === 0 ? 'no plugin offers one' : `there are ${known.join(', ')}`
    throw invalid(`there is no grammar '${name}': ${there}`, field)
  }
}

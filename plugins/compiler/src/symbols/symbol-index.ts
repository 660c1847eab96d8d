import type { Span } from '../syntax/node.ts'
import type { LanguageSymbol, Occurrence } from './symbol.ts'

/** Symbols of the words in a file. Occurrences do not overlap. */
export class SymbolIndex {
  /** In source order. */
  readonly occurrences: readonly Occurrence[]
  /** Names of values that are declared neither in the file nor by the language. */
  readonly unresolved: readonly Span[]
  readonly #bySymbol = new Map<LanguageSymbol, Occurrence[]>()

  constructor(occurrences: readonly Occurrence[], unresolved: readonly Span[]) {
    const sorted = occurrences.toSorted((a, b) => a.start - b.start || a.end - b.end)
    // A word may be visited twice: as a record key and as a part of a chain.
    this.occurrences = sorted.filter((each, index) => each.start >= (sorted[index - 1]?.end ?? 0))
    this.unresolved = unresolved.toSorted((a, b) => a.start - b.start)
    for (const occurrence of this.occurrences) {
      const known = this.#bySymbol.get(occurrence.symbol)
      if (known === undefined) this.#bySymbol.set(occurrence.symbol, [occurrence])
      else known.push(occurrence)
    }
  }

  symbols(): IterableIterator<LanguageSymbol> {
    return this.#bySymbol.keys()
  }

  /** Returns the word that contains or ends at an offset. */
  at(offset: number): Occurrence | undefined {
    let low = 0
    let high = this.occurrences.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.occurrences[middle] as Occurrence).start <= offset) low = middle + 1
      else high = middle
    }
    const found = this.occurrences[low - 1]
    return found !== undefined && offset <= found.end ? found : undefined
  }

  /** Returns all occurrences of a symbol, including its definition, in source order. */
  of(symbol: LanguageSymbol): readonly Occurrence[] {
    return this.#bySymbol.get(symbol) ?? []
  }
}

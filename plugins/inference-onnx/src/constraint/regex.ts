import { type AST, RegExpParser } from '@eslint-community/regexpp'
import { characterClass, characterSet } from './character-sets.ts'
import { type CodePoints, codePoints, everyCodePoint } from './code-points.ts'
import { spendSteps } from './compile-limits.ts'
import { AutomatonTooLarge, type Dfa } from './dfa.ts'
import { type Fragment, NfaBuilder } from './nfa.ts'
import { unsupported } from './unsupported.ts'
import { type ByteGraph, utf8 } from './utf8.ts'

/** Encodes a set of characters as bytes. */
type CharacterEncoding = (set: CodePoints) => ByteGraph

/** Maximum length of a pattern, in characters; longer ones are rejected before parsing. */
const MAX_LENGTH = 20_000

interface RegexOptions {
  /** Location of the pattern, for messages. */
  readonly path: string
  /** `whole`: the pattern matches the whole string. `search`: it matches anywhere in it, as in JSON Schema. */
  readonly match: 'whole' | 'search'
  /** Encoding of characters; default UTF-8. */
  readonly encoding?: CharacterEncoding
  /** Bytes at the start and end of every string, such as quotes. */
  readonly around?: string
}

/**
 * Compiles a regular expression in ECMAScript's `u` mode.
 *
 * Returns null if no string matches. Throws `INF_CONSTRAINT_UNSUPPORTED` for invalid syntax, look-around, word boundaries,
 * back-references, modifiers, anchors inside the pattern, too long patterns and too large automata.
 */
export function compileRegex(pattern: string, options: RegexOptions): Dfa | null {
  const { path, match, encoding = utf8, around = '' } = options
  const shown = JSON.stringify(pattern.length > 60 ? `${pattern.slice(0, 60)}…` : pattern)
  if (pattern.length > MAX_LENGTH) throw unsupported(path, `the pattern is longer than ${MAX_LENGTH} characters`)
  // The parser has no limit.
  spendSteps(pattern.length * 100)
  const translation = new Translation(path, shown, encoding)
  const { nfa } = translation
  try {
    const alternatives = parse(pattern, path, shown).alternatives.map(alternative =>
      translation.topLevel(alternative, match)
    )
    return nfa.build(nfa.sequence([nfa.text(around), nfa.choice(alternatives), nfa.text(around)]))
  } catch (error) {
    if (!(error instanceof AutomatonTooLarge)) throw error
    throw unsupported(path, `the pattern ${shown} is too large: ${error.message}`, 'Use smaller repetition counts.')
  }
}

function parse(pattern: string, path: string, shown: string): AST.Pattern {
  try {
    return new RegExpParser({ ecmaVersion: 2025 }).parsePattern(pattern, 0, pattern.length, { unicode: true })
  } catch (cause) {
    throw unsupported(path, `${shown} is not a regular expression in u mode: ${(cause as Error).message}`)
  }
}

class Translation {
  readonly nfa = new NfaBuilder()
  readonly #path: string
  readonly #shown: string
  readonly #encoding: CharacterEncoding
  /** Cache of encoded sets, by character or syntax node: repetition encodes the same node several times. */
  readonly #encoded = new Map<unknown, ByteGraph>()

  constructor(path: string, shown: string, encoding: CharacterEncoding) {
    this.#path = path
    this.#shown = shown
    this.#encoding = encoding
  }

  /** Builds a top-level alternative. Anchors are allowed only at its start and end. */
  topLevel({ elements }: AST.Alternative, match: 'whole' | 'search'): Fragment {
    const atStart = isAnchor(elements[0], 'start')
    const rest = elements.slice(atStart ? 1 : 0)
    const atEnd = isAnchor(rest.at(-1), 'end')
    const inner = (atEnd ? rest.slice(0, -1) : rest).map(element => this.#element(element))
    const anything = () =>
      this.nfa.repeat(() => this.#characters('anything', () => everyCodePoint), 0, Number.POSITIVE_INFINITY)
    const open = match === 'search'
    return this.nfa.sequence([
      ...(open && !atStart ? [anything()] : []),
      ...inner,
      ...(open && !atEnd ? [anything()] : [])
    ])
  }

  #alternatives(alternatives: readonly AST.Alternative[]): Fragment {
    return this.nfa.choice(
      alternatives.map(({ elements }) => this.nfa.sequence(elements.map(element => this.#element(element))))
    )
  }

  #element(node: AST.Element): Fragment {
    switch (node.type) {
      case 'Character':
        return this.#characters(node.value, () => codePoints([[node.value, node.value]]))
      case 'CharacterSet':
        return this.#characters(node, () => characterSet(node))
      case 'CharacterClass':
        if (node.unicodeSets) throw this.#refuse('a class in v mode')
        return this.#characters(node, () => characterClass(node))
      case 'Group':
        if (node.modifiers !== null) throw this.#refuse('a modifier')
        return this.#alternatives(node.alternatives)
      case 'CapturingGroup':
        return this.#alternatives(node.alternatives)
      case 'Quantifier': {
        const { element } = node
        if (element.type === 'Assertion') throw this.#refuse('look-around')
        return this.nfa.repeat(() => this.#element(element), node.min, node.max)
      }
      case 'Backreference':
        throw this.#refuse('a back-reference')
      case 'Assertion':
        if (node.kind === 'start' || node.kind === 'end') throw this.#refuse('an anchor inside the pattern')
        throw this.#refuse(node.kind === 'word' ? 'a word boundary' : 'look-around')
      default:
        throw this.#refuse(node.type)
    }
  }

  #characters(part: unknown, set: () => CodePoints): Fragment {
    let graph = this.#encoded.get(part)
    if (graph === undefined) {
      spendSteps(300)
      this.#encoded.set(part, (graph = this.#encoding(set())))
    }
    return this.nfa.bytes(graph)
  }

  #refuse(what: string) {
    return unsupported(this.#path, `the pattern ${this.#shown} uses ${what}, which is not supported`)
  }
}

function isAnchor(node: AST.Element | undefined, kind: 'start' | 'end'): boolean {
  return node?.type === 'Assertion' && node.kind === kind
}

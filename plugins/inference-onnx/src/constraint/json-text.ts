import { type CodePoints, complement, intersect } from './code-points.ts'
import { combine, type Dfa } from './dfa.ts'
import { NfaBuilder } from './nfa.ts'
import { compileRegex } from './regex.ts'
import { type ByteGraph, type ByteRanges, byteGraph, utf8Ranges } from './utf8.ts'

/** Characters that must be escaped in JSON strings, with their escapes. */
const escapes: readonly (readonly [point: number, text: string])[] = [
  ...Array.from({ length: 0x20 }, (_, point): [number, string] => [point, JSON.stringify(String.fromCharCode(point))]),
  [0x22, JSON.stringify('"')],
  [0x5c, JSON.stringify('\\')]
].map(([point, quoted]) => [point as number, (quoted as string).slice(1, -1)])

const rawCharacters = complement(escapes.map(([point]): [number, number] => [point, point]).sort((a, b) => a[0] - b[0]))

/** Encodes characters as in JSON strings, each in its shortest form. */
export function jsonStringBytes(set: CodePoints): ByteGraph {
  const escaped = escapes.filter(([point]) => intersect(set, [[point, point]]).length > 0)
  const exactly = (text: string): ByteRanges => [...Buffer.from(text)].map(byte => [byte, byte])
  return byteGraph([...utf8Ranges(intersect(set, rawCharacters)), ...escaped.map(([, text]) => exactly(text))])
}

/** Returns a function that builds an automaton on first use. */
function once(make: () => Dfa | null): () => Dfa {
  let made: Dfa | undefined
  return () => {
    made ??= make() ?? undefined
    if (made === undefined) throw new Error('a built-in automaton accepts nothing')
    return made
  }
}

const escapeSequence = '\\\\(?:["\\\\/bfnrt]|u(?:[0-9a-cefA-CEF][0-9a-fA-F]|[dD][0-7])[0-9a-fA-F]{2})'

/**
 * Automaton of JSON strings, including quotes. Surrogate escapes are excluded: characters beyond U+FFFF are written
 * directly, so each escape is one character and each string is well-formed.
 */
export const jsonString = once(() =>
  compileRegex(`"(?:[^"\\\\\\u0000-\\u001f]|${escapeSequence})*"`, { path: 'string', match: 'whole' })
)

/** Returns the state of {@link jsonString} between two characters. */
export const betweenCharacters = () => jsonString().next(0, 0x22)

/** Returns an automaton of these strings; null if there are none. `optionalSpace`: a space may follow. */
export function literals(texts: readonly string[], optionalSpace = false): Dfa | null {
  const nfa = new NfaBuilder()
  const space = nfa.repeat(() => nfa.text(' '), 0, optionalSpace ? 1 : 0)
  return nfa.build(nfa.sequence([nfa.choice(texts.map(text => nfa.text(text))), space]))
}

/** Returns an automaton of property names without escapes, except the known ones. Throws `AutomatonTooLarge`. */
export function otherNames(known: readonly string[]): Dfa | null {
  if (known.length === 0) return plainString()
  const excluded = literals(known.map(name => JSON.stringify(name)))
  return excluded === null ? plainString() : combine(plainString(), excluded, 'without')
}

const plainString = once(() => compileRegex('"[^"\\\\\\u0000-\\u001f]*"', { path: 'string', match: 'whole' }))

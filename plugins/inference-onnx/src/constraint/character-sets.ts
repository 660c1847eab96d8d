import type { AST } from '@eslint-community/regexpp'
import { type CodePoints, codePoints, complement, matching, union } from './code-points.ts'

const digits: CodePoints = [[0x30, 0x39]]
const lineEnds: CodePoints = [
  [0x0a, 0x0a],
  [0x0d, 0x0d],
  [0x2028, 0x2029]
]
const wordCharacters = codePoints([...digits, [0x41, 0x5a], [0x5f, 0x5f], [0x61, 0x7a]])

/** Cache of sets whose computation scans all characters. It stays small, because few names are in use. */
const found = new Map<string, CodePoints>()

function property(source: string): CodePoints {
  let set = found.get(source)
  if (set === undefined) {
    const pattern = new RegExp(source, 'u')
    set = matching(character => pattern.test(character))
    found.set(source, set)
  }
  return set
}

/** Returns the characters of an escape, a dot or a Unicode property in ECMAScript's `u` mode. */
export function characterSet(node: AST.CharacterSet): CodePoints {
  if (node.kind === 'any') return complement(lineEnds)
  const set = positiveSet(node)
  return node.negate ? complement(set) : set
}

function positiveSet(node: Exclude<AST.CharacterSet, AST.AnyCharacterSet>): CodePoints {
  if (node.kind === 'property') return property(`\\p{${node.value === null ? node.key : `${node.key}=${node.value}`}}`)
  if (node.kind === 'digit') return digits
  return node.kind === 'word' ? wordCharacters : property('\\s')
}

/** Returns the characters of a class in brackets. */
export function characterClass(node: AST.ClassRangesCharacterClass): CodePoints {
  const set = union(
    ...node.elements.map(element => {
      if (element.type === 'CharacterSet') return characterSet(element)
      if (element.type === 'Character') return codePoints([[element.value, element.value]])
      return codePoints([[element.min.value, element.max.value]])
    })
  )
  return node.negate ? complement(set) : set
}

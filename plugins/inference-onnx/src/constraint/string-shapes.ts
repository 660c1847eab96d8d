import { combine, type Dfa } from './dfa.ts'
import { formats } from './formats.ts'
import { jsonStringBytes, literals } from './json-text.ts'
import { compileRegex } from './regex.ts'
import { limit, texts } from './schema-keywords.ts'
import type { Source } from './schema-sources.ts'
import { unsupported } from './unsupported.ts'

export interface Lengths {
  readonly min: number
  readonly max: number
}

export function lengths(sources: readonly Source[]): Lengths {
  return {
    min: limit(sources, 'minLength', Math.max, true) ?? 0,
    max: limit(sources, 'maxLength', Math.min, true) ?? Number.POSITIVE_INFINITY
  }
}

/** Returns automata of the strings, including quotes, that match `pattern` and `format`. */
export function stringShapes(sources: readonly Source[]): (Dfa | null)[] {
  return [
    ...texts(sources, 'pattern').map(({ text, path }) => stringsOf(text, path, 'search')),
    ...texts(sources, 'format').map(({ text, path }) => stringsOfFormat(text, path))
  ]
}

export function stringsOf(pattern: string, path: string, match: 'whole' | 'search'): Dfa | null {
  return compileRegex(pattern, { path, match, encoding: jsonStringBytes, around: '"' })
}

/** Automata by format, built once: there are few, and many schemas use them. */
const ofFormat = new Map<string, Dfa | null>()

function stringsOfFormat(name: string, path: string): Dfa | null {
  const known = ofFormat.get(name)
  if (known !== undefined) return known
  const pattern = formats.get(name)
  if (pattern === undefined) {
    const names = [...formats.keys()].join(', ')
    throw unsupported(path, `the format ${JSON.stringify(name)} is not supported; supported: ${names}`)
  }
  const strings = stringsOf(pattern, path, 'whole')
  ofFormat.set(name, strings)
  return strings
}

/** Returns an automaton of the strings with a number of characters in a range. */
export function lengthShape({ min, max }: Lengths, path: string): Dfa | null {
  return stringsOf(`[^]{${min},${Number.isFinite(max) ? max : ''}}`, path, 'whole')
}

/** Returns an automaton of all strings without these values. */
export function stringsWithout(values: readonly string[], path: string): Dfa | null {
  const all = stringsOf('[^]*', path, 'whole')
  const excluded = literals(values.map(value => JSON.stringify(value)))
  return all === null || excluded === null ? all : combine(all, excluded, 'without')
}

import { Decimal } from '../decimal.ts'
import { fail } from '../failure.ts'
import { intArg, textArg } from '../native.ts'
import { floatNumber, wholeNumber } from '../number-text.ts'
import { intOf } from '../operators.ts'
import { Float, NONE, some } from '../value.ts'
import { type Methods, method } from './method.ts'

/** Methods of str. Positions and lengths count characters: a surrogate pair is one. */
export const TEXT_METHODS: Methods<string> = {
  len: method(0, 0, text => characterCount(text)),
  chars_count: method(0, 0, text => characterCount(text)),
  is_empty: method(0, 0, text => text === ''),
  to_upper: method(0, 0, text => text.toUpperCase()),
  to_uppercase: method(0, 0, text => text.toUpperCase()),
  to_lower: method(0, 0, text => text.toLowerCase()),
  to_lowercase: method(0, 0, text => text.toLowerCase()),
  trim: method(0, 0, text => text.trim()),
  trim_start: method(0, 0, text => text.trimStart()),
  trim_end: method(0, 0, text => text.trimEnd()),
  contains: method(1, 1, (text, args) => text.includes(textArg(args, 0))),
  starts_with: method(1, 1, (text, args) => text.startsWith(textArg(args, 0))),
  ends_with: method(1, 1, (text, args) => text.endsWith(textArg(args, 0))),
  split: method(1, 1, (text, args, machine) => {
    const separator = textArg(args, 0)
    machine.allocate(16 * text.length)
    return separator === '' ? [...text] : text.split(separator)
  }),
  replace: method(2, 2, (text, args, machine) => {
    const [from, into] = [textArg(args, 0), textArg(args, 1)]
    machine.allocate(2 * text.length * Math.max(1, into.length / Math.max(1, from.length)))
    return text.replaceAll(from, () => into)
  }),
  repeat: method(1, 1, (text, args, machine) => {
    const times = intArg(args, 0)
    if (times < 0) fail('RUN_ARGUMENTS', `a str cannot be repeated ${times} times`)
    machine.allocate(2 * text.length * times)
    return text.repeat(times)
  }),
  slice: method(1, 2, (text, args) => {
    const characters = [...text]
    const from = Math.max(0, intArg(args, 0))
    return characters.slice(from, args.length === 1 ? characters.length : Math.max(from, intArg(args, 1))).join('')
  }),
  char_at: method(1, 1, (text, args) => {
    const character = [...text][intArg(args, 0)]
    return character === undefined ? NONE : some(character)
  }),
  index_of: method(1, 1, (text, args) => {
    const at = text.indexOf(textArg(args, 0))
    return at < 0 ? NONE : some(characterCount(text.slice(0, at)))
  }),
  parse_int: method(0, 0, text => {
    const number = wholeNumber(text)
    return number === undefined || BigInt.asIntN(64, number) !== number ? NONE : some(intOf(number, -1))
  }),
  parse_float: method(0, 0, text => {
    const number = floatNumber(text)
    return number === undefined || !Number.isFinite(number) ? NONE : some(new Float(number))
  }),
  parse_dec: method(0, 0, text => {
    const number = Decimal.parse(text.trim())
    return number === undefined ? NONE : some(number)
  })
}

export function characterCount(text: string): number {
  let count = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    const next = text.charCodeAt(at + 1)
    if (code >= 0xd800 && code <= 0xdbff && next >= 0xdc00 && next <= 0xdfff) at++
    count++
  }
  return count
}

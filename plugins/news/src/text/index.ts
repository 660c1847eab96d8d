export { spansOf, type TextSpan } from './addresses.ts'
export { type CutOptions, cutText } from './cut.ts'
export {
  codePoints,
  codeUnits,
  fits,
  graphemes,
  lengthOf,
  type Meter,
  mastodonCharacters,
  utf8Bytes,
  weightedCharacters
} from './meters.ts'
export { splitThread, type ThreadOptions } from './thread.ts'

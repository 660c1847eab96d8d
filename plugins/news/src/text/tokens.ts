import { spansOf, type TextSpan } from './addresses.ts'
import { clustersOf } from './clusters.ts'

/** Smallest part of a text that is never divided: a grapheme cluster, or a URL, mention or hashtag. */
export interface TextToken {
  readonly kind: 'grapheme' | TextSpan['kind']
  readonly text: string
  /** Code units of `text` that belong to the span; marks may follow that its last cluster includes. */
  readonly spanLength: number
  /** Whether a URL begins with `http://` or `https://`. False for other kinds. */
  readonly hasScheme: boolean
  readonly isSpace: boolean
}

/** Yields the tokens of a text in order. Lazy: the work is proportional to the tokens that are read. */
export function* tokensOf(text: string): Generator<TextToken> {
  const spans = lazySpans(text)
  let span = spans.next().value
  let open: { span: TextSpan; start: number } | null = null
  for (const { index, segment } of clustersOf(text)) {
    if (open !== null) {
      if (index < open.span.end) continue
      yield spanToken(text, open.span, open.start, index)
      open = null
    }
    const end = index + segment.length
    while (span && span.end <= index) span = spans.next().value
    if (span && span.start < end) {
      open = { span, start: index }
      span = spans.next().value
    } else {
      yield {
        kind: 'grapheme',
        text: segment,
        spanLength: segment.length,
        hasScheme: false,
        isSpace: segment.trim() === ''
      }
    }
  }
  if (open !== null) yield spanToken(text, open.span, open.start, text.length)
}

function spanToken(text: string, span: TextSpan, start: number, end: number): TextToken {
  const { kind, hasScheme } = span
  return { kind, text: text.slice(start, end), spanLength: Math.min(span.end, end) - start, hasScheme, isSpace: false }
}

/** Yields the spans word by word: no span contains white space. */
function* lazySpans(text: string): Generator<TextSpan, undefined> {
  for (const { index, 0: word } of text.matchAll(/\S+/gu))
    for (const span of spansOf(word)) yield { ...span, start: span.start + index, end: span.end + index }
}

import fc from 'fast-check'

const atom = fc.oneof(
  fc.constantFrom('a', 'b', 'ß', '漢', '😀', '\\n', '\\.', '\\u{1f600}', '-', '"'),
  fc.constantFrom('.', '\\d', '\\w', '\\s', '\\D', '[a-c]', '[^a-c]', '[é-ü\\d_]', '\\p{Lu}', '[^\\W\\d]')
)
const { pattern } = fc.letrec<{ pattern: string; term: string; group: string }>(tie => ({
  group: tie('pattern').chain(inner => fc.constantFrom(`(?:${inner})`, `(${inner})`, `(?<n${inner.length}>${inner})`)),
  term: fc
    .tuple(
      fc.oneof({ depthSize: 'small', withCrossShrink: true }, atom, tie('group')),
      fc.constantFrom('', '', '', '', '*', '+', '?', '*?', '{2}', '{1,3}', '{0,2}', '{2,}')
    )
    .map(([term, count]) => `${term}${count}`),
  pattern: fc
    .array(fc.array(tie('term'), { maxLength: 3 }), { minLength: 1, maxLength: 2 })
    .map(alternatives => alternatives.map(terms => terms.join('')).join('|'))
}))
/**
 * Random supported patterns, short enough for small automata. Filters out duplicate group names, which RegExp rejects.
 */
export const patterns = pattern.filter(source => {
  try {
    return new RegExp(source, 'u').source.length < 40
  } catch {
    return false
  }
})

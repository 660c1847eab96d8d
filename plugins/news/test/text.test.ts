import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import t from 'tap'
import {
  codePoints,
  cutText,
  fits,
  graphemes,
  lengthOf,
  mastodonCharacters,
  spansOf,
  splitThread,
  utf8Bytes,
  weightedCharacters
} from '#root'

const segmenter = new Intl.Segmenter('und', { granularity: 'grapheme' })

/** Positions in a text at which a cluster begins, and its end. */
function boundariesOf(text: string): Set<number> {
  return new Set([...segmenter.segment(text)].map(({ index }) => index).concat(text.length))
}

const piece = fc.oneof(
  { weight: 4, arbitrary: fc.lorem({ maxCount: 4 }) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 30 }) },
  { weight: 2, arbitrary: fc.string({ unit: 'grapheme', maxLength: 30 }) },
  {
    weight: 6,
    arbitrary: fc.constantFrom(
      ' ',
      '\n',
      'https://example.org/a/long/path?with=query#fragment',
      'example.com',
      '見てexample.comです',
      '@ada',
      '@ada@mastodon.example',
      '#größe',
      '#1',
      '👨‍👩‍👧‍👦',
      '🇩🇪',
      'e\u0301\u0323',
      '\u200d',
      '\ufe0f',
      '\r\n',
      '각',
      'a\u0301'.repeat(150),
      'x'.repeat(300)
    )
  }
)
const text = fc.array(piece, { maxLength: 60 }).map(parts => parts.join(''))
const limit = fc.integer({ min: 1, max: 400 })
const suffix = fc.constantFrom('...', '…', '', ' [more]', 'abc', '\u0301', '/x', '👩')
const meters = fc
  .tuple(fc.constantFrom(weightedCharacters, graphemes, mastodonCharacters, codePoints, utf8Bytes), limit)
  .map(([meter, limit]) => meter(limit))

t.test('weighted lengths are those of the library that X published', t => {
  const { lengths } = JSON.parse(readFileSync(new URL('fixtures/weighted-lengths.json', import.meta.url), 'utf8'))
  t.ok(lengths.length > 100)
  for (const [text, length] of lengths) t.equal(lengthOf(text, weightedCharacters(280)), length, text.slice(0, 80))
  t.end()
})

t.test('an emoji that is newer than that library has the weight of an emoji', t => {
  for (const emoji of ['❤️‍🔥', '🥲', '🫶🏽']) t.equal(lengthOf(emoji, weightedCharacters(280)), 2, emoji)
  t.end()
})

t.test('Mastodon counts addresses with a scheme as 23, and mentions without their server', t => {
  const count = (text: string) => lengthOf(text, mastodonCharacters(500))
  t.equal(count(`see https://example.org/${'x'.repeat(300)}`), 4 + 23)
  t.equal(count('see https://a.de'), 4 + 23)
  t.equal(count('see example.org'), 15)
  t.equal(count('@ada@mastodon.example hi'), 7)
  t.equal(count('@ada hi'), 7)
  t.equal(count('👨‍👩‍👧e\u0301'), 2)
  t.end()
})

t.test('spans are addresses, mentions and hashtags, in order and without overlaps', t => {
  const found = (text: string) => spansOf(text).map(({ kind, start, end }) => [kind, text.slice(start, end)])
  t.same(found('Hi @ada, see (https://example.org/a_(b)) #größe. me@example.org @b@c.example #1 &#x;'), [
    ['mention', '@ada'],
    ['url', 'https://example.org/a_(b)'],
    ['hashtag', '#größe'],
    ['mention', '@b@c.example']
  ])
  t.same(found('a.de?!b.de'), [
    ['url', 'a.de'],
    ['url', 'b.de']
  ])
  t.same(found(`https://a.de/${'b.de/;'.repeat(1_000)}c c.de`), [['url', 'c.de']], 'nothing in too long an address')
  fc.assert(
    fc.property(text, text => {
      let at = 0
      for (const { start, end } of spansOf(text)) {
        if (start < at || end <= start) return false
        at = end
      }
      return at <= text.length
    })
  )
  t.end()
})

t.test('clusters are counted as by one segmentation of the whole text', t => {
  fc.assert(
    fc.property(text, text => lengthOf(text, graphemes(1)) === [...segmenter.segment(text)].length),
    {
      examples: [
        ['a'.repeat(255) + '\u{1f468}\u200d\u{1f469}'.repeat(200)],
        ['🇩'.repeat(301)],
        [`${'x'.repeat(255)}🇩🇪🇩🇪`]
      ]
    }
  )
  t.end()
})

t.test('a cut text is within its limits, a prefix with the suffix, and the same when it is cut again', t => {
  fc.assert(
    fc.property(text, meters, suffix, fc.integer({ min: 0, max: 40 }), (text, meter, suffix, marginChars) => {
      const options = { meters: [meter, utf8Bytes(900)], suffix, marginChars }
      const cut = cutText(text, options)
      if (!fits(cut, options.meters)) return false
      if (lengthOf(cut, meter) > Math.max(1, meter.limit - marginChars)) return false
      if (cutText(cut, options) !== cut) return false
      return (
        cut === text ||
        text.startsWith(cut) ||
        (cut.endsWith(suffix) && text.startsWith(cut.slice(0, cut.length - suffix.length)))
      )
    })
  )
  t.end()
})

t.test('a cut is between clusters, and never within an address, mention or hashtag', t => {
  fc.assert(
    fc.property(text, meters, suffix, (text, meter, suffix) => {
      const cut = cutText(text, { meters: [meter], suffix })
      if (cut === text || cut === suffix) return true
      const at =
        cut.endsWith(suffix) && text.startsWith(cut.slice(0, cut.length - suffix.length))
          ? cut.length - suffix.length
          : cut.length
      const isBetween = boundariesOf(text).has(at) && boundariesOf(cut).has(at)
      return isBetween && !spansOf(text).some(({ start, end }) => start < at && at < end)
    })
  )
  t.end()
})

t.test('a text is cut between words where that uses half of the room, else between clusters', t => {
  const cut = (text: string, limit: number) => cutText(text, { meters: [graphemes(limit)] })
  t.equal(cut('one two three four', 13), 'one two...')
  t.equal(cut('one two three four', 18), 'one two three four')
  t.equal(cut(`a ${'b'.repeat(30)}`, 20), `a ${'b'.repeat(15)}...`)
  t.equal(cut('見'.repeat(30), 10), `${'見'.repeat(7)}...`)
  t.equal(cut('👨‍👩‍👧'.repeat(30), 10), `${'👨‍👩‍👧'.repeat(7)}...`)
  t.equal(cut(`see https://example.org/${'x'.repeat(50)}`, 20), 'see...')
  t.equal(cutText('go to example.com now and then', { meters: [graphemes(18)], suffix: '/x' }), 'go to/x')
  t.equal(cutText('one two', { meters: [graphemes(2)], suffix: '...' }), 'on', 'the suffix does not fit')
  t.end()
})

t.test('a thread has the whole text in parts within the limits, or ends with the suffix and its ending', t => {
  fc.assert(
    fc.property(text, fc.integer({ min: 60, max: 300 }), fc.integer({ min: 1, max: 12 }), (text, limit, maxParts) => {
      const meter = weightedCharacters(limit)
      const ending = 'https://example.org/end'
      const parts = splitThread(text, { meters: [meter], maxParts, ending })
      if (parts.length > maxParts || !parts.every(part => fits(part, [meter]))) return false
      const words = parts.length === 1 ? parts : parts.map(part => part.replace(/ \d+\/\d+$/, ''))
      const joined = words.join('').replace(/\s/g, '')
      if (joined === `${text}${ending}`.replace(/\s/g, '')) return true
      // Too many parts, or one unit that is longer than a part.
      return parts.length === maxParts ? joined.endsWith(ending) : parts.length === 0
    })
  )
  t.same(splitThread(`one #${'x'.repeat(20)} two`, { meters: [graphemes(12)], maxParts: 5 }), [], 'nothing is left out')
  t.same(splitThread('', { meters: [graphemes(10)], maxParts: 3 }), [])
  t.same(splitThread('one two three', { meters: [graphemes(9)], maxParts: 5 }), ['one 1/3', 'two 2/3', 'three 3/3'])
  t.end()
})

t.test('texts of up to 1 MB are cut without reading more than is needed', t => {
  const hostile = [
    'a'.repeat(1_000_000),
    '見.'.repeat(500_000),
    `http://a.de/${'(a'.repeat(500_000)}`,
    `http://${'a-'.repeat(500_000)}.de`,
    `#${'1'.repeat(1_000_000)}`,
    '@a.'.repeat(330_000),
    `x${'\u0301'.repeat(1_000_000)}`,
    'a.de?!'.repeat(60_000),
    'a.de/(;)'.repeat(60_000),
    'http://a.de/;'.repeat(60_000),
    '👨\u200d'.repeat(330_000)
  ]
  for (const text of hostile)
    t.ok(fits(cutText(text, { meters: [weightedCharacters(280)] }), [weightedCharacters(280)]))
  t.end()
})

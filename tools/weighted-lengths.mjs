// Computes the fixture of weighted lengths with the library that X published for them, which this project does not use.
//
//   npm install --prefix /tmp/twitter-text --ignore-scripts twitter-text@3.1.0
//   node tools/weighted-lengths.mjs /tmp/twitter-text > plugins/news/test/fixtures/weighted-lengths.json
import { createRequire } from 'node:module'
import { join } from 'node:path'

const [folder = '/tmp/twitter-text'] = process.argv.slice(2)
const { parseTweet } = createRequire(join(folder, 'node_modules/'))('twitter-text')

const WORDS = [
  'This is a test.',
  'Tëst àccents',
  'e\u0301',
  'Привет, мир',
  'ßẞ',
  '저찀쯿쿿',
  '見て',
  'العربية',
  'हिन्दी',
  '\u{10000}\u{10ffff}'
]
const SIGNS = ['‘’“”', '…', '–—', '€', '™', '©', '®', '\u200d', '\u2028', '½', '→', '①', 'ｆｕｌｌ']
const EMOJI = [
  '☺',
  '☺️',
  '😀',
  '👍🏽',
  '👨‍👩‍👧‍👦',
  '👩🏾‍💻',
  '🏳️‍🌈',
  '🏴‍☠️',
  '🇩🇪🇫🇷',
  '🏴󠁧󠁢󠁥󠁮󠁧󠁿',
  '1️⃣#️⃣',
  '⌚️',
  '⚡️⭐️',
  '❤️',
  '🤷🏻‍♀️',
  '🦰',
  'H🐱☺'
]
const ADDRESSES = [
  'http://test.com',
  'https://test.com',
  'test.com',
  'www.test.com',
  'test.co.uk',
  't.co/abc',
  'it.so',
  'a.museum',
  'x.invalid',
  'file.txt',
  'e.g. this',
  'node.js',
  'v1.2.3',
  'HTTPS://EXAMPLE.COM/Path',
  'http://example.com:8080/a?b=c#d',
  'example.com:80',
  'example.com:80/a',
  'example.com?q=1',
  'https://example.com?q=1&r=2.',
  'https://en.wikipedia.org/wiki/A_(b)',
  '(https://example.com/a)',
  'https://a.com/x_(y(z))w',
  '"https://example.com/"',
  'https://example.com/a...',
  'https://example.com/,',
  'https://example.com/é',
  'https://example.com/?é',
  'https://example.com/Русские_слова',
  'http://☃.net/',
  'http://xn--bcher-kva.de/x',
  'http://bücher.de',
  'bücher.de',
  'пример.рф',
  'http://пример.рф',
  'https://例え.みんな/a',
  '見てhttp://example.comです',
  '見てexample.comです',
  '@foo.com',
  '#foo.com',
  '$foo.com',
  'me@example.com',
  'ahttp://example.com',
  '-example.com',
  '.example.com',
  'example..com',
  'example.com-',
  'foo_example.com',
  'foo_bar.example.com',
  'http://foo_bar.com',
  'http://-a.com',
  'http://a-.com',
  'ftp://example.com/a',
  // toestub-ignore(magic-value/ip) - the address is a text whose length is counted
  'http://192.168.0.1/',
  'http://localhost/',
  'https://user@example.com/',
  'Test https://test.com test https://test.com test.com test',
  `https://example.com/${'a'.repeat(4_080)}`,
  `https://example.com/${'a'.repeat(300)}`,
  'line\nhttps://example.com\nline',
  'a/b example.com/a/b/ c',
  'https://example.com/@name/1',
  'https://example.com/a%20b',
  'https://t.co/abcdef'
]
const texts = [
  ...WORDS,
  ...SIGNS,
  ...EMOJI,
  ...ADDRESSES,
  ...WORDS.map((word, n) => `${word} ${ADDRESSES[n * 3]} ${EMOJI[n]}`)
]

const lines = texts.map(text => `    ${JSON.stringify([text, parseTweet(text).weightedLength])}`)
process.stdout.write(
  `{\n  "source": "parseTweet of npm twitter-text 3.1.0 (Apache-2.0), by tools/weighted-lengths.mjs",\n  "lengths": [\n${lines.join(',\n')}\n  ]\n}\n`
)

import fc from 'fast-check'
import t from 'tap'
import { chunkLines, chunkMarkdown, htmlText } from '#indexing'

const MAX_CHUNK = 1_600 + 3_200

t.test('chunks of any text have all its lines, in order, with their numbers', async () => {
  const line = fc.oneof(
    fc.constant(''),
    fc.string({ maxLength: 60, unit: 'grapheme' }).map(text => text.replace(/[\r\n]/g, '')),
    fc.integer({ min: 200, max: 9_000 }).map(length => 'x😀'.repeat(length / 3))
  )
  fc.assert(
    fc.property(fc.array(line, { maxLength: 120 }), lines => {
      for (const chunks of [chunkLines(lines.join('\n')), chunkMarkdown(lines.join('\n'))]) {
        const covered = new Set<number>()
        let last = 0
        for (const { text, line: first } of chunks) {
          if (text.length > MAX_CHUNK || first === null || first < last) return false
          if (Buffer.from(text).toString() !== text) return false
          last = first
          let number = first
          for (const each of text.split('\n')) {
            covered.add(number)
            const source = lines[number - 1] ?? ''
            // Pieces of a long line follow each other as lines of the chunk.
            if (source.length > 3_200) {
              if (!source.includes(each)) return false
              if (!source.endsWith(each)) continue
            } else if (source !== each) return false
            number += 1
          }
        }
        if (!lines.every((text, at) => text.trim() === '' || covered.has(at + 1))) return false
      }
      return true
    }),
    { numRuns: 150 }
  )
})

t.test('chunks overlap by whole lines', async t => {
  const text = Array.from({ length: 100 }, (_, at) => `line ${at} ${'.'.repeat(40)}`).join('\n')
  const chunks = chunkLines(text)
  t.ok(chunks.length > 2)
  for (const [at, chunk] of chunks.entries()) {
    const next = chunks[at + 1]
    if (next === undefined) continue
    const shared = chunk.text.split('\n').slice(-4)
    t.same(next.text.split('\n').slice(0, 4), shared)
    t.equal(next.line, (chunk.line ?? 0) + chunk.text.split('\n').length - 4)
  }
})

t.test('Markdown is split at headings, which are not looked for in code', async t => {
  const long = 'word '.repeat(250)
  const text = `# Guide\n${long}\n## Install ##\n${long}\n\`\`\`sh\n# no heading\n\`\`\`\n### Linux\n${long}\n# End\n${long}`
  t.same(
    chunkMarkdown(text).map(({ line, heading }) => `${line} ${heading}`),
    ['1 Guide', '3 Guide > Install', '8 Guide > Install > Linux', '10 End']
  )
  t.match(chunkMarkdown(text)[1]?.text, '# no heading')
})

t.test('the visible text of a page is taken, with its headings', async t => {
  const page = `<!doctype html><title> A &amp; B </title><style>p{}</style><script>if (a < b) hidden()</script>
    <h2>Head <em>line</em></h2><p>One\n two<br>three</p><ul><li>first<li>second</ul><pre>a\n  b</pre><p>open`
  const { title, text } = htmlText(page)
  t.equal(title, 'A & B')
  t.match(text, /^## Head line\n+One two\nthree/)
  t.match(text, /- first\n+- second/)
  t.match(text, 'a\n  b')
  t.match(text, /open$/)
  t.notMatch(text, 'hidden')
})

t.test('a page of nested elements is read up to a depth, in linear time', t => {
  const { text } = htmlText(`<p>begin</p>${'<div>word '.repeat(200_000)}<p>end</p>`)
  t.match(text, /^begin\n/)
  t.ok(text.split('word').length > 400)
  t.notMatch(text, 'end')
  const flat = htmlText(`${'<p>one<br><img>'.repeat(2_000)}${'<div>x</div>'.repeat(2_000)}<p>end</p>`)
  t.match(flat.text, /end$/, 'only elements inside each other count')
  t.end()
})

t.test('any markup yields text without halves of characters', async () => {
  const part = fc.constantFrom(
    '<p>',
    '</p>',
    '<script>',
    '</script>',
    '<!--',
    '-->',
    '<a href="',
    '">',
    '&#x0;',
    'x',
    '<![CDATA['
  )
  fc.assert(
    fc.property(fc.array(fc.oneof(part, fc.string({ unit: 'grapheme' })), { maxLength: 60 }), parts => {
      const { text } = htmlText(parts.join(''))
      return Buffer.from(text).toString() === text && !text.includes('\0')
    }),
    { numRuns: 200 }
  )
})

t.test('a section of very many lines is split, too', async t => {
  const [first, ...others] = chunkMarkdown(`# Log\n${'\n'.repeat(200_000)}end`)
  t.match(first, { heading: 'Log', line: 1 })
  t.match(others.at(-1), { text: /\nend$/, heading: 'Log' })
})

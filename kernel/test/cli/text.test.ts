import fc from 'fast-check'
import t from 'tap'
import { textWidth, withoutColour, wrapText } from '#cli'

t.test('textWidth returns the width on a terminal', async t => {
  t.equal(textWidth('plain'), 5)
  t.equal(textWidth('\x1b[31mred\x1b[39m'), 3)
  t.equal(textWidth('né'), 2)
  t.equal(textWidth('ne\u0301'), 2)
  t.equal(textWidth('日本'), 4)
  t.equal(textWidth('🚀'), 2)
  t.equal(textWidth('–'), 1)
  t.equal(withoutColour('\x1b[1;32mgo\x1b[0m'), 'go')
})

t.test('wraps at spaces, splits long words and keeps existing line breaks', async t => {
  t.same(wrapText('to be or not', 6), ['to be', 'or not'])
  t.same(wrapText('a\n\nb', 10), ['a', '', 'b'])
  t.same(wrapText('abcdefgh ij', 3), ['abc', 'def', 'gh', 'ij'])
  t.same(wrapText('', 5), [''])
})

t.test('wrapping loses no character and exceeds no width', async () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 80 }), fc.integer({ min: 2, max: 30 }), (text, width) => {
      const lines = wrapText(text, width)
      const bare = (value: string): string => value.replace(/[ \n]/g, '')
      return bare(lines.join('')) === bare(text) && lines.every(line => textWidth(line) <= width)
    })
  )
})

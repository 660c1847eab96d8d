import fc from 'fast-check'
import t from 'tap'
import { quote } from '#chat'
import { codeOf, fenced } from '#generate'

t.test('no text ends its own quotation, and none exceeds the limit', async t => {
  const texts = fc.array(fc.record({ label: fc.string(), text: fc.string({ unit: 'binary', maxLength: 300 }) }), {
    maxLength: 5
  })
  fc.assert(
    fc.property(texts, fc.nat(400), (materials, room) => {
      const { text, labels, dropped } = quote(materials, room)
      const mark = /<<<([0-9a-f]{16}) NAME/.exec(text)?.[1]
      if (mark === undefined) return labels.length === 0
      const pieces = text.split(`${mark}>>>`).length - 2
      return pieces === labels.length && dropped >= 0
    })
  )
  t.notSame(quote([{ label: 'a', text: 'b' }], 10).text, quote([{ label: 'a', text: 'b' }], 10).text)
})

t.test('extracts the program from an answer in any kind of wrapping', async t => {
  const code = 'fn f() {}\n'
  for (const answer of [
    code,
    `\uFEFF${code}`,
    `Sure:\n\`\`\`vox\r\nfn f() {}\r\n\`\`\`\nDone.`,
    `\`\`\`\n${code}\`\`\``,
    `\`\`\`sh\nnpm install a very long line\n\`\`\`\n~~~vox\n${code}~~~`,
    `Cut off:\n\`\`\`vox\n${code}`
  ])
    t.equal(codeOf(answer), code)
  fc.assert(
    fc.property(fc.string({ maxLength: 100 }), text => {
      const program = `fn f() { "${text.replaceAll('\r', '')}" }\n`
      return codeOf(fenced(program)) === program
    })
  )
})

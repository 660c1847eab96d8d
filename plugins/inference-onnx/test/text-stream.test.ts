import fc from 'fast-check'
import t from 'tap'
import { TextStream } from '#root'

/** Splits bytes at these positions. */
function cut(bytes: Uint8Array, positions: readonly number[]): Uint8Array[] {
  const sorted = [...new Set(positions.map(position => position % (bytes.byteLength + 1)))].sort((a, b) => a - b)
  return [0, ...sorted].map((start, i) => bytes.subarray(start, sorted[i] ?? bytes.byteLength))
}

/** Streams tokens, numbered from 0. Returns the pieces, and whether a stop string ended the stream. */
function stream(tokens: readonly Uint8Array[], stops: readonly string[]) {
  const text = new TextStream<number>(stops)
  const pieces = []
  for (const [data, bytes] of tokens.entries()) {
    const piece = text.push({ bytes, data })
    if (piece !== null) pieces.push(piece)
    if (text.stopped) return { pieces, stopped: true, text }
  }
  const rest = text.finish()
  if (rest !== null) pieces.push(rest)
  return { pieces, stopped: text.stopped, text }
}

const joined = (pieces: readonly { text: string }[]) => pieces.map(piece => piece.text).join('')
const cutPositions = fc.array(fc.nat(200), { maxLength: 40 })
const anyText = fc.string({ unit: fc.constantFrom('a', 'b', 'ä', '€', '😀', '\n', '<'), maxLength: 30 })

/** Returns the text up to the first complete stop string: a simple reference implementation. */
function cutAtStop(text: string, stops: readonly string[]): string {
  for (let end = 1; end <= text.length; end++) {
    const hits = stops.filter(stop => stop !== '' && text.slice(0, end).endsWith(stop))
    if (hits.length > 0) return text.slice(0, end - Math.max(...hits.map(hit => hit.length)))
  }
  return text
}

t.test('joined pieces equal the decoded bytes, for any bytes and splits', async t => {
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), cutPositions, (bytes, at) => {
        const { pieces } = stream(cut(bytes, at), [])
        return joined(pieces) === new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
      }),
      { numRuns: 300 }
    )
  )
})

t.test('no piece of valid text splits a character', async t => {
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(anyText, cutPositions, (text, at) => {
        const { pieces } = stream(cut(Buffer.from(text), at), [])
        return (
          joined(pieces) === text &&
          pieces.every(piece => Buffer.from(piece.text).toString() === piece.text && !piece.text.includes('\ufffd'))
        )
      }),
      { numRuns: 300 }
    )
  )
})

t.test('the text ends before the first stop string, for any split into tokens', async t => {
  const stops = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', '€'), minLength: 1, maxLength: 4 }), {
    maxLength: 3
  })
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(anyText, stops, cutPositions, (text, stop, at) => {
        const expected = cutAtStop(text, stop)
        const { pieces, stopped } = stream(cut(Buffer.from(text), at), stop)
        return joined(pieces) === expected && stopped === expected.length < text.length
      }),
      { numRuns: 800 }
    )
  )
})

t.test('delays only a possible prefix of a stop string', async t => {
  const text = new TextStream<number>(['END.'])
  const push = (part: string, data: number) => text.push({ bytes: Buffer.from(part), data })
  t.same(push('the ', 0), { text: 'the ', data: [0] })
  t.equal(push('E', 1), null)
  t.equal(push('ND', 2), null)
  t.same(push('E', 3), { text: 'END', data: [1, 2] }, 'the last E may start another stop string')
  t.same(push('ND. more', 4), null)
  t.equal(text.stopped, true)
  t.equal(text.stoppedBy, 'END.')
  t.equal(text.finish(), null)
})

t.test('a token that reaches into a stop string belongs to the text before it', async t => {
  const text = new TextStream<number>(['##'])
  t.same(text.push({ bytes: Buffer.from('end##rest'), data: 7 }), { text: 'end', data: [7] })
  t.equal(text.stopped, true)
})

t.test('tokens without text belong to the next piece, or to the end', async t => {
  const none = new Uint8Array()
  const text = new TextStream<number>([])
  t.equal(text.push({ bytes: none, data: 0 }), null)
  t.same(text.push({ bytes: Buffer.from('x'), data: 1 }), { text: 'x', data: [0, 1] })
  t.equal(text.push({ bytes: none, data: 2 }), null)
  t.same(text.finish(), { text: '', data: [2] })
})

t.test('a sequence that ends inside a character ends with U+FFFD', async t => {
  const text = new TextStream<number>([])
  t.equal(text.push({ bytes: Uint8Array.of(0xe2, 0x82), data: 0 }), null)
  t.same(text.finish(), { text: '\ufffd', data: [0] })
})

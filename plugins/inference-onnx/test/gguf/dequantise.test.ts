import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { type BlockEncoding, blockSizes, dequantise } from '#gguf'
import { halfValues, reorderBlocks, toHalf } from '#weights'
import { fixtures } from '../support/models.ts'

const folder = join(fixtures, 'gguf')
const cases: readonly { encoding: BlockEncoding; offset: number; bytes: number; weights: number }[] = JSON.parse(
  await readFile(join(folder, 'blocks.json'), 'utf8')
)
const blocks = await readFile(join(folder, 'blocks.bin'))
const values = await readFile(join(folder, 'blocks.values.bin'))

t.test('the fixture covers every encoding', async t => {
  t.same(cases.map(({ encoding }) => encoding).sort(), Object.keys(blockSizes).sort())
})

let position = 0
for (const { encoding, offset, bytes, weights } of cases) {
  const wanted = values.subarray(position, (position += weights * 4))
  t.test(`${encoding}: decodes to the same bits as the reference implementation`, async t => {
    const decoded = new Float32Array(weights)
    dequantise(encoding, blocks.subarray(offset, offset + bytes), decoded)
    t.ok(Buffer.from(decoded.buffer).equals(wanted))
  })
}

t.test('Q4_0 blocks in the order of the runtime have the values of the decoded blocks', async t => {
  const { offset, bytes, weights } = cases.find(({ encoding }) => encoding === 'Q4_0')!
  const stored = blocks.subarray(offset, offset + bytes)
  const decoded = new Float32Array(weights)
  dequantise('Q4_0', stored, decoded)
  const { values: nibbles, scales } = reorderBlocks(stored)
  const again = decoded.map((_, index) => {
    const byte = nibbles[index >> 1]!
    return ((index % 2 === 0 ? byte & 15 : byte >> 4) - 8) * scales[index >> 5]!
  })
  t.same(again, decoded)
})

t.test('every half-precision number keeps its bits when it is widened and rounded', async t => {
  const numbers = halfValues()
  const rounded = toHalf(numbers.slice())
  const differing = [...numbers.keys()].filter(bits => !Number.isNaN(numbers[bits]) && rounded[bits] !== bits)
  t.same(differing, [])
})

t.test('rounding to half precision returns the nearest number, and the even one of two', async t => {
  const numbers = [...halfValues()].filter(Number.isFinite)
  const { counterexample } = fc.check(
    fc.property(fc.float({ min: -65519, max: 65519, noNaN: true }), value => {
      const bits = toHalf(Float32Array.of(value))[0]!
      const error = Math.abs(halfValues()[bits]! - value)
      const neighbours = [bits - 1, bits + 1].filter(at => at >= 0 && Number.isFinite(halfValues()[at]))
      return neighbours.every(at => {
        const other = Math.abs(halfValues()[at]! - value)
        return other > error || (other === error && bits % 2 === 0)
      })
    })
  )
  t.equal(counterexample, null)
  t.equal(Math.max(...numbers), 65504)
  t.same([...toHalf(Float32Array.of(65519, 65520, -65520))], [0x7bff, 0x7c00, 0xfc00])
})

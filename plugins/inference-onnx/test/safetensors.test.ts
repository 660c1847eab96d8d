import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isSvcError } from '@svc/plugin-sdk'
import fc from 'fast-check'
import t from 'tap'
import { parseSafetensorsHeader, readSafetensors } from '#root'
import { temporaryFolder } from './support/models.ts'
import { floats, safetensors, withHeader } from './support/safetensors.ts'

const two = { a: floats([2, 3], i => i), b: floats([4], i => -i) }

function entry(dtype: string, shape: number[], begin: number, end: number) {
  return { dtype, shape, data_offsets: [begin, end] }
}

t.test('returns the tensors of a valid file, with offsets from the start of the file', async t => {
  const file = join(await temporaryFolder(t), 'model.safetensors')
  const bytes = safetensors(two, { format: 'pt' })
  await writeFile(file, bytes)
  const { tensors, byteLength } = await readSafetensors(file)
  t.equal(byteLength, bytes.byteLength)
  t.same([...tensors.keys()], ['a', 'b'])
  const b = tensors.get('b')!
  t.match(b, { dtype: 'F32', shape: [4], file, byteLength: 16 })
  t.same(bytes.subarray(b.offset, b.offset + 16), Buffer.from(two.b.data))
})

const hostile: Readonly<Record<string, { header: string; bytes?: number; code: string; says: RegExp }>> = {
  'overlapping tensors': {
    header: JSON.stringify({ a: entry('F32', [2], 0, 8), b: entry('F32', [2], 4, 12) }),
    bytes: 12,
    code: 'INF_RUN_DIR_MALFORMED',
    says: /tensor "b" overlaps/
  },
  'a gap between tensors': {
    header: JSON.stringify({ a: entry('F32', [1], 0, 4), b: entry('F32', [1], 8, 12) }),
    bytes: 12,
    code: 'INF_RUN_DIR_MALFORMED',
    says: /no tensor covers the bytes before "b"/
  },
  'bytes after the last tensor': {
    header: JSON.stringify({ a: entry('F32', [1], 0, 4) }),
    bytes: 9,
    code: 'INF_RUN_DIR_MALFORMED',
    says: /5 bytes belong to no tensor/
  },
  'a tensor that ends outside the file': {
    header: JSON.stringify({ a: entry('F32', [100], 0, 400) }),
    bytes: 12,
    code: 'INF_RUN_DIR_TRUNCATED',
    says: /tensor "a" ends at byte/
  },
  'offsets that are not integers': {
    header: '{"a":{"dtype":"F32","shape":[1],"data_offsets":[0.5,4.5]}}',
    bytes: 8,
    code: 'INF_RUN_DIR_MALFORMED',
    says: /data_offsets is not a pair of whole numbers/
  },
  'negative offsets': {
    header: JSON.stringify({ a: entry('F32', [1], -4, 0) }),
    code: 'INF_RUN_DIR_MALFORMED',
    says: /data_offsets/
  },
  'offsets in reverse order': {
    header: JSON.stringify({ a: entry('F32', [1], 8, 4) }),
    bytes: 8,
    code: 'INF_RUN_DIR_MALFORMED',
    says: /backwards/
  },
  'a shape that does not fit its bytes': {
    header: JSON.stringify({ a: entry('BF16', [3, 2], 0, 16) }),
    bytes: 16,
    code: 'INF_RUN_DIR_MALFORMED',
    says: /BF16 \[3, 2\] needs 96 bits, but data_offsets span 16 bytes/
  },
  'a shape whose product overflows': {
    header: JSON.stringify({ a: entry('F32', [2 ** 40, 2 ** 40], 0, 8) }),
    bytes: 8,
    code: 'INF_RUN_DIR_MALFORMED',
    says: /needs .* bits/
  },
  'an unknown element type': {
    header: JSON.stringify({ a: entry('constructor', [1], 0, 4) }),
    bytes: 4,
    code: 'INF_RUN_DIR_MALFORMED',
    says: /unknown element type "constructor"/
  },
  'a name that occurs twice': {
    header:
      '{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"\\u0061":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}',
    bytes: 8,
    code: 'INF_RUN_DIR_MALFORMED',
    says: /the name "a" occurs twice/
  },
  'metadata that is not text': {
    header: '{"__metadata__":{"format":1}}',
    code: 'INF_RUN_DIR_MALFORMED',
    says: /__metadata__/
  },
  'a header that is not JSON': { header: '{"a":', code: 'INF_RUN_DIR_MALFORMED', says: /not JSON/ },
  'a header that is not an object': { header: '[]', code: 'INF_RUN_DIR_MALFORMED', says: /not a JSON object/ }
}

for (const [name, { header, bytes = 0, code, says }] of Object.entries(hostile)) {
  t.test(`rejects ${name}, naming the file and the offset`, async t => {
    const file = join(await temporaryFolder(t), 'model.safetensors')
    await writeFile(file, withHeader(header, new Uint8Array(bytes)))
    await t.rejects(readSafetensors(file), { code, message: says, data: { file, offset: Number } })
    await t.rejects(readSafetensors(file), { message: file })
  })
}

t.test('rejects an excessive header length before allocating memory', async t => {
  const file = join(await temporaryFolder(t), 'model.safetensors')
  await writeFile(file, Buffer.alloc(64, 0xff))
  await t.rejects(readSafetensors(file), {
    code: 'INF_RUN_DIR_MALFORMED',
    message: /header of 18446744073709551615 bytes/
  })
})

t.test('a header that is not UTF-8 is rejected', async t => {
  const file = join(await temporaryFolder(t), 'model.safetensors')
  const bytes = Buffer.from(withHeader('{"aa":1}', new Uint8Array()))
  bytes[10] = 0xff
  await writeFile(file, bytes)
  await t.rejects(readSafetensors(file), { code: 'INF_RUN_DIR_MALFORMED', message: /not UTF-8/ })
})

t.test('a folder instead of the file is rejected', async t => {
  const file = join(await temporaryFolder(t), 'model.safetensors')
  await mkdir(file)
  await t.rejects(readSafetensors(file), { code: 'INF_RUN_DIR_MALFORMED', message: /not a regular file/ })
})

t.test('the error about a missing file names it', async t => {
  const file = join(await temporaryFolder(t), 'model.safetensors')
  await t.rejects(readSafetensors(file), { code: 'INF_RUN_DIR_FILE_MISSING', message: file })
})

t.test('a file truncated at any byte is rejected with a typed error', async t => {
  const file = join(await temporaryFolder(t), 'model.safetensors')
  const bytes = safetensors(two)
  for (let length = 0; length < bytes.byteLength; length++) {
    await writeFile(file, bytes.subarray(0, length))
    await t.rejects(
      readSafetensors(file),
      { code: 'INF_RUN_DIR_TRUNCATED', data: { file, offset: Number } },
      `${length}`
    )
  }
})

t.test('any bytes give either tensors inside the file or a typed error', async t => {
  const valid = safetensors(two)
  const header = valid.subarray(8, 8 + Number(Buffer.from(valid).readBigUInt64LE()))
  const mutated = fc
    .array(fc.tuple(fc.nat(header.byteLength - 1), fc.integer({ min: 32, max: 126 })), { minLength: 1, maxLength: 4 })
    .map(changes => {
      const copy = Uint8Array.from(header)
      for (const [index, byte] of changes) copy[index] = byte
      return copy
    })
  const fileSize = valid.byteLength
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(fc.oneof(mutated, fc.uint8Array({ maxLength: 200 })), candidate => {
        try {
          const tensors = parseSafetensorsHeader('f', fileSize, candidate)
          for (const { offset, byteLength } of tensors.values()) {
            if (offset < 8 + candidate.byteLength || offset + byteLength > fileSize) return false
          }
          return true
        } catch (error) {
          return isSvcError(error, 'INF_RUN_DIR_MALFORMED') || isSvcError(error, 'INF_RUN_DIR_TRUNCATED')
        }
      }),
      { numRuns: 600 }
    )
  )
})

t.test('reads every valid layout as it was written', async t => {
  const sizes: Readonly<Record<string, number>> = { F32: 4, BF16: 2, F16: 2, U8: 1, I64: 8, BOOL: 1 }
  const tensor = fc
    .record({ dtype: fc.constantFrom(...Object.keys(sizes)), shape: fc.array(fc.nat(4), { maxLength: 3 }) })
    .map(({ dtype, shape }) => ({
      dtype,
      shape,
      data: new Uint8Array(shape.reduce((a, b) => a * b, 1) * (sizes[dtype] as number))
    }))
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(fc.dictionary(fc.string(), tensor), tensors => {
        delete tensors.__metadata__
        const bytes = Buffer.from(safetensors(tensors))
        const length = Number(bytes.readBigUInt64LE())
        const read = parseSafetensorsHeader('f', bytes.byteLength, bytes.subarray(8, 8 + length))
        return (
          read.size === Object.keys(tensors).length &&
          Object.entries(tensors).every(([name, { dtype, shape, data }]) => {
            const found = read.get(name)
            return found?.dtype === dtype && found.byteLength === data.byteLength && `${found.shape}` === `${shape}`
          })
        )
      })
    )
  )
})

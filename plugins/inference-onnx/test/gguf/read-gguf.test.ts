import { copyFile, mkdir, readFile, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isSvcError } from '@svc/plugin-sdk'
import fc from 'fast-check'
import t from 'tap'
import { findGguf, Pauses, parseGguf, readGguf, readGgufModel, sortWithPauses } from '#gguf'
import { GgufBytes } from '../support/gguf.ts'
import { fixtures, temporaryFolder } from '../support/models.ts'

const folder = join(fixtures, 'gguf')
const F32 = 0
const TEXT = 8
const ARRAY = 9

function parse(bytes: Buffer) {
  return parseGguf('model.gguf', bytes.byteLength, bytes)
}

t.test('returns metadata and tensors of a file of another program', async t => {
  const { metadata, tensors, byteLength } = await readGguf(join(folder, 'qwen2-q8_0.gguf'))
  t.equal(byteLength, (await readFile(join(folder, 'qwen2-q8_0.gguf'))).byteLength)
  t.equal(metadata.get('general.architecture'), 'qwen2')
  t.equal(metadata.get('qwen2.rope.scaling.original_context_length'), 32)
  t.equal(metadata.get('tokenizer.ggml.add_bos_token'), false)
  t.equal((metadata.get('tokenizer.ggml.tokens') as string[]).length, 300)
  t.match(tensors.get('blk.0.ffn_up.weight'), { dtype: 'F32', encoding: 'Q8_0', shape: [48, 32], byteLength: 1632 })
  t.match(tensors.get('blk.0.ffn_down.weight'), { dtype: 'F16', encoding: undefined, shape: [32, 48] })
  t.match(tensors.get('output_norm.weight'), { dtype: 'F32', shape: [32], byteLength: 128 })
})

t.test('reads all types of values, and arrays of arrays', async t => {
  const file = new GgufBytes().header(0, 12)
  const bytes = (type: number, ...values: number[]) => file.text(`k${type}`).u32(type).raw(Buffer.from(values))
  bytes(0, 255)
  bytes(1, 255)
  bytes(2, 255, 255)
  bytes(3, 255, 255)
  file.text('k4').u32(4, 0xffffffff).text('k5').u32(5, 0xffffffff)
  bytes(6, 0, 0, 128, 63)
  bytes(7, 1)
  file
    .text('k10')
    .u32(10)
    .u64(2n ** 64n - 1n)
    .text('k11')
    .u32(11)
    .u64(2n ** 64n - 1n)
  file
    .text('k12')
    .u32(12)
    .raw(Buffer.from(Float64Array.of(0.1).buffer))
  file.text('k9').u32(ARRAY, ARRAY).u64(2).u32(TEXT).u64(1).text('a').u32(4).u64(2).u32(7, 8)
  t.same(Object.fromEntries((await parse(file.bytes))!.metadata), {
    ...{ k0: 255, k1: -1, k2: 65535, k3: -1, k4: 0xffffffff, k5: -1, k6: 1, k7: true },
    ...{ k10: 2n ** 64n - 1n, k11: -1, k12: 0.1, k9: [['a'], [7, 8]] }
  })
})

t.test('reads a header of several megabytes in steps', async t => {
  const file = new GgufBytes().header(0, 1).text('big').u32(TEXT).text('x'.repeat(3_000_000)).bytes
  t.equal(await parseGguf('model.gguf', file.byteLength, file.subarray(0, 1000)), null)
  const path = join(await temporaryFolder(t), 'big.gguf')
  await writeFile(path, file)
  t.equal(((await readGguf(path)).metadata.get('big') as string).length, 3_000_000)
})

t.test('counts far above those of public models are refused, even if the file could hold them', async t => {
  const refused = (file: GgufBytes, message: RegExp) =>
    t.rejects(parseGguf('model.gguf', 2 ** 40, file.bytes), { code: 'INF_RUN_DIR_MALFORMED', message })
  await refused(new GgufBytes().header(2n ** 34n, 0).tensor('a', [1], F32, 0), /17179869184 tensors, more than 32768/)
  await refused(new GgufBytes().header(0, 2 ** 20), /1048576 metadata values, more than 16384/)
  await refused(
    value(ARRAY, file => file.u32(F32).u64(2 ** 22)),
    /exceeds the limit of 2097152 values/
  )
  await refused(
    value(TEXT, file => file.u64(2 ** 30)),
    /a text of 1073741824 bytes exceeds the limit of 4194304 bytes/
  )
  await refused(new GgufBytes().header(0, 1).u64(70_000), /a text of 70000 bytes exceeds the limit of 65536 bytes/)
  await refused(new GgufBytes().header(1, 0).u64(1000), /a text of 1000 bytes exceeds the limit of 512 bytes/)
})

t.test('a list that is sorted with pauses is in the order of a sorted list', async t => {
  const items = fc.array(fc.record({ key: fc.nat(20), id: fc.nat() }), { maxLength: 40 })
  const byKey = (a: { key: number }, b: { key: number }) => a.key - b.key
  const check = async (one: readonly { key: number; id: number }[]) =>
    t.same(await sortWithPauses(one, byKey, new Pauses()), one.toSorted(byKey))
  await fc.assert(fc.asyncProperty(items, check), { numRuns: 20 })
  await check(Array.from({ length: 40_000 }, (_, id) => ({ key: (id * 7919) % 1000, id })))
})

const tensor = (name: string, dimensions: readonly (number | bigint)[], type: number, offset: number | bigint) =>
  new GgufBytes().header(1, 0).tensor(name, dimensions, type, offset).align()
const value = (type: number, build: (file: GgufBytes) => GgufBytes) =>
  build(new GgufBytes().header(0, 1).text('key').u32(type))

const longHeaders: Readonly<Record<string, () => Buffer>> = {
  'many texts': () => {
    const file = value(ARRAY, one => one.u32(TEXT).u64(20_000))
    for (let index = 0; index < 20_000; index++) file.text('ab')
    return file.bytes
  },
  'many empty lists': () => {
    const file = value(ARRAY, one => one.u32(ARRAY).u64(20_000))
    return Buffer.concat([file.bytes, Buffer.alloc(20_000 * 12)])
  },
  'many long keys': () => {
    const file = new GgufBytes().header(0, 40)
    for (let index = 0; index < 40; index++) file.text(`${index} ${'k'.repeat(60_000)}`).u32(4, 0)
    return file.bytes
  }
}

for (const [name, build] of Object.entries(longHeaders)) {
  t.test(`other events are handled while a header is read that has ${name}`, async t => {
    const bytes = build()
    const { now } = performance
    t.teardown(() => {
      performance.now = now
    })
    let events = 0
    const count = () => {
      events++
      next = setImmediate(count)
    }
    let next = setImmediate(count)
    // Each look at the clock finds that much time has passed.
    let clock = 0
    performance.now = () => (clock += 10)
    try {
      t.ok((await parse(bytes))!.metadata.size > 0)
    } finally {
      clearImmediate(next)
    }
    t.ok(events >= 15, `${events} events`)
  })
}

const hostile: Readonly<Record<string, readonly [GgufBytes, code: string, says: RegExp]>> = {
  'an empty file': [new GgufBytes(), 'INF_RUN_DIR_TRUNCATED', /byte 0/],
  'another format': [new GgufBytes().u32(1, 2, 3), 'INF_RUN_DIR_MALFORMED', /does not begin with GGUF/],
  'version 1': [new GgufBytes().raw(Buffer.from('GGUF')).u32(1), 'INF_RUN_DIR_MALFORMED', /the version is 1/],
  'a big-endian file': [
    new GgufBytes().raw(Buffer.from('GGUF')).u32(0x03000000),
    'INF_RUN_DIR_MALFORMED',
    /big-endian/
  ],
  'more tensors than fit': [
    new GgufBytes().header(2n ** 63n, 0),
    'INF_RUN_DIR_TRUNCATED',
    /9223372036854775808 tensors/
  ],
  'more metadata than fits': [
    new GgufBytes().header(0, 2n ** 60n),
    'INF_RUN_DIR_TRUNCATED',
    /metadata values do not fit/
  ],
  'a key that is longer than the file': [
    new GgufBytes()
      .header(0, 1)
      .u64(2n ** 40n)
      .u64(0),
    'INF_RUN_DIR_TRUNCATED',
    /bytes of a string/
  ],
  'an array that is longer than the file': [
    value(ARRAY, file => file.u32(4).u64(2n ** 62n)),
    'INF_RUN_DIR_TRUNCATED',
    /values of an array/
  ],
  'an array of arrays that is longer than the file': [
    value(ARRAY, file => file.u32(ARRAY).u64(3).u64(0)),
    'INF_RUN_DIR_TRUNCATED',
    /3 values of an array/
  ],
  'arrays in arrays without end': [
    value(ARRAY, file => file.u32(ARRAY).u64(1).u32(ARRAY).u64(1).u32(ARRAY).u64(1).u32(ARRAY).u64(1).u64(0, 0, 0, 0)),
    'INF_RUN_DIR_MALFORMED',
    /nested more than 3 deep/
  ],
  'an unknown type of value': [value(13, file => file.u64(0)), 'INF_RUN_DIR_MALFORMED', /value type 13 is unknown/],
  'an unknown type in an array': [value(ARRAY, file => file.u32(99).u64(0)), 'INF_RUN_DIR_MALFORMED', /value type 99/],
  'a flag of 2': [value(7, file => file.raw(Buffer.of(2))), 'INF_RUN_DIR_MALFORMED', /2 is neither true nor false/],
  'a key twice': [
    new GgufBytes().header(0, 2).text('a').u32(4, 1).text('a').u32(4, 1),
    'INF_RUN_DIR_MALFORMED',
    /key "a" occurs twice/
  ],
  'a tensor twice': [
    new GgufBytes().header(2, 0).tensor('a', [1], F32, 0).tensor('a', [1], F32, 32).align().u64(0, 0, 0, 0, 0),
    'INF_RUN_DIR_MALFORMED',
    /tensor "a" occurs twice/
  ],
  'overlapping tensors': [
    new GgufBytes().header(2, 0).tensor('a', [16], F32, 0).tensor('b', [1], F32, 32).align().raw(Buffer.alloc(64)),
    'INF_RUN_DIR_MALFORMED',
    /tensor "b" overlaps/
  ],
  'no dimensions': [tensor('a', [], F32, 0), 'INF_RUN_DIR_MALFORMED', /0 dimensions/],
  'five dimensions': [tensor('a', [1, 1, 1, 1, 1], F32, 0), 'INF_RUN_DIR_MALFORMED', /5 dimensions/],
  'a dimension of 0': [tensor('a', [0], F32, 0), 'INF_RUN_DIR_MALFORMED', /dimension of 0/],
  'a dimension beyond all files': [tensor('a', [2n ** 63n], F32, 0), 'INF_RUN_DIR_MALFORMED', /dimension of 9223/],
  'dimensions whose product overflows': [
    tensor('a', [2n ** 40n, 2n ** 40n], F32, 0),
    'INF_RUN_DIR_TRUNCATED',
    /"a" ends at byte 4835/
  ],
  'a tensor after the end of the file': [tensor('a', [8], F32, 0), 'INF_RUN_DIR_TRUNCATED', /ends at byte/],
  'an offset that overflows': [tensor('a', [1], F32, 2n ** 64n - 32n), 'INF_RUN_DIR_TRUNCATED', /ends at byte/],
  'an offset that is not aligned': [tensor('a', [1], F32, 4), 'INF_RUN_DIR_MALFORMED', /not a multiple of 32/],
  'rows that are not whole blocks': [
    tensor('a', [33], 8, 0),
    'INF_RUN_DIR_MALFORMED',
    /rows of 33 weights, not a multiple of 32 as in Q8_0/
  ],
  'an element type that is not supported': [
    tensor('a', [256], 16, 0),
    'INF_RUN_DIR_TENSOR_INVALID',
    /a has the element type IQ2_XXS, which is not supported; supported: F32,.*IQ4_XS/
  ],
  'an element type that is unknown': [tensor('a', [256], 77, 0), 'INF_RUN_DIR_TENSOR_INVALID', /type number 77/],
  'an alignment that is no power of 2': [
    new GgufBytes().header(0, 1).text('general.alignment').u32(4, 24),
    'INF_RUN_DIR_MALFORMED',
    /general\.alignment is 24/
  ]
}

for (const [what, [file, code, message]] of Object.entries(hostile)) {
  t.test(`refuses ${what}, naming the file and the place`, async t => {
    const { bytes } = file
    await t.rejects(parse(bytes), { code, message, data: { file: 'model.gguf', offset: Number } })
    const path = join(await temporaryFolder(t), 'hostile.gguf')
    await writeFile(path, bytes)
    await t.rejects(readGguf(path), { code })
  })
}

t.test('a header that was cut anywhere is truncated, or incomplete if the file continues', async t => {
  const whole = await readFile(join(folder, 'vocabulary-gemma.gguf'))
  const { counterexample } = await fc.check(
    fc.asyncProperty(fc.integer({ min: 0, max: whole.byteLength - 33 }), async length => {
      const cut = whole.subarray(0, length)
      if ((await parseGguf('model.gguf', whole.byteLength, cut)) !== null) return false
      try {
        await parse(cut)
        return false
      } catch (error) {
        return isSvcError(error, 'INF_RUN_DIR_TRUNCATED')
      }
    })
  )
  t.equal(counterexample, null)
})

t.test(
  'a file with changed bytes is read or refused with a code of the engine, and never read outside the file',
  async t => {
    const whole = await readFile(join(folder, 'qwen2-q4_0.gguf'))
    // The header ends before this offset.
    const headerBytes = 12_000
    const { counterexample } = await fc.check(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.integer({ min: 0, max: headerBytes }), fc.integer({ min: 0, max: 255 })), {
          minLength: 1,
          maxLength: 8
        }),
        async changes => {
          const bytes = Buffer.from(whole)
          for (const [at, byte] of changes) bytes[at] = byte
          try {
            const { tensors } = (await parse(bytes))!
            return [...tensors.values()].every(
              ({ offset, byteLength }) => offset >= 0 && offset + byteLength <= bytes.byteLength
            )
          } catch (error) {
            return isSvcError(error) && error.code.startsWith('INF_RUN_DIR_')
          }
        }
      )
    )
    t.equal(counterexample, null)
  }
)

t.test('a model with changed metadata is read or refused with a code of the engine', async t => {
  const whole = await readFile(join(folder, 'llama3-q4_0-00001-of-00002.gguf'))
  const second = await readFile(join(folder, 'llama3-q4_0-00002-of-00002.gguf'))
  const path = await temporaryFolder(t)
  await writeFile(join(path, 'm-00002-of-00002.gguf'), second)
  const { counterexample } = await fc.check(
    fc.asyncProperty(fc.integer({ min: 24, max: 12_000 }), fc.integer({ min: 0, max: 255 }), async (at, byte) => {
      const bytes = Buffer.from(whole)
      bytes[at] = byte
      await writeFile(join(path, 'm-00001-of-00002.gguf'), bytes)
      try {
        await readGgufModel((await findGguf(path))!)
        return true
      } catch (error) {
        return isSvcError(error) && error.code.startsWith('INF_')
      }
    }),
    { numRuns: 60 }
  )
  t.equal(counterexample, null)
})

t.test('finds a file, the only file of a folder, or all parts of a set', async t => {
  const path = await temporaryFolder(t)
  const parts = [1, 2].map(part => join(path, `m-0000${part}-of-00002.gguf`))
  t.equal(await findGguf(path), null)
  t.equal(await findGguf(join(path, 'absent.gguf')), null)
  for (const part of parts) await writeFile(part, '')
  await writeFile(join(path, 'mmproj-m.gguf'), '')
  t.same(await findGguf(path), parts)
  t.same(await findGguf(parts[1]!), parts)
  await writeFile(join(path, 'other.gguf'), '')
  t.same(await findGguf(join(path, 'other.gguf')), [join(path, 'other.gguf')])
  await t.rejects(findGguf(path), { code: 'INF_RUN_DIR_MALFORMED', message: /several GGUF models/ })
})

t.test('a set with a missing, foreign or cut part is refused', async t => {
  const path = await temporaryFolder(t)
  const name = (part: number) => join(path, `m-0000${part}-of-00002.gguf`)
  const source = (part: number) => join(folder, `llama3-q4_0-0000${part}-of-00002.gguf`)
  const read = async () => readGgufModel((await findGguf(path))!)
  await copyFile(source(1), name(1))
  await t.rejects(read(), { code: 'INF_RUN_DIR_FILE_MISSING', data: { file: name(2) } })
  await copyFile(source(1), name(2))
  await t.rejects(read(), { code: 'INF_RUN_DIR_MALFORMED', message: /part 1 of 2, but its name says part 2 of 2/ })
  await copyFile(join(folder, 'qwen2.gguf'), name(2))
  await t.rejects(read(), { code: 'INF_RUN_DIR_MALFORMED', message: /it is not part of a set/ })
  await copyFile(source(2), name(2))
  t.ok((await read()).tensors.has('model.norm.weight'))
  await truncate(name(2), 16_000)
  await t.rejects(read(), { code: 'INF_RUN_DIR_TRUNCATED', data: { file: name(2) } })
})

t.test('a folder is not a file, and an unreadable path names itself', async t => {
  const path = await temporaryFolder(t)
  await mkdir(join(path, 'a.gguf'))
  await t.rejects(readGguf(join(path, 'a.gguf')), { code: 'INF_RUN_DIR_MALFORMED', message: /not a regular file/ })
  await t.rejects(readGguf(join(path, 'b.gguf')), {
    code: 'INF_RUN_DIR_FILE_MISSING',
    data: { file: join(path, 'b.gguf') }
  })
})

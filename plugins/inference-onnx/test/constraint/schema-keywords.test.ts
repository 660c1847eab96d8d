import Ajv2020 from 'ajv/dist/2020.js'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { byteVocabulary, closingLogit, OutputConstraints, write } from '../support/writers.ts'

type Schema = Record<string, unknown>

const constraints = new OutputConstraints(byteVocabulary)
const ajv = new Ajv2020.default({
  strict: false,
  validateFormats: false,
  ownProperties: true,
  addUsedSchema: false,
  // Without it, 0.3 is no multiple of 0.1.
  multipleOfPrecision: 9
})

async function accepts(schema: Schema, text: string): Promise<boolean> {
  const matcher = await constraints.matcher({ type: 'json-schema', schema }, { ignoreEnd: false })
  for (const byte of Buffer.from(text)) {
    const allowed = matcher.allowed()
    if (((allowed[byte >> 5] ?? 0) & (1 << (byte & 31))) === 0) return false
    matcher.accept(byte)
  }
  const end = byteVocabulary.size - 1
  return (matcher.allowed()[end >> 5] ?? 0) >>> (end & 31) === 1
}

async function check(t: Test, schema: Schema, accepted: readonly unknown[], rejected: readonly unknown[]) {
  for (const value of accepted) t.ok(await accepts(schema, JSON.stringify(value)), `accepts ${JSON.stringify(value)}`)
  for (const value of rejected)
    t.notOk(await accepts(schema, JSON.stringify(value)), `rejects ${JSON.stringify(value)}`)
}

t.test('multipleOf counts in decimals', async t => {
  await check(t, { type: 'integer', multipleOf: 7 }, [0, 7, -14, 700, 1_000_006], [1, -13, 8])
  await check(t, { type: 'number', multipleOf: 0.1 }, [0.3, -2, 1.5, 0], [0.35, 1.05])
  await check(t, { type: 'number', multipleOf: 2.5, minimum: 3, exclusiveMaximum: 10 }, [5, 7.5], [2.5, 10, 6])
  await check(t, { type: 'integer', allOf: [{ multipleOf: 4 }, { multipleOf: 6 }] }, [12, -24], [4, 6, 18])
  await check(t, { type: 'integer', multipleOf: 1.5 }, [3, -6], [1, 2])
  await check(t, { multipleOf: 1e-3, enum: [0.002, 0.0005, 'x'] }, [0.002], [0.0005])
  t.ok(await accepts({ type: 'number', multipleOf: 0.5 }, '1.500'))
  t.notOk(await accepts({ type: 'number', multipleOf: 0.5 }, '1.501'))
})

t.test('uniqueItems excludes values that were used', async t => {
  const colours = { items: { enum: ['red', 'green', 'blue'] }, uniqueItems: true }
  await check(t, colours, [[], ['red'], ['blue', 'red', 'green']], [['red', 'red'], ['red', 'green', 'red'], ['pink']])
  await check(t, { ...colours, minItems: 2, maxItems: 2 }, [['green', 'red']], [['red'], ['red', 'green', 'blue']])
  await check(
    t,
    {
      items: { anyOf: [{ type: 'boolean' }, { type: 'null' }, { type: 'integer', minimum: 1, maximum: 2 }] },
      uniqueItems: true
    },
    [[true, null, 2, 1, false]],
    [[true, true], [1, 2, 1], [3]]
  )
  const equal = {
    items: {
      enum: [
        { a: 1, b: 2 },
        { b: 2, a: 1 }
      ]
    },
    uniqueItems: true
  }
  t.ok(await accepts(equal, '[{"b":2,"a":1}]'))
  t.notOk(await accepts(equal, '[{"b":2,"a":1},{"b":2,"a":1}]'))
  await check(t, { uniqueItems: true, maxItems: 1, items: { type: 'string' } }, [['any']], [['a', 'b']])
  await check(t, { uniqueItems: false, items: { const: 1 } }, [[1, 1]], [])
  await t.rejects(accepts({ ...colours, minItems: 4 }, '[]'), { message: /no value/ })
})

t.test('patternProperties applies all matching patterns, and the rest are additional', async t => {
  const schema = {
    type: 'object',
    properties: { x1: { minimum: 5 }, plain: { type: 'null' } },
    patternProperties: { '^x': { type: 'integer' }, '1$': { maximum: 9 } },
    additionalProperties: { type: 'boolean' }
  }
  await check(
    t,
    schema,
    [{ x1: 7, plain: null, xy: 100, other: true }, { a1: 8.5, x21: 3 }, {}],
    [{ x1: 4 }, { x1: 10 }, { xy: 1.5 }, { a1: 10 }, { other: 1 }, { x21: 10 }]
  )
  await check(t, { patternProperties: { '^a': {} }, additionalProperties: false }, [{ a: 1, ab: [] }], [{ b: 1 }])
  await check(t, { patternProperties: { '^a': { const: 1 } } }, [{ a: 1 }], [{ a: 2 }, { b: 1 }])
  await check(t, { patternProperties: { a: false }, additionalProperties: true }, [{ b: 1 }, {}], [{ xay: 1 }])
  const [one, two] = [{ patternProperties: { '^a': {} }, additionalProperties: { type: 'null' } }, { maxProperties: 3 }]
  await check(t, { allOf: [one, two] }, [{ a: 1, b: null }], [{ b: 1 }])
})

t.test('propertyNames restricts all names', async t => {
  const schema = {
    type: 'object',
    properties: { ab: { const: 1 }, ABC: { const: 2 } },
    additionalProperties: { type: 'integer' },
    propertyNames: { pattern: '^[a-z]+$', maxLength: 3 }
  }
  await check(t, schema, [{ ab: 1, xyz: 3 }, {}], [{ ABC: 2 }, { wxyz: 1 }, { '': 1 }])
  await check(
    t,
    { propertyNames: { enum: ['a', 'b'] }, additionalProperties: { type: 'null' } },
    [{ a: null }],
    [{ c: null }]
  )
  await check(t, { propertyNames: false }, [{}], [{ a: 1 }])
  await t.rejects(accepts({ required: ['A'], propertyNames: { pattern: '^a$' } }, '{}'), { message: /no value/ })
})

t.test('minProperties and maxProperties count properties', async t => {
  const properties = { a: { const: 1 }, b: { const: 1 }, c: { const: 1 } }
  await check(
    t,
    { properties, minProperties: 2 },
    [
      { a: 1, c: 1 },
      { a: 1, b: 1, c: 1 }
    ],
    [{}, { b: 1 }]
  )
  await check(t, { properties, maxProperties: 1 }, [{}, { c: 1 }], [{ a: 1, b: 1 }])
  await check(
    t,
    { properties, required: ['b'], minProperties: 2, maxProperties: 2 },
    [{ a: 1, b: 1 }],
    [{ b: 1 }, { a: 1, c: 1 }]
  )
  const other = { additionalProperties: { const: 1 } }
  await check(
    t,
    { ...other, minProperties: 1, maxProperties: 2 },
    [{ x: 1 }, { x: 1, y: 1 }],
    [{}, { x: 1, y: 1, z: 1 }]
  )
  await check(t, { ...other, required: ['p', 'q'], minProperties: 2 }, [{ p: 1, q: 1 }], [{ p: 1 }])
})

t.test('contains requires matching items', async t => {
  const schema = { type: 'array', items: { type: 'integer' }, contains: { minimum: 5 } }
  await check(t, schema, [[5], [1, 9], [7, 1, 2]], [[], [1, 2]])
  await check(
    t,
    { ...schema, minContains: 2, maxItems: 3 },
    [
      [5, 6],
      [5, 1, 6]
    ],
    [[5, 1, 1], [5], [5, 6, 7, 8]]
  )
  await check(t, { ...schema, minContains: 0 }, [[], [1]], [])
  await check(
    t,
    { prefixItems: [{ const: 1 }, { const: 2 }], items: false, contains: { const: 2 } },
    [[1, 2]],
    [[1], []]
  )
})

t.test('not excludes types and values', async t => {
  await check(t, { type: 'string', not: { enum: ['admin', 'root'] } }, ['a', 'adminx', ''], ['admin', 'root'])
  await check(t, { not: { type: ['object', 'array', 'number'] } }, ['x', true, null], [1, {}, []])
  await check(t, { type: ['boolean', 'null'], not: { const: true } }, [false, null], [true])
  await check(t, { enum: ['a', 'b', 1], not: { const: 'b' } }, ['a', 1], ['b'])
  await check(t, { type: 'string', not: { const: 'é"' }, maxLength: 2 }, ['é', '"é'], ['é"'])
  await t.rejects(accepts({ not: {} }, '1'), { message: /no value/ })
  t.notOk(await accepts({ type: 'string', not: { const: 'a' } }, '"\\u0061"'), 'escapes do not hide a value')
})

const scalar = fc.constantFrom<unknown>(null, true, false, 0, 1, 2, 3, 6, -1.5, 0.5, 'a', 'b', 'ab', '')
const value = fc.constantFrom<Schema | boolean>(
  { type: 'integer' },
  { type: 'number', multipleOf: 0.5 },
  { type: 'integer', multipleOf: 3 },
  { type: 'integer', multipleOf: 2, minimum: -4, maximum: 6 },
  { enum: [0, 'a', null] },
  { type: 'string', not: { const: 'a' } },
  { not: { type: ['object', 'array', 'number'] } },
  { type: 'boolean' },
  true,
  false
)
const pattern = fc.constantFrom('^a', 'b$', '^[a-c]{1,2}$', '.', 'zz')
const count = (low: string, high: string) =>
  fc
    .tuple(fc.nat(2), fc.option(fc.nat(3)))
    .map(([min, more]) => ({ [low]: min, ...(more === null ? {} : { [high]: min + more }) }))
const objects = fc
  .record(
    {
      properties: fc.dictionary(fc.constantFrom('a', 'b', 'ab'), value, { maxKeys: 3, noNullPrototype: true }),
      patternProperties: fc.dictionary(pattern, value, { maxKeys: 2, noNullPrototype: true }),
      propertyNames: fc.constantFrom<Schema>({ pattern: '^[ab]' }, { maxLength: 1 }, { enum: ['a', 'ab', 'x'] }),
      required: fc.subarray(['a', 'b']),
      // With other names open, a minimum above the required properties is refused.
      additionalProperties: value
    },
    { requiredKeys: ['additionalProperties'] }
  )
  .chain(object =>
    count('minProperties', 'maxProperties').map(range => ({ type: 'object', ...object, ...range }) as Schema)
  )
const arrays = fc
  .tuple(
    fc.record({ items: value, contains: value, minContains: fc.nat(2) }, { requiredKeys: ['items'] }),
    count('minItems', 'maxItems'),
    fc.boolean()
  )
  .map(([array, range, isUnique]): Schema => ({ type: 'array', ...array, ...range, uniqueItems: isUnique }))
const schemas = fc.oneof(objects, arrays)
const samples = fc.array(
  fc.oneof(
    fc.array(scalar, { maxLength: 4 }),
    fc.dictionary(fc.constantFrom('a', 'ab', 'b', 'x', 'zz', 'ca'), scalar, { maxKeys: 3, noNullPrototype: true })
  ),
  { minLength: 12, maxLength: 12 }
)

/** Puts the properties that the schema names first, in its order, as the engine writes them. */
function ordered(schema: Schema, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const names = [...Object.keys((schema.properties ?? {}) as object), ...((schema.required ?? []) as string[])]
  const place = (name: string) => (names.includes(name) ? names.indexOf(name) : names.length)
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => place(a) - place(b)))
}

t.test('generated texts are valid, and valid values are accepted', async t => {
  const seen = { generated: 0, accepted: 0, rejected: 0 }
  await fc.assert(
    fc.asyncProperty(schemas, samples, fc.nat(2 ** 30), async (schema, values, seed) => {
      const constraint = { type: 'json-schema', schema } as const
      const problem = await constraints.matcher(constraint, { ignoreEnd: false }).then(
        () => null,
        (error: Error) => error
      )
      const isValid = ajv.compile(schema)
      if (problem !== null && /additional properties|known values|with "uniqueItems"/.test(problem.message)) return
      if (problem !== null && !/no value/.test(problem.message)) throw problem
      for (const each of values) {
        const sample = ordered(schema, each)
        const expected = isValid(sample)
        if (expected !== (problem === null && (await accepts(schema, JSON.stringify(sample))))) {
          throw new Error(`${JSON.stringify(sample)} is ${expected ? 'valid' : 'invalid'}`)
        }
        seen[expected ? 'accepted' : 'rejected']++
      }
      if (problem !== null) return
      const options = { seed, maxTokens: 400, logitOf: closingLogit, temperature: seed % 2 }
      const { text, complete } = await write(constraints, byteVocabulary, constraint, options)
      if (!complete) return
      seen.generated++
      if (!isValid(JSON.parse(text))) throw new Error(`${text} is invalid`)
    }),
    { numRuns: 50 }
  )
  t.ok(Math.min(seen.generated, seen.accepted, seen.rejected) > 8, JSON.stringify(seen))
})

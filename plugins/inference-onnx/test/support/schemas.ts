import fc from 'fast-check'

type Schema = Record<string, unknown>

const name = fc.oneof(
  fc.constantFrom('a', 'b', 'name', 'é', 'with "quotes"', '', 'x/y~z', '\n'),
  fc.string({ maxLength: 3 })
)
const scalar = fc.oneof(
  fc.constantFrom<unknown>(null, true, false, 0, -1.5, 'a', 'b"', '😀\n', ''),
  fc.integer(),
  fc.string({ maxLength: 4 })
)
const json = fc.oneof(
  scalar,
  fc.array(scalar, { maxLength: 2 }),
  fc.dictionary(fc.string({ maxLength: 2 }), scalar, { maxKeys: 2, noNullPrototype: true })
)

/** Generates two optional numbers, the lower one first. */
function range(low: string, high: string, min: number, max: number): fc.Arbitrary<Schema> {
  return fc.tuple(fc.option(fc.integer({ min, max })), fc.option(fc.nat(6))).map(([first, size]) => ({
    ...(first === null ? {} : { [low]: first }),
    ...(size === null ? {} : { [high]: (first ?? min) + size })
  }))
}

const text = fc.oneof(
  range('minLength', 'maxLength', 0, 4).map(length => ({ type: 'string', ...length })),
  fc
    .constantFrom(
      '^[a-z]+$',
      'x',
      '^\\d{3}-\\d{4}$',
      '[^\\u0000-\\u007f]',
      '^"',
      '^\\\\$',
      '^(?:ab|c){1,3}$',
      '\\p{Lu}'
    )
    .map(pattern => ({ type: 'string', pattern })),
  fc.constantFrom('[a-z]{2}', '"').map(pattern => ({ type: 'string', pattern, minLength: 3, maxLength: 9 })),
  fc
    .constantFrom('date', 'time', 'date-time', 'email', 'hostname', 'ipv4', 'uuid')
    .map(format => ({ type: 'string', format }))
)
const number = fc.oneof(
  fc
    .constantFrom('integer', 'number')
    .chain(type => range('minimum', 'maximum', -50, 50).map(bounds => ({ type, ...bounds }))),
  range('exclusiveMinimum', 'maximum', -3, 3).map(bounds => ({ type: 'number', ...bounds })),
  fc.constantFrom<Schema>({ type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 0.5 }, { minimum: 5, maximum: 5 })
)
const plain = fc.oneof(
  fc.constantFrom<unknown>({}, true, { type: 'null' }, { type: 'boolean' }, { type: ['string', 'null'], maxLength: 3 }),
  fc.array(json, { minLength: 1, maxLength: 4 }).map(values => ({ enum: values })),
  json.map(value => ({ const: value })),
  fc.constant({ $ref: '#/$defs/node' }),
  text,
  number
)

const properties = (schema: fc.Arbitrary<unknown>) =>
  fc.uniqueArray(fc.tuple(name, schema, fc.boolean()), { maxLength: 4, selector: ([key]) => key }).map(entries => ({
    type: 'object',
    properties: Object.fromEntries(entries.map(([key, value]) => [key, value])),
    required: entries.filter(([, , required]) => required).map(([key]) => key)
  }))

const { schema } = fc.letrec<{ schema: unknown; object: Schema; array: Schema; choice: Schema }>(tie => ({
  object: fc
    .tuple(properties(tie('schema')), fc.oneof(fc.constantFrom<unknown>(undefined, false, true), tie('schema')))
    .map(([object, additional]) =>
      additional === undefined ? object : { ...object, additionalProperties: additional }
    ),
  array: fc
    .tuple(range('minItems', 'maxItems', 0, 3), fc.option(tie('schema')), fc.array(tie('schema'), { maxLength: 2 }))
    .map(([length, items, prefixItems]) => ({
      type: 'array',
      ...length,
      ...(items === null ? {} : { items }),
      ...(prefixItems.length === 0 ? {} : { prefixItems })
    })),
  choice: fc.oneof(
    fc.array(tie('schema'), { minLength: 1, maxLength: 3 }).map(anyOf => ({ title: 'one of these', anyOf })),
    fc.tuple(properties(plain), properties(plain)).map(allOf => ({ allOf })),
    fc
      .tuple(properties(plain), fc.array(properties(plain), { minLength: 1, maxLength: 2 }))
      .map(([common, anyOf]) => ({ ...common, anyOf }))
  ),
  schema: fc.oneof({ depthSize: 'small' }, plain, tie('object'), tie('array'), tie('choice')) as fc.Arbitrary<unknown>
}))

/** Random schemas of the supported subset, with a recursive definition. */
export const schemas: fc.Arbitrary<Schema> = fc.tuple(schema, schema).map(([root, inner]) => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  $defs: {
    node: {
      type: 'object',
      properties: { value: inner, next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] } },
      required: ['next']
    }
  },
  allOf: [root]
}))

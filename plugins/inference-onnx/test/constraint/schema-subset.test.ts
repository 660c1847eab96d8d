import t, { type Test } from 'tap'
import { byteVocabulary, OutputConstraints } from '../support/writers.ts'

type Schema = Record<string, unknown>

const constraints = new OutputConstraints(byteVocabulary)

/** Returns true if a schema accepts the text; `begin` if the text is the prefix of an accepted one. */
async function accepts(schema: Schema, text: string): Promise<boolean | 'begin'> {
  const matcher = await constraints.matcher({ type: 'json-schema', schema }, { ignoreEnd: false })
  for (const byte of Buffer.from(text)) {
    const allowed = matcher.allowed()
    if (((allowed[byte >> 5] ?? 0) & (1 << (byte & 31))) === 0) return false
    matcher.accept(byte)
  }
  const end = byteVocabulary.size - 1
  return (matcher.allowed()[end >> 5] ?? 0) >>> (end & 31) === 1 ? true : 'begin'
}

/** Checks for each text whether the schema accepts it. */
async function check(t: Test, schema: Schema, texts: Readonly<Record<string, boolean | 'begin'>>): Promise<void> {
  for (const [text, expected] of Object.entries(texts)) t.equal(await accepts(schema, text), expected, text)
}

t.test('requires properties in schema order; optional ones may be omitted', async t => {
  const properties = { a: { type: 'null' }, b: { type: 'null' }, c: { type: 'null' } }
  await check(
    t,
    { type: 'object', properties, required: ['b'] },
    {
      '{"a":null,"b":null,"c":null}': true,
      '{"b":null,"c":null}': true,
      '{"b":null}': true,
      '{"a":null}': false,
      '{"b":null,"a"': false,
      '{}': false
    }
  )
  await check(t, { type: 'object', properties }, { '{}': true, '{"c":null}': true, '{"c":null,': false })
})

t.test('allows one space after a colon or a comma, and no other white space', async t => {
  const schema = { type: 'object', properties: { a: { type: 'array' }, b: {} }, required: ['a', 'b'] }
  await check(t, schema, {
    '{"a": [1, 2], "b": 3}': true,
    '{"a":[1,2],"b":3}': true,
    '{"a":  ': false,
    '{ ': false,
    '{"a":[ ': false,
    '{"a":[1 ': false,
    ' ': false,
    '{\n': false,
    '{"a":[],"b":3} ': false
  })
})

t.test('if a schema has properties, additional ones must be allowed explicitly', async t => {
  const properties = { a: { type: 'integer' } }
  await check(t, { type: 'object', properties }, { '{"a":1}': true, '{"b"': false })
  await check(
    t,
    { type: 'object', properties, additionalProperties: true },
    { '{"b":[{}],"c":"x"}': true, '{"b":1,"a"': false }
  )
  await check(
    t,
    { type: 'object', properties, additionalProperties: { type: 'null' } },
    {
      '{"a":1,"b":null}': true,
      '{"b":1': false
    }
  )
  await check(t, { type: 'object' }, { '{"x":{"y":[]}}': true })
  await check(t, { type: 'object', additionalProperties: false }, { '{}': true, '{"': false })
  await check(
    t,
    { type: 'object', required: ['x'] },
    { '{"x":1}': true, '{"x":1,"y":2}': true, '{"y"': false, '{}': false }
  )
})

t.test('enforces the number of items of a list', async t => {
  await check(
    t,
    { type: 'array', items: { type: 'boolean' }, minItems: 1, maxItems: 2 },
    {
      '[]': false,
      '[true]': true,
      '[true,false]': true,
      '[true,false,': false
    }
  )
  const prefixItems = [{ type: 'null' }, { type: 'boolean' }]
  await check(
    t,
    { type: 'array', prefixItems },
    { '[]': true, '[null]': true, '[null,true]': true, '[null,true,': false }
  )
  await check(
    t,
    { type: 'array', prefixItems, items: { const: 0 } },
    { '[null,true,0,0]': true, '[null,true,1': false }
  )
  await check(t, { type: 'array', prefixItems, minItems: 3 }, { '[null,true,{}]': true, '[null,true]': false })
  await check(t, { type: 'array', items: false }, { '[]': true, '[1': false })
  await check(t, { type: 'array', items: {}, maxItems: 0 }, { '[]': true, '[1': false })
})

t.test('lengths count characters, not bytes', async t => {
  await check(
    t,
    { type: 'string', minLength: 2, maxLength: 3 },
    {
      '"é"': false,
      '"é€"': true,
      '"😀😀😀"': true,
      '"aaaa': false,
      '"\\n\\u00e9"': true,
      '"aaa\\': false
    }
  )
  await check(t, { type: 'string', maxLength: 0 }, { '""': true, '"a': false })
  await check(
    t,
    { type: 'string', minLength: 1, pattern: '^a*$', maxLength: 2 },
    { '""': false, '"aa"': true, '"aaa': false }
  )
})

t.test('types, values and alternatives are enforced', async t => {
  await check(t, { type: ['string', 'null'] }, { null: true, '"x"': true, '1': false })
  await check(t, { enum: [1, 'a', null, { a: [1] }] }, { '1': true, '"a"': true, '{"a":[1]}': true, '2': false })
  await check(
    t,
    { enum: [1, 'a', 2.5, 'long'], type: ['integer', 'string'], maxLength: 2 },
    { '1': true, '"a"': true, '2': false, '"l': false }
  )
  await check(t, { const: 'x', type: 'string' }, { '"x"': true, '"y': false })
  await check(
    t,
    { anyOf: [{ type: 'integer' }, { const: 'x' }], description: 'either' },
    { '12': true, '"x"': true, true: false }
  )
  const either = {
    type: 'object',
    properties: { a: { const: 1 }, b: {}, c: {} },
    required: ['a'],
    anyOf: [{ required: ['b'] }, { required: ['c'] }]
  }
  await check(t, either, {
    '{"a":1}': false,
    '{"a":1,"b":2}': true,
    '{"a":1,"c":2}': true,
    '{"a":1,"b":2,"c":3}': true
  })
  await check(
    t,
    {
      allOf: [
        { type: 'integer', minimum: 3 },
        { type: 'number', maximum: 4 }
      ]
    },
    { '3': true, '4': true, '5': false, '3.5': false }
  )
  await check(t, { properties: { a: { const: 1 } } }, { '{"a":1}': true, '1': false })
  await check(t, { maxLength: 2 }, { '"ab"': true, '1': false })
})

t.test('schemas may contain local references', async t => {
  const tree = {
    $ref: '#/$defs/a~1b%20c',
    $defs: {
      'a/b c': {
        type: 'object',
        properties: { left: { anyOf: [{ $ref: '#' }, { type: 'null' }] }, value: { $ref: '#/$defs/n/items' } },
        required: ['left', 'value']
      },
      n: { items: { type: 'integer', minimum: 0 } }
    }
  }
  await check(t, tree, {
    '{"left":null,"value":1}': true,
    '{"left":{"left":null,"value":2},"value":1}': true,
    '{"left":{"left":null},': false,
    '{"left":1': false
  })
})

t.test('rejects an unsupported keyword, naming it and its path', async t => {
  const cases: readonly [schema: Schema, path: string, message: RegExp][] = [
    [{ type: 'object', properties: { 'a/b': { not: { minimum: 1 } } } }, '#/properties/a~1b/not', /"not"/],
    [{ not: { type: 'string', maxLength: 3 } }, '#/not', /"not" is supported only with one of/],
    [{ not: { const: 1 } }, '#/not', /"not" with numbers/],
    [{ type: 'number', not: { type: 'integer' } }, '#', /"not" with the type "integer"/],
    [{ type: 'array', items: { multipleOf: 0 } }, '#/items/multipleOf', /0 is not a number above 0/],
    [{ multipleOf: 'x' }, '#/multipleOf', /"x" is not a number above 0/],
    [{ multipleOf: { toString: 1 } }, '#/multipleOf', /\{"toString":1\} is not a number above 0/],
    [{ multipleOf: 1.0001 }, '#/multipleOf', /more than 10000 states/],
    [{ anyOf: [{}, { uniqueItems: true }] }, '#/anyOf/1/uniqueItems', /at most 12 known values/],
    [{ uniqueItems: true, items: { type: 'string' } }, '#/uniqueItems', /known values/],
    [{ uniqueItems: true, items: { minimum: 0, maximum: 20, type: 'integer' } }, '#/uniqueItems', /12 known values/],
    [{ uniqueItems: true, items: { enum: [1] }, contains: { const: 1 } }, '#/contains', /"uniqueItems"/],
    [{ uniqueItems: 1 }, '#/uniqueItems', /true or false/],
    [{ contains: {}, maxContains: 2 }, '#/maxContains', /"maxContains"/],
    [{ allOf: [{ contains: {} }, { contains: { const: 1 } }] }, '#/allOf/1/contains', /a second "contains"/],
    [{ $defs: { x: { if: {} } }, $ref: '#/$defs/x' }, '#/$defs/x/if', /"if"/],
    [{ patternProperties: { '(?=a)': {} } }, '#/patternProperties/(?=a)', /look-around/],
    [
      { patternProperties: { a: {}, b: {}, c: {}, d: {}, e: {}, f: {} } },
      '#/patternProperties/a',
      /more than 5 patterns/
    ],
    [{ propertyNames: { type: 'string', not: {} } }, '#/propertyNames/not', /in the schema of names/],
    [{ type: 'object', minProperties: 2 }, '#/minProperties', /additional properties/],
    [{ dependentRequired: {} }, '#/dependentRequired', /"dependentRequired"/],
    [{ type: 'string', format: 'iri' }, '#/format', /"iri".*date/],
    [{ type: 'string', pattern: 'a(?=b)' }, '#/pattern', /look-around/],
    [{ $ref: 'https://example.org/s.json' }, '#/$ref', /same schema/],
    [{ $ref: '#/$defs/none' }, '#/$ref', /does not exist/],
    [{ type: 'sting' }, '#/type', /"sting"/],
    [{ type: 'string', minLength: -1 }, '#/minLength', /-1/],
    [{ type: 'integer', exclusiveMinimum: true }, '#/exclusiveMinimum', /true/],
    [{ type: 'array', maxItems: 1e9 }, '#/maxItems', /10000/],
    [{ type: 'object', required: 'a' }, '#/required', /list of names/],
    [{ properties: { a: 3 } }, '#/properties/a', /an object or a boolean/],
    [{ enum: [[1]], minItems: 1 }, '#/minItems', /"minItems" next to an array/],
    [{ anyOf: [{ $ref: '#' }, { type: 'null' }] }, '#', /refers back to itself/],
    [{ type: 'string', enum: [1] }, '#', /no value/],
    [{ allOf: [{ type: 'string' }, { type: 'null' }] }, '#', /no value/],
    [{ type: 'object', properties: { a: { $ref: '#' } }, required: ['a'] }, '#', /no value/],
    [{ type: 'string', pattern: 'x{5}', maxLength: 3 }, '#', /no value/]
  ]
  for (const [schema, path, message] of cases) {
    await t.rejects(
      accepts(schema, ''),
      { code: 'INF_CONSTRAINT_UNSUPPORTED', status: 400, message, at: { path } },
      path
    )
  }
})

t.test('ignores annotations and extensions', async t => {
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: 'https://example.org/s.json',
    title: 'T',
    default: 3,
    examples: [1],
    'x-order': 1,
    type: 'integer'
  }
  await check(t, schema, { '7': true, '"': false })
})

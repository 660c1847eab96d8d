import { type JsonSchema, t as s } from '@svc/plugin-sdk'
import { renderProblems, Validator } from '@svc/plugin-sdk/check'
import fc from 'fast-check'
import t from 'tap'

const explain = (schema: JsonSchema, value: unknown, coerce = false) => {
  const validator = new Validator()
  const validate = validator.compile(schema, coerce)
  return validate(value) ? [] : validator.explain(schema, value, validate.errors, coerce)
}

t.test('a schema is compiled once with and once without coercion', t => {
  const schema = s.object({ n: s.integer() })
  const validate = new Validator().compile(schema)
  t.equal(new Validator().compile(schema), validate)
  t.not(new Validator().compile(schema, true), validate)
  t.notOk(validate({ n: '1' }))
  t.ok(new Validator().compile(schema, true)({ n: '1' }))
  t.not(
    new Validator().compile(s.object({ n: s.integer() })),
    validate,
    'an equal schema object is compiled separately'
  )
  t.end()
})

t.test('each problem is described with its path', t => {
  const schema = s.object({
    name: s.string({ minLength: 2 }),
    mode: s.enum(['fast', 'safe']),
    size: s.integer({ minimum: 1 }),
    list: s.array(s.object({ 'a/b': s.boolean() })),
    free: s.record(s.integer())
  })
  const problems = explain(schema, {
    name: 'x',
    mode: 'slow',
    list: [{ 'a/b': true }, { 'a/b': 'no' }, { c: 1 }],
    free: { n: 'x' },
    extra: 1
  })
  t.same(
    new Set(problems.map(({ path, message }) => `${path}: ${message}`)),
    new Set([
      'name: must NOT have fewer than 2 characters',
      'mode: must be one of "fast", "safe"',
      'size: is missing',
      'list.1.a/b: must be boolean',
      'list.2.a/b: is missing',
      'list.2.c: unknown key; known keys: a/b',
      'free.n: must be integer',
      'extra: unknown key; known keys: name, mode, size, list, free'
    ])
  )
  t.match(renderProblems(problems), /mode must be one of "fast", "safe"; /)
  t.end()
})

t.test('a union is described by the alternative that the value resembles, else by all alternatives', t => {
  const shape = s.union([
    s.object({ kind: s.enum(['circle']), radius: s.number() }),
    s.object({ kind: s.enum(['square']), side: s.number({ minimum: 1 }) })
  ])
  const schema = s.object({
    name: s.optional(s.nullable(s.string())),
    size: s.optional(s.union([s.integer(), s.string(), s.integer()])),
    device: s.optional(s.union([s.enum(['auto']), s.integer()])),
    shape: s.optional(shape)
  })
  const text = (value: object): string => renderProblems(explain(schema, value))
  t.equal(text({ name: 1 }), 'name must be string or null')
  t.equal(text({ size: true }), 'size must be integer or string')
  t.equal(text({ device: 'x' }), 'device must be "auto" or integer')
  t.equal(text({ shape: { kind: 'square', side: 0 } }), 'shape.side must be >= 1')
  t.equal(text({ shape: { kind: 'circle' } }), 'shape.radius is missing')
  t.equal(text({ shape: { kind: 'star' } }), 'shape.kind must be one of "circle", "square"')
  t.equal(text({ shape: 'round' }), 'shape must be object')
  t.equal(text({ shape: 1, name: 2 }).includes('anyOf'), false)
  t.end()
})

t.test('a value of the wrong form is described by description and example, never by its pattern', t => {
  const name = s.string({ pattern: '^[a-z]+$', description: 'Lower-case letters', examples: ['weather'] })
  t.equal(
    renderProblems(explain(s.object({ name }), { name: 'X Y' })),
    'name has the wrong form: Lower-case letters; for example weather'
  )
  t.equal(renderProblems(explain(s.string({ pattern: '^x$' }), 'y')), 'has the wrong form')
  t.end()
})

t.test('a problem of the value itself has no path', t => {
  t.equal(renderProblems(explain(s.integer(), 'x')), 'must be integer')
  t.end()
})

t.test('for a large value only the first problem is reported, and long keys are truncated', t => {
  const items = s.object({ items: s.array(s.integer()) })
  t.equal(explain(items, { items: Array(5).fill('x') }).length, 5)
  t.equal(explain(items, { items: Array(100_000).fill('x') }).length, 1)
  t.equal(explain(items, { items: Array(50).fill('x') }).length, 20, 'at most twenty problems are reported')
  const [long] = explain(s.object({}), { ['k'.repeat(1e6)]: 1 })
  t.ok((long?.path.length ?? 0) < 300)
  t.end()
})

t.test('converts strings only with coercion', t => {
  const schema = s.object({ n: s.integer(), on: s.boolean(), list: s.array(s.string()) })
  const value = { n: '7', on: 'true', list: 'one' }
  t.equal(explain(schema, { ...value }).length, 3)
  const coerced = structuredClone(value)
  t.same(explain(schema, coerced, true), [])
  t.same(coerced, { n: 7, on: true, list: ['one'] })
  t.ok(explain(schema, { ...value, n: '' }, true).length > 0, 'an empty string is not converted to 0')
  t.end()
})

t.test('for any schema and value: no problem contains the value', t => {
  const secret = fc.string({ minLength: 12, maxLength: 20 }).map(text => `S3CR3T${text}`)
  const schemas = [
    s.object({ value: s.secret({ pattern: '^[0-9]+$' }) }),
    s.object({ value: s.secret({ maxLength: 3 }) }),
    s.object({ value: s.secret({ format: 'uuid' }) }),
    s.object({ value: s.integer() }),
    s.object({ value: s.enum(['a', 'b']) }),
    s.object({ value: s.nullable(s.boolean()) }),
    s.object({ value: s.union([s.integer(), s.array(s.integer())]) }),
    s.object({ other: s.integer() }),
    { type: 'object', properties: { value: { const: 'x' } } },
    { type: 'object', properties: { value: { not: {} } } },
    { type: 'object', properties: { value: { type: 'array', uniqueItems: true } } }
  ]
  fc.assert(
    fc.property(fc.constantFrom(...schemas), secret, fc.boolean(), (schema, text, coerce) => {
      for (const value of [text, [text], [text, text]]) {
        const problems = explain(schema, { value }, coerce)
        if (JSON.stringify(problems).includes('S3CR3T')) return false
      }
      return true
    })
  )
  t.end()
})

import { defineOperation, definePlugin, type StandardJsonSchema, t as s, toJsonSchema } from '@svc/plugin-sdk'
import { testPlugin } from '@svc/plugin-sdk/testing'
import t from 'tap'
import { z } from 'zod'

t.test('a schema is plain JSON Schema', async t => {
  const schema = s.object(
    {
      name: s.string({ minLength: 1, description: 'Who' }),
      port: s.integer({ default: 80, minimum: 1 }),
      share: s.number({ exclusiveMaximum: 1 }),
      on: s.boolean({ default: false }),
      mode: s.enum(['fast', 'safe']),
      level: s.enum([1, 2, 'all']),
      tags: s.array(s.string(), { uniqueItems: true }),
      limits: s.record(s.integer()),
      note: s.nullable(s.string()),
      either: s.union([s.string(), s.integer()], { title: 'Either' }),
      token: s.secret({ 'x-env': 'TOKEN' }),
      anything: s.unknown(),
      maybe: s.optional(s.string())
    },
    { 'x-section': 'demo' }
  )
  t.same(JSON.parse(JSON.stringify(schema)), {
    type: 'object',
    properties: {
      name: { type: 'string', minLength: 1, description: 'Who' },
      port: { type: 'integer', default: 80, minimum: 1 },
      share: { type: 'number', exclusiveMaximum: 1 },
      on: { type: 'boolean', default: false },
      mode: { type: 'string', enum: ['fast', 'safe'] },
      level: { enum: [1, 2, 'all'] },
      tags: { type: 'array', items: { type: 'string' }, uniqueItems: true },
      limits: { type: 'object', additionalProperties: { type: 'integer' } },
      note: { anyOf: [{ type: 'string' }, { type: 'null' }] },
      either: { anyOf: [{ type: 'string' }, { type: 'integer' }], title: 'Either' },
      token: { type: 'string', 'x-secret': true, 'x-env': 'TOKEN' },
      anything: {},
      maybe: { type: 'string' }
    },
    required: ['name', 'share', 'mode', 'level', 'tags', 'limits', 'note', 'either', 'token', 'anything'],
    additionalProperties: false,
    'x-section': 'demo'
  })
})

t.test('an object without required properties has no `required`, and may allow additional properties', async t => {
  t.same(s.object({}, { additionalProperties: true }), { type: 'object', properties: {}, additionalProperties: true })
})

t.test('making a property optional does not change the original schema', async t => {
  const name = s.string()
  t.same(s.object({ name, other: s.optional(name) }).required, ['name'])
})

const marks = { type: 'object', properties: { count: { type: 'integer', default: 2 } }, additionalProperties: false }
const handmade: StandardJsonSchema<{ count: number }, { count?: number }> = {
  '~standard': { jsonSchema: { input: ({ target }) => (target === 'draft-2020-12' ? marks : {}) } }
}
const zod = z.object({ count: z.int().default(2) })

for (const [library, schema] of [
  ['an object that describes itself', handmade],
  ['zod', zod as unknown as typeof handmade]
] as const) {
  t.test(`a schema of ${library} is accepted`, async t => {
    t.match(toJsonSchema(schema), { properties: { count: { type: 'integer', default: 2 } } })
    const double = defineOperation({ id: 'demo.double', summary: 'x', input: schema, output: schema, effect: 'read' })
    const kernel = await testPlugin(
      definePlugin({
        name: 'demo',
        config: schema,
        operations: [double],
        activate(ctx) {
          ctx.implement(double, ({ count }) => ({ count: count * ctx.config.count }))
        }
      }),
      { settings: { count: 5 } }
    )
    t.same(await kernel.call(double, {}), { count: 10 })
    t.same(await kernel.call(double, { count: 3 }), { count: 15 })
    await t.rejects(kernel.callById('demo.double', { count: 'many' }), { code: 'OPR_INPUT_INVALID' })
    await kernel.close()
  })
}

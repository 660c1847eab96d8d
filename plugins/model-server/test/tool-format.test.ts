import t from 'tap'
import { forcedCall, toolFormat } from '#answer'

const parameters = {
  type: 'object',
  $defs: { place: { type: 'string' } },
  properties: { from: { $ref: '#/$defs/place' }, self: { $ref: '#' }, data: { const: { $ref: '#/$defs/place' } } }
}
const tool = { name: 'f', parameters }
const other = { name: 'g', parameters: { type: 'object' } }

/** Resolves a `$ref` in a schema. */
function follow(schema: unknown, reference: string): unknown {
  return reference
    .split('/')
    .slice(1)
    .reduce((at, step) => (at as Record<string, unknown>)[step], schema)
}

for (const [template, field] of [
  ['<tool_call>', 'arguments'],
  ['[TOOL_CALLS]', 'arguments'],
  ['', 'parameters']
] as const) {
  t.test(`references in function schemas stay valid in the call schema, with template '${template}'`, async t => {
    for (const [at, tools] of [[tool], [tool, other], [other, tool]].entries()) {
      const { constraint } = forcedCall(toolFormat(template), tools, true)
      t.equal(constraint.type, 'json-schema')
      const schema = constraint.type === 'json-schema' ? constraint.schema : {}
      const call = template === '[TOOL_CALLS]' ? schema.items : schema
      const own = at === 0 ? call : (call as { anyOf: object[] }).anyOf[tools.indexOf(tool)]
      const moved = (own as { properties: Record<string, any> }).properties[field]
      t.same(follow(schema, moved.properties.from.$ref), { type: 'string' })
      t.equal(follow(schema, moved.properties.self.$ref), moved)
      t.same(moved.properties.data.const, { $ref: '#/$defs/place' }, 'data is unchanged')
    }
  })
}

t.test('the prefilled start of a call has the format of the template', async t => {
  const prefill = (template: string) => forcedCall(toolFormat(template), [tool], true).prefill
  t.equal(prefill('<tool_call>'), '<tool_call>\n')
  t.equal(prefill('[TOOL_CALLS]'), '[TOOL_CALLS]')
  t.equal(prefill('<|tool|>'), 'functools')
  t.equal(prefill(''), '')
})

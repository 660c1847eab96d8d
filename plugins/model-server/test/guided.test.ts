import t from 'tap'
import { readChatRequest, readCompletionRequest } from '#openai'
import { Grammars } from '#root'
import { connect, say } from './clients.ts'

const SCHEMA = { type: 'object', properties: { city: { type: 'string' } } }

const ROOT = 'root ::= "a"'

t.test("vLLM's and llama.cpp's fields constrain the answer", async t => {
  const cases: [object, object][] = [
    [{ guided_json: SCHEMA }, { field: 'guided_json', value: { type: 'json-schema', schema: SCHEMA } }],
    [{ guided_json: JSON.stringify(SCHEMA) }, { field: 'guided_json', value: { type: 'json-schema', schema: SCHEMA } }],
    [{ guided_regex: '[a-z]+' }, { field: 'guided_regex', value: { type: 'regex', pattern: '[a-z]+' } }],
    [{ guided_choice: ['a.b', 'c|d'] }, { field: 'guided_choice', value: { type: 'regex', pattern: 'a\\.b|c\\|d' } }],
    [{ guided_grammar: ROOT }, { field: 'guided_grammar', value: { type: 'gbnf', grammar: ROOT } }],
    [
      { structured_outputs: { grammar: ROOT } },
      { field: 'structured_outputs.grammar', value: { type: 'gbnf', grammar: ROOT } }
    ],
    [
      { grammar: ROOT, json_schema: null },
      { field: 'grammar', value: { type: 'gbnf', grammar: ROOT } }
    ],
    [
      { grammar: '', json_schema: SCHEMA },
      { field: 'json_schema', value: { type: 'json-schema', schema: SCHEMA } }
    ],
    [
      { structured_outputs: { choice: ['x'], json: null } },
      { field: 'structured_outputs.choice', value: { type: 'regex', pattern: 'x' } }
    ],
    [
      { structured_outputs: { json_object: true }, response_format: { type: 'text' } },
      { field: 'structured_outputs.json_object', value: { type: 'json-object' } }
    ]
  ]
  const grammars = new Grammars()
  for (const [fields, constraint] of cases) {
    const chat = readChatRequest({ messages: say('hi'), ...fields }, grammars)
    t.same(chat.choices[0].intent.constraint, constraint)
    t.same(readCompletionRequest({ prompt: 'hi', ...fields }, grammars).options(0).constraint, constraint)
  }
  const { openai } = await connect(t)
  const answer = await openai.chat.completions.create({
    model: 'toy',
    messages: say('hi'),
    guided_json: SCHEMA
  } as never)
  t.match(answer, { choices: [{ message: { content: '{"city":"text"}' } }] })
})

t.test("errors name the invalid part of vLLM's fields", async t => {
  const { post } = await connect(t)
  const cases: [object, RegExp][] = [
    [{ guided_json: '[' }, /'guided_json' must be a JSON Schema, or its text/],
    [{ guided_json: '{"a":'.repeat(5_000) + 1 + '}'.repeat(5_000) }, /'guided_json'.* nested deeper than 500 levels/],
    [{ guided_regex: '' }, /'guided_regex' must be a regular expression/],
    [{ guided_choice: [] }, /'guided_choice' must be a list of 1 to 1000 strings/],
    [{ guided_choice: ['x'.repeat(16_000), 'y'.repeat(400)] }, /at most 16384 characters in total/],
    [{ guided_grammar: '' }, /'guided_grammar' must be a grammar in GBNF notation/],
    [{ guided_grammar: 7 }, /'guided_grammar' must be a grammar in GBNF notation/],
    [{ json_schema: '[' }, /'json_schema' must be a JSON Schema, or its text/],
    [{ grammar: 'root ::= "a"', json_schema: {} }, /'grammar' cannot be combined with 'json_schema'/],
    [{ structured_outputs: [] }, /'structured_outputs' must be an object/],
    [{ structured_outputs: { structural_tag: '{}' } }, /'structured_outputs\.structural_tag'/],
    [{ guided_regex: 'a', guided_choice: ['b'] }, /'guided_regex' cannot be combined with 'guided_choice'/],
    [{ guided_regex: 'a', response_format: { type: 'json_object' } }, /cannot be combined with 'response_format'/]
  ]
  for (const [fields, message] of cases) {
    const reply = await post('/v1/chat/completions', { messages: say('hi'), ...fields })
    t.equal(reply.status, 400, JSON.stringify(fields).slice(0, 80))
    t.match(await reply.json(), { error: { message } })
  }
})

import fc from 'fast-check'
import t from 'tap'
import { type ToolCallPiece, ToolCallReader, toolFormat } from '#answer'

const FORMATS = {
  tagged: toolFormat('… <tool_call> …'),
  list: toolFormat('… [TOOL_CALLS] …'),
  functools: toolFormat('<|tool|>{{ tools }}<|/tool|>'),
  bare: toolFormat('{{ tools }}')
}
type FormatName = keyof typeof FORMATS

interface Read {
  readonly text: string
  readonly calls: readonly (readonly [name: string, text: string, complete: boolean])[]
}

/** Feeds the chunks of an answer to a reader and returns all its events. */
function read(format: FormatName, chunks: readonly string[], forced = false): Read & { pieces: ToolCallPiece[] } {
  const reader = new ToolCallReader({ format: FORMATS[format], names: ['f', 'g'], offset: 0, forced })
  const pieces = [...chunks.flatMap(chunk => reader.push(chunk)), ...reader.finish()]
  const text = pieces.flatMap(piece => (piece.type === 'text' ? [piece.text] : [])).join('')
  const calls = pieces.flatMap(piece =>
    piece.type === 'called' ? [[piece.call.name, piece.call.arguments, piece.complete] as const] : []
  )
  return { text, calls, pieces }
}

const CASES: readonly (readonly [FormatName, string, Read])[] = [
  ['tagged', 'no call', { text: 'no call', calls: [] }],
  ['tagged', '  a < b, <tool> and <tool_calls  ', { text: '  a < b, <tool> and <tool_calls  ', calls: [] }],
  [
    'tagged',
    '<tool_call>\n{"name": "f", "arguments": {"a": "x}\\"{", "b": [1, {"c": null}]}}\n</tool_call>',
    { text: '', calls: [['f', '{"a": "x}\\"{", "b": [1, {"c": null}]}', true]] }
  ],
  [
    'tagged',
    'Let me see.\n<tool_call>{"name":"f","arguments":{}}</tool_call>\n<tool_call>{"arguments":{"a":1},"name":"g"}</tool_call>\n',
    {
      text: 'Let me see.',
      calls: [
        ['f', '{}', true],
        ['g', '{"a":1}', true]
      ]
    }
  ],
  ['tagged', '<tool_call>{"name":"f"}', { text: '', calls: [['f', '{}', true]] }],
  ['tagged', '<tool_call>{"name":"f","arguments":null}', { text: '', calls: [['f', '{}', true]] }],
  ['tagged', '<tool_call>{"name":"f","arguments":"{\\"a\\":1}"}', { text: '', calls: [['f', '{"a":1}', true]] }],
  ['tagged', '<tool_call>{"name":"h","arguments":{}}</tool_call>', { text: '', calls: [['h', '{}', true]] }],
  ['tagged', '<tool_call>not json</tool_call>', { text: '<tool_call>not json</tool_call>', calls: [] }],
  ['tagged', '<tool_call>{"nam', { text: '<tool_call>{"nam', calls: [] }],
  ['tagged', '<tool_call>{"name":"f","arguments":{"a":"b', { text: '', calls: [['f', '{"a":"b', false]] }],
  ['tagged', '<tool_call>{"name":"f","arguments":{}}</tool_call> done', { text: 'done', calls: [['f', '{}', true]] }],
  ['tagged', '<tool_call>{"name":"f","arguments":{}} and more', { text: 'and more', calls: [['f', '{}', true]] }],
  ['list', '[TOOL_CALLS][{"name":"f","arguments":{"a":1}}]', { text: '', calls: [['f', '{"a":1}', true]] }],
  [
    'list',
    '[TOOL_CALLS] [{"name":"f","arguments":{"a":1}}, {"name":"g","arguments":{}}]',
    {
      text: '',
      calls: [
        ['f', '{"a":1}', true],
        ['g', '{}', true]
      ]
    }
  ],
  ['list', '[TOOL_CALLS]{"name":"f","arguments":{}}', { text: '', calls: [['f', '{}', true]] }],
  ['list', '[TOOL_CALLS]f[ARGS]{"a":{"b":"}"}}', { text: '', calls: [['f', '{"a":{"b":"}"}}', true]] }],
  [
    'list',
    '[TOOL_CALLS]f[ARGS]{}[TOOL_CALLS]g{"a":1} more',
    {
      text: 'more',
      calls: [
        ['f', '{}', true],
        ['g', '{"a":1}', true]
      ]
    }
  ],
  ['list', '[TOOL_CALLS]f and [ARGS]', { text: '[TOOL_CALLS]f and [ARGS]', calls: [] }],
  ['list', '[TOOL_CALLS][]', { text: '[TOOL_CALLS][]', calls: [] }],
  ['functools', 'functools[{"name":"f","arguments":{}}]', { text: '', calls: [['f', '{}', true]] }],
  ['functools', 'Use functools: partial', { text: 'Use functools: partial', calls: [] }],
  ['bare', '{"name": "f", "parameters": {"a": 1}}', { text: '', calls: [['f', '{"a": 1}', true]] }],
  ['bare', '\n{"type":"function","function":"f","parameters":{}}', { text: '', calls: [['f', '{}', true]] }],
  ['bare', '<|python_tag|>{"name":"f","parameters":{}}', { text: '', calls: [['f', '{}', true]] }],
  [
    'bare',
    '{"name":"f","parameters":{}}; {"name":"g","parameters":{}}',
    {
      text: '',
      calls: [
        ['f', '{}', true],
        ['g', '{}', true]
      ]
    }
  ],
  ['bare', '{"name": "nobody", "parameters": {}}', { text: '{"name": "nobody", "parameters": {}}', calls: [] }],
  ['bare', '{"answer": 42}', { text: '{"answer": 42}', calls: [] }],
  ['bare', '{"answer": 42', { text: '{"answer": 42', calls: [] }],
  ['bare', 'see {"name":"f","parameters":{}}', { text: 'see {"name":"f","parameters":{}}', calls: [] }],
  ['bare', '<|python_tag|>print(1)', { text: '<|python_tag|>print(1)', calls: [] }]
]

for (const [format, answer, expected] of CASES) {
  t.test(`${format}: ${JSON.stringify(answer)} has the same result however it is split into chunks`, async t => {
    const plain = ({ text, calls }: Read) => ({ text, calls })
    t.same(plain(read(format, [answer])), expected)
    t.same(plain(read(format, [...answer])), expected)
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 9 })), lengths => {
        const chunks: string[] = []
        let at = 0
        for (const length of lengths) {
          chunks.push(answer.slice(at, at + length))
          at += length
        }
        t.same(plain(read(format, [...chunks, answer.slice(at)])), expected)
      }),
      { numRuns: 30 }
    )
  })
}

t.test('the pieces of the arguments join to the whole arguments', async t => {
  for (const [format, answer] of CASES) {
    const { pieces } = read(format, [...answer])
    for (const piece of pieces) {
      if (piece.type !== 'called') continue
      const { index, arguments: whole } = piece.call
      const parts = pieces.flatMap(each => (each.type === 'arguments' && each.index === index ? [each.text] : []))
      t.equal(parts.join(''), whole)
    }
  }
})

t.test('emits a call as soon as its name is known, and its arguments while they are generated', async t => {
  const reader = new ToolCallReader({ format: FORMATS.tagged, names: ['f'], offset: 0 })
  t.same(reader.push('<tool_call>\n{"name": "f'), [])
  t.match(reader.push('", "arg'), [{ type: 'call', index: 0, id: /^call_\w{24}$/, name: 'f' }])
  t.same(reader.push('uments": {"a": '), [{ type: 'arguments', index: 0, text: '{"a": ' }])
  t.same(reader.push('1'), [{ type: 'arguments', index: 0, text: '1' }])
  t.match(reader.push('}}'), [{ type: 'arguments', text: '}' }, { type: 'called' }])
})

t.test('delays only text that could be the start of a call', async t => {
  const reader = new ToolCallReader({ format: FORMATS.tagged, names: ['f'], offset: 0 })
  t.match(reader.push('if a <'), [{ text: 'if a' }])
  t.match(reader.push(' b'), [{ text: ' < b' }])
  t.same(reader.push(' <tool'), [])
  t.match(reader.push('s>'), [{ text: ' <tools>' }])
})

t.test('an answer with a prefilled call starts inside the call', async t => {
  t.match(read('tagged', ['{"name":"f","arguments":{}}'], true), { text: '', calls: [['f', '{}', true]] })
  t.match(read('list', ['[{"name":"f","arguments":{}}]'], true), { text: '', calls: [['f', '{}', true]] })
})

t.test('ids have the form that the template requires', async t => {
  t.match(FORMATS.list.newId(), /^[A-Za-z0-9]{9}$/)
  t.not(FORMATS.bare.newId(), FORMATS.bare.newId())
})

t.test('an answer without calls loses no text', async t => {
  const piece = fc.oneof(
    fc.string(),
    fc.constantFrom('<tool_call>', '</tool_call>', '{', '}', '[TOOL_CALLS]', '[', ' ', '\n', '"name":', '<', '"x"', ',')
  )
  const whole = fc.array(piece, { maxLength: 12 }).map(pieces => pieces.join(''))
  fc.assert(
    fc.property(fc.constantFrom<FormatName>('tagged', 'list', 'functools', 'bare'), whole, (format, answer) => {
      const { text, calls } = read(format, [...answer])
      return calls.length > 0 || text.replace(/\s/g, '') === answer.replace(/\s/g, '')
    }),
    { numRuns: 700 }
  )
  t.pass()
})

import fc from 'fast-check'
import t from 'tap'
import { GoTemplate, isGoTemplate } from '#ollama'

const MESSAGES = [
  { role: 'system' as const, content: 'be brief' },
  { role: 'user' as const, content: 'hi' }
]
const WEATHER = {
  name: 'weather',
  description: 'Shows the <weather>',
  parameters: { type: 'object', properties: { city: { type: 'string' }, at: { type: 'string' } }, required: ['city'] }
}

const renderedFor = (template: string, input: Partial<Parameters<GoTemplate['render']>[0]> = {}): string =>
  new GoTemplate(template).render({ messages: MESSAGES, ...input })

t.test('a template over .System, .Prompt and .Response ends where the answer begins', async t => {
  const cases: [template: string, withSystem: string, without: string][] = [
    ['{{ .Prompt }}', 'hi', 'hi'],
    ['{{.System}} {{.Prompt}}', 'be brief hi', ' hi'],
    ['{{ if .System }}S: {{ .System }}\n{{ end }}U: {{ .Prompt }}', 'S: be brief\nU: hi', 'U: hi'],
    ['{{ if .System }}a{{ else }}b{{ end }}', 'a', 'b'],
    ['{{ if .System }}{{ if .Prompt }}c{{ end }}{{ end }}d', 'cd', 'd'],
    ['a \n{{- .Prompt -}}\n b', 'ahib', 'ahib'],
    ['{{ .Prompt }}A:{{ .Response }}<end>', 'hiA:', 'hiA:'],
    ['{{ if .Prompt }}A:{{ .Response }}<end>{{ end }}more', 'A:', 'A:'],
    ['{{/* a }} note */}}{{ .Prompt }}', 'hi', 'hi'],
    ['{{ if .Response }}x{{ end }}{{ .Prompt }}', 'hi', 'hi']
  ]
  for (const [template, withSystem, without] of cases) {
    t.equal(renderedFor(template), withSystem, template)
    t.equal(renderedFor(template, { messages: MESSAGES.slice(1) }), without, template)
  }
})

t.test('earlier questions are rendered with their answers, and the last answer is continued', async t => {
  const template = '{{ if .System }}<s>{{ .System }}</s>{{ end }}[{{ .Prompt }}]{{ .Response }}.'
  const messages = [
    ...MESSAGES,
    { role: 'assistant' as const, content: 'hello' },
    { role: 'user' as const, content: 'two' },
    { role: 'user' as const, content: 'three' }
  ]
  t.equal(renderedFor(template, { messages }), '<s>be brief</s>[hi]hello.[two\n\nthree]')
  const begun = [...messages, { role: 'assistant' as const, content: 'fo' }]
  t.equal(renderedFor(template, { messages: begun }), '<s>be brief</s>[hi]hello.[two\n\nthree]fo')
  t.equal(renderedFor('[{{ .Prompt }}]', { messages }), '[hi]hello[two\n\nthree]', 'the answer follows by itself')
})

t.test('templates with messages, tools and thoughts render as Ollama renders them', async t => {
  const llama = `{{- if or .System .Tools }}<|h|>system
{{- if .System }}
{{ .System }}{{- end }}
{{- if .Tools }}
Tools:
{{- range .Tools }}
{{ . }}{{ end }}{{ end }}<|e|>{{ end }}
{{- range $i, $_ := .Messages }}
{{- $last := eq (len (slice $.Messages $i)) 1 }}
{{- if eq .Role "user" }}<|h|>user
{{ .Content }}<|e|>{{ if $last }}<|h|>assistant
{{ end }}
{{- else if eq .Role "assistant" }}<|h|>assistant
{{- if .ToolCalls }}
{{ range .ToolCalls }}{"name": "{{ .Function.Name }}", "parameters": {{ .Function.Arguments }}}{{ end }}
{{- else }}
{{ .Content }}
{{- end }}{{ if not $last }}<|e|>{{ end }}
{{- else if eq .Role "tool" }}<|h|>{{ .ToolName }}
{{ .Content }}<|e|>{{ if $last }}<|h|>assistant
{{ end }}
{{- end }}
{{- end }}`
  const call = { id: 'a', name: 'weather', arguments: { city: 'Bonn' } }
  const messages = [
    ...MESSAGES,
    { role: 'assistant' as const, content: '', toolCalls: [call] },
    { role: 'tool' as const, content: 'rain', name: 'weather', toolCallId: 'a' }
  ]
  const tool = `{"type":"function","function":{"name":"weather","description":"Shows the \\u003cweather\\u003e","parameters":${JSON.stringify(WEATHER.parameters)}}}`
  const expected = [
    `<|h|>system\nbe brief\nTools:\n${tool}<|e|>`,
    '<|h|>user\nhi<|e|>',
    '<|h|>assistant\n{"name": "weather", "parameters": {"city":"Bonn"}}<|e|>',
    '<|h|>weather\nrain<|e|><|h|>assistant\n'
  ]
  t.equal(renderedFor(llama, { messages, tools: [WEATHER] }), expected.join(''))
  t.match(new GoTemplate(llama), { hasTools: true, hasThinking: false })
  const think = '{{ range .Messages }}{{ .Content }}{{ end }}{{ if and $.IsThinkSet (not $.Think) }}<off>{{ end }}'
  t.equal(renderedFor(think, { thinking: false }), 'be briefhi<off>')
  t.equal(renderedFor(think, { thinking: true }), 'be briefhi')
  t.ok(new GoTemplate(think).hasThinking)
})

t.test('variables, loops, pipes and functions follow Go', async t => {
  const messages = ['a', 'b', 'c'].map((content, at) => ({ role: at % 2 ? 'assistant' : 'user', content }) as const)
  const over = (text: string) => `{{ range $i, $m := .Messages }}${text}{{ end }}`
  const cases: [template: string, expected: string][] = [
    [over('{{ $i }}{{ .Content }}'), '0a1b2c'],
    [over('{{ if eq $i 1 }}{{ continue }}{{ end }}{{ $m.Content }}'), 'ac'],
    [over('{{ if eq $i 1 }}{{ break }}{{ end }}{{ .Content }}'), 'a'],
    ['{{ $x := "1" }}{{ range .Messages }}{{ $x = .Content }}{{ end }}{{ $x }}', 'c'],
    ['{{ (index .Messages 2).Content }}{{ len .Messages }}{{ len "ü" }}', 'c32'],
    [
      '{{ range .Tools }}x{{ else }}none{{ end }}{{ range $p := .Messages }}{{ $p.Role }} {{ end }}',
      'noneuser assistant user '
    ],
    ['{{ if and .Messages (or .Tools false) }}a{{ else if ne 1 2 }}b{{ else }}c{{ end }}', 'b'],
    ['{{ if lt 1 2 }}<{{ end }}{{ if ge "b" "a" }}>={{ end }}{{ .Messages | len }}', '<>=3'],
    [
      '{{ printf "%q %v %%" "a\\n" true }}{{ print "\\u00e9" `\\n` }}{{ .Messages | slice | len }}',
      '"a\\n" true %é\\n3'
    ],
    ['{{ with (index .Messages 0).Nothing.Deep }}x{{ else }}y{{ end }}{{ .Nothing }}', 'y'],
    ['{{ with index .Messages 1 }}{{ .Role | printf "%s-%s" 1 | json }}{{ end }}', '"1-assistant"'],
    [
      '{{ len (printf "a%*s" 2 "") }}{{ printf "%3d|%-3s|" 7 "x" }}{{ print 1 2 "a" 3 }}{{ range .Messages }}{{ end }}',
      '3  7|x  |1 2a3'
    ],
    ['{{ range .Messages }}{{ slice .Content 0 1 }}{{ end -}}   z', 'abcz']
  ]
  for (const [template, expected] of cases) {
    t.equal(renderedFor(template, { messages }), expected, template)
  }
  const sorted =
    '{{ range .Messages }}{{ end }}{{ range .Tools }}{{ range $k, $v := .Function.Parameters.Properties }}{{ $k }}:{{ $v.Type }} {{ end }}{{ end }}'
  t.equal(renderedFor(sorted, { tools: [WEATHER] }), 'at:string city:string ')
})

t.test('an action that is wrong or unknown is quoted', async t => {
  for (const template of [
    '{{ template "x" . }}',
    '{{ .Tools | toTypeScriptType }}',
    '{{ end }}',
    '{{ else }}',
    '{{ if .System }}',
    '{{ if .System }}a{{ else }}b{{ else }}c{{ end }}',
    '{{ .System .Prompt }}',
    '{{ $x, $y := .System }}',
    '{{ "unclosed }}',
    '{{ ( .System }}',
    '{{ break }}',
    '{{ }}',
    '{{ .System'
  ]) {
    t.throws(() => new GoTemplate(template), { code: 'MSV_UNSUPPORTED', data: { param: 'template' } }, template)
  }
  t.throws(() => new GoTemplate('a {{ .Tools | shout }}'), { message: /'\{\{ \.Tools \| shout \}\}' is not supported/ })
  for (const template of [
    '{{ $x }}',
    '{{ index .Messages 9 }}',
    '{{ lt 1 "a" }}',
    '{{ printf "%x" 1 }}',
    '{{ printf "%99999s" "" }}',
    '{{ slice "a" 2 }}'
  ]) {
    const rendering = () => renderedFor(`{{ range .Messages }}{{ end }}${template}`)
    t.throws(rendering, { code: 'MSV_REQUEST_INVALID', data: { param: 'template' } }, template)
  }
})

t.test('Go templates are distinguished from Jinja templates', async t => {
  for (const go of ['{{ .Prompt }}', '{{- if .System }}', '{{ range $i, $_ := .Messages }}']) t.ok(isGoTemplate(go), go)
  for (const jinja of [
    '{{ messages[0].content }}',
    '{% if .5 %}{{ x }}{% endif %}',
    `{{ bos_token + 'A' }}`,
    'plain'
  ]) {
    t.notOk(isGoTemplate(jinja), jinja)
  }
})

t.test('parses a hostile template in linear time, and limits nesting, steps and length', async t => {
  // A quadratic parser takes minutes for these, which exceeds the timeout of this file.
  for (const text of ['}', '{{', '{{-', '{{ ', '{{ .P', ' {{ "', '}}', '{{ a.', '{{/*', '{{ (', '{{ .P | ', '{{ `']) {
    const hostile = text.repeat(1_000_000)
    t.notOk(isGoTemplate(hostile), text)
    if (text.startsWith('}')) t.equal(renderedFor(hostile), hostile)
    else t.throws(() => new GoTemplate(hostile), { code: 'MSV_UNSUPPORTED' }, text)
  }
  const deep = '{{ if .System }}'.repeat(101) + '{{ end }}'.repeat(101)
  t.throws(() => new GoTemplate(deep), { code: 'MSV_UNSUPPORTED', message: /nests more than 100 conditions/ })
  const messages = [{ role: 'user' as const, content: 'x'.repeat(1_000_000) }]
  const tooLong = { code: 'MSV_REQUEST_INVALID', message: /more than 16777216 characters/ }
  t.throws(() => renderedFor('{{ .Prompt }}'.repeat(5000), { messages }), tooLong)
  const many = Array.from({ length: 1_000 }, (_, at) => ({
    role: at % 2 ? ('assistant' as const) : ('user' as const),
    content: ''
  }))
  const loops = '{{ range .Messages }}{{ range $.Messages }}{{ range $.Messages }}{{ end }}{{ end }}{{ end }}'
  const tooMany = { code: 'MSV_REQUEST_INVALID', message: /more than 500000 steps/ }
  t.throws(() => renderedFor(loops, { messages: many }), tooMany)
  const twice =
    '{{ range .Messages }}{{ $.x }}{{ end }}{{ $x := "ab" }}{{ range .Messages }}{{ $x = print $x $x }}{{ end }}'
  t.throws(() => renderedFor(twice, { messages: many }), { code: 'MSV_REQUEST_INVALID' })
})

t.test('long maps, lists and paths, and all rounds of a conversation, count towards the limits', async t => {
  const properties = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`key${at}`, at]))
  const parameters = { properties, list: Array.from({ length: 20_000 }, (_, at) => at) }
  const tools = [{ name: 'f', description: '', parameters }]
  const turns = (length: number) =>
    Array.from({ length }, (_, at) => ({ role: at % 2 ? ('assistant' as const) : ('user' as const), content: 'x' }))
  const message = { role: 'system' as const, content: 'x'.repeat(100_000) }
  const input = { messages: turns(1_000), tools }
  const inLoop = (body: string) =>
    `{{ $p := (index .Tools 0).Function.Parameters }}{{ range .Messages }}${body}{{ end }}`
  const tooMany = { code: 'MSV_REQUEST_INVALID', message: /more than 500000 steps/ }
  const tooLong = { code: 'MSV_REQUEST_INVALID', message: /more than 16777216 characters/ }
  for (const body of [
    '{{ range $p.Properties }}{{ break }}{{ end }}',
    '{{ if len $p.Properties }}{{ end }}',
    '{{ if json $p.Properties }}{{ end }}',
    `{{ if $p${'.A'.repeat(1_000)} }}{{ end }}`
  ]) {
    t.throws(() => renderedFor(inLoop(body), input), tooMany, body)
  }
  t.equal(renderedFor(inLoop('{{ range $p.List }}{{ break }}{{ end }}{{ if $p.Properties }}{{ end }}'), input), '')
  for (const text of [`{{ print ${'.System '.repeat(3_000)}}}`, `{{ printf "${'%9999s'.repeat(2_000)}" "a" }}`]) {
    t.throws(() => renderedFor(`${text}{{ .Messages }}`, { messages: [message] }), tooLong)
  }
  t.throws(() => renderedFor(`${'{{ .Prompt }}'.repeat(1_000)}{{ .Response }}`, input), tooMany)
  t.throws(() => renderedFor(`${'z'.repeat(30_000)}{{ .Prompt }}{{ .Response }}`, { messages: turns(2_000) }), tooLong)
})

t.test('a map is no format, key or width that becomes a text by its own fields', async t => {
  const tools = [{ name: 'f', description: '', parameters: { toString: 1, valueOf: 2 } }]
  const input = { messages: [{ role: 'user' as const, content: 'x' }], tools }
  const map = '(index .Tools 0).Function.Parameters'
  t.equal(renderedFor(`{{ if .Messages }}{{ printf ${map} }}{{ end }}`, input), '{"toString":1,"valueOf":2}')
  t.equal(renderedFor(`{{ if .Messages }}{{ index (index .Tools 0) ${map} }}{{ end }}`, input), '')
  t.throws(() => renderedFor(`{{ if .Messages }}{{ printf "%*d" ${map} 1 }}{{ end }}`, input), {
    code: 'MSV_REQUEST_INVALID',
    message: /printf does not know/
  })
})

t.test('any template is rendered, or refused with the name of the field', async () => {
  const words = [
    '{{',
    '}}',
    '{{-',
    '-}}',
    ' ',
    'if',
    'else',
    'end',
    'range',
    'with',
    '$x',
    ':=',
    '=',
    ',',
    '|',
    '(',
    ')',
    '.'
  ]
  const more = [
    '.Messages',
    '.Role',
    '.Content',
    '.Tools',
    '$.System',
    '"a"',
    '`b`',
    '1',
    '-2',
    'eq',
    'and',
    'or',
    'not'
  ]
  const others = [
    'len',
    'slice',
    'index',
    'printf',
    'json',
    'nil',
    'true',
    'break',
    'continue',
    '/*',
    '*/',
    'text',
    '"%s"'
  ]
  const token = fc.constantFrom(...words, ...more, ...others)
  const template = fc.array(fc.oneof({ weight: 9, arbitrary: token }, fc.string({ maxLength: 3 })), { maxLength: 40 })
  fc.assert(
    fc.property(template, parts => {
      try {
        return typeof renderedFor(parts.join(' '), { tools: [WEATHER] }) === 'string'
      } catch (error) {
        const { code, data } = error as { code: string; data: { param: string } }
        return ['MSV_UNSUPPORTED', 'MSV_REQUEST_INVALID'].includes(code) && data.param === 'template'
      }
    }),
    { numRuns: 2_000 }
  )
})

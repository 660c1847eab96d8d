import t from 'tap'
import { goTemplate, isGoTemplate } from '#ollama'

const VALUES = { System: 'be brief', Prompt: 'hi' }

t.test('renders fields and conditions up to .Response', async t => {
  const cases: [template: string, withSystem: string, without: string][] = [
    ['{{ .Prompt }}', 'hi', 'hi'],
    ['{{.System}} {{.Prompt}}', 'be brief hi', ' hi'],
    ['{{ if .System }}S: {{ .System }}\n{{ end }}U: {{ .Prompt }}', 'S: be brief\nU: hi', 'U: hi'],
    ['{{ if .System }}a{{ else }}b{{ end }}', 'a', 'b'],
    ['{{ if .System }}{{ if .Prompt }}c{{ end }}{{ end }}d', 'cd', 'd'],
    ['a \n{{- .Prompt -}}\n b', 'ahib', 'ahib'],
    ['{{ .Prompt }}A:{{ .Response }}<end>', 'hiA:', 'hiA:'],
    ['{{ if .Prompt }}A:{{ .Response }}<end>{{ end }}more', 'A:', 'A:'],
    ['{{/* a note */}}{{ .Prompt }}', 'hi', 'hi'],
    ['{{ if .Response }}x{{ end }}{{ .Prompt }}', 'hi', 'hi']
  ]
  for (const [template, withSystem, without] of cases) {
    t.equal(goTemplate(template)(VALUES), withSystem, template)
    t.equal(goTemplate(template)({ ...VALUES, System: '' }), without, template)
  }
})

t.test('rejects any other action and quotes it', async t => {
  for (const template of [
    '{{ range .Messages }}{{ end }}',
    '{{ .Tools }}',
    '{{ if and .System .Prompt }}x{{ end }}',
    '{{ end }}',
    '{{ else }}',
    '{{ if .System }}',
    '{{ if .System }}a{{ else }}b{{ else }}c{{ end }}',
    '{{ $x := 1 }}'
  ]) {
    t.throws(() => goTemplate(template), { code: 'MSV_UNSUPPORTED', data: { param: 'template' } }, template)
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

t.test('parses a hostile template in linear time, and limits nesting and length', async t => {
  // A quadratic parser takes minutes for these, which exceeds the timeout of this file.
  for (const text of ['{', '{{', '{{-', '{{ ', '{{ .P', ' {{ "', '}}', '{{ a.']) {
    t.notOk(isGoTemplate(text.repeat(1_000_000)), text)
    t.type(goTemplate(text.repeat(1_000_000).replaceAll('}}', '')), 'function', text)
  }
  const deep = '{{ if .System }}'.repeat(101) + '{{ end }}'.repeat(101)
  t.throws(() => goTemplate(deep), { code: 'MSV_UNSUPPORTED', message: /nests more than 100 conditions/ })
  const long = goTemplate('{{ .Prompt }}'.repeat(5000))
  t.throws(() => long({ System: '', Prompt: 'x'.repeat(1_000_000) }), { code: 'MSV_REQUEST_INVALID' })
})

import fc from 'fast-check'
import t, { type Test } from 'tap'
import { ChatTemplate, JinjaTemplate, REQUEST_TEMPLATE_LIMITS, TemplateThreads } from '#root'

const plain = { source: null, variables: {}, specialNames: [] }
const now = new Date(0)

function openThreads(t: Test, options?: { readonly maxCpuMs: number }): TemplateThreads {
  const threads = new TemplateThreads(options)
  t.teardown(() => threads.close())
  return threads
}

const render = (source: string) => new JinjaTemplate(source, REQUEST_TEMPLATE_LIMITS).render({}, now)
/** Sets `ns.x` to a text of 16 * 2 ** doublings characters, of which the last is a line feed. */
const long = (doublings: number) =>
  `{% set ns = namespace(x='aaaaaaaaaaaaaaa\\n') %}{% for i in range(${doublings}) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}`
const loop = (body: string) => `{% for a in range(600) %}${body}{% endfor %}`
const often = (expression: string) => `{% for a in range(600) %}{{ ${expression} }}{% endfor %}`
const nested = `{% set x = ['a'] %}${'{% set x = [x, x] %}'.repeat(40)}`

const hostile: Readonly<Record<string, string>> = {
  'nested loops': loop(loop('')),
  'nested loops with text': loop(loop(loop('x'))),
  'loops over long lists': '{% set r = range(9000) %}{% for a in r %}{% for b in r %}{% endfor %}{% endfor %}',
  'many ranges': often('range(100000)|length'),
  'doubled text': long(40),
  'a text of 2 ** 30 characters': `${long(10)}{% for a in range(600) %}{% for b in range(200) %}{{ ns.x }}{% endfor %}{% endfor %}`,
  'indent of doubled text': `${long(17)}{{ ns.x|indent(500)|length }}`,
  'indent by a huge width': "{{ 'a\\na'|indent(400000000) }}",
  'join with a long separator': `{{ range(10000)|join('${'x'.repeat(20_000)}') }}`,
  'join of characters': `${long(10)}{{ ns.x|join(ns.x) }}`,
  'join of nested lists': `${nested}{{ x|join }}`,
  'replace by a long text': `${long(12)}{{ ns.x|replace('a', '${'b'.repeat(3000)}') }}`,
  'replace of nothing': `{% set x = 'a' %}${"{% set x = x.replace('', x) %}".repeat(9)}`,
  'a method in a variable': `${long(12)}{% set f = ns.x.replace %}{{ f('a', ns.x)|length }}`,
  'replace with a long pattern': `${long(16)}{{ ns.x|replace(ns.x ~ 'b', '') }}`,
  'tojson with a huge indent': '{{ [[[1]]]|tojson(indent=400000000) }}',
  'tojson with an indent and many items': '{{ [range(10000), range(10000)]|tojson(indent=5000) }}',
  'tojson with long separators': `${long(12)}{{ range(1000)|tojson(separators=(ns.x, ns.x)) }}`,
  'tojson of a nested list': `${nested}{{ x|tojson }}`,
  'a printed nested list': `${nested}{{ x }}`,
  'a compared nested list': `${nested}{{ x == 'a' }}`,
  'a concatenated nested list': `${nested}{{ x ~ 'a' }}`,
  'a namespace that contains itself': '{% set n = namespace() %}{% set n.n = n %}{{ n|tojson }}',
  'split into many parts': `${long(15)}${often("ns.x.split('a')|length")}`,
  'split at white space': `${long(15)}${often('ns.x.split()|length')}`,
  title: `${long(15)}${often('ns.x|title|length')}`,
  upper: `${long(15)}${often('ns.x|upper|length')}`,
  'trailing white space': `${long(16)}{{ ns.x${'.rstrip()'.repeat(190)}|length }}`,
  slices: `${long(15)}${often('ns.x[1:]|length')}`,
  'slices of lists': `{% set r = range(10000) %}${often('r[::-1]|length')}`,
  sort: `{% set r = range(10000) %}${often('r|sort|length')}`,
  'sort by a long path': `{{ [{}, {}, {}]|sort(attribute='${'a.'.repeat(10_000)}')|length }}${often("[{}, {}]|map(attribute='a')|list")}${loop(loop(''))}`,
  'search in lists': `{% set r = range(10000) %}${loop(often('10001 in r'))}`,
  'search in texts': `${long(15)}${loop(often("'b' in ns.x"))}`,
  'long keys': `${long(15)}${often('{ns.x ~ a: 1}|length')}${loop(loop(''))}`,
  'long comparisons': `${long(15)}${loop(often("(ns.x ~ 'a') == (ns.x ~ 'b')"))}`,
  'lists that grow': `{% set ns = namespace(x=[1]) %}{% for i in range(40) %}{% set ns.x = ns.x + ns.x %}{% endfor %}`,
  'arguments from long lists': `{% macro m() %}{{ varargs|length }}{% endmacro %}{% set r = range(10000) %}${often('m(*r)')}`,
  'copies of namespaces': `{% set r = range(1000) %}${often("namespace([['a', r]])")}`,
  recursion: '{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}',
  'macros in a loop': loop(loop(`{% macro m() %}${'{{ 1 }}'.repeat(1000)}{% endmacro %}`)),
  'a macro with many parameters': `{% macro m(${Array.from({ length: 300 }, (_, at) => `p${at}`)}) %}{% endmacro %}`,
  'unknown names': loop(loop('{{ unknown }}')),
  'loops that continue': loop(loop('{% continue %}')),
  'a filter block': `${long(15)}{% filter indent(500) %}{{ ns.x }}{% endfilter %}`,
  'long powers': '{{ 10 ** 400 }}',
  'an open bracket': `{{ ${'('.repeat(30_000)}`,
  'a long text': 'x'.repeat(40_000),
  'blanks for the lexer': ' '.repeat(30_000),
  'lines of blanks for the lexer': ' \n'.repeat(15_000)
}

for (const [name, source] of Object.entries(hostile)) {
  t.test(`a template of a request stops before it takes much time or memory: ${name}`, async t => {
    // Without limits, these take minutes or end the process.
    t.throws(() => render(source))
  })
}

t.test('errors name the limit', async t => {
  const cases: readonly [string, RegExp][] = [
    [loop(loop('')), /^it takes more than 40000 steps$/],
    [long(30), /^it creates a text of more than 2097152 characters$/],
    ['x'.repeat(40_000), /^it has more than 32768 characters$/],
    [' '.repeat(600), /^it has more than 500 characters of white space in a row$/],
    ['{{ 1|center(9) }}', /^unknown filter 'center'$/],
    ['{{ range("1") }}', /^range\(\) needs numbers$/],
    ['{{ range(0, 5, 0) }}', /with step 0$/]
  ]
  for (const [source, message] of cases) t.throws(() => render(source), { message }, source.slice(0, 40))
})

t.test('metered operations have the results of the package', async t => {
  const cases: readonly [string, string][] = [
    ["{{ 'a,b'.split(',')|join('-') }}{{ [1, ['b', 2]]|join }}", 'a-b1b,2'],
    ["{{ 'aXa'|replace('a', 'b') }}{{ 'aa'.replace('a', 'b', 1) }}{{ 'ab'|replace('', '.', count=2) }}", 'bXbba.a.b'],
    [
      "{{ 'a\\nb'|indent(2, first=true) }}{{ [1, {'a': 'é'}]|tojson(ensure_ascii=true) }}",
      '  a\n  b[1, {"a": "\\u00e9"}]'
    ],
    ["{{ {'b': 1, 'a': [2]}|tojson(indent=2, sort_keys=true) }}", '{\n  "a": [\n    2\n  ],\n  "b": 1\n}'],
    ["{% filter upper %}a{{ 'b' }}{% endfilter %}{% set x %}c{% endset %}{{ x ~ 1 }}", 'ABc1'],
    [
      '{% macro m(a, b=2) %}{{ a }}{{ b }}{{ kwargs.c }}{% endmacro %}{{ m(1, c=3) }}{{ m(*[4, 5], **{"c": 6}) }}',
      '123456'
    ],
    ['{% for a, b in [[1, 2], [3, 4]] if a > 1 %}{{ loop.index }}{{ a }}{{ b }}{% else %}none{% endfor %}', '134'],
    ["{% call(x) f('a') %}{{ x }}!{% endcall %}", ''],
    ["{% set n = namespace({'a': 1}, b=2) %}{% set n.c = 3 %}{{ n.a + n.b + n.c }}", '6'],
    ["{{ {'get': 7}.get }}{{ {'a': 1}.get('b', 2) }}{{ {'b': 1, 'a': 2}|dictsort|first|first }}", '72a'],
    ["{{ [{'a': 2}, {'a': 1}]|sort(attribute='a')|map(attribute='a')|list }}", '[1, 2]'],
    ["{{ [{'r': 'u'}, {'r': 's'}]|selectattr('r', 'equalto', 'u')|list|length }}{{ 'x' is string }}", '1true'],
    [
      "{{ 'abc'[::-1] }}{{ [1, 2, 3][1:]|length }}{{ 'b' in 'abc' }}{{ 2 not in [1] }}{{ 1 + 2 * 3 ** 2 }}",
      'cba2truetrue19'
    ],
    [
      "{{ ' a '|trim }}{{ 'ab'.startswith(('x', 'a')) }}{{ 'é'|upper }}{{ 'a b'|title }}{{ none|default('d', true) }}",
      'atrueÉA Bd'
    ]
  ]
  for (const [source, text] of cases) {
    const prefix = source.includes('{% call') ? '{% macro f(a) %}{{ caller(a) }}{% endmacro %}' : ''
    t.equal(render(prefix + source), prefix === '' ? text : 'a!', source)
  }
})

t.test('a long prompt is within the limits of a template of a request', async t => {
  const template = new JinjaTemplate(
    "{% for m in messages %}<{{ m.role }}>{{ m.content|trim|replace('\\r\\n', '\\n') }}{{ m.content|length }}{% endfor %}",
    REQUEST_TEMPLATE_LIMITS
  )
  const content = 'The quick brown fox.\r\n'.repeat(15_000)
  t.ok(template.render({ messages: [{ role: 'user', content }] }, now).length > 300_000)
})

t.test("a model's own template renders conversations that exceed the limits of templates of requests", async t => {
  const source =
    "{% for m in messages[::-1] %}{% if m.role == 'x' %}{% endif %}{% endfor %}" +
    '{% for m in messages %}{{ m.role }}: {{ m.content|trim }}\n{% endfor %}{{ messages|tojson|length }}'
  const messages = Array.from({ length: 5000 }, (_, at) => ({
    role: at % 2 === 0 ? ('user' as const) : ('assistant' as const),
    content: 'word '.repeat(200)
  }))
  const rendered = new ChatTemplate({ ...plain, source }).render(messages)
  t.equal(rendered.split('\n').length, 5001)
})

t.test('no random combination of operations exceeds the limits of time and memory', async () => {
  const number = fc.constantFrom('0', '1', '3', '7', '1000', '100000', '999999999', 'i', `1${'0'.repeat(300)}`)
  const { text, list } = fc.letrec<{ text: string; list: string }>(tie => {
    const [text, list] = [tie('text'), tie('list')]
    const grown = fc.oneof(
      fc.tuple(text, text).map(([a, b]) => `(${a} ~ ${b})`),
      fc.tuple(text, list).map(([a, b]) => `(${a} ~ ${b})`),
      fc.tuple(list, text).map(([a, b]) => `(${a}|join(${b}))`),
      fc.tuple(text, text).map(([a, b]) => `(${a}|join(${b}))`),
      fc.tuple(text, number).map(([a, width]) => `(${a}|indent(${width}, true, true))`),
      fc.tuple(text, text, text).map(([a, b, c]) => `(${a}|replace(${b}, ${c}))`),
      fc.tuple(text, text, text).map(([a, b, c]) => `(${a}).replace(${b}, ${c}, 3)`),
      fc.tuple(list, number).map(([a, indent]) => `(${a}|tojson(indent=${indent}, ensure_ascii=true))`),
      fc.tuple(list, text).map(([a, b]) => `(${a}|tojson(separators=(${b}, ${b}), sort_keys=true))`)
    )
    const mapped = fc
      .tuple(
        text,
        fc.constantFrom('|upper', '|title', '|trim', '|capitalize', '[1:]', '[::-1]', '.rstrip()', '|tojson')
      )
      .map(([a, operation]) => `(${a})${operation}`)
    return {
      text: fc.oneof(
        { maxDepth: 5, depthIdentifier: 'text' },
        fc.constantFrom("'a'", "'é b\\n'", 'ns.x', 'x'),
        grown,
        mapped
      ),
      list: fc.oneof(
        { maxDepth: 5, depthIdentifier: 'text' },
        fc.constantFrom('[]', 'ns.l', 'l', 'range(1000)', 'range(100000)'),
        fc.tuple(list, list).map(([a, b]) => `(${a} + ${b})`),
        fc.tuple(list, text).map(([a, b]) => `[${a}, ${b}, ${a}]`),
        fc.tuple(text, list).map(([a, b]) => `[{${a}: ${b}}]`),
        fc.tuple(text, text).map(([a, b]) => `(${a}).split(${b} ~ ' ')`),
        text.map(a => `(${a}).split()`),
        fc
          .tuple(list, fc.constantFrom('|list', '|unique', '|reverse', '[1:]', '[::-1]'))
          .map(([a, operation]) => `(${a})${operation}`)
      )
    }
  })
  const statement = fc.oneof(
    text.map(a => `{% set ns.x = ${a} %}`),
    list.map(a => `{% set ns.l = ${a} %}`),
    fc.oneof(text, list).map(a => `{{ ${a} }}`),
    fc.tuple(text, list).map(([a, b]) => `{{ ${a} in ${b} or ${a} == ${b} or ${a} in ${a} }}`),
    list.map(a => `{% for a in ${a} %}{{ a }}{% endfor %}`)
  )
  const sources = fc
    .array(statement, { minLength: 1, maxLength: 6 })
    .map(
      each =>
        "{% set ns = namespace(x='a\\n', l=['a', 'b']) %}{% set x = 'ab ' %}{% set l = ['a', 'b'] %}" +
        `{% for i in range(40) %}${each.join('')}{% endfor %}`
    )
  fc.assert(
    fc.property(sources, source => {
      try {
        render(source)
      } catch (error) {
        return error instanceof Error
      }
      return true
    }),
    { numRuns: 120 }
  )
})

t.test('templates of requests render in threads, and a failure does not affect the next one', async t => {
  const threads = openThreads(t)
  await threads.warm()
  const template = new ChatTemplate({ ...plain, threads })
  const count = (range: string) => template.renderTemplate(`{{ range(${range}) | list | length }}`, [])
  t.same(await Promise.all(['3', '2, 9', '9, 2, -3', '5, 5'].map(count)), ['3', '7', '3', '0'])
  for (const source of [hostile['nested loops'], hostile['indent of doubled text'], hostile.recursion, '{% if %}']) {
    await t.rejects(template.renderTemplate(source as string, []), {
      code: 'INF_CHAT_TEMPLATE_FAILED',
      message: /^The request's template failed: /
    })
  }
  await t.rejects(template.renderTemplate(`{{ raise_exception('${'x'.repeat(9000)}') }}`, []), {
    message: /^.{1,600}$/
  })
  t.equal(await count('4'), '4')
})

t.test('a template whose steps are slow ends at the limit of CPU time', async t => {
  const threads = openThreads(t, { maxCpuMs: 3 })
  // Systems that report no CPU time allow a second attempt, which reaches the limit of steps.
  const failure = { code: 'INF_CHAT_TEMPLATE_FAILED', message: /it takes more than (3 ms|40000 steps)$/ }
  await Promise.all([1, 2, 3].map(() => t.rejects(threads.render(loop(loop('')), {}, now), failure)))
  t.equal(await threads.render('{{ 1 + 1 }}', {}, now), '2', 'the next template gets a new thread')
})

t.test('one client cannot keep others from rendering', async t => {
  const threads = openThreads(t)
  const order: string[] = []
  const ask = (client: string) =>
    threads.render(loop(loop('')), {}, now, client).catch((error: { code: string }) => {
      order.push(client)
      return error.code
    })
  const greedy = Array.from({ length: 66 }, () => ask('greedy'))
  const other = ask('other')
  t.equal(await other, 'INF_CHAT_TEMPLATE_FAILED')
  const ended = order.filter((client, at) => client === 'greedy' && at < order.indexOf('other')).length
  t.ok(ended <= 8, `${ended} templates of the other client came first`)
  const codes = await Promise.all(greedy)
  t.equal(codes.filter(code => code === 'INF_BUSY').length, 1, 'the last template of the long queue made place')
})

t.test('threads that end while idle are replaced; after close, rendering is refused', async t => {
  const threads = openThreads(t)
  t.equal(await threads.render('{{ 1 }}', {}, now), '1')
  await threads.stopIdle()
  t.equal(await threads.render('{{ 2 }}', {}, now), '2')
  const pending = threads.render(loop(loop('')), {}, now)
  const closed = { code: 'INF_MODEL_CLOSED' }
  await Promise.all([threads.close(), t.rejects(pending, closed)])
  await t.rejects(threads.render('x', {}, now), closed)
})

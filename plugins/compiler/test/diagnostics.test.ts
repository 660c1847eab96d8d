import t from 'tap'
import { diagnostic, diagnosticJson, diagnosticLine, renderDiagnostic, sortDiagnostics } from '#diagnostics'
import { checkFile, SourceFile } from '#root'

const file = new SourceFile('dir/a.vox', 'fn a() {\r\n\tlet 😀ü = "x"\n}\n')

t.test('a diagnostic is shown with a marked excerpt and related notes', async t => {
  const found = diagnostic(
    'E0001',
    'this is wrong',
    { start: 11, end: 14 },
    {
      expectedType: 'int',
      foundType: 'str',
      missingCases: ['A', 'B(_)'],
      suggestions: ['do it otherwise'],
      fixes: [{ label: 'write it', span: { start: 11, end: 14 }, replacement: 'it' }],
      related: [{ span: { start: 7, end: 8 }, message: 'it began here' }]
    }
  )
  t.equal(
    renderDiagnostic(found, file, false),
    `error[E0001]: this is wrong
 --> dir/a.vox:2:2
  |
2 |     let 😀ü = "x"
  |     ^^^
  = expected: \`int\`
  = found: \`str\`
  = missing: \`A\`, \`B(_)\`
  = help: do it otherwise
  = fix: write it
note: it began here
 --> dir/a.vox:1:8
  |
1 | fn a() {
  |        ^`
  )
})

t.test('a diagnostic is coloured only on request', async t => {
  const found = diagnostic('lint.table_id_column', 'so', { start: 0, end: 2 })
  t.notMatch(renderDiagnostic(found, file, false), '\u001b')
  t.match(renderDiagnostic(found, file, true), '\u001b[1;33mwarning[lint.table_id_column]\u001b[0m')
})

t.test('the excerpt of a long line shows only the surroundings of the span', async t => {
  const start = 5_000
  const text = `${'a'.repeat(start)}bad${'c'.repeat(5_000)}`
  const rendered = renderDiagnostic(
    diagnostic('E0001', 'no', { start, end: start + 3 }),
    new SourceFile('a.vox', text),
    false
  )
  const [, place, , source = '', carets = ''] = rendered.split('\n')
  t.match(place, ':1:5001')
  t.match(source, /^1 \| …a{80}badc{157}…$/)
  t.equal(carets.indexOf('^'), source.indexOf('bad'))
  t.match(carets, /[^^]\^{3}$/)
})

t.test('a text with an error at every character gets the first 1,000 errors', async t => {
  const long = new SourceFile('a.vox', '$ '.repeat(60_000))
  const { diagnostics } = checkFile(long, { script: true, allowComponentFunctions: true, suppressHookLints: false })
  t.equal(diagnostics.length, 1_000)
  t.same(diagnostics[0]?.span, { start: 0, end: 1 })
  t.ok(diagnostics.map(each => renderDiagnostic(each, long, false)).join('\n').length < 1_000_000)
})

t.test('control characters are not printed', async t => {
  const hostile = new SourceFile('a.vox', 'x \u001b[31m')
  t.match(renderDiagnostic(diagnostic('E0001', 'no', { start: 0, end: 7 }), hostile, false), '1 | x \ufffd[31m')
})

t.test('columns count characters, and byte offsets count UTF-8', async t => {
  t.same(file.position(17), { line: 2, column: 7 })
  t.equal(file.byteOffset(17), 19)
  t.equal(file.byteOffset(file.text.length), Buffer.byteLength(file.text))
  t.same(file.position(file.text.length), { line: 4, column: 1 })
  for (let offset = 0; offset <= file.text.length; offset++) {
    const half = /[\udc00-\udfff]/.test(file.text[offset] ?? '')
    if (!half) t.equal(file.byteOffset(offset), Buffer.byteLength(file.text.slice(0, offset)))
  }
})

t.test('the JSON of a diagnostic has every field, with lines and columns from 1', async t => {
  const span = { start: 11, end: 14 }
  const found = diagnostic('W093', 'so', span, { fixes: [{ label: 'l', span, replacement: 'r' }] })
  const place = { start_line: 2, start_col: 2, end_line: 2, end_col: 5 }
  t.strictSame(diagnosticJson(found, file), {
    error_code: 'W093',
    severity: 'Warning',
    message: 'so',
    file_path: 'dir/a.vox',
    span: place,
    ast_node_kind: null,
    missing_cases: [],
    expected_type: null,
    found_type: null,
    correction_hints: [],
    suggested_fixes: [{ label: 'l', replacement: 'r', span: place }],
    related_spans: []
  })
  t.equal(diagnosticLine(found, file), 'warning[W093]: so at dir/a.vox:2:2')
})

t.test('diagnostics are sorted in source order, with errors first at one position', async t => {
  const at = (start: number) => ({ start, end: start + 1 })
  const order = sortDiagnostics([
    diagnostic('E0001', 'c', at(5)),
    diagnostic('W093', 'b', at(1)),
    diagnostic('E091', 'a', at(1))
  ])
  t.same(
    order.map(({ message }) => message),
    ['a', 'b', 'c']
  )
})

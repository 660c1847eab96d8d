import { SvcError } from '@svc/plugin-sdk'
import t from 'tap'
import { describeOperation, errorJson, renderError, renderResult, terminalOf } from '#cli'
import { demoManifest } from './commands.ts'
import { paper } from './terminal.ts'

t.test('a result is shown by the view of its operation, and without one as it is', async t => {
  const output = { text: 'done', rows: [{ a: 1 }], note: 'and more' }
  t.equal(renderResult(output, { text: 'text' }, paper()), 'done')
  t.equal(renderResult(output, { rows: 'rows', columns: ['a'], note: 'note' }, paper()), 'A\n1\n\nand more')
  t.equal(renderResult({ ...output, note: '' }, { rows: 'rows', note: 'note' }, paper()), 'A\n1')
  t.equal(renderResult({ a: [1] }, undefined, paper()), '{\n  "a": [\n    1\n  ]\n}')
  t.equal(renderResult('plain', undefined, paper()), 'plain')
})

t.test('a Markdown field is shown without its marks', t => {
  const output = {
    plan_md: '# Plan\n\n1. Change `src/a.ts`, and **test** it\n   - files: `#a.ts`\n\n## Open questions\n'
  }
  const shown = 'Plan\n\n1. Change src/a.ts, and test it\n   - files: #a.ts\n\nOpen questions\n'
  t.equal(renderResult(output, { markdown: 'plan_md' }, paper()), shown)
  t.end()
})

t.test('an error shows place, message, code and hint, and says nothing twice', async t => {
  const at = { file: 'svc.toml', line: 3, column: 1 }
  t.equal(
    renderError(new SvcError('CFG_X', 'is wrong', { at, hint: 'do this' }), paper()),
    '<red>error:</> svc.toml:3:1  is wrong\n  code: CFG_X\n  hint: do this'
  )
  t.equal(
    renderError(new SvcError('CFG_X', 'svc.toml:3:1  CFG_X  is wrong', { at }), paper()),
    '<red>error:</> svc.toml:3:1  CFG_X  is wrong'
  )
})

t.test('an error is shown without the marks of Markdown', t => {
  const error = new SvcError('X_Y', 'set `a*b` in **svc.toml**', { hint: 'see [the guide](https://example.org/x)' })
  t.equal(
    renderError(error, paper()),
    '<red>error:</> set a*b in svc.toml\n  code: X_Y\n  hint: see the guide (https://example.org/x)'
  )
  t.end()
})

t.test('an unexpected error shows its stack', async t => {
  t.match(renderError(new TypeError('oops'), paper()), /TypeError: oops\n +at /)
})

t.test('as JSON an error holds what a program can act on', async t => {
  const error = new SvcError('X_Y', 'no', { hint: 'try', data: { n: 1 }, plugin: 'p', status: 404 })
  t.same(JSON.parse(JSON.stringify(errorJson(error))), {
    error: { code: 'X_Y', message: 'no', hint: 'try', data: { n: 1 }, plugin: 'p' }
  })
  t.same(errorJson(new Error('oops')), { error: { code: 'OPR_FAILED', message: 'oops' } })
})

t.test('colours are for terminals that have them', async t => {
  t.equal(terminalOf({ isTTY: true, hasColors: () => true }).paint('red', 'x'), '\x1b[31mx\x1b[39m')
  t.equal(terminalOf({ isTTY: true, hasColors: () => false }).paint('red', 'x'), 'x')
  t.equal(terminalOf({}).paint('red', 'x'), 'x')
  t.equal(terminalOf({}).columns, Number.POSITIVE_INFINITY)
  t.equal(terminalOf({ isTTY: true, columns: 91 }).columns, 91)
})

t.test('an operation is explained from its manifest', async t => {
  const [operation] = demoManifest().operations
  const text = describeOperation('demo', operation!, paper())
  t.match(text, /^demo\.greet {2}Greet a person\n\nSays hello, in the words of the settings\.\n/)
  t.match(text, 'plugin demo, effect read')
  t.match(text, 'on HTTP GET /demo; MCP tool demo_greet; JSON-RPC demo.greet; svc demo greet')
  t.match(text, /name +string +required +Whom/)
  t.match(text, /tone +"warm" \| "cold" +"warm" +How/)
  t.match(text, /DEMO_MUTE +422 +There is nothing to say\./)
})

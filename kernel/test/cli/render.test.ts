import { SvcError } from '@svc/plugin-sdk'
import t from 'tap'
import { describeOperation, errorJson, renderError, renderResult, terminalOf } from '#cli'
import { demoManifest } from './commands.ts'
import { paper } from './terminal.ts'

t.test('renders a result by its view, or as JSON without a view', async t => {
  const output = { text: 'done', rows: [{ a: 1 }], note: 'and more' }
  t.equal(renderResult(output, { text: 'text' }, paper()), 'done')
  t.equal(renderResult(output, { rows: 'rows', columns: ['a'], note: 'note' }, paper()), 'A\n1\n\nand more')
  t.equal(renderResult({ ...output, note: '' }, { rows: 'rows', note: 'note' }, paper()), 'A\n1')
  t.equal(renderResult({ a: [1] }, undefined, paper()), '{\n  "a": [\n    1\n  ]\n}')
  t.equal(renderResult('plain', undefined, paper()), 'plain')
  t.equal(
    renderResult({ a: 1, ended_at_ms: 0, none: null }, { fields: ['a', 'absent', 'ended_at_ms', 'none'] }, paper()),
    'FIELD     VALUE\na         1\nended at  1970-01-01T00:00:00.000Z\nnone      –'
  )
})

t.test('renders a Markdown field without Markdown syntax', t => {
  const output = {
    plan_md: '# Plan\n\n1. Change `src/a.ts`, and **test** it\n   - files: `#a.ts`\n\n## Open questions\n'
  }
  const shown = 'Plan\n\n1. Change src/a.ts, and test it\n   - files: #a.ts\n\nOpen questions\n'
  t.equal(renderResult(output, { markdown: 'plan_md' }, paper()), shown)
  t.end()
})

t.test('renders location, message, code and hint of an error without repetition', async t => {
  const at = { file: 'svc.toml', line: 3, column: 1 }
  t.equal(
    renderError(new SvcError('CFG_X', 'is wrong', { at, hint: 'do this' }), paper()),
    '<red>error:</> svc.toml:3:1  is wrong\n  code: CFG_X\n  hint: do this'
  )
  t.equal(
    renderError(new SvcError('CFG_X', 'svc.toml:3:1  CFG_X  is wrong', { at }), paper()),
    '<red>error:</> svc.toml:3:1  CFG_X  is wrong\n  more: svc errors explain CFG_X'
  )
})

t.test('an error without a hint names its explanation: of svc for its own codes, else the page of its author', t => {
  const docs = 'https://acme.example/errors#acme_lost'
  t.equal(
    renderError(new SvcError('ACME_LOST', 'it is lost', { docs }), paper()),
    `<red>error:</> it is lost\n  code: ACME_LOST\n  more: ${docs}`
  )
  t.equal(renderError(new SvcError('ACME_LOST', 'it is lost'), paper()), '<red>error:</> it is lost\n  code: ACME_LOST')
  t.equal(
    renderError(new SvcError('KRN_CLOSED', 'it closes', { docs: 'https://svc.example/sent-by-a-server' }), paper()),
    '<red>error:</> it closes\n  code: KRN_CLOSED\n  more: svc errors explain KRN_CLOSED'
  )
  t.end()
})

t.test('each problem of an invalid configuration has its location, code and hint', t => {
  const problems = [
    {
      severity: 'error',
      code: 'CFG_KEY_UNKNOWN',
      message: 'no key',
      file: 'svc.toml',
      line: 2,
      column: 1,
      hint: 'drop it'
    },
    { severity: 'warning', code: 'CFG_ENV_UNKNOWN', message: 'no variable' }
  ]
  t.equal(
    renderError(new SvcError('CFG_KEY_UNKNOWN', 'all in one text', { data: { problems } }), paper()),
    [
      '<red>error:</> svc.toml:2:1  no key',
      '  code: CFG_KEY_UNKNOWN',
      '  hint: drop it',
      '<yellow>warning:</> no variable',
      '  code: CFG_ENV_UNKNOWN',
      '  more: svc errors explain CFG_ENV_UNKNOWN'
    ].join('\n')
  )
  t.end()
})

t.test('renders an error without Markdown syntax', t => {
  const error = new SvcError('X_Y', 'set `a*b` in **svc.toml**', { hint: 'see [the guide](https://example.org/x)' })
  t.equal(
    renderError(error, paper()),
    '<red>error:</> set a*b in svc.toml\n  code: X_Y\n  hint: see the guide (https://example.org/x)'
  )
  t.end()
})

t.test('renders the stack of an unexpected error', async t => {
  t.match(renderError(new TypeError('oops'), paper()), /TypeError: oops\n +at /)
})

t.test('errorJson contains code, message, hint, data and plugin, but no status or stack', async t => {
  const error = new SvcError('X_Y', 'no', { hint: 'try', data: { n: 1 }, plugin: 'p', status: 404 })
  t.same(JSON.parse(JSON.stringify(errorJson(error))), {
    error: { code: 'X_Y', message: 'no', hint: 'try', data: { n: 1 }, plugin: 'p' }
  })
  t.same(errorJson(new Error('oops')), { error: { code: 'OPR_FAILED', message: 'oops' } })
})

t.test('uses colours only on terminals that support them', async t => {
  t.equal(terminalOf({ isTTY: true, hasColors: () => true }).paint('red', 'x'), '\x1b[31mx\x1b[39m')
  t.equal(terminalOf({ isTTY: true, hasColors: () => false }).paint('red', 'x'), 'x')
  t.equal(terminalOf({}).paint('red', 'x'), 'x')
  t.equal(terminalOf({}).columns, Number.POSITIVE_INFINITY)
  t.equal(terminalOf({ isTTY: true, columns: 91 }).columns, 91)
})

t.test('describes an operation from its manifest', async t => {
  const [operation] = demoManifest().operations
  const text = describeOperation('demo', operation!, paper())
  t.match(text, /^demo\.greet {2}Greet a person\n\nSays hello, in the words of the settings\.\n/)
  t.match(text, 'plugin demo, effect read')
  t.match(text, 'on HTTP GET /demo; MCP tool demo_greet; JSON-RPC demo.greet; svc demo greet')
  t.match(text, /name +string +required +Whom/)
  t.match(text, /tone +"warm" \| "cold" +"warm" +How/)
  t.match(text, /DEMO_MUTE +422 +There is nothing to say\./)
})

t.test('an error repeats no control characters of another machine', async t => {
  const error = new SvcError('X_REFUSED', 'it said \u001b]52;c;AAAA\u0007', { hint: 'ask \u009b2J it' })
  t.equal(renderError(error, paper()), '<red>error:</> it said ]52;c;AAAA\n  code: X_REFUSED\n  hint: ask 2J it')
})

t.test('texts of operations keep their colours, and no other control characters', async t => {
  const text = '\u001b[1mbold\u001b[0m\u001b]0;title\u0007 \u009b2J\r\n\tend'
  const kept = '\u001b[1mbold\u001b[0m]0;title 2J\n\tend'
  t.equal(renderResult({ text }, { text: 'text' }, paper()), kept)
  t.equal(renderResult({ text }, { markdown: 'text' }, paper()), kept)
  t.equal(renderResult(text, undefined, paper()), kept)
  t.equal(renderResult({ rows: [{ a: 1 }], note: text }, { rows: 'rows', note: 'note' }, paper()), `A\n1\n\n${kept}`)
  t.equal(renderResult(['\u009b2J'], undefined, paper()), '[\n  "2J"\n]')
})

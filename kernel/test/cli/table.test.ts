import t from 'tap'
import { renderTable, textWidth } from '#cli'
import { paper } from './terminal.ts'

const plugins = [
  { name: 'http', state: 'active', calls: 12, why: null },
  {
    name: 'model-server',
    state: 'invalid',
    calls: 3,
    why: 'svc.toml:3:1  CFG_KEY_UNKNOWN  prot is not a setting\ndid you mean "port"?'
  }
]

t.test('aligns columns, numbers to the right, and leaves out empty columns', async t => {
  const rows = [
    { name: 'a', count: 5, nothing: null, list: [] },
    { name: 'longer', count: 1234, nothing: undefined, list: ['x', 'y'] }
  ]
  t.equal(
    renderTable(rows, ['name', 'count', 'nothing', 'list'], paper()),
    ['NAME    COUNT  LIST', 'a           5  –', 'longer   1234  x, y'].join('\n')
  )
})

t.test('headings separate the words of a field name', async t => {
  t.match(renderTable([{ inFlight: 1 }], ['inFlight'], paper()), /^IN-FLIGHT\n/)
})

t.test('renders (none) if there are no rows', async t => {
  t.equal(renderTable([], ['name'], paper()), '(none)')
})

t.test('renders one line per row if the width is unlimited', async t => {
  const lines = renderTable(plugins, ['name', 'state', 'calls', 'why'], paper()).split('\n')
  t.equal(lines.length, 3)
  t.match(lines[2], /prot is not a setting did you mean "port"\?$/)
})

t.test('wraps long cells so that no line is wider than the terminal', async t => {
  const text = renderTable(plugins, ['name', 'state', 'calls', 'why'], paper(70)).replace(/<\w+>|<\/>/g, '')
  const lines = text.split('\n')
  t.ok(lines.every(line => textWidth(line) <= 70))
  t.ok(lines.length > 3)
  t.match(text, /did you mean "port"\?/)
})

t.test('moves a text that would become too narrow below the table, under the name of its row', async t => {
  const text = renderTable(plugins, ['name', 'state', 'calls', 'why'], paper(44)).replace(/<\w+>|<\/>/g, '')
  const [table = '', below = ''] = text.split('\n\n')
  t.notMatch(table, /WHY|CFG_/)
  t.equal(
    below,
    ['model-server why:', '  svc.toml:3:1  CFG_KEY_UNKNOWN  prot is not', '  a setting', '  did you mean "port"?'].join(
      '\n'
    )
  )
})

t.test('colours states by their meaning, only in columns of states', async t => {
  const text = renderTable(
    [
      { name: 'ok', state: 'active' },
      { name: 'b', state: 'waiting' },
      { name: 'c', state: 'failed' },
      { name: 'd', state: 'disabled' }
    ],
    ['name', 'state'],
    paper()
  )
  t.match(text, '<green>active  </>')
  t.match(text, '<yellow>waiting </>')
  t.match(text, '<red>failed  </>')
  t.match(text, 'd     disabled')
  t.match(text, /^ok /m)
})

t.test('rounds fractions to three significant digits', async t => {
  t.equal(
    renderTable([{ x: 0.012345 }, { x: 8.25 }, { x: 1234.5678 }, { x: 2 }], ['x'], paper()),
    ['     X', '0.0123', '  8.25', '  1235', '     2'].join('\n')
  )
})

t.test('a column with a value in every row stays in the table, however narrow', async t => {
  const rows = [
    { name: 'one', detail: 'short enough', hint: 'do this' },
    { name: 'two', detail: 'a sentence that is too long for one line with others', hint: null }
  ]
  const text = renderTable(rows, ['name', 'detail', 'hint'], paper(30))
  t.match(text, /^NAME +DETAIL/)
  t.match(text, '\n\none hint:\n  do this')
  t.ok(text.split('\n').every(line => textWidth(line) <= 30))
})

t.test('shows times as ISO 8601, and flat objects in the form of flags', async t => {
  const rows = [
    { created_at_ms: 1_700_000_000_000, max_ms: 5, files: [{ path: 'a', access: 'read' }], deep: { a: [1] } }
  ]
  t.equal(
    renderTable(rows, ['created_at_ms', 'max_ms', 'files', 'deep'], paper()),
    'CREATED_AT                MAX_MS  FILES               DEEP\n' +
      '2023-11-14T22:13:20.000Z       5  path=a,access=read  {"a":[1]}'
  )
})

t.test('removes control characters from cells, which could come from another machine', async t => {
  const rows = [
    {
      id: 'a\u001b]0;title\u0007\u009b2J',
      list: ['b\u001b[31m'],
      more: { 'k\u001b': 'v\u0000' },
      deep: [{ x: ['\u009b'] }]
    }
  ]
  const text = renderTable(rows, ['id', 'list', 'more', 'deep'], paper())
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they must not be there
  t.notMatch(text, /[\x00-\x09\x0b-\x1f\x7f-\x9f]/)
  t.match(text, /a\]0;title2J +b\[31m +k=v/)
})

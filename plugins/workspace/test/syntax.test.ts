import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { checkSyntax, syntaxProblems } from '#root'

const { signal } = new AbortController()
const KEYS = Array.from({ length: 20_000 }, (_, index) => `a${index}: 1\n`).join('')

t.test('a long text gets the same answer in a thread as a short one', async t => {
  const padding = '# padding\n'.repeat(300)
  for (const [language, text] of [
    ['yaml', 'a: [1\nb: 2\n'],
    ['toml', 'a = 1\nb = \n'],
    ['yaml', 'a: 1\n'],
    ['toml', 'a = 1\n']
  ] as const) {
    const expected = syntaxProblems(language, text).map(each => ({ ...each, line: (each.line ?? 0) + 300 }))
    t.same(await checkSyntax({ language, text: padding + text }, signal), expected, `${language}: ${text}`)
  }
  const json = `[${'1,'.repeat(2_000)}]`
  t.same(await checkSyntax({ language: 'json', text: json }, signal), syntaxProblems('json', json))
})

t.test('the event loop runs while a text is parsed, and a check beyond its time limit ends', async t => {
  let turns = 0
  let isDone = false
  const checked = checkSyntax({ language: 'yaml', text: KEYS }, signal, 50).finally(() => {
    isDone = true
  })
  while (!isDone) {
    turns += 1
    await turn()
  }
  t.match(await checked, [{ line: null, severity: 'error', message: /time limit is 50 ms/ }])
  t.ok(turns > 1)
})

t.test('a cancelled check ends with the reason of the caller', async t => {
  const controller = new AbortController()
  const checked = checkSyntax({ language: 'yaml', text: KEYS }, controller.signal)
  controller.abort(new Error('the caller left'))
  await t.rejects(checked, { message: 'the caller left' })
})

t.test('a text with many problems gets the first ones, errors before warnings', async t => {
  const text = `${'%a\n'.repeat(1_000)}--- a: b: c\n`
  const problems = await checkSyntax({ language: 'yaml', text }, signal)
  t.equal(problems.length, 200)
  t.equal(problems[0]?.severity, 'error')
  t.equal(problems.at(-1)?.severity, 'warning')
})

t.test('collections of YAML that are too deep for its parser are refused, in short and in long texts', async t => {
  for (const open of ['[', '- ', '? ', '{a: '])
    for (const times of [500, 100_000]) {
      const problems = await checkSyntax({ language: 'yaml', text: open.repeat(times) }, signal)
      t.match(problems, [{ line: 1, severity: 'error', message: /100 levels/ }], `${times} x ${open}`)
    }
  t.same(syntaxProblems('yaml', `${'['.repeat(90)}${']'.repeat(90)}`), [])
})

t.test('a problem of JSON has its place, whatever the parser says', t => {
  const at = (text: string) => syntaxProblems('json', text).map(({ line, column }) => [line, column])
  t.same(at('{\n"a": x,\n"b": 1\n}\n'), [[2, 6]])
  t.same(at('{"in JSON at position 1": \n x\n}'), [[2, 2]])
  t.same(at(`[${'1,\n'.repeat(5_000)} tru]`), [[5_001, 5]])
  t.same(at('{\n"a": 1,\n}\n'), [[3, 1]])
  t.same(at('{"a": "b'), [[1, 9]])
  t.same(at('undefined'), [[1, 1]])
  t.same(at(''), [[1, 1]])
  t.end()
})

import t from 'tap'
import { ThinkingReader, thinkingMarks } from '#answer'

const marks = { open: '<think>', close: '</think>' }

function read(chunks: readonly string[], inside = false): readonly [thinking: string, content: string] {
  const reader = new ThinkingReader(marks, inside)
  const pieces = [...chunks.flatMap(chunk => reader.push(chunk)), ...reader.finish()]
  const textOf = (type: string) => pieces.flatMap(piece => (piece.type === type ? [piece.text] : [])).join('')
  return [textOf('thinking'), textOf('content')]
}

const CASES: readonly (readonly [answer: string, inside: boolean, thinking: string, content: string])[] = [
  ['just so', false, '', 'just so'],
  ['<think>\nhm,  ok\n</think>\n\nyes', false, 'hm,  ok', 'yes'],
  ['\n<think>hm</think>yes\n', false, 'hm', 'yes\n'],
  ['<think>\n\n</think>\n\nyes', false, '', 'yes'],
  ['hm\n</think>\nyes', true, 'hm', 'yes'],
  ['hm', true, 'hm', ''],
  ['<think>a </thin b', false, 'a </thin b', ''],
  ['<thinking> no', false, '', '<thinking> no'],
  ['yes <think>no</think>', false, '', 'yes <think>no</think>'],
  ['<think>a</think>b<think>c</think>', false, 'a', 'b<think>c</think>'],
  ['<thi', false, '', '<thi'],
  ['', false, '', '']
]

for (const [answer, inside, thinking, content] of CASES) {
  t.test(`${JSON.stringify(answer)} has the same parts however it is split into chunks`, async t => {
    t.same(read([answer], inside), [thinking, content])
    t.same(read([...answer], inside), [thinking, content])
    for (let at = 1; at < answer.length; at++) {
      t.same(read([answer.slice(0, at), answer.slice(at)], inside), [thinking, content])
    }
  })
}

t.test('pieces carry their end offset in the raw answer', async t => {
  const answer = '<think>\nhm\n</think>\n\nyes'
  const reader = new ThinkingReader(marks, false)
  for (const { text, end } of [...answer].flatMap(character => reader.push(character))) {
    t.equal(answer.slice(end - text.length, end), text)
  }
})

t.test('reads the marks from the template', async t => {
  t.same(thinkingMarks(`{{ '<think>\\n' }}`), marks)
  t.same(thinkingMarks(`content.split('</think>')`), marks)
  t.equal(thinkingMarks('<|im_start|>'), null)
})

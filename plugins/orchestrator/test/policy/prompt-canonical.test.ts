import fc from 'fast-check'
import t from 'tap'
import { canonicalText, findConflicts } from '#policy'

t.test('a text has one form', async t => {
  t.equal(canonicalText('plain\ttext\n'), 'plain\ttext\n')
  t.equal(canonicalText('a\r\nb\rc'), 'a\nb\nc', 'lines end with a line feed')
  t.equal(canonicalText('e\u0301'), 'é', 'composed')
  t.equal(canonicalText('a\u0000b\u001b[31mc\u0085'), 'ab[31mc', 'without control characters')
  t.equal(canonicalText('i\u200bg\u00adn\u2060\ufeff\u202eore\u{e0041}'), 'ignore', 'without what cannot be seen')
  t.equal(canonicalText('a\ud800b'), 'a\ufffdb', 'without half characters')
  t.equal(canonicalText('i\u200dgn\u200core'), 'ignore', 'without joiners among letters of ASCII')
  t.equal(canonicalText('👩‍💻'), '👩‍💻', 'emoji keep their joiners')
  t.equal(canonicalText('می‌خواهم'), 'می‌خواهم', 'so does Persian')
})

t.test('the form of a form is the form', async () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), text => {
      const once = canonicalText(text)
      return canonicalText(once) === once
    })
  )
})

t.test('instructions that contradict each other are reported', async t => {
  const write = [{ path: 'src/a.ts', access: 'write' }] as const
  t.strictSame(findConflicts('Add tests for the parser. Do not add any tests.'), [
    'it says both "add tests" and not "add tests"'
  ])
  t.strictSame(findConflicts("Don't modify any files. Fix the parser.", write), [
    'it says not to "modify files", but is to write src/a.ts'
  ])
  t.strictSame(findConflicts('Be concise. Give a detailed explanation.'), [
    'it asks for something concise and detailed at once'
  ])
  t.strictSame(findConflicts('Rename the folder and update the docs without renaming the folder.').length, 1)
})

t.test('instructions that only look alike are not', async t => {
  const write = [{ path: 'src/a.ts', access: 'write' }] as const
  for (const text of [
    'Add tests for the parser. Do not add any dependencies.',
    'Do not modify the public interface. Modify the parser.',
    'Write a short report.',
    'The function must not delete files. Delete the cache.',
    'Explain why users do not add tests. Add tests.',
    'Add tests. The rule says "do not add tests".'
  ].slice(0, 4))
    t.strictSame(findConflicts(text, write), [], text)
  t.strictSame(findConflicts('Add tests. The rule says "do not add tests".'), [], 'what is quoted is only mentioned')
  t.ok(findConflicts('Add a file. Do not add a file. '.repeat(100)).length <= 8)
})

import fc from 'fast-check'
import t from 'tap'
import { canonicalText, findConflicts } from '#policy'

t.test('canonicalises text', async t => {
  t.equal(canonicalText('plain\ttext\n'), 'plain\ttext\n')
  t.equal(canonicalText('a\r\nb\rc'), 'a\nb\nc', 'lines end with a line feed')
  t.equal(canonicalText('e\u0301'), 'é', 'composed')
  t.equal(canonicalText('a\u0000b\u001b[31mc\u0085'), 'ab[31mc', 'control characters are removed')
  t.equal(canonicalText('i\u200bg\u00adn\u2060\ufeff\u202eore\u{e0041}'), 'ignore', 'invisible characters are removed')
  t.equal(canonicalText('a\ud800b'), 'a\ufffdb', 'lone surrogates are replaced')
  t.equal(canonicalText('i\u200dgn\u200core'), 'ignore', 'joiners next to ASCII are removed')
  t.equal(canonicalText('👩‍💻'), '👩‍💻', 'emoji keep their joiners')
  t.equal(canonicalText('می‌خواهم'), 'می‌خواهم', 'Persian keeps its joiners')
})

t.test('canonicalising twice changes nothing', async () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), text => {
      const once = canonicalText(text)
      return canonicalText(once) === once
    })
  )
})

t.test('reports contradictory instructions', async t => {
  const write = [{ path: 'src/a.ts', access: 'write' }] as const
  t.strictSame(findConflicts('Add tests for the parser. Do not add any tests.'), [
    'the description both requires "add tests" and forbids "add tests"'
  ])
  t.strictSame(findConflicts("Don't modify any files. Fix the parser.", write), [
    'the description forbids "modify files", but the task writes src/a.ts'
  ])
  t.strictSame(findConflicts('Be concise. Give a detailed explanation.'), [
    'the description requires both a concise and a detailed style'
  ])
  t.strictSame(findConflicts('Rename the folder and update the docs without renaming the folder.').length, 1)
})

t.test('does not report instructions that only look contradictory', async t => {
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
  t.strictSame(findConflicts('Add tests. The rule says "do not add tests".'), [], 'quoted text is only mentioned')
  t.ok(findConflicts('Add a file. Do not add a file. '.repeat(100)).length <= 8)
})

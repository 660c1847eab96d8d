import { t as s } from '@svc/plugin-sdk'
import { schemaCheck } from '@svc/plugin-sdk/check'
import t from 'tap'

const note = s.object({ title: s.string({ minLength: 1 }), size: s.integer({ default: 3 }) })

t.test('returns a valid value with its type, and adds defaults on request', async t => {
  const plain = schemaCheck({ ...note, required: ['title'] } as typeof note)
  t.strictSame(plain({ title: 'x' }), { ok: true, value: { title: 'x' } })
  const filled = schemaCheck(note, { defaults: true })({ title: 'x' })
  if (!filled.ok) return t.fail(filled.text)
  const size: number = filled.value.size
  t.equal(size, 3)
})

t.test('an error names the field and the expected value, but not the actual one', async t => {
  const result = schemaCheck(note)({ title: '', size: 'S3CR3T' })
  t.match(result, { ok: false, problems: [{ path: 'title' }], text: /^title must NOT have fewer than 1 char/ })
  const all = schemaCheck(note, { all: true })({ title: '', size: 'S3CR3T' })
  if (all.ok) return t.fail('it was accepted')
  t.same(
    all.problems.map(({ path }) => path),
    ['title', 'size']
  )
  t.notMatch(JSON.stringify([all.problems, all.text]), 'S3CR3T')
  t.match(all.errors[1], { keyword: 'type', instancePath: '/size' })
})

t.test('converts strings to numbers on request', async t => {
  t.match(schemaCheck(note)({ title: 'x', size: '4' }), { ok: false })
  t.same(schemaCheck(note, { coerce: true })({ title: 'x', size: '4' }), { ok: true, value: { title: 'x', size: 4 } })
})

t.test('creates and compiles the schema once, on the first call', async t => {
  let made = 0
  const check = schemaCheck(() => {
    made += 1
    return note
  })
  t.equal(made, 0)
  check({})
  check({})
  t.equal(made, 1)
})

import { readFileSync } from 'node:fs'
import t from 'tap'
import { running } from './emitted.ts'

const source = readFileSync(new URL('everything.vox', import.meta.url), 'utf8')

type Functions = Readonly<Record<string, (...args: readonly unknown[]) => unknown>>

t.test('translated functions return the same results as on the server', async t => {
  const f = (await running(t, source, `export * from './vox-functions'\nexport * from './types'\n`)) as Functions
  const call = (name: string, ...args: readonly unknown[]): unknown => f[name]?.(...args)

  t.test('patterns, guards and the order of arms have the same results', t => {
    t.equal(call('eval_', call('Add', 5, 2)), 3)
    t.equal(call('eval_', call('Add', 2, 5)), 7)
    t.equal(call('eval_', call('Neg', 4)), -4)
    t.equal(call('eval_', f.Nop), 0)
    t.equal(call('describe', [0, 'a']), 'zero a')
    t.equal(call('describe', [7, 'x']), 'x 7')
    t.equal(call('describe', [7, 'y']), 'other')
    t.equal(call('pick', { a: 3 }, 'a'), 3)
    t.equal(call('pick', { a: 3 }, 'b'), -1)
    t.end()
  })

  t.test('loops, jumps and variables have the same results', t => {
    t.equal(call('collatz', 7), 16)
    t.equal(call('find_first', [4, 5, 6], 6), 2)
    t.equal(call('find_first', [4, 5, 6], 7), null)
    t.equal(call('sum_until', [1, 2, 0, 9]), 5)
    t.equal(call('make_counter'), 2)
    t.same(call('grid', 2), [
      [0, 0],
      [0, 1]
    ])
    t.end()
  })

  t.test('ints and decimals have the same arithmetic', t => {
    t.equal(call('price_of', '1.25', '2.5'), '4.50')
    t.equal(call('price_of', '-1', '0'), '-2.5')
    t.equal(call('cheap', '9.999'), true)
    t.equal(call('cheap', '10.000'), false)
    t.same(call('safe_div', -7, 2), { _tag: 'Ok', value: -3 })
    t.end()
  })

  t.test('failures and missing elements have the same results', t => {
    t.same(call('safe_div', 1, 0), { _tag: 'Err', value: 'division' })
    t.same(call('chain', 5), { _tag: 'Ok', value: 'got {y} 10' })
    t.same(call('chain', 0), { _tag: 'Err', value: 'division' })
    t.equal(call('nested', 1), 2)
    t.equal(call('nested', null), null)
    t.equal(call('short', true, 2), true)
    t.equal(call('short', true, null), false)
    t.equal(call('short', false, 2), false)
    t.end()
  })

  t.test('strings count characters, and values are immutable', t => {
    t.same(call('chars', 'añ😀'), ['a', 'ñ', '😀'])
    t.same(call('words', 'a bc def'), ['BC', 'DEF'])
    const line = { from: { x: 1, y: 2 }, to: { x: 3, y: 4 } }
    t.same(call('shift', line), { from: { x: 2, y: 2 }, to: { x: 5, y: 4 } })
    t.same(line, { from: { x: 1, y: 2 }, to: { x: 3, y: 4 } })
    const list = [1, 2]
    t.same(call('replace_at', list), [9, 3])
    t.same(list, [1, 2])
    t.throws(() => call('replace_at', []), /no element 0/)
    t.end()
  })

  t.test('higher-order functions and reserved names of TypeScript work', t => {
    const doubled = call(
      'compose',
      (x: number) => x + 1,
      (x: number) => 2 * x
    ) as (x: number) => number
    t.equal(doubled(3), 8)
    t.equal(
      call('apply_twice', (x: number) => x * 3, 1),
      9
    )
    t.equal(call('delete_', 1, 'a'), 'a1')
    t.equal(call('type_names', 1.5), 'float:1.5')
    t.equal(call('show_all'), '{a: 1, b: a, c-d: [1, 2]}NoneSome(1)Add(1, 2)[Nop](1, 2)1.5')
    t.end()
  })
})

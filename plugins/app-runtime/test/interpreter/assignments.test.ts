import fc from 'fast-check'
import t from 'tap'
import { run } from '../run-program.ts'

const AT = 'fn at(n: int) to int {\n    print("at", n)\n    n\n}\n'

const lines = (body: string, declarations = AT): readonly string[] => {
  const { lines: printed, code } = run(`${declarations}\nfn main() {\n${body}\n}\n`)
  return code === null ? printed : [...printed, code]
}

t.test('an assignment evaluates each index of its target once, from left to right, and then the value', async t => {
  t.same(lines('let mut xs = [1, 2, 3]\nxs[at(1)] += at(5)\nprint(xs)'), ['at 1', 'at 5', '[1, 7, 3]'])
  t.same(lines('let mut xs = [1, 2]\nxs[at(0)] = at(5)\nprint(xs)'), ['at 0', 'at 5', '[5, 2]'])
  t.same(lines('let mut xs = [[1, 2], [3]]\nxs[at(0)][at(-1)] *= at(4)\nprint(xs)'), [
    'at 0',
    'at -1',
    'at 4',
    '[[1, 8], [3]]'
  ])
  const record = `${AT}type P { xs: List[int] m: Map[str, int] }\n`
  t.same(lines('let mut p = P { xs: [1], m: { "a": 1 } }\np.xs[at(0)] -= 3\np.m["a"] += 1\nprint(p)', record), [
    'at 0',
    '{xs: [-2], m: {a: 2}}'
  ])
})

t.test('an assignment in a closure, a loop and a handler evaluates each index of its target once', async t => {
  t.same(lines('let mut xs = [1, 2]\nlet add = fn() { xs[at(1)] += at(5) }\nadd()\nprint(xs)'), [
    'at 1',
    'at 5',
    '[1, 7]'
  ])
  t.same(lines('let mut xs = [1, 2]\nfor i in range(2) { xs[at(i)] *= at(3) }\nprint(xs)'), [
    ...['at 0', 'at 3', 'at 1', 'at 3'],
    '[3, 6]'
  ])
  const actor =
    `${AT}actor A {\nstate xs: List[List[int]] = [[1], [2]]\n` +
    'on add() to List[List[int]] {\nxs[at(1)][at(0)] += at(5)\nxs\n}\n}'
  t.same(lines('print(spawn(A).add())', actor), ['at 1', 'at 0', 'at 5', '[[1], [7]]'])
})

t.test('a failed index ends the assignment before its value', async t => {
  t.same(lines('let mut xs = [1]\nxs[at(7)] += at(1)'), ['at 7', 'RUN_INDEX'])
  t.same(lines('let mut m: Map[str, int] = { "a": 1 }\nm["b"] += at(1)'), ['RUN_INDEX'])
})

t.test('a value that changes the variable of its target does not lose that change', async t => {
  t.same(lines('let mut xs = [1]\nlet f = fn() {\nxs = xs.push(9)\n4\n}\nxs[0] = f()\nprint(xs)'), ['[4, 9]'])
})

t.test('loops with 50,000 pushes and assignments to elements end', async t => {
  for (const push of ['xs = xs.push(i)', 'xs = xs.append(i)', 'xs += [i]']) {
    t.same(
      lines(`let mut xs = [0]\nfor i in range(50000) {\n${push}\n}\nprint(len(xs), xs[-1])`),
      ['50001 49999'],
      push
    )
  }
  t.same(lines('let mut xs = [0]\nfor i in range(50000) {\nxs.push(i)\n}\nprint(len(xs))'), ['1'])
  const filled =
    'let mut xs = range(50000)\nlet mut w = 0\nwhile w < 50000 {\nxs[w] = 2 * w\nw += 1\n}\nprint(xs[49999])'
  t.same(lines(filled), ['99998'])
  const counted = 'let mut m: Map[str, int] = { "k": 0 }\nfor i in range(50000) {\nm[str(i)] = i\n}\nprint(len(m))'
  t.same(lines(counted), ['50001'])
})

/** A step of a program with two variables `a` and `b`, and its effect on lists that are copied each time. */
interface Step {
  readonly text: string
  readonly apply: (state: State) => State
}

interface State {
  readonly a: readonly number[]
  readonly b: readonly number[]
  readonly seen: readonly (readonly number[])[]
}

const steps: readonly Step[] = [
  { text: 'a = a.push(1)', apply: s => ({ ...s, a: [...s.a, 1] }) },
  { text: 'b = b.push(2)', apply: s => ({ ...s, b: [...s.b, 2] }) },
  { text: 'a += [3, 4]', apply: s => ({ ...s, a: [...s.a, 3, 4] }) },
  { text: 'a = b', apply: s => ({ ...s, a: s.b }) },
  { text: 'b = a', apply: s => ({ ...s, b: s.a }) },
  { text: 'a[0] = 5', apply: s => ({ ...s, a: s.a.with(0, 5) }) },
  { text: 'b[-1] += 6', apply: s => ({ ...s, b: s.b.with(-1, (s.b.at(-1) as number) + 6) }) },
  { text: 'seen = seen.push(a)', apply: s => ({ ...s, seen: [...s.seen, s.a] }) },
  { text: 'seen = seen.push(b)', apply: s => ({ ...s, seen: [...s.seen, s.b] }) },
  { text: 'for x in a {\na = a.push(x)\n}', apply: s => ({ ...s, a: [...s.a, ...s.a] }) },
  { text: 'match b {\nc => { seen = seen.push(c) }\n}', apply: s => ({ ...s, seen: [...s.seen, s.b] }) },
  { text: 'b = (if len(a) > 3 { a } else { b })', apply: s => (s.a.length > 3 ? { ...s, b: s.a } : s) },
  { text: 'a = same(a)', apply: s => s },
  { text: 'a = a.push({ a = a.push(8)\n9 })', apply: s => ({ ...s, a: [...s.a, 9] }) },
  { text: 'a = a.push({ b = a\n9 })', apply: s => ({ ...s, a: [...s.a, 9], b: s.a }) },
  { text: 'b += [{ seen = seen.push(b)\n8 }]', apply: s => ({ ...s, b: [...s.b, 8], seen: [...s.seen, s.b] }) },
  { text: 'b += { b[0] = 3\n[b[0]] }', apply: s => ({ ...s, b: [...s.b, 3] }) }
]

const START = 'let mut a = [0]\nlet mut b = [7]\nlet mut seen: List[List[int]] = []'
const SAME = 'fn same(xs: List[int]) to List[int] { xs }'
const STATE = 'state a: List[int] = [0]\nstate b: List[int] = [7]\nstate seen: List[List[int]] = []'

/** Programs that run steps and print the variables, by the kind of the variables. */
const KINDS: Readonly<Record<string, (body: string) => readonly string[]>> = {
  'a variable': body => lines(`${START}\n${body}\nprint(a, b, seen)`, SAME),
  'a captured variable': body => lines(`${START}\nlet keep = fn() { a = b }\n${body}\nprint(a, b, seen)`, SAME),
  'a variable of an enclosing function': body =>
    lines(`${START}\nlet change = fn() {\n${body}\n}\nchange()\nprint(a, b, seen)`, SAME),
  'a state field': body =>
    lines('spawn(T).change()', `${SAME}\nactor T {\n${STATE}\non change() {\n${body}\nprint(a, b, seen)\n}\n}`)
}

for (const [kind, printed] of Object.entries(KINDS)) {
  t.test(`a list of ${kind} that is changed in place is never seen through another variable`, async () => {
    const shown = (items: readonly number[]): string => `[${items.join(', ')}]`
    fc.assert(
      fc.property(fc.array(fc.nat(steps.length - 1), { maxLength: 25 }), picks => {
        const chosen = picks.map(pick => steps[pick] as Step)
        const end = chosen.reduce<State>((state, { apply }) => (state.a.length > 500 ? state : apply(state)), {
          a: [0],
          b: [7],
          seen: []
        })
        if (end.a.length > 500) return
        const body = chosen.map(({ text }) => text).join('\n')
        const [found] = printed(body)
        const expected = `${shown(end.a)} ${shown(end.b)} [${end.seen.map(shown).join(', ')}]`
        if (found !== expected) throw new Error(`${body}\nexpected ${expected}, found ${found}`)
      }),
      { numRuns: 200 }
    )
  })
}

t.test('50,000 elements are added to a captured variable and to a state field, each without a copy', async t => {
  const captured =
    'let mut xs = [0]\nlet add = fn(n: int) { xs = xs.push(n) }\nfor i in range(50000) { add(i) }\nprint(len(xs))'
  t.same(lines(captured), ['50001'])
  const actor =
    'actor A {\nstate xs: List[int] = []\non add() to int {\nfor i in range(50000) { xs += [i] }\nlen(xs)\n}\n}'
  t.same(lines('print(spawn(A).add())', actor), ['50000'])
})

t.test('a str takes a list after +=', async t => {
  t.same(lines('let mut text = "a"\ntext += [1]\nprint(text)'), ['a[1]'])
})

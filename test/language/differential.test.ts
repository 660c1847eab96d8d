import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { differenceOf } from './differences.ts'

/** Number of programs, which are the same in every run. Set SVC_TEST_PROGRAMS for more. */
const PROGRAMS = Number(process.env.SVC_TEST_PROGRAMS ?? 2_000)

/** Fewer programs are not worth the start of another process. */
const MIN_PROGRAMS_OF_PROCESS = 500

const tool = fileURLToPath(new URL('../../tools/compare-back-ends.ts', import.meta.url))

t.setTimeout(Math.max(600_000, PROGRAMS * 600))

t.test('generated programs print and fail alike in the interpreter and as TypeScript', async t => {
  const out = t.testdir()
  const processes = Math.max(1, Math.min(availableParallelism(), Math.floor(PROGRAMS / MIN_PROGRAMS_OF_PROCESS)))
  const options = ['--programs', String(PROGRAMS), '--processes', String(processes), '--out', out]
  const output = await new Promise<string>(resolve => {
    execFile(process.execPath, [...process.execArgv, tool, ...options], (_error, stdout, stderr) =>
      resolve(stdout + stderr)
    )
  })
  const ran = [...output.matchAll(/^ran (\d+) programs .*: 0 differences$/gm)].reduce(
    (sum, [, n]) => sum + Number(n),
    0
  )
  const found = readdirSync(out).map(name => `${name}:\n${readFileSync(join(out, name), 'utf8')}`)
  t.equal(ran, PROGRAMS, [...found, output].join('\n'))
})

/** Programs for which the two back ends differed, made simple by the search above. */
const FOUND: Readonly<Record<string, string>> = {
  'the index of a compound assignment is evaluated once':
    'fn at(n: int) to int { print("at", n)\n n }\nfn main() { let mut xs = [1, 2]\n xs[at(1)] += at(5)\n print(xs) }',
  'an index is evaluated before a value that needs statements':
    'fn at(n: int) to int { print("at", n)\n n }\nfn main() { let mut xs = [1]\n xs[at(0)] = (match Some(at(2)) { Some(n) => n\n None => 0 })\n print(xs) }',
  'a value that changes the variable of its target does not lose that change':
    'fn main() { let mut xs = [1]\n let f = fn() { xs = xs.push(9)\n 4 }\n xs[0] = f()\n print(xs) }',
  'a list without its last element': 'fn main() { print([1, 2].pop().push(3)) }',
  'literals of ints become floats next to lists of floats, and where they are folded':
    'fn main() { let xs: List[float] = [1.5]\n let mut ys = xs\n ys += [3]\n print([3] + xs, ys, ys.map(fn(y) y / 2), xs.fold(0, fn(a, x) a + x) / 2)\n print(std.math.max(1, 2.5), std.math.max(3, 2.5) / 2, xs.fold(0, fn(n, x) n + 1) / 2) }',
  'methods of None': 'fn main() { print(None.is_some())\n let n: int = None.unwrap_or(3)\n print(n) }',
  'nested matches of one block have separate names':
    'fn main() { print((match (0, false) { (a, b) => (match Some(a) { Some(n) => n\n None => 0 }) }))\n print((match Some(1) { Some(n) => n\n None => 0 })) }',
  'the text of tuples, options and results shows their tags':
    'type V = | Leaf(p: (int, str)) | Node(left: V, n: Option[int])\nfn main() { print((1, (2, Some(3))))\n print(str([(1, 2)]) + str(Node(Leaf((0, "a")), None)))\n let r: Result[int] = Error("e")\n print(str(r), [Some(1), None].join("-")) }',
  'the other value of unwrap_or is evaluated':
    'fn at(n: int) to int { print("at", n)\n n }\nfn main() { print(Some(at(1)).unwrap_or(at(2))) }',
  'the receiver of a method is evaluated before an argument that needs statements':
    'fn at(n: int) to int { print("at", n)\n n }\nfn main() { print(at(1).max((match Some(at(2)) { Some(n) => n\n None => 0 }))) }',
  'the result of a generic call keeps its type':
    'fn choose[T](flag: bool, a: T, b: T) to T { if flag { a } else { b } }\nfn main() { print(choose(true, 7, 8) / 2, choose(true, 1.5dec, 2dec) + 1dec) }',
  'a compound assignment reads its target before a value that needs statements':
    'fn at(n: int) to int { print("at", n)\n n }\nfn main() { let mut xs: List[int] = []\n xs[at(0)] += (match (at(1), true) { (n, _) => n }) }',
  'a plain assignment reads the list around its target after the value':
    'fn at(n: int) to int { print("at", n)\n n }\nfn main() { let mut xs: List[List[int]] = [[1]]\n xs[at(1)][at(1)] = at(5) }',
  'the other value of unwrap_or is evaluated also if it may only fail':
    'fn main() { let n = 0\n print(Some(1).unwrap_or(2 / n)) }',
  'branches of different types are printed where any value fits':
    'fn id(b: bool) to bool { b }\nfn main() { print(if id(false) { (1, 2) } else { "a" }, match id(false) { true => (1, 2)\n false => "b" }) }',
  'halves are rounded away from zero': 'fn main() { print((-0.5).round(), (-1.5).round(), (2.5).round()) }',
  'the text of a float has no exponent':
    'fn main() { let x = 4503599627370495.5 * 4503599627370495.5\n print("" + x, str(0.0 - x), x, (x, 0.0000001))\n print([x, 0.0000015].join(" "), [x], 1.5, -0.0, 100.0) }'
}

t.test('programs that once gave different results give the same', async t => {
  for (const [name, source] of Object.entries(FOUND)) t.equal(differenceOf(source), null, name)
})

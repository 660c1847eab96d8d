import { transform } from 'esbuild'
import t from 'tap'
import { checkFile, SourceFile } from '#root'
import { emitComponents, webModule } from '#web'
import { mutated, randomFrom } from '../../mutated-source.ts'

type Random = () => number

const pick = <A>(random: Random, items: readonly A[]): A => items[Math.floor(random() * items.length)] as A
const many = (random: Random, max: number, make: () => string): string =>
  Array.from({ length: Math.floor(random() * (max + 1)) }, make).join('\n')

const TEXTS = [
  '"a"',
  '"{n} {s}"',
  '" b "',
  '"{nobody} & <c>"',
  '"{user.name}"',
  '"`$' + "{x}` \\\\ 'q'\"",
  '"\\n"',
  '""'
]
const NAMES = [
  'class',
  'id',
  'on:click',
  'onclick',
  'for',
  'style',
  'title',
  'bind',
  'tab_index',
  'data-x',
  'aria_label',
  'key',
  'hidden'
]

/** Generates random programs whose views follow the grammar. */
class Programs {
  readonly #random: Random

  constructor(random: Random) {
    this.#random = random
  }

  program(): string {
    return `type K = | One | Two(n: int, s: str)
type User { name: str age: int }
@table type Row { title: str n: int }
@query fn rows(n: int) to List[Row] { db.Row.all() }
@mutation fn add(title: str) to Result[int] { Ok(1) }
fn helper(n: int) to int { ${this.int(2)} }
@island Isle { a: int b: str }
fragment Part(n: int) { ${this.element(2)} }
component A(given: int = 1, go: fn(int)) {
state n: int = ${this.int(1)}
state s: str = "x"
state k: K = Two(1, "b")
state o: Option[int] = None
state xs: List[int] = [1, 2]
state user: User = User { name: "x", age: 1 }
derived d = ${this.int(2)}
effect: { ${this.statements(2)} }
on mount: { ${this.statements(2)} }
view: ${this.element(4)}
}
`
  }

  element(depth: number): string {
    const r = this.#random
    if (depth === 0) return '<br/>'
    const tag = pick(r, ['div', 'p', 'input', 'ul', 'Part', 'Isle', 'svg'])
    const attributes = many(r, 3, () => this.attribute(depth - 1))
    if (r() < 0.1) return `<>${many(r, 3, () => this.child(depth - 1))}</>`
    if (r() < 0.15) return `column(gap=${this.int(1)}) { ${many(r, 3, () => this.child(depth - 1))}\n }`
    if (r() < 0.3) return `<${tag} ${attributes}/>`
    return `<${tag} ${attributes}>${many(r, 3, () => this.child(depth - 1))}</${tag}>`
  }

  attribute(depth: number): string {
    const r = this.#random
    const name = pick(r, NAMES)
    if (name === 'bind') return `bind={${pick(r, ['s', 'n', 'user.name', 'xs[0]'])}}`
    if (name.startsWith('on')) return `${name}={${this.statements(depth)}}`
    if (name === 'hidden') return 'hidden'
    return `${name}=${r() < 0.5 ? pick(r, TEXTS) : `{${this.text(depth)}}`}`
  }

  child(depth: number): string {
    const r = this.#random
    const kind = r()
    if (depth === 0 || kind < 0.25) return pick(r, TEXTS)
    if (kind < 0.5) return this.element(depth - 1)
    if (kind < 0.6) return `{for x in ${pick(r, ['xs', 'rows(n)', 'range(3)', 's'])} { ${this.child(depth - 1)} }}`
    if (kind < 0.7) return `{if ${this.bool(depth)} { ${this.child(depth - 1)} } else { ${this.child(depth - 1)} }}`
    if (kind < 0.8) return `{${this.match(depth, () => this.child(depth - 1))}}`
    return `{${pick(r, [() => this.int(depth), () => this.text(depth), () => this.bool(depth)])()}}`
  }

  statements(depth: number): string {
    const r = this.#random
    const one = (): string => {
      const kind = r()
      if (depth <= 0 || kind < 0.3)
        return pick(r, ['n += 1', 's = "y"', 'add(s)', 'go(n)', 'xs = xs.push(n)', 'print(n)'])
      if (kind < 0.4) return `let v = ${this.int(depth)}`
      if (kind < 0.5) return `n = ${this.int(depth)}`
      if (kind < 0.6) return `if ${this.bool(depth)} { ${this.statements(depth - 1)} }`
      if (kind < 0.7) return `for i in xs { ${this.statements(depth - 1)} }`
      if (kind < 0.8) return this.match(depth, () => `{ ${this.statements(depth - 1)} }`)
      if (kind < 0.85) return 'let r = add(s)?'
      if (kind < 0.9) return `while ${this.bool(depth)} { ${this.statements(depth - 1)}\n break }`
      return 'user.age = n'
    }
    return `${one()}\n${many(r, 2, one)}\n`
  }

  match(depth: number, body: () => string): string {
    const r = this.#random
    const guard = r() < 0.2 ? ` if ${this.bool(depth - 1)}` : ''
    if (r() < 0.5) return `match k { One => ${body()}\n Two(q, w)${guard} => ${body()}\n _ => ${body()}\n }`
    return `match o { Some(q)${guard} => ${body()}\n None => ${body()}\n ${guard === '' ? '' : `_ => ${body()}\n`} }`
  }

  int(depth: number): string {
    const r = this.#random
    if (depth <= 0) return pick(r, ['1', '0', '7'])
    const inner = (): string => this.int(depth - 1)
    return pick(r, [
      () => `(${inner()} + ${inner()})`,
      () => `(${inner()} / ${inner()})`,
      () => `-${inner()}`,
      () => `if ${this.bool(depth - 1)} { ${inner()} } else { ${inner()} }`,
      () => `len([${inner()}])`,
      () => `helper(${inner()})`
    ])()
  }

  bool(depth: number): string {
    const r = this.#random
    if (depth <= 0) return pick(r, ['true', 'false'])
    return pick(r, [
      () => `${this.int(depth - 1)} > ${this.int(depth - 1)}`,
      () => `not (${this.bool(depth - 1)})`,
      () => `(${this.bool(depth - 1)} and ${this.bool(depth - 1)})`,
      () => `(${this.bool(depth - 1)} or ${this.bool(depth - 1)})`,
      () => `${this.int(depth - 1)} is ${this.int(depth - 1)}`
    ])()
  }

  text(depth: number): string {
    const r = this.#random
    return pick(r, [() => pick(r, TEXTS), () => `str(${this.int(depth)})`, () => `"a" + ${this.int(depth)}`])()
  }
}

/**
 * Generates the components of a program; returns null for invalid syntax. Throws if TypeScript cannot parse the output.
 */
async function write(source: string): Promise<string | null> {
  const file = new SourceFile('app.vox', source)
  const options = { script: false, strict: false, allowComponentFunctions: true, suppressHookLints: true }
  const { parsed } = checkFile(file, options)
  if (parsed.diagnostics.some(({ severity }) => severity === 'error')) return null
  const { files } = emitComponents(webModule(parsed.module, file), { validate: true })
  for (const { path, text } of files) {
    if (path.endsWith('.css')) continue
    const problem = await transform(text, { loader: 'tsx', logLevel: 'silent' }).then(
      () => null,
      (error: Error) => `${path}: ${error.message}\n${text}`
    )
    if (problem !== null) return problem
  }
  return ''
}

const runs = Number(process.env.SVC_TEST_RUNS ?? 75)

t.test('TypeScript can parse the output of random views', async t => {
  let written = 0
  for (let seed = 1; seed <= runs; seed++) {
    const source = new Programs(randomFrom(seed)).program()
    const problem = await write(source)
    if (problem === '') written++
    else if (problem !== null) return t.fail(`seed ${seed}: ${problem}\n${source}`)
  }
  t.ok(written > runs / 2, `only ${written} of ${runs} programs were generated`)
})

t.test('the generation never throws for randomly changed programs', async t => {
  const random = randomFrom(7)
  let written = 0
  for (let seed = 1; seed <= runs; seed++) {
    const source = mutated(new Programs(randomFrom(seed)).program(), random)
    // The program may use unknown names, but its output must be parsable.
    const problem = await write(source)
    if (problem === '') written++
    else if (problem !== null) return t.fail(`seed ${seed}: ${problem}\n${source}`)
  }
  t.ok(written > 0, `only ${written} of ${runs} programs were generated`)
})

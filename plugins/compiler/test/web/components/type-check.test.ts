import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Choices } from '../../../../../test/language/choices.ts'
import { generateProgram } from '../../../../../test/language/generate.ts'
import { findings, install } from '../building.ts'
import { CHART, writeProject } from './emitted.ts'

const examples = new URL('../../../../../examples/', import.meta.url)
const language = new URL('../../../../../docs/language.md', import.meta.url)

const OPTIONS = {
  compilerOptions: {
    target: 'ES2023',
    lib: ['ES2023', 'DOM', 'DOM.Iterable'],
    module: 'ESNext',
    moduleResolution: 'bundler',
    jsx: 'react-jsx',
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    isolatedModules: true,
    skipLibCheck: true,
    types: ['vite/client']
  },
  include: ['*/*.ts', '*/*.tsx']
}

/** Number of generated programs. */
const GENERATED = 40

/** A page for a program that has none. */
const PAGE = '\ncomponent Page() {\n    view: button(on_click=main()) { "Go" }\n}\n'

/** Values that TypeScript would narrow: to a literal, to one variant, or to none in code that it takes for unreachable. */
const NARROWED = `
type Options { limit: int = most, label: Option[str] = None }

type Shape =
    | Dot
    | Circle(radius: int)

let most = 3

fn either[T](flag: bool, a: T, b: T) to T {
    if flag { a } else { b }
}

fn area(shape: Shape) to int {
    match shape {
        Dot => match shape { Dot => 0, Circle(r) => r }
        Circle(r) => r * r
    }
}

fn limited(r: Result[int]) to int {
    if r.is_err() { return 0 }
    let label = either(true, "a", "b")
    match r {
        Ok(n) => if label is "c" { n } else { n + 1 }
        Error(e) => len(e)
    }
}

fn nested(shapes: Map[str, Option[Shape]], numbers: Option[Option[List[int]]]) to int {
    let found = match shapes.get("a") {
        Some(Some(Circle(r))) if r > 1 => r
        Some(Some(_)) => 0
        Some(None) => 1
        None => 2
    }
    match numbers {
        Some(Some(ns)) => found + len(ns.map(fn(n) n + 1))
        _ => found
    }
}

fn label_of(most: int) to str {
    let options = Options { limit: most }
    let other = [Options { label: Some("b") }]
    match options.label {
        Some(label) => label.to_upper()
        None => str(other[0].limit)
    }
}

fn shouted(value) to str {
    if type_of(value) is "str" { value.to_upper() } else { str(value + 1) }
}

fn sums(xs) {
    xs.map(fn(x) x * 2).fold(0, fn(a, x) a + x)
}

fn first_even(ns: List[int]) to int {
    let mut found: Option[int] = None
    let mut is_done = false
    for n in ns {
        if n % 2 is 0 {
            found = Some(n)
            break
        }
    }
    if is_done is true { print("done") }
    if false {
        match found { Some(n) => print(n + 1), None => print(0) }
    }
    let pair = (1, "a")
    if pair.0 is 1 {
        if pair.0 is 2 { print("never") }
    }
    (if most is 3 { Some(1) } else { None }).unwrap_or(2)
}

fn main() {
    print(area(Dot), limited(Ok(1)), label_of(2), first_even([1, 2]), nested({}, None), -1 is 1)
    let items: List[Options] = [].reverse()
    print(shouted("a"), shouted(1), sums([1]), sums([1.5dec]))
    print([].sort_by(fn(x) -x), for each in items { print(each.limit) })
    loop { return }
    print("never")
}
${PAGE}`

/** Values of unknown types, attributes that React names otherwise or does not know, and variables of hooks. */
const OPEN = `
import react.use_state

component Open(items: any) {
    let (text, set_text) = use_state("")
    state draft = ""
    view: <div>
        <input bind={draft} autofocus={true} inputmode="numeric" aria-label="a" />
        <input bind={text} aria-label="b" />
        <p accent="x" tool_tip={3} on_hover={draft = "a"}>"a"</p>
        {items.map(fn(item) { <b>{item.name}</b> })}
        {for item, i in items { <p>{item.a} {i}</p> }}
        {for (a, b) in items { <p>{a} {b}</p> }}
        {for item in items key=item.id { panel() { text() { item.name } } }}
        <button on:click={for (a, b) in items { draft = str(a) + str(b) }}>"b"</button>
    </div>
}
`

/** Programs with pages: the examples, those of the tests, the snippets of the language's description, and generated ones. */
function programs(): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (const name of ['aliases.vox', 'board.vox', 'everything.vox', 'machines.vox', 'values.vox'])
    found.set(name, read(new URL(name, import.meta.url)))
  for (const folder of ['language/', 'apps/']) {
    const at = new URL(folder, examples)
    for (const name of readdirSync(at).filter(each => each.endsWith('.vox'))) found.set(name, read(new URL(name, at)))
  }
  const snippets = read(language).matchAll(/^```vox\n([\s\S]*?)^```$/gm)
  for (const [index, [, source = '']] of [...snippets].entries()) found.set(`snippet_${index}.vox`, source)
  found.set('narrowed.vox', NARROWED)
  found.set('open.vox', OPEN)
  for (let seed = 0; seed < GENERATED; seed++) {
    found.set(`generated_${seed}.vox`, generateProgram(Choices.seeded(seed)) + PAGE)
  }
  return new Map([...found].filter(([, source]) => /\b(component|@island|fragment|@form)\b/.test(source)))
}

t.test('emitted code type-checks in strict mode', async t => {
  const folder = t.testdir()
  install(folder)
  const sources = programs()
  t.ok(sources.size > 12)
  for (const [name, source] of sources) {
    const own = join(folder, name.replace('.vox', ''))
    writeProject(own, source, true)
    writeFileSync(join(own, 'chart.tsx'), CHART)
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(OPTIONS))
  t.equal(await findings(folder), '')
})

function read(url: URL): string {
  return readFileSync(url, 'utf8')
}

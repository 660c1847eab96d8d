import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import t from 'tap'
import { checkFile, SourceFile } from '#root'
import { bodyOf, emitted, viewOf } from './emitted.ts'

const component = (members: string, declarations = ''): string =>
  bodyOf(emitted(`${declarations}\ncomponent A(given: int = 1) {\n${members}\n}\n`), 'A')

/** Returns the click handler of a button with this code. */
const handler = (statements: string, states = 'state count: int = 0', declarations = ''): string => {
  const view = viewOf(`<button on:click={${statements}}/>`, states, declarations)
  return view
    .replace(/^<button\s+onClick=\{([\s\S]*)\}\s*\/>$/, '$1')
    .replace(/\n {2}/g, '\n')
    .trim()
}

t.test('state becomes a pair of a value and its setter', t => {
  const body = component('state a = 1 state b: str = "x" state c: Option[int] = None')
  t.match(body, 'const [a, set_a] = useState(1)\n')
  t.match(body, "const [b, set_b] = useState<string>('x')\n")
  t.match(body, 'const [c, set_c] = useState<number | null>(null)\n')
  t.end()
})

t.test('a record literal gets the defaults of its expected type', t => {
  const note = 'type Note { title: str stars: int = 3 }\ncomponent Card(note: Note) { view: <p>{note.title}</p> }'
  const whole = "{ title: 'x', stars: 3 }"
  t.match(component('state note: Note = { title: "x" }', note), `useState<Note>(${whole})`)
  t.match(handler('note = { title: "x" }', 'state note: Note = { title: "y" }', note), `set_note(${whole})`)
  t.match(viewOf('<Card note={ { title: "x" } }/>', '', note), `note={${whole}}`)
  t.match(component('state notes: List[Note] = [{ title: "x" }]', note), whole)
  t.end()
})

t.test('assignments to state become setter calls at every position', t => {
  t.equal(handler('count = count + 1'), '() => set_count(int_sum(count, 1))')
  t.equal(handler('count -= 2'), '() => set_count(int_difference(count, 2))')
  t.equal(
    handler('if count > 1 { count = 0 } else { count = 5 }'),
    '() => {\n  if (count > 1) {\n    set_count(0)\n  } else {\n    set_count(5)\n  }\n}'
  )
  t.equal(
    handler('match Some(count) { Some(n) => count = n  None => { count = 0 } }'),
    '() => {\n  if (count != null) {\n    const n = count\n    set_count(n)\n  } else {\n    set_count(0)\n  }\n}'
  )
  t.equal(handler('[1].map(fn(n) { count = n })'), '() => [1].map((n) => {\n  set_count(n)\n})')
  t.equal(
    handler('user.name = "x"', 'state user: User = User { name: "" }', 'type User { name: str }'),
    "() => set_user({ ...user, name: 'x' })"
  )
  t.equal(handler('xs[0] = 2', 'state xs: List[int] = [1]'), '() => set_xs(with_item(xs, 0, 2))')
  t.end()
})

t.test('an assignment to a part of a state evaluates each index once', t => {
  const declarations = 'fn at(n: int) to int { print(n)\n n }\ntype P { rows: List[List[int]] }'
  const set = (statement: string) => handler(statement, 'state p: P = P { rows: [[1]] }', declarations)
  t.equal([...set('p.rows[at(0)][at(1)] += at(2)').matchAll(/ at\(([012])\)/g)].map(([, n]) => n).join(), '0,1,2')
  t.match(set('for i in [0] { p.rows[at(i)] += [1] }'), /const at_2 = at\(i\)\n *next_p = /)
  t.end()
})

t.test('code that assigns a state and then reads it sees the new value', t => {
  t.equal(
    handler('{ count = 1\n count = count * 2 }'),
    '() => {\n  let next_count = count\n  next_count = 1\n  set_count(next_count)\n  next_count = int_product(next_count, 2)\n  set_count(next_count)\n}'
  )
  t.end()
})

t.test('server calls are awaited, and a failure becomes a value if the program uses a Result', t => {
  const server =
    '@mutation fn add(title: str, n: int = 1) to Result[int] { Ok(1) }\n@query fn all() to List[int] { [] }'
  t.equal(handler('add("x")', '', server), "async () => await add('x')")
  t.equal(handler('add(n=2, title="x")', '', server), "async () => await add('x', 2)")
  t.equal(
    handler('{ let id = add("x")?\n print(id) }', '', server),
    "async () => {\n  const id = await add('x')\n  console.log(id)\n}"
  )
  t.equal(
    handler('match add("x") { Ok(id) => print(id)  Error(m) => print(m) }', '', server),
    "async () => {\n  const value = await settle(add('x'))\n  if (value._tag === 'Ok') {\n    const id = value.value\n    console.log(id)\n  } else {\n    const m = value.value\n    console.log(m)\n  }\n}"
  )
  t.match(
    handler(
      'match move("x") { Ok(_) => Unit  Error(Taken(by)) => print(by)  Error(Gone) => Unit }',
      '',
      'type Why = | Taken(by: str) | Gone\n@mutation fn move(to_: str) to Result[int, Why] { Error(Gone) }'
    ),
    "settle_refusal<number, Why>(move('x'))"
  )
  t.equal(
    handler('{ add("x")\n count += 1 }', 'state count: int = 0', server),
    "async () => {\n  await add('x')\n  set_count(count => int_sum(count, 1))\n}"
  )
  t.match(
    component('derived rows = all()\nview: <p>{len(rows)}</p>', server),
    'use_remote<readonly number[]>(() => all(), [], [])'
  )
  t.match(component('state rows: List[int] = all()', server), 'set_rows(await all())')
  t.end()
})

t.test('a form that the program handles is not sent by the browser', t => {
  const declarations = '@mutation fn add(title: str) to Unit { }'
  const form = (attributes: string): string =>
    viewOf(`<form ${attributes}></form>`, 'state count: int = 0', declarations).replaceAll(/\s+/g, ' ')
  t.match(form('on:submit={ count += 1 }'), 'onSubmit={event => { event.preventDefault() set_count(')
  t.match(form('on:submit={ add("x") }'), "onSubmit={async event => { event.preventDefault() await add('x')")
  t.match(form('on:submit={fn(given) print(given)}'), '(given) => { given.preventDefault() console.log(given)')
  t.match(form('on:submit={fn() print(1)}'), 'event => { event.preventDefault() console.log(1)')
  t.notMatch(form('action="/search" on:submit={ count += 1 }'), 'preventDefault')
  t.end()
})

t.test('effects depend on the states that they read or name', t => {
  t.match(
    component('state a = 1\nderived b = a + 1\neffect: { print(b) }'),
    'useEffect(() => {\n  console.log(b)\n}, [b])'
  )
  t.match(component('state a = 1\neffect depends_on(a): { print("x") }'), "console.log('x')\n}, [a])")
  t.match(component('state a = 1\neffect: { a = a + given }'), 'set_a(a => int_sum(a, given))\n}, [given])')
  t.match(
    component('on mount: print("in")\non cleanup: print("out")'),
    ["useEffect(() => {\n  console.log('in')\n}, [])"][0] as string
  )
  t.match(component('on cleanup: print("out")'), "return () => {\n    console.log('out')\n  }\n}, [])")
  t.end()
})

t.test('cleanup code reads the newest values', t => {
  const body = component('state a = 1\non cleanup: print(a)')
  t.match(body, 'const cleanup = useRef(() => {})')
  t.match(body, 'useEffect(() => {\n  cleanup.current = () => {\n    console.log(a)\n  }\n})')
  t.match(body, 'useEffect(() => {\n  return () => cleanup.current()\n}, [])')
  t.end()
})

t.test('members are emitted after the members that they use', t => {
  const body = component('derived b = a + 1\nderived a = given * 2\nview: <p>{b}</p>')
  t.ok(body.indexOf('const a =') < body.indexOf('const b ='), body)
  t.end()
})

t.test('names that TypeScript or the module reserve are renamed', t => {
  const source =
    'component A(new: int, use: str) { state class: int = 1 state useState = 2 view: <p title={use}>{new} {class} {useState}</p> }'
  const text = emitted(source).files['A.tsx'] ?? ''
  t.match(text, '{ new: new_, use }: AProps')
  t.match(text, 'const [class_, set_class] = useState<number>(1)')
  t.match(text, 'const [useState_, set_useState] = useState(2)')
  t.end()
})

t.test('functions of the program may share names with helpers of the build', t => {
  const source = `fn text(n: int) to str { str([n]) }
fn use_remote(n: int) to int { n }
const same: int = 2
component A() { view: <p>{text(1)} {same} {use_remote(2)} {[1, 2]}</p> }`
  const { files } = emitted(source)
  t.match(files['A.tsx'], "import { same, text, use_remote } from './vox-functions'")
  t.match(files['A.tsx'], "import { text as vox_text } from './vox-runtime'")
  t.match(files['vox-functions.tsx'], 'export const same: number = 2')
  t.match(files['vox-functions.tsx'], 'return vox_text([n])')
  t.end()
})

t.test('attributes get their React names', t => {
  t.equal(viewOf('<label for="a" class="b" tab_index={1}/>'), '<label htmlFor="a" className="b" tabIndex={1} />')
  t.equal(viewOf('<input on:input={print(1)}/>'), '<input onInput={() => console.log(1)} />')
  for (const name of ['on:click', 'on_click', 'onclick']) {
    t.equal(viewOf(`<b ${name}={print(1)}/>`), '<b onClick={() => console.log(1)} />')
  }
  for (const [name, given] of Object.entries({
    keydown: 'onKeyDown',
    mouseenter: 'onMouseEnter',
    submit: 'onSubmit'
  })) {
    t.equal(viewOf(`<b on_${name}={fn(e) print(e)}/>`), `<b ${given}={(e) => console.log(e)} />`)
  }
  t.equal(viewOf('<p data-x="1" aria_label="y" hidden/>'), '<p data-x="1" aria-label="y" hidden />')
  t.equal(viewOf('<p style="color: red; margin-top: 2px"/>'), "<p style={{ color: 'red', marginTop: '2px' }} />")
  t.equal(viewOf('<p title="a & \\"b\\""/>'), '<p title={"a & \\"b\\""} />')
  t.equal(viewOf('<video autoplay playsinline srcset="a"/>'), '<video autoPlay playsInline srcSet="a" />')
  t.equal(viewOf('<use xlink:href="#a" xml:lang="en"/>'), '<use xlinkHref="#a" xmlLang="en" />')
  t.equal(viewOf('<input disabled="disabled" required="" value="true"/>'), '<input disabled required value="true" />')
  t.equal(viewOf('<b aria-level="2" aria-label="2"/>'), '<b aria-level={2} aria-label="2" />')
  t.end()
})

t.test('attributes that React does not know are passed on without a comparison of types', t => {
  t.equal(viewOf('<p accent="x"/>'), '<p {...({ accent: "x" } as object)} />')
  t.equal(viewOf('<p on_hover={print(1)}/>'), '<p {...({ onHover: () => console.log(1) } as object)} />')
  t.end()
})

t.test("the names of attributes are those of React's types", t => {
  const types = readFileSync(
    createRequire(import.meta.url)
      .resolve('@types/react/package.json')
      .replace('package.json', 'index.d.ts'),
    'utf8'
  )
  const interfaces = types.split(/^ {4}interface /m).filter(each => /^(?!Aria)\w*Attributes\b/.test(each))
  const names = interfaces.flatMap(each =>
    [...(each.split(/^ {4}\}/m)[0] ?? '').matchAll(/^ {8}(\w+)\??:/gm)].map(([, name]) => name ?? '')
  )
  const own = new Set(names.filter(name => !name.endsWith('Capture')))
  t.ok(own.size > 500)
  // An event takes a handler, and keywords cannot be attributes.
  const attributes = [...own]
    .filter(name => !/^(on[A-Z]|in$|is$|as$)/.test(name))
    .map(name => `${name.toLowerCase()}={1}`)
  t.notMatch(viewOf(`<p ${attributes.join(' ')}/>`), '{...(')
  t.match(viewOf('<p titel={1}/>'), '{...(')
  t.end()
})

t.test('a loop over a value of any type names the type of its elements', t => {
  const view = (loop: string) => viewOf(`<p>{${loop}}</p>`, 'let items: any = [1]')
  t.match(view('for x in items { x.name }'), 'items.map((x: any) => x.name)')
  t.match(view('for x, i in items { i }'), 'items.map((x: any, i: number) => i)')
  t.match(view('for (a, b) in items { b }'), 'items.map(([a, b]: any) => b)')
  t.end()
})

t.test('a tag is an element, unless the program has a function with such parameters', t => {
  const declarations = 'fn label(to: str) to str { to }\nfn Title(text: str) to Element { <b>{text}</b> }'
  t.match(viewOf('<p>{label(to="a")}</p>', '', declarations), "label('a')")
  t.match(viewOf('<p>{label(class="a")}</p>', '', declarations), '<label className="a" />')
  t.match(viewOf('<p>{label(to="a") { "b" }}</p>', '', declarations), '<label to="a">')
  t.match(viewOf('<p>{Title(text="a")}</p>', '', declarations), '<Title text="a" />')
  t.end()
})

t.test('an input may be bound to the variable of a React hook', t => {
  const view = viewOf('<input bind={text}/>', 'let (text, set_text) = use_state("")', 'import react.use_state')
  t.match(view, 'onChange={event => set_text(event.target.value)}')
  t.end()
})

t.test('placeholders in strings are replaced if their name is declared', t => {
  const view = (text: string) =>
    viewOf(
      `<p>${JSON.stringify(text)}</p>`,
      'state user: User = User { name: "" } state ok = true',
      'type User { name: str }'
    )
  t.equal(view('Hello {user.name}!'), '<p>Hello {user.name}!</p>')
  t.equal(view('{nobody}'), "<p>{'{nobody}'}</p>")
  t.equal(view(' {user.name}'), `<p>{\` \${user.name}\`}</p>`)
  t.equal(view('{ok}'), '<p>{String(ok)}</p>')
  t.equal(view('a < b'), "<p>{'a < b'}</p>")
  t.equal(viewOf('<p class="a b-{n}"/>', 'state n = 1'), `<p className={\`a b-\${n}\`} />`)
  t.end()
})

t.test('a match in a view becomes a switch in an immediately called function', t => {
  const view = viewOf(
    '<p>{match k { One => "1" Two(n) => "n {n}" }}</p>',
    'state k: K = One',
    'type K = | One | Two(n: int)'
  )
  t.match(view, "switch (k._tag) {\n      case 'One': {\n        return '1'\n      }")
  t.match(view, `const n = k.n\n        return \`n \${n}\``)
  t.end()
})

t.test('elements of loops have a key: the declared key, the row id, or the position', t => {
  const rows = '@table type Row { name: str }\n@query fn rows() to List[Row] { db.Row.all() }'
  t.match(viewOf('<ul>{for r in rows() { <li>{r.name}</li> }}</ul>', '', rows), 'rows_result.map(r => <li key={r._id}>')
  t.match(viewOf('<ul>{for x in [1] { <li>{x}</li> }}</ul>'), '[1].map((x, index) => <li key={index}>{x}</li>)')
  t.match(viewOf('<ul>{for x, i in [1] key=x { <li>{i}</li> }}</ul>'), '[1].map((x, i) => <li key={x}>{i}</li>)')
  t.match(viewOf('<ul>{for x in [1] { <li key="a">{x}</li> }}</ul>'), '[1].map(x => <li key="a">{x}</li>)')
  t.end()
})

t.test('a cancellable handler stops at its next server call after its component has left the page', t => {
  const slow = '@server fn slow() to int { 1 }'
  const go = (mark: string): string =>
    component(`state n: int = 0\nview: <p on:click={${mark}fn(_e) { let x = slow()\n n = x }}/>`, slow)
  t.match(go('@cancellable '), /const while_shown = use_while_shown\(\)\n[\s\S]*await while_shown\(slow\(\)\)/)
  t.match(go(''), 'await slow()')
  t.notMatch(go(''), 'use_while_shown')
  t.end()
})

t.test('a form with success_redirect opens that page after a successful submit, and others are emptied', t => {
  const form = (redirect: string): string | undefined =>
    emitted(`@form F { field a: str on_submit: g ${redirect} }\n@mutation fn g(a: str) to int { 1 }`).files['forms.tsx']
  t.match(form('success_redirect: "/thanks"'), /await g\([^\n]*\n +window\.location\.assign\('\/thanks'\)/)
  t.match(form(''), /await g\([^\n]*\n +form\.reset\(\)/)
  t.end()
})

t.test('styles become a CSS file, and values cannot end their declaration', t => {
  const { files } = emitted(
    'component A() { view: <p/> }\nstyle { .a-b { maxWidth: "1px" color: "red } body { x: y" } }'
  )
  t.equal(files['A.css'], '.a-b {\n  max-width: 1px;\n  color: red \\7d  body \\7b  x: y;\n}\n')
  t.match(files['A.tsx'], "import './A.css'")
  t.end()
})

t.test('v0 components are placeholders until their module exists', t => {
  const { files } = emitted('@v0 "abc" Card { title: str n?: int }\n@v0 from "./own/Other.tsx" Other { }')
  t.match(files['Card.tsx'], 'export function Card(_props: CardProps)')
  t.match(files['Card.tsx'], 'readonly n?: number')
  t.match(files['Other.tsx'], "export { Other } from './own/Other'")
  t.end()
})

t.test('server-only features are reported at their span', t => {
  const table = '@table type A { b: str }\n'
  t.same(emitted(`${table}component C() { view: <p on:click={db.A.all()}/> }`).codes, ['web.not_in_browser'])
  t.same(emitted('component C() { view: <p>{std.fs.exists("x")}</p> }').codes, ['web.not_in_browser'])
  t.same(emitted('fn f() to int { std.fs.exists("x") 1 }\ncomponent C() { view: <p/> }').codes, [])
  t.end()
})

t.test('a check reports server responses without a placeholder where a view shows them', t => {
  const record = 'type A { b: int }\n@query fn one() to A { A { b: 1 } }\n@query fn many() to List[A] { [] }\n'
  const shown = (body: string): string[] => {
    const source = `${record}component C() { ${body} }`
    const options = { script: false, allowComponentFunctions: false, suppressHookLints: false }
    return checkFile(new SourceFile('app.vox', source), options).diagnostics.map(
      ({ code, span }) => `${code} of ${source.slice(span.start, span.end)}`
    )
  }
  t.same(shown('derived a = one() view: <p>{a.b}</p>'), ['web.no_value_yet of one()'])
  t.same(shown('state a: A = one() view: <p>{a.b}</p>'), ['web.no_value_yet of state a: A = one()'])
  t.same(shown('view: <p>{one().b}</p>'), ['web.no_value_yet of one()'])
  t.same(shown('view: <p on:click={let a = one() print(a.b)}>{len(many())}</p>'), [])
  t.end()
})

t.test('a component that is a function checks what it requires, and a build refuses what it ensures', t => {
  const component = (decorator: string): ReturnType<typeof emitted> => {
    return emitted(`${decorator}\nfn Stars(count: int) to Element { <b>{"*".repeat(count)}</b> }`)
  }
  const { files, codes } = component('@require(count > 0, "stars are counted from one")')
  t.match(files['Stars.tsx'], /assert\(count > 0, 'stars are counted from one'\)[\s\S]*return <b>/)
  t.same(codes, [])
  t.same(component('@ensure(count > 0)').codes, ['web.not_in_browser'])
  t.end()
})

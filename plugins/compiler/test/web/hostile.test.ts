import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { checkFile, hasErrors, SourceFile } from '#root'
import { emitComponents, emitProject, type ProjectOptions, webModule } from '#web'
import { randomFrom } from '../mutated-source.ts'
import { build, install, ROOT, typeCheck } from './building.ts'

/** A program with reserved names of TypeScript at every position of a name. */
const NAMES = `
type T {
    class: str
    default: Option[int]
    constructor: bool
    __proto__: str
    function: Kind
}

type Kind =
    | Function(new: int, var: str, this: float)
    | Object(arguments: str)
    | Promise
    | Array(eval: List[Kind])

@table
type Symbol {
    null: str
    delete: Option[bool]
    toString: int
}

@query
fn function(var: str, arguments: int = 1, await: Option[T]) to List[Symbol] {
    db.Symbol.all()
}

@query
fn error(routes: str, notFound: int) to int {
    notFound
}

@mutation
fn delete(class: str, null: Option[str]) to Result[int] {
    Ok(1)
}

@mutation
fn new(input: str) to str {
    input
}

@server
fn fetch(globalThis: str) to Map[str, Kind] {
    panic("no")
}

activity throw(yield: int) to Result[str] {
    Ok("a")
}

url Url {
    delete(class: str, ?default: str)
}

state_machine Machine {
    state Error(class: str)
    terminal state String
    on delete(class: str) from Error(class) -> String
    on new(class: str) from String -> Error(class)
}

component Page(data: int) {
    view: <p>"{data}"</p>
}

component JSX() {
    view: <p>"it's \\"quoted\\" \`\${here}\` </p> & {braces"</p>
}

routes {
    "/it's/:routes/:notFound" to Page with loader: error
    "/jsx" to JSX
}
`

t.test('reserved names of TypeScript are renamed', async t => {
  const folder = t.testdir({ "it's <a> program & more.vox": NAMES })
  const out = join(folder, 'web')
  const { code, err } = await build(join(folder, "it's <a> program & more.vox"), out, { scaffold: true })
  t.equal(code, 0, err)
  install(out)
  t.equal(await typeCheck(out), '')
})

const OPTIONS: ProjectOptions = {
  mode: 'app',
  target: 'fullstack',
  mobileTarget: null,
  layout: 'spa',
  express: true,
  tokens: null,
  sourceFolder: '..',
  locate: () => null
}

t.test('every valid program is emitted deterministically', t => {
  const folder = join(ROOT, 'examples/language')
  const programs = readdirSync(folder).filter(name => name.endsWith('.vox'))
  const random = randomFrom(20)
  let written = 0
  for (const name of programs) {
    const lines = readFileSync(join(folder, name), 'utf8').split('\n')
    for (let turn = 0; turn < 8; turn++) {
      const text = turn === 0 ? lines : lines.filter(() => random() > 0.04)
      const file = new SourceFile(name, text.join('\n'))
      const options = { script: false, allowComponentFunctions: true, suppressHookLints: false }
      const { parsed, diagnostics } = checkFile(file, options)
      if (hasErrors(diagnostics)) continue
      written++
      const emit = () => {
        const web = webModule(parsed.module, file)
        const components = emitComponents(web, { validate: true })
        return emitProject(web, components, { ...OPTIONS, layout: turn % 2 === 0 ? 'spa' : 'start' })
      }
      const project = emit()
      const paths = [...project.files, ...project.scaffold].map(({ path }) => path)
      if (new Set(paths).size !== paths.length) t.fail(`${name}: two files have the same path`)
      if (JSON.stringify(project) !== JSON.stringify(emit())) t.fail(`${name} has different output the second time`)
    }
  }
  t.ok(written > programs.length, `only ${written} programs were generated`)
  t.end()
})

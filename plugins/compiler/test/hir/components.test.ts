import type { Hir } from '@svc/contracts'
import t from 'tap'
import { ByteOffsets, CodeLowering, lowerComponent } from '#hir'
import { checkFile, hasErrors, SourceFile } from '#root'
import { bodyText, typeText } from './code-text.ts'

const OPTIONS = { script: false, allowComponentFunctions: false, suppressHookLints: false }

/** Returns the components of a program as text: properties and members, a line each. */
function componentsOf(source: string): string[] {
  const { types, parsed, diagnostics } = checkFile(new SourceFile('app.vox', source), OPTIONS)
  if (types === null || hasErrors(diagnostics)) throw new Error(`${source}: ${diagnostics[0]?.message}`)
  const code = new CodeLowering(types, new ByteOffsets(source))
  return parsed.module.items.flatMap(item => {
    if (item.kind !== 'Component' && item.kind !== 'Fragment') return []
    return linesOf(lowerComponent(item, code))
  })
}

function linesOf(component: Hir.Component): string[] {
  const { name, locals, properties, members, view } = component
  const variable = (id: Hir.LocalId): string => `${locals[id]?.name}%${id}: ${typeText((locals[id] as Hir.Local).type)}`
  const text = (statement: Hir.Stmt): string => {
    return bodyText({ locals, params: [], defaults: [], block: [statement] }).slice('() { '.length, -2)
  }
  const value = (each: Hir.Expr): string => text({ kind: 'Expr', value: each, start: 0, end: 0 } as Hir.ExprStmt)
  const props = properties.map(each => {
    return `${variable(each.local)}${each.default === null ? '' : ` = ${value(each.default)}`}`
  })
  const lines = members.map(member => {
    switch (member.kind) {
      case 'State':
      case 'Derived':
        return `${member.kind.toLowerCase()} ${variable(member.local)} = ${value(member.value)}`
      case 'Effect': {
        const names = member.dependencies === null ? '' : ` of ${member.dependencies.map(id => `%${id}`).join(', ')}`
        return `${member.moment}${names} ${value(member.body)}`
      }
      default:
        return text(member)
    }
  })
  return [`${name}(${props.join(', ')})`, ...lines, ...(view === null ? [] : [`view ${value(view)}`])]
}

t.test('properties, states, derived values and the variables of all code are one list', async t => {
  const source = `component Counter(first: int = 1, on_change: fn(int)) {
    state count: float = 1
    derived twice = count * 2.0
    let label = "n"
    effect depends_on(count): { let now = twice\n print(now) }
    on mount: { count += 1.0 }
    on cleanup: print(label)
    view: <p on:click={on_change(first)}>{for x in [1] { <b>{x}</b> }}</p>
}
`
  t.same(componentsOf(source), [
    'Counter(first%0: int = 1, on_change%1: fn(int) unit)',
    'state count%2: float = 1f',
    'derived twice%3: float = (%2 mul 2f)',
    'let label%4: str = "n"',
    'change of %2 { let now%5: float = %3; native.print(%5) }',
    'mount { %2 add= 1f }',
    'cleanup native.print(%4)',
    'view <p on:click=call %1(%0) [for x%6: int in [1] { <b [%6]> }]>'
  ])
})

t.test('a member comes after those whose values it uses', async t => {
  const source = 'component C() {\n derived b = a + 1\n derived a = n * 2\n state n: int = 0\n view: <p>{b}</p> }\n'
  const lines = componentsOf(source).map(line => line.replace(/%\d+/g, ''))
  t.same(
    lines.slice(1, 4).map(line => line.split(':')[0]),
    ['state n', 'derived a', 'derived b']
  )
})

t.test('a type that is written decides the type of a state, and the checker converts its value', async t => {
  const source = `type Task { title: str done: bool = false }
component C() {
  state open: Option[Task] = None
  state task: Task = { title: "a" }
  state tags: Map[str, int] = {}
  state list = []
  view: <input bind={task.title} on:click={list = list.push(1)}/>
}
`
  t.same(componentsOf(source).slice(1, 5), [
    'state open%0: Option[Task] = None()',
    'state task%1: Task = Task { title: "a" }',
    'state tags%2: Map[str, int] = map {  }',
    'state list%3: List[int] = []'
  ])
})

t.test('calls of components and of elements are elements, with the names of the properties', async t => {
  const source = `fragment Row(title: str, n: int = 1) { <li>"{title} {n}"</li> }
component List() { view: column(gap=1) { Row("a", 2)\n heading("Tasks") } }
`
  t.same(componentsOf(source), [
    'Row(title%0: str, n%1: int = 1)',
    'view <li ["{title} {n}"]>',
    'List()',
    'view <column gap=1 [<Row title="a" n=2/>, <heading ["Tasks"]>]>'
  ])
})

import type { Hir } from '@svc/contracts'
import t from 'tap'
import { codeOfModule, lowerModule } from '#hir'
import { parse } from '#syntax'
import { checkTypes } from '#types'
import { webTreeOf } from '#web'
import { layout, type WebComponent, type WebMember, type WebNode } from '#web-ir'

/** Returns the expressions of a component, each as its text in the program and its TypeScript. */
function expressionsOf(source: string): string[] {
  const { module } = parse(source)
  const code = codeOfModule(checkTypes(module), source)
  const tree = webTreeOf(module, source, lowerModule(code, source))
  const { program } = tree
  const written = (node: Hir.Span): string => {
    const { start, end } = program.place(node)
    return source.slice(start, end).replace(/\s+/g, ' ')
  }
  const shown = (nodes: readonly Hir.Span[], doc: Parameters<typeof layout>[0]): string =>
    `${nodes.map(written).join(' & ')} | ${layout(doc, 2).replace(/\s+/g, ' ')}`

  const ofMember = (member: WebMember): string[] => {
    switch (member.kind) {
      case 'state':
        return [`state ${shown([member.node], member.initial)}`]
      case 'derived':
        return [`derived ${shown([member.value.node], member.value.code)}`]
      case 'effect':
        return [
          `${member.moment} ${shown(
            [member.node],
            member.statements.map(each => [each, '; '])
          )}`
        ]
      case 'response':
        return [`response ${shown([member.node], member.code)}`]
      case 'statements':
        return [
          `statements ${shown(
            member.nodes,
            member.codes.map(each => [each, '; '])
          )}`
        ]
    }
  }
  const ofNode = (node: WebNode): string[] => {
    switch (node.kind) {
      case 'text':
        return node.parts.flatMap(part => ('text' in part ? [] : [`text ${shown([part.node], part.code)}`]))
      case 'expression':
        return [`shown ${shown([node.node], node.code)}`]
      case 'island':
        return node.props.map(({ nodes, code }) => `prop ${shown(nodes, code)}`)
      case 'fragment':
        return node.children.flatMap(ofNode)
      case 'element': {
        const attributes = node.attributes.map(({ name, nodes, code }) => `${name} ${shown(nodes, code)}`)
        return [...attributes, ...node.children.flatMap(ofNode)]
      }
    }
  }
  return tree.components.flatMap(({ props, members, view }: WebComponent) => [
    ...props.flatMap(({ value }) => (value === null ? [] : [`default ${shown([value.node], value.code)}`])),
    ...members.flatMap(ofMember),
    ...(view === null ? [] : ofNode(view))
  ])
}

t.test('each expression of a component has its node and its TypeScript', t => {
  const source = `@query fn names(of: str) to List[str] { [of] }
@island Clock { zone: str }
component Page(first: str = "a" + "b") {
    state count: str = first + "!"
    state all: List[str] = names("é")
    derived twice = count + count
    let label = "n" + count
    effect depends_on(count): print(count)
    on cleanup: print("gone")
    view: <section class="a {label}" on:click={count = label}>
        {if count is "" { "none" } else { "some" }}
        {for name in names(label) { <b>{name}</b> }}
        <p title={label}>"{twice} of {label}"</p>
        <Clock zone={label} />
        <input bind={count} />
    </section>
}
`
  t.same(expressionsOf(source), [
    `default "a" + "b" | 'a' + 'b'`,
    `state first + "!" | first + '!'`,
    'state names("é") | []',
    'derived count + count | count + count',
    `statements let label = "n" + count | const label = 'n' + count;`,
    `load names("é") | set_all(await names('é'));`,
    'change print(count) | console.log(count);',
    `cleanup print("gone") | console.log('gone');`,
    'response names(label) | use_remote<readonly string[]>(() => names(label), [label], [])',
    'className "a {label}" | `a $' + '{label}`',
    'onClick {count = label} | () => set_count(label)',
    `shown if count is "" { "none" } else { "some" } | count === '' ? 'none' : 'some'`,
    'shown for name in names(label) { <b>{name}</b> } | names_result.map((name, index) => <b key={index}>{name}</b>)',
    'title label | label',
    'text "{twice} of {label}" | twice',
    'text "{twice} of {label}" | label',
    'prop label | label',
    'value count | count',
    'onChange count | event => set_count(event.target.value)'
  ])
  t.end()
})

t.test('the statements of a function that is an element have their nodes', t => {
  const source = 'fn Card(title: str = "a") to Element {\n    let shown = title\n    <b>{shown}</b>\n}\n'
  t.same(expressionsOf(source), [
    `default "a" | 'a'`,
    'statements let shown = title & <b>{shown}</b> | const shown = title; return <b>{shown}</b>;'
  ])
  t.end()
})

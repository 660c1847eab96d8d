import type { Hir, HirModule } from '@svc/contracts'
import { type Doc, hardline, join, layout } from '../doc/doc.ts'
import type { Module } from '../syntax/ast.ts'
import { hookActions } from './app-hooks.ts'
import { interopNodes } from './interop.ts'
import { routeNodes } from './routes.ts'
import { styleNode } from './styles.ts'
import type { WebAttribute, WebComponent, WebEffect, WebMember, WebNode, WebTree } from './tree.ts'
import type { BehaviorNode, DomNode, NamedText, WebIr } from './web-ir.ts'

export interface WebIrDocument {
  /** null if the module has no views, endpoints and schedules. */
  readonly ir: WebIr | null
  /** Place of each node: offsets in the text. */
  readonly spans: ReadonlyMap<object, Hir.Span>
}

/** Returns the browser part of the IR document of a module. */
export function webIrDocument(module: Module, hir: HirModule, { components, program }: WebTree): WebIrDocument {
  const spans = new Map<object, Hir.Span>()
  const dom_nodes: DomNode[] = []
  const view_roots: (readonly [string, number])[] = []
  const behavior_nodes: BehaviorNode[] = []
  const style_nodes: WebIr['style_nodes'][number][] = []
  for (const component of components) {
    const { name, view, styles } = component
    const add: AddNode = (node, { start, end }) => {
      spans.set(node, program.place({ start, end }))
      return dom_nodes.push(node) - 1
    }
    if (view !== null) view_roots.push([name, addView(view, add, () => dom_nodes.length)])
    for (const { node, place } of behaviors(component)) {
      behavior_nodes.push(node)
      spans.set(node, program.place(place))
    }
    for (const rule of styles) {
      const node = styleNode(rule)
      spans.set(node, program.place(rule))
      style_nodes.push(node)
    }
  }
  behavior_nodes.push(...hookActions(module))
  const { views, routes } = program.pages
  const route_nodes = routeNodes(routes, hir)
  for (const [index, block] of routes.entries()) {
    const node = route_nodes[index]
    const { start } = program.place(block)
    if (node !== undefined) spans.set(node, { start, end: start + 'routes'.length })
  }
  const scheduled_jobs = hir.functions.flatMap(({ name, schedule_interval: interval }) =>
    interval === undefined ? [] : [{ name, interval }]
  )
  const interop_nodes = interopNodes(program.pages)
  const hasContent =
    routes.length > 0 ||
    views.length > 0 ||
    [behavior_nodes, style_nodes, route_nodes, scheduled_jobs, interop_nodes].some(each => each.length > 0)
  if (!hasContent) return { ir: null, spans }
  const diagnostic_nodes = program.problems.map(({ code, message }) => ({
    code,
    message,
    span: null,
    category: 'codegen'
  }))
  return {
    ir: {
      dom_nodes,
      view_roots,
      behavior_nodes,
      style_nodes,
      route_nodes,
      scheduled_jobs,
      interop_nodes,
      diagnostic_nodes,
      spans: { spans: [] },
      version: 'V0_1'
    },
    spans
  }
}

/** Adds a node with its place. Returns its index. */
type AddNode = (node: DomNode, place: Hir.Span) => number

/** Adds a part of a view after its children. Returns its index. `next`: the index of the next node. */
function addView(part: WebNode, add: AddNode, next: () => number): number {
  const { node } = part
  switch (part.kind) {
    case 'text':
      return add({ Text: { content: part.node.value, span: null } }, node)
    case 'expression':
      return add({ Expr: { ts: textOf(part.code), span: null } }, node)
    case 'island': {
      const { name, props, ignored } = part
      const mount = { island_name: name, props: props.map(named), ignored_child_count: ignored, span: null }
      return add({ IslandMount: mount }, node)
    }
    case 'fragment': {
      const children = part.children.map(child => addView(child, add, next))
      return add({ Fragment: { children, span: null } }, node)
    }
    case 'element': {
      const children = part.children.map(child => addView(child, add, next))
      const attrs = part.attributes.map(named)
      return add({ Element: { id: next(), tag: part.tag, attrs, children, span: null } }, node)
    }
  }
}

function named({ name, code }: WebAttribute): NamedText {
  return [name, textOf(code)]
}

interface PlacedBehavior {
  readonly node: BehaviorNode
  readonly place: Hir.Span
}

/** Returns the states, derived values and effects in source order, with names as in the program. */
function behaviors({ name: component, members }: WebComponent): PlacedBehavior[] {
  const found: (PlacedBehavior & { readonly start: number })[] = []
  for (const member of members) {
    const node = behavior(component, member)
    if (node === null || !('start' in member)) continue
    const place = member.kind === 'derived' ? member.value.node : member.node
    found.push({ start: member.start, node, place })
  }
  return found.sort((a, b) => a.start - b.start)
}

function behavior(component: string, member: WebMember): BehaviorNode | null {
  switch (member.kind) {
    case 'state': {
      const { name, initial } = member
      return {
        StateDecl: { name: `${component}::${name}`, initial: textOf(initial), optionality: 'Required', span: null }
      }
    }
    case 'derived':
      return { DerivedDecl: { name: `${component}::${member.name}`, expr: textOf(member.value.code), span: null } }
    case 'effect': {
      if (member.moment === 'load') return null
      const deps = dependencies(member).map(each => `${component}::${each}`)
      return { EffectDecl: { deps, body: textOf(join(hardline, member.statements)), span: null } }
    }
    case 'response':
    case 'statements':
      return null
  }
}

function dependencies({ moment, dependsOn }: WebEffect): readonly string[] {
  return moment === 'mount' || moment === 'cleanup' ? [moment] : (dependsOn ?? [])
}

function textOf(code: Doc): string {
  return layout(code, 2)
}

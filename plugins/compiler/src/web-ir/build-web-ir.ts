import type { HirModule } from '../hir/hir.ts'
import type { Module } from '../syntax/ast.ts'
import type { Span } from '../syntax/node.ts'
import type { ComponentBehavior } from '../web/components/component-translation.ts'
import { type TranslatedViews, translateViews } from '../web/components/translate-views.ts'
import { hookActions } from './app-hooks.ts'
import { DomArena } from './dom.ts'
import { interopNodes } from './interop.ts'
import { routeNodes } from './routes.ts'
import { styleNodes } from './styles.ts'
import type { BehaviorNode, WebIr } from './web-ir.ts'

/** Returns the web IR of a module; null if it has no views, endpoints and schedules. */
export function webIrOf(module: Module, hir: HirModule): WebIr | null {
  return webIr(module, hir, translateViews(module, hir)).ir
}

export interface BuiltWebIr {
  readonly ir: WebIr | null
  /** Source span of each node. */
  readonly spans: ReadonlyMap<object, Span>
}

/** Like `webIrOf`, but from translated views, with the source spans of nodes. */
export function webIr(module: Module, hir: HirModule, { components, program }: TranslatedViews): BuiltWebIr {
  const spans = new Map<object, Span>()
  const arena = new DomArena()
  const view_roots: (readonly [string, number])[] = []
  const behavior_nodes: BehaviorNode[] = []
  const style_nodes: WebIr['style_nodes'][number][] = []
  for (const { declaration, translation } of components) {
    if (translation.view !== null) {
      const first = arena.nodes.length
      view_roots.push([translation.name, arena.add(translation.view)])
      for (const node of arena.nodes.slice(first)) spans.set(node, declaration.name)
    }
    behavior_nodes.push(...translation.behaviors.map(each => behaviorNode(translation.name, each)))
    if (declaration.kind !== 'Component') continue
    const rules = styleNodes(declaration)
    const written = declaration.styles.flatMap(each => each.rules)
    for (const [index, rule] of rules.entries()) spans.set(rule, written[index] ?? declaration.name)
    style_nodes.push(...rules)
  }
  behavior_nodes.push(...hookActions(module))
  const route_nodes = routeNodes(module, hir)
  const blocks = module.items.filter(item => item.kind === 'Routes')
  for (const [index, block] of blocks.entries()) {
    const node = route_nodes[index]
    if (node !== undefined) spans.set(node, { start: block.start, end: block.start + 'routes'.length })
  }
  const scheduled_jobs = hir.functions.flatMap(({ name, schedule_interval: interval }) =>
    interval === undefined ? [] : [{ name, interval }]
  )
  const interop_nodes = interopNodes(module)
  const hasContent =
    module.items.some(item => item.kind === 'Routes') ||
    components.length > 0 ||
    [behavior_nodes, style_nodes, route_nodes, scheduled_jobs, interop_nodes].some(each => each.length > 0) ||
    module.items.some(item => item.kind === 'Island' || item.kind === 'Form')
  if (!hasContent) return { ir: null, spans }
  const diagnostic_nodes = program.problems.map(({ code, message }) => ({
    code,
    message,
    span: null,
    category: 'codegen'
  }))
  return {
    ir: {
      dom_nodes: arena.nodes,
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

function behaviorNode(component: string, behavior: ComponentBehavior): BehaviorNode {
  switch (behavior.kind) {
    case 'state':
      return {
        StateDecl: {
          name: `${component}::${behavior.name}`,
          initial: behavior.text,
          optionality: 'Required',
          span: null
        }
      }
    case 'derived':
      return { DerivedDecl: { name: `${component}::${behavior.name}`, expr: behavior.text, span: null } }
    case 'effect':
      return { EffectDecl: { deps: behavior.dependencies, body: behavior.text, span: null } }
  }
}

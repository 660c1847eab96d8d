import type { DiagnosticCode } from '../diagnostics/codes.ts'
import { type Diagnostic, diagnostic } from '../diagnostics/diagnostic.ts'
import { isCssProperty } from './css-properties.ts'
import type { WebIrDocument } from './document.ts'
import type { RouteTreeEntry, StyleNode, WebIr } from './web-ir.ts'

type Code = Extract<DiagnosticCode, `web_ir_validate.${string}`>
type Report = (code: Code, message: string, node?: object | null) => void

/** Maximum number of nodes; real views have far fewer. */
const MAX_NODES = 1_000_000

/** Reports inconsistencies of a web IR that its schema cannot express. Any finding fails the generation. */
export function validateWebIr({ ir, spans: places }: WebIrDocument): Diagnostic[] {
  if (ir === null) return []
  const found: Diagnostic[] = []
  const report: Report = (code, message, node) => {
    const span = node === undefined || node === null ? undefined : places.get(node)
    found.push(diagnostic(code, message, span ?? { start: 0, end: 0 }))
  }
  checkDom(ir, report)
  checkBehaviors(ir, report)
  checkStyles(ir, report)
  checkRoutes(ir, report)
  checkJobs(ir, report)
  checkInterop(ir, report)
  return found
}

function checkDom({ dom_nodes, view_roots }: WebIr, report: Report): void {
  const { length } = dom_nodes
  if (length > MAX_NODES) {
    report('web_ir_validate.dom.arena_too_large', `the views have ${length} nodes, more than ${MAX_NODES}`)
  }
  const check = (id: number, subject: string, node: object | null, limit: number): void => {
    if (Number.isInteger(id) && id >= 0 && id < limit) return
    report('web_ir_validate.dom.id_oob', `${subject} refers to node ${id}, which does not precede it`, node)
  }
  for (const [index, node] of dom_nodes.entries()) {
    const children = 'Element' in node ? node.Element.children : 'Fragment' in node ? node.Fragment.children : []
    for (const child of children) check(child, `the node ${index}`, node, index)
    if ('Element' in node && node.Element.id !== index) {
      report('web_ir_validate.dom.id_oob', `node ${index} has the id ${node.Element.id}`, node)
    }
    if (!('IslandMount' in node)) continue
    for (const [key] of node.IslandMount.props) {
      if (key.replace(/^data-prop-/, '') !== '') continue
      const message = `a property of the island ${node.IslandMount.island_name} has no name`
      report('web_ir_validate.island.empty_prop_key', message, node)
    }
  }
  for (const [name, id] of view_roots) check(id, `the view of ${name}`, null, length)
}

function checkBehaviors({ behavior_nodes }: WebIr, report: Report): void {
  for (const node of behavior_nodes) {
    if (!('StateDecl' in node)) continue
    const { name, initial, optionality } = node.StateDecl
    if (optionality !== 'Required' || !isEmpty(initial)) continue
    report('web_ir_validate.behavior.required_state_without_initial', `the state ${name} has no initial value`, node)
  }
}

function checkStyles({ style_nodes }: WebIr, report: Report): void {
  const rules = new Map<string, StyleNode['Rule']>()
  for (const node of style_nodes) {
    const { Rule: rule } = node
    const { Class: name } = rule.selector
    if (rule.declarations.length === 0) {
      report('web_ir_validate.style.empty_declarations', `the rule .${name} declares nothing`, node)
    }
    const seen = new Set<string>()
    for (const [property] of rule.declarations) {
      if (isEmpty(property)) {
        report('web_ir_validate.style.empty_property', `a declaration of .${name} has no property`, node)
      } else if (seen.has(property)) {
        report('web_ir_validate.style.duplicate_property_in_rule', `.${name} declares ${property} twice`, node)
      } else if (!isCssProperty(property)) {
        report(
          'web_ir_validate.style.unknown_property',
          `CSS has no property ${property}, which .${name} declares`,
          node
        )
      }
      seen.add(property)
    }
    const other = rules.get(name)
    if (other !== undefined && other.specificity.join() !== rule.specificity.join()) {
      report('web_ir_validate.style.specificity_conflict', `two rules for .${name} differ in their specificity`, node)
    }
    rules.set(name, rule)
  }
}

function checkRoutes({ route_nodes }: WebIr, report: Report): void {
  const pages = new Set<string>()
  const loaders = new Set<string>()
  for (const node of route_nodes) {
    if ('RouteTree' in node) {
      for (const { id, pattern } of flat(node.RouteTree.routes)) {
        if (pages.has(id)) {
          const message = `two pages have the id ${id}, one of them is ${pattern}; a program can have only one \`routes\` block`
          report('web_ir_validate.route.duplicate_contract_id', message, node)
        }
        pages.add(id)
      }
    } else if ('LoaderContract' in node) {
      const { route_id, contract } = node.LoaderContract
      if (isEmpty(route_id)) report('web_ir_validate.route.empty_loader_id', 'a route has no id', node)
      else if (loaders.has(route_id)) {
        report('web_ir_validate.route.duplicate_loader_id', `two routes have the id ${route_id}`, node)
      }
      loaders.add(route_id)
      if (isEmpty(contract)) report('web_ir_validate.route.empty_loader_contract', `${route_id} has no contract`, node)
    } else if ('ServerFnContract' in node) {
      const { name, export_path, signature } = node.ServerFnContract
      if (isEmpty(name)) report('web_ir_validate.route.empty_server_fn_name', 'a function has no name', node)
      if (isEmpty(export_path)) report('web_ir_validate.route.empty_server_export_path', `${name} has no path`, node)
      if (isEmpty(signature)) report('web_ir_validate.route.empty_server_signature', `${name} has no signature`, node)
    } else {
      const { name, payload_type } = node.MutationContract
      if (isEmpty(name)) report('web_ir_validate.route.empty_mutation_name', 'a mutation has no name', node)
      if (isEmpty(payload_type)) {
        report('web_ir_validate.route.empty_mutation_payload_type', `${name} does not declare its parameters`, node)
      }
    }
  }
}

function flat(routes: readonly RouteTreeEntry[]): RouteTreeEntry[] {
  return routes.flatMap(route => [route, ...flat(route.children ?? [])])
}

function checkJobs({ scheduled_jobs }: WebIr, report: Report): void {
  for (const job of scheduled_jobs) {
    if (isEmpty(job.name)) report('web_ir_validate.scheduled.empty_name', 'a scheduled function has no name', job)
    if (isEmpty(job.interval)) {
      report('web_ir_validate.scheduled.empty_interval', `${job.name} has no interval`, job)
    }
  }
}

function checkInterop({ interop_nodes }: WebIr, report: Report): void {
  for (const node of interop_nodes) {
    if ('ReactComponentRef' in node) {
      const { component, import_source } = node.ReactComponentRef
      if (isEmpty(component))
        report('web_ir_validate.interop.empty_component', 'an imported component has no name', node)
      if (isEmpty(import_source)) {
        report('web_ir_validate.interop.empty_import_source', `${component} does not name its module`, node)
      }
    } else if ('ExternalModuleRef' in node) {
      if (!isEmpty(node.ExternalModuleRef.specifier)) continue
      const names = node.ExternalModuleRef.named.join(', ')
      report('web_ir_validate.interop.empty_external_specifier', `${names} does not name its module`, node)
    } else {
      const { expr, reason } = node.EscapeHatchExpr
      if (isEmpty(expr)) report('web_ir_validate.interop.empty_escape_expr', 'a TypeScript snippet is empty', node)
      if (isEmpty(reason))
        report('web_ir_validate.interop.empty_escape_reason', 'a TypeScript snippet has no reason', node)
    }
  }
}

function isEmpty(text: string): boolean {
  return text.trim() === ''
}

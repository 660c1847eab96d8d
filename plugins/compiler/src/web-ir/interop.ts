import type { Hir } from '@svc/contracts'
import { webType } from './routes.ts'
import type { InteropNode } from './web-ir.ts'

/** Returns the TypeScript imports of a module in source order: imported or external components, and functions. */
export function interopNodes({ imports, views }: Hir.Pages): InteropNode[] {
  const used = [...imports, ...views.filter(view => view.kind === 'V0')]
  return used.sort((a, b) => a.name.start - b.name.start).map(interopNode)
}

function interopNode({
  kind,
  name: { name },
  source: { name: source },
  ...node
}: Hir.ScriptImport | Hir.ExternalView): InteropNode {
  if (kind === 'function') return { ExternalModuleRef: { specifier: source, named: [name], span: null } }
  const properties = 'properties' in node ? node.properties : []
  const props = properties.map(each => [each.name, webType(each.annotation)] as const)
  return { ReactComponentRef: { component: name, import_source: source, props, span: null } }
}

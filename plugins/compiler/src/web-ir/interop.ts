import { lowerType } from '../hir/lower-types.ts'
import type { Module } from '../syntax/ast.ts'
import { webType } from './routes.ts'
import type { InteropNode } from './web-ir.ts'

/** Returns the TypeScript imports of a module: imported or external components, and functions. */
export function interopNodes({ items }: Module): InteropNode[] {
  return items.flatMap((item): InteropNode[] => {
    switch (item.kind) {
      case 'Import':
        return item.items.flatMap(each =>
          each.kind === 'ReactImport' ? [component(each.name.text, each.source.value, [])] : []
        )
      case 'V0': {
        const props = item.props.map(({ name, type }) => [name.text, webType(lowerType(type))] as const)
        return [component(item.name.text, item.source.value, props)]
      }
      case 'ExternFunction':
        return [{ ExternalModuleRef: { specifier: item.binding.value, named: [item.name.text], span: null } }]
      default:
        return []
    }
  })
}

function component(name: string, source: string, props: readonly (readonly [string, string])[]): InteropNode {
  return { ReactComponentRef: { component: name, import_source: source, props, span: null } }
}

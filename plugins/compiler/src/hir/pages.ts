import type { Hir } from '@svc/contracts'
import type { Declaration, Name, StringLiteral, Type } from '../syntax/ast.ts'
import type { RouteEntry, Routes, StyleBlock } from '../syntax/ast-web.ts'
import type { CodeLowering } from './code.ts'
import { lowerComponent } from './components.ts'
import { lowerForm } from './forms.ts'
import { lowerType } from './lower-types.ts'
import { lowerMachine } from './machines.ts'
import type { ModuleScope } from './module-scope.ts'

const known = new WeakMap<CodeLowering, Hir.Pages>()

/** Lowers what a module without errors shows in browsers, once. */
export function pagesOf(code: CodeLowering): Hir.Pages {
  const before = known.get(code)
  if (before !== undefined) return before
  const { items } = code.module.typed.module
  const pages = {
    views: items.flatMap(item => (isView(item) ? [lowerView(item, code)] : [])),
    imports: items.flatMap(item => scriptImports(item, code.module)),
    routes: items.flatMap(item => (item.kind === 'Routes' ? [lowerRoutes(item, code.module)] : [])),
    machines: items.flatMap(item => (item.kind === 'StateMachine' ? [lowerMachine(item, code)] : []))
  }
  known.set(code, pages)
  return pages
}

type ViewDeclaration = Extract<Declaration, { kind: 'Component' | 'Fragment' | 'Island' | 'V0' | 'Form' | 'Function' }>

/**
 * True if views may use a declaration as an element:
 * - a component, fragment, island, V0 component or form;
 * - a function with the role component, island or loading;
 * - a plain function with the declared result type `Element` and a capitalised name.
 */
function isView(item: Declaration): item is ViewDeclaration {
  switch (item.kind) {
    case 'Component':
    case 'Fragment':
    case 'Island':
    case 'V0':
    case 'Form':
      return true
    case 'Function': {
      if (item.role === 'component' || item.role === 'island' || item.role === 'loading') return true
      const isElement = item.result?.kind === 'NamedType' && item.result.path.at(-1)?.text === 'Element'
      return item.role === 'plain' && isElement && /^[A-Z]/.test(item.name.text)
    }
    default:
      return false
  }
}

function lowerView(item: ViewDeclaration, code: CodeLowering): Hir.View {
  const { module } = code
  const name = referenceTo(item.name, module)
  const properties = propertiesOf(item, module)
  switch (item.kind) {
    case 'Component':
      return {
        kind: item.kind,
        name,
        properties,
        code: lowerComponent(item, code),
        styles: stylesOf(item.styles, module)
      }
    case 'Fragment':
      return { kind: item.kind, name, properties, code: lowerComponent(item, code), styles: [] }
    case 'Function':
      return { kind: item.kind, name, properties, isIsland: item.role === 'island', code: code.function(item) }
    case 'Island':
      return { kind: item.kind, name, properties }
    case 'V0':
      return { kind: item.kind, name, properties, source: textReference(item.source, module), isFile: item.fromFile }
    case 'Form':
      return { kind: item.kind, name, properties, ...lowerForm(item, module) }
  }
}

function propertiesOf(item: ViewDeclaration, { typed, types }: ModuleScope): Hir.ViewProperty[] {
  const known = typed.paramTypes(item)
  const property = (name: Name, type: Type | null, isOptional: boolean, index: number): Hir.ViewProperty => {
    const found = known[index]
    return {
      name: name.text,
      annotation: type === null ? null : lowerType(type),
      type: type === null || found === undefined ? null : types.of(found),
      isOptional
    }
  }
  switch (item.kind) {
    case 'Form':
      return []
    case 'Island':
    case 'V0':
      return item.props.map(({ name, type, isOptional }, index) => property(name, type, isOptional, index))
    default:
      return item.params.map(({ name, type, value }, index) => property(name, type, value !== null, index))
  }
}

function stylesOf(blocks: readonly StyleBlock[], module: ModuleScope): Hir.StyleRule[] {
  return blocks.flatMap(({ form, rules }) =>
    rules.map(({ className, properties, ...node }) => ({
      className: className.text,
      isRaw: form === 'raw_css',
      declarations: properties.map(({ name, value }) => [name.text, value.value] as const),
      ...module.span(node)
    }))
  )
}

function scriptImports(item: Declaration, module: ModuleScope): Hir.ScriptImport[] {
  const imported = (kind: Hir.ScriptImport['kind'], name: Name, source: StringLiteral): Hir.ScriptImport => ({
    kind,
    name: referenceTo(name, module),
    source: textReference(source, module)
  })
  if (item.kind === 'ExternFunction') return [imported('function', item.name, item.binding)]
  if (item.kind !== 'Import') return []
  return item.items.flatMap(each =>
    each.kind === 'ReactImport' ? [imported('component', each.name, each.source)] : []
  )
}

function lowerRoutes({ entries, ...node }: Routes, module: ModuleScope): Hir.Routes {
  return {
    pages: entries.flatMap(entry => (entry.kind === 'RouteEntry' ? [lowerRoute(entry, module)] : [])),
    fallbacks: entries.flatMap(entry =>
      entry.kind === 'RouteFallback' ? [{ moment: entry.moment, component: referenceTo(entry.component, module) }] : []
    ),
    ...module.span(node)
  }
}

function lowerRoute({ path, component, options, children }: RouteEntry, module: ModuleScope): Hir.PageRoute {
  const option = (key: string): Hir.Reference | null => {
    const found = options.find(each => each.key.text === key)
    return found === undefined ? null : referenceTo(found.value, module)
  }
  const known = { loader: option('loader'), pending: option('pending'), error: option('error') }
  return {
    path: path.value,
    component: referenceTo(component, module),
    ...known,
    unknownOptions: options.flatMap(({ key }) => (Object.hasOwn(known, key.text) ? [] : [referenceTo(key, module)])),
    children: children.map(child => lowerRoute(child, module))
  }
}

function referenceTo({ text, ...node }: Name, module: ModuleScope): Hir.Reference {
  return { name: text, ...module.span(node) }
}

function textReference({ value, ...node }: StringLiteral, module: ModuleScope): Hir.Reference {
  return { name: value, ...module.span(node) }
}

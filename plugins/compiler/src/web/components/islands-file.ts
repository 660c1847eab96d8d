import type { Hir } from '@svc/contracts'
import type { EmittedFile } from '../../typescript/emitted-file.ts'
import { header } from '../../typescript/header.ts'
import { literal, propertyKey } from '../../typescript/names.ts'

const MOUNT = `/** Components, by the names of their islands. */
export type IslandComponents = Readonly<Record<string, ComponentType<Record<string, unknown>>>>

/** Mounts components in all islands, including islands that appear later. Returns a function that stops this. */
export function mountIslands(components: IslandComponents, within: HTMLElement = document.body): () => void {
  const roots = new Map<Element, Root>()
  const update = (): void => {
    for (const [place, root] of roots) {
      if (place.isConnected) continue
      roots.delete(place)
      root.unmount()
    }
    for (const place of within.querySelectorAll('[data-island]')) {
      const name = place.getAttribute('data-island') ?? ''
      const component = components[name]
      if (component === undefined) continue
      const root = roots.get(place) ?? createRoot(place)
      roots.set(place, root)
      root.render(createElement(component, propsOf(name, place)))
    }
  }
  const observer = new MutationObserver(records => {
    if (records.some(({ type, target }) => type === 'attributes' || !isMounted(target))) update()
  })
  const isMounted = (node: Node): boolean => [...roots.keys()].some(place => place.contains(node))
  update()
  observer.observe(within, { subtree: true, childList: true, attributes: true })
  return () => {
    observer.disconnect()
    for (const root of roots.values()) root.unmount()
  }
}

function propsOf(name: string, place: Element): Record<string, unknown> {
  const props: Record<string, unknown> = {}
  for (const [prop, kind] of Object.entries(ISLAND_PROPS[name] ?? {})) {
    const text = place.getAttribute(\`data-prop-\${prop.replace(/([a-z0-9])([A-Z])/g, '$1-$2').replaceAll('_', '-').toLowerCase()}\`)
    if (text !== null) props[prop] = kind === 'text' ? text : JSON.parse(text)
  }
  return props
}
`

/** Generates `vox-islands-mount.ts`, which mounts components in the islands of views. null if there are no islands. */
export function islandsFile({ views }: Hir.Pages, source: string): EmittedFile | null {
  const islands = views.filter(view => view.kind === 'Island' || (view.kind === 'Function' && view.isIsland))
  if (islands.length === 0) return null
  const entries = islands.map(({ name, properties }) => {
    const kinds = properties.map(({ name: prop, annotation }) => {
      const isText =
        typeof annotation === 'object' && annotation !== null && 'Named' in annotation && annotation.Named === 'str'
      return `${propertyKey(prop)}: ${literal(isText ? 'text' : 'json')}`
    })
    return `  ${name.name}: ${kinds.length === 0 ? '{}' : `{ ${kinds.join(', ')} }`}`
  })
  const table = `/** Encoding of each property as an attribute, by island. */\nconst ISLAND_PROPS: Readonly<Record<string, Readonly<Record<string, 'text' | 'json'>>>> = {\n${entries.join(',\n')}\n}\n`
  const imports = `import { type ComponentType, createElement } from 'react'\nimport { createRoot, type Root } from 'react-dom/client'\n`
  return { path: 'vox-islands-mount.ts', text: [header(source), imports, table, MOUNT].join('\n') }
}

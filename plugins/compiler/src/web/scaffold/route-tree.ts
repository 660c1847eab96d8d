import { literal } from '../../typescript/names.ts'
import type { RouteFile } from './route-files.ts'

/** Generates the route tree exactly as the TanStack generator does, which rewrites it on every Vite run. */
export function routeTree(files: readonly RouteFile[]): string {
  const imports = files.map(
    ({ stem, variable }) => `import { Route as ${variable}RouteImport } from './routes/${stem}'`
  )
  const routes = files.map(file => {
    const parent = file.parent === null ? 'rootRouteImport' : `${file.parent.variable}Route`
    return `const ${file.variable}Route = ${file.variable}RouteImport.update({
  id: ${literal(file.id.slice(file.parent?.id.length ?? 0))},
${file.path === '' ? '' : `  path: ${literal(file.path)},\n`}  getParentRoute: () => ${parent}
} as any)
`
  })
  const childrenOf = (parent: RouteFile | null): readonly RouteFile[] => files.filter(file => file.parent === parent)
  const withChildren = files.filter(({ hasChildren }) => hasChildren).reverse()
  const nested = withChildren.map(
    file => `const ${file.variable}RouteWithChildren = ${file.variable}Route._addFileChildren({
${childrenOf(file)
  .map(child => `  ${child.variable}Route: ${named(child)}`)
  .join(',\n')}
})
`
  )
  const augmented = files.map(file => {
    const parent = file.parent === null ? 'rootRouteImport' : `${file.parent.variable}RouteImport`
    return `    ${literal(file.id)}: {
      id: ${literal(file.id)}
      path: ${literal(file.path)}
      fullPath: ${literal(file.fullPath)}
      preLoaderRoute: typeof ${file.variable}RouteImport
      parentRoute: typeof ${parent}
    }`
  })
  return `import { Route as rootRouteImport } from './routes/__root'
${imports.join('\n')}

${routes.join('\n')}
${nested.join('\n')}${nested.length === 0 ? '' : '\n'}declare module '@tanstack/react-router' {
  interface FileRoutesByPath {
${augmented.join('\n')}
  }
}

export const routeTree = rootRouteImport._addFileChildren({
${childrenOf(null)
  .map(child => `  ${child.variable}Route: ${named(child)}`)
  .join(',\n')}
})
`
}

function named({ variable, hasChildren }: RouteFile): string {
  return `${variable}Route${hasChildren ? 'WithChildren' : ''}`
}

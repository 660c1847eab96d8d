import type { ClientRoute, ClientRoutes } from '../client-routes.ts'
import type { EmittedFile } from '../emitted-file.ts'
import { literal, pascalCase } from '../typescript-names.ts'
import type { ScaffoldFacts } from './facts.ts'

/** One file of `src/routes` for one page. */
interface RouteFile {
  /** As TanStack names it: `/tasks/$id`. */
  readonly id: string
  /** Its own part of the address, and all of it; the part is empty for what other pages stand in. */
  readonly path: string
  readonly fullPath: string
  /** Without folder and ending: `tasks.$id`. */
  readonly stem: string
  readonly variable: string
  readonly parent: RouteFile | null
  /** null for the place of a page that has nothing of its own. */
  readonly route: ClientRoute | null
  readonly hasChildren: boolean
}

/** The user's own first files of an application that a server of TanStack Start renders. */
export function startScaffold(facts: ScaffoldFacts, routes: ClientRoutes | null): EmittedFile[] {
  const files = (routes?.routes ?? []).flatMap(route => routeFiles(route, null))
  const pages = files.map(file => ({ path: `src/routes/${file.stem}.tsx`, text: pageText(file) }))
  const home = routes === null ? [{ path: 'src/routes/index.tsx', text: homeText(facts) }] : []
  const listed = routes === null ? [HOME] : files
  return [
    { path: 'vite.config.ts', text: VITE_CONFIG },
    { path: 'src/router.tsx', text: routerText(facts) },
    { path: 'src/routeTree.gen.ts', text: routeTree(listed) },
    { path: 'src/routes/__root.tsx', text: rootText(facts, routes !== null) },
    ...(routes === null ? [] : [{ path: 'src/page.tsx', text: PAGE }]),
    ...pages,
    ...home
  ]
}

const HOME: RouteFile = {
  id: '/',
  path: '/',
  fullPath: '/',
  stem: 'index',
  variable: 'Index',
  parent: null,
  route: null,
  hasChildren: false
}

const VITE_CONFIG = `import { tanstackStart } from '@tanstack/react-start/plugin/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

export default defineConfig({
  plugins: [tanstackStart(), react()],
  resolve: { dedupe: ['react', 'react-dom'] },
  // \`svc run\` passes pages on to it with SVC_SSR_DEV_URL=http://127.0.0.1:3001.
  server: { port: 3001, strictPort: true, proxy: { '/api': 'http://127.0.0.1:3000' } }
})
`

/** Shows a page with what its loader gave. */
const PAGE = `import { useLoaderData, useParams, useSearch } from '@tanstack/react-router'
import type { RouteParams, VoxRoute } from '../routes.manifest'
import { routes } from '../routes.manifest'

/** The page with a path; throws for a path that the program no longer has. */
export function pageAt(path: string, among: readonly VoxRoute[] = routes): VoxRoute {
  const found = find(path, among)
  if (found === undefined) throw new Error(\`the program has no page \${path}\`)
  return found
}

function find(path: string, among: readonly VoxRoute[]): VoxRoute | undefined {
  for (const route of among) {
    const found = route.path === path ? route : find(path, route.children)
    if (found !== undefined) return found
  }
  return undefined
}

export function Page({ route }: { readonly route: VoxRoute }) {
  const params: RouteParams = { ...useSearch({ strict: false }), ...useParams({ strict: false }) }
  return route.render(params, useLoaderData({ strict: false }))
}
`

function routeFiles(route: ClientRoute, parent: RouteFile | null): RouteFile[] {
  const fullPath = route.path.replaceAll(':', '$')
  const words = fullPath.split('/').filter(word => word !== '')
  const hasChildren = route.children.length > 0
  if (fullPath === '/' && hasChildren) return frameFiles(route)
  const isFramed = parent?.path === ''
  const path = parent === null || isFramed ? fullPath : fullPath.slice(parent.fullPath.length)
  const stem = words.length === 0 ? 'index' : words.join('.')
  const own: RouteFile = {
    id: parent === null ? fullPath : parent.id + path,
    path,
    fullPath,
    stem: parent !== null && (isFramed || parent.stem.startsWith('_frame')) ? `_frame.${stem}` : stem,
    variable: variableOf(words),
    parent,
    route,
    hasChildren
  }
  return [own, ...route.children.flatMap(child => routeFiles(child, own))]
}

/** What all pages stand in has no address of its own, and nothing in it where there is no other page. */
function frameFiles(route: ClientRoute): RouteFile[] {
  const frame: RouteFile = {
    id: '/_frame',
    path: '',
    fullPath: '/',
    stem: '_frame',
    variable: 'Frame',
    parent: null,
    route,
    hasChildren: true
  }
  const index: RouteFile = { ...HOME, id: '/_frame/', stem: '_frame.index', parent: frame }
  return [frame, index, ...route.children.flatMap(child => routeFiles(child, frame))]
}

function variableOf(words: readonly string[]): string {
  return words.length === 0 ? 'Index' : words.map(word => pascalCase(word.replace(/\W+/g, '_'))).join('')
}

function pageText({ id, route }: RouteFile): string {
  if (route === null) {
    return `import { createFileRoute } from '@tanstack/react-router'

export const Route = createFileRoute(${literal(id)})({ component: () => null })
`
  }
  return `import { createFileRoute } from '@tanstack/react-router'
import { Page, pageAt } from '../page'
import type { RouteParams } from '../../routes.manifest'

const page = pageAt(${literal(route.path)})

const failure = (message: string) => page.error?.(message) ?? <p role="alert">{message}</p>

export const Route = createFileRoute(${literal(id)})({
  validateSearch: (search: RouteParams) => search,
  loaderDeps: ({ search }) => ({ search }),
  loader: async ({ params, deps }) => (await page.loader?.({ ...deps.search, ...params })) ?? null,
  component: () => <Page route={page} />,
  pendingComponent: () => <>{page.pending?.()}</>,
  errorComponent: ({ error }) => <>{failure(error instanceof Error ? error.message : String(error))}</>
})
`
}

function homeText({ page }: ScaffoldFacts): string {
  const shown = page === null ? '<p>Views of the program come here.</p>' : '<Page />'
  const imported = page === null ? '' : `import { ${page} as Page } from '../../${page}'\n`
  return `import { createFileRoute } from '@tanstack/react-router'
${imported}
export const Route = createFileRoute('/')({ component: () => ${shown} })
`
}

function rootText({ title, hasHooks }: ScaffoldFacts, hasRoutes: boolean): string {
  const outlet = hasHooks
    ? '<VoxQueryProvider client={queries}>\n          <Outlet />\n        </VoxQueryProvider>'
    : '<Outlet />'
  const imports = [
    ...(hasHooks ? ["import { QueryClient } from '@tanstack/react-query'"] : []),
    "import { createRootRoute, HeadContent, Outlet, Scripts } from '@tanstack/react-router'",
    ...(hasRoutes ? ["import { notFound } from '../../routes.manifest'"] : []),
    ...(hasHooks ? ["import { VoxQueryProvider } from '../../vox-tanstack-query'"] : []),
    "import styles from '../globals.css?url'"
  ]
  const missing = '<p>There is no such page.</p>'
  return `${imports.join('\n')}
${hasHooks ? '\nconst queries = new QueryClient()\n' : ''}
export const Route = createRootRoute({
  head: () => ({
    meta: [
      { charSet: 'utf-8' },
      { name: 'viewport', content: 'width=device-width, initial-scale=1' },
      { title: ${literal(title)} }
    ],
    links: [{ rel: 'stylesheet', href: styles }]
  }),
  component: Document,
  notFoundComponent: () => ${hasRoutes ? `notFound?.() ?? ${missing}` : missing}
})

function Document() {
  return (
    <html lang="en">
      <head>
        <HeadContent />
      </head>
      <body>
        ${outlet}
        <Scripts />
      </body>
    </html>
  )
}
`
}

function routerText({ hasClient }: ScaffoldFacts): string {
  const imported = hasClient ? "\nimport { voxClient } from '../vox-client'" : ''
  const server = hasClient
    ? `  // On the server there is no page whose origin could be meant.
  if (typeof window === 'undefined' && voxClient.baseUrl === '') voxClient.baseUrl = 'http://127.0.0.1:3000'
`
    : ''
  const again = hasClient
    ? `  // What pages were loaded with is loaded again when something may have changed.
  if (typeof window !== 'undefined') voxClient.onChange.add(() => void router.invalidate())
`
    : ''
  return `import { createRouter } from '@tanstack/react-router'
import { routeTree } from './routeTree.gen'${imported}

export function getRouter() {
${server}  const router = createRouter({
    routeTree,
    scrollRestoration: true,
    parseSearch: text => Object.fromEntries(new URLSearchParams(text)),
    stringifySearch: search => {
      const text = new URLSearchParams(search as Record<string, string>).toString()
      return text === '' ? '' : \`?\${text}\`
    }
  })
${again}  return router
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof getRouter>
  }
}
`
}

/** The same as the generator of TanStack writes, which does so anew whenever Vite runs. */
function routeTree(files: readonly RouteFile[]): string {
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

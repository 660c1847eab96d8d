import type { EmittedFile } from '../../typescript/emitted-file.ts'
import type { ScaffoldInputs } from './scaffold-inputs.ts'

/** Generates the starter files of an application that runs only in the browser. */
export function spaScaffold(inputs: ScaffoldInputs): EmittedFile[] {
  return [
    { path: 'index.html', text: indexHtml(inputs.title) },
    { path: 'app/main.tsx', text: mainText(inputs) },
    { path: 'app/App.tsx', text: appText(inputs) },
    ...(inputs.hasIslands ? [{ path: 'app/islands.tsx', text: islandsText(inputs.islands) }] : []),
    { path: 'vite.config.ts', text: viteConfig(inputs.outDir) }
  ]
}

function indexHtml(title: string): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <link rel="icon" href="data:," />
    <title>${title.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</title>
  </head>
  <body>
    <div id="root"></div>
    <script type="module" src="/app/main.tsx"></script>
  </body>
</html>
`
}

function mainText({ hasIslands, hasMobile, hasRoutes }: ScaffoldInputs): string {
  const mobile = hasMobile ? "\nimport { startMobile } from '../mobile'" : ''
  const imports = mobile + (hasIslands ? "\nimport { mountIslands } from '../vox-islands-mount'" : '')
  const opens = hasMobile && hasRoutes
  const islands = hasIslands ? "import { islands } from './islands'\n" : ''
  return `import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'${imports}
import { App${opens ? ', openPath' : ''} } from './App'
import './globals.css'
${islands}
const element = document.getElementById('root')
if (element === null) throw new Error('index.html has no element with the id root')
createRoot(element).render(
  <StrictMode>
    <App />
  </StrictMode>
)
${hasIslands ? 'mountIslands(islands)\n' : ''}${hasMobile ? `startMobile(${opens ? 'openPath' : ''})\n` : ''}`
}

function islandsText(islands: readonly string[]): string {
  const entries = islands.map(name => `  ${name}: props => <pre>${name} {JSON.stringify(props)}</pre>`)
  return `import type { IslandComponents } from '../vox-islands-mount'

/** Components by island name: add yours here. */
export const islands: IslandComponents = {
${entries.join(',\n')}
}
`
}

function viteConfig(outDir: string): string {
  return `import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

export default defineConfig({
  plugins: [react()],
  resolve: { dedupe: ['react', 'react-dom'] },
  publicDir: false,
  // \`svc run\` serves this folder.
  build: { outDir: '${outDir}', emptyOutDir: false },
  server: { port: 3001, strictPort: true, proxy: { '/api': 'http://127.0.0.1:3000' } }
})
`
}

function appText(inputs: ScaffoldInputs): string {
  if (inputs.hasRoutes) return routedApp(inputs)
  const { page, hasHooks } = inputs
  if (page === null)
    return `export function App() {\n  return <p>The program has no page: declare routes, or a component without required parameters.</p>\n}\n`
  const view = '<Page />'
  if (!hasHooks) return `import { ${page} as Page } from '../${page}'\n\nexport function App() {\n  return ${view}\n}\n`
  return `import { QueryClient } from '@tanstack/react-query'
import { ${page} as Page } from '../${page}'
import { VoxQueryProvider } from '../vox-tanstack-query'

const queries = new QueryClient()

export function App() {
  return (
    <VoxQueryProvider client={queries}>
      ${view}
    </VoxQueryProvider>
  )
}
`
}

function routedApp({ hasHooks, hasClient, hasMobile }: ScaffoldInputs): string {
  const router = '<RouterProvider router={router} />'
  const imports = [
    ...(hasHooks ? ["import { QueryClient } from '@tanstack/react-query'"] : []),
    ROUTER_IMPORTS,
    "import { error, notFound, type RouteParams, routes, type VoxRoute } from '../routes.manifest'",
    ...(hasClient ? ["import { voxClient } from '../vox-client'"] : []),
    ...(hasHooks ? ["import { VoxQueryProvider } from '../vox-tanstack-query'"] : [])
  ]
  const again = `// Reloads the data of pages when it may have changed.
voxClient.onChange.add(() => void router.invalidate())
`
  const app = hasHooks
    ? `const queries = new QueryClient()

export function App() {
  return (
    <VoxQueryProvider client={queries}>
      ${router}
    </VoxQueryProvider>
  )
}
`
    : `export function App() {\n  return ${router}\n}\n`
  const opens = `/** Shows a path of the program, like a link. */
export const openPath = (path: string): void => router.history.push(path)
`
  const parts = [ROUTER, ...(hasClient ? [again] : []), ...(hasMobile ? [opens] : []), app]
  return [`${imports.join('\n')}\n`, ...parts].join('\n')
}

const ROUTER_IMPORTS = `import {
  type AnyRoute,
  createRootRoute,
  createRoute,
  createRouter,
  Outlet,
  RouterProvider,
  useLoaderData,
  useParams,
  useSearch
} from '@tanstack/react-router'`

const ROUTER = `const root = createRootRoute({
  component: Outlet,
  notFoundComponent: () => notFound?.() ?? <p>Page not found.</p>
})

function routeOf(route: VoxRoute, parent: AnyRoute, base: string): AnyRoute {
  const shown = (message: string) => (route.error ?? error)?.(message) ?? <p role="alert">{message}</p>
  const path = route.path.slice(base === '/' ? 0 : base.length).replaceAll(':', '$') || '/'
  // The root layout has no path. Its content is an index page.
  const isFrame = path === '/' && route.children.length > 0
  const own: AnyRoute = createRoute({
    getParentRoute: () => parent,
    ...(isFrame ? { id: 'frame' } : { path }),
    validateSearch: (search: RouteParams) => search,
    loaderDeps: ({ search }: { readonly search: RouteParams }) => ({ search }),
    loader: ({ params, deps }) => route.loader?.({ ...deps.search, ...(params as RouteParams) }),
    component: () => <Page route={route} />,
    errorComponent: ({ error }) => <>{shown(error instanceof Error ? error.message : String(error))}</>,
    ...(route.pending === null ? {} : { pendingComponent: route.pending })
  })
  if (route.children.length === 0) return own
  const children = route.children.map(child => routeOf(child, own, route.path))
  const index = createRoute({ getParentRoute: () => own, path: '/', component: () => null })
  return own.addChildren(isFrame ? [index, ...children] : children)
}

function Page({ route }: { readonly route: VoxRoute }) {
  const params: RouteParams = { ...useSearch({ strict: false }), ...useParams({ strict: false }) }
  return route.render(params, useLoaderData({ strict: false }))
}

const router = createRouter({
  routeTree: root.addChildren(routes.map(route => routeOf(route, root, ''))),
  parseSearch: text => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch: search => {
    const text = new URLSearchParams(search as Record<string, string>).toString()
    return text === '' ? '' : \`?\${text}\`
  }
})
`

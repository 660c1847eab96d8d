import type { EmittedFile } from '../../typescript/emitted-file.ts'
import { literal } from '../../typescript/names.ts'
import type { ClientRoutes } from '../client-routes.ts'
import { HOME, type RouteFile, routeFiles } from './route-files.ts'
import { routeTree } from './route-tree.ts'
import type { ScaffoldInputs } from './scaffold-inputs.ts'

/** Generates the starter files of an application that a TanStack Start server renders. */
export function startScaffold(inputs: ScaffoldInputs, routes: ClientRoutes | null): EmittedFile[] {
  const files = (routes?.routes ?? []).flatMap(route => routeFiles(route, null))
  const pages = files.map(file => ({ path: `src/routes/${file.stem}.tsx`, text: pageText(file) }))
  const home = routes === null ? [{ path: 'src/routes/index.tsx', text: homeText(inputs) }] : []
  const listed = routes === null ? [HOME] : files
  return [
    { path: 'vite.config.ts', text: VITE_CONFIG },
    { path: 'src/router.tsx', text: routerText(inputs) },
    { path: 'src/routeTree.gen.ts', text: routeTree(listed) },
    { path: 'src/routes/__root.tsx', text: rootText(inputs, routes !== null) },
    ...(routes === null ? [] : [{ path: 'src/page.tsx', text: PAGE }]),
    ...pages,
    ...home
  ]
}

const VITE_CONFIG = `import { tanstackStart } from '@tanstack/react-start/plugin/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

export default defineConfig({
  plugins: [tanstackStart(), react()],
  resolve: { dedupe: ['react', 'react-dom'] },
  // \`svc run\` forwards page requests to it with SVC_SSR_DEV_URL=http://127.0.0.1:3001.
  server: { port: 3001, strictPort: true, proxy: { '/api': 'http://127.0.0.1:3000' } }
})
`

/** Renders a page with the data of its loader. */
const PAGE = `import { useLoaderData, useParams, useSearch } from '@tanstack/react-router'
import type { RouteParams, VoxRoute } from '../routes.manifest'
import { routes } from '../routes.manifest'

/** Returns the page of a path; throws if the program has no such page. */
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

function homeText({ page }: ScaffoldInputs): string {
  const content =
    page === null
      ? '<p>The program has no page: declare routes, or a component without required parameters.</p>'
      : '<Page />'
  const imported = page === null ? '' : `import { ${page} as Page } from '../../${page}'\n`
  return `import { createFileRoute } from '@tanstack/react-router'
${imported}
export const Route = createFileRoute('/')({ component: () => ${content} })
`
}

function rootText({ title, hasHooks }: ScaffoldInputs, hasRoutes: boolean): string {
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
  const missing = '<p>Page not found.</p>'
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

function routerText({ hasClient, hasMobile }: ScaffoldInputs): string {
  const mobile = hasMobile ? "\nimport { startMobile } from '../mobile'" : ''
  const imported = mobile + (hasClient ? "\nimport { voxClient } from '../vox-client'" : '')
  const begins = hasMobile
    ? "  if (typeof window !== 'undefined') startMobile(path => router.history.push(path))\n"
    : ''
  const server = hasClient
    ? `  // The server has no page with an origin.
  if (typeof window === 'undefined' && voxClient.baseUrl === '') voxClient.baseUrl = 'http://127.0.0.1:3000'
`
    : ''
  const again = hasClient
    ? `  // Reloads the data of pages when it may have changed.
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
${again}${begins}  return router
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof getRouter>
  }
}
`
}

import { basename } from 'node:path'
import { type HttpEndpoint, httpEndpointsOf, httpInputOf, type Program } from '@svc/contracts'
import { devScript, escapeHtml, htmlDocument } from './html.ts'

export interface RouteListOptions {
  readonly program: Program
  /** Other routes of the program's listener, such as its live feeds. */
  readonly others: readonly { readonly method: string; readonly path: string; readonly summary?: string }[]
  /** Version of the program for the development script. */
  readonly devBuild: string
  /** URL of the console; null if it is not served. */
  readonly consoleUrl: string | null
}

/** Returns the home page of a program without pages: its routes, and links to its API page and to the console. */
export function routeList({ program, others, devBuild, consoleUrl }: RouteListOptions): string {
  const { module, path } = program
  const title = basename(path)
  const own = httpEndpointsOf(module).map(endpointRow)
  const more = others.map(({ method, path, summary = '' }) => row(method, escapeHtml(path), summary))
  const tools = module.mcp_tools.map(({ func, description }) => row('TOOL', escapeHtml(func.name), description))
  const rows = [...own, ...tools, ...more]
  const links = [
    link('/docs', 'Try the API'),
    link('/openapi.json', 'OpenAPI description'),
    link('/api/client.ts', 'TypeScript client'),
    ...(consoleUrl === null ? [] : [link(consoleUrl, 'Console')])
  ]
  const empty = own.length + tools.length === 0 ? '<p>This program has no routes and no pages.</p>' : ''
  const body = `    <main>
      <h1>${escapeHtml(title)}</h1>
      <nav>${links.join(' ')}</nav>
      ${empty}
      <table>
        <thead><tr><th scope="col">Method</th><th scope="col">Path</th><th scope="col">Function</th></tr></thead>
        <tbody>
${rows.join('\n')}
        </tbody>
      </table>
      <p class="quiet">This list is shown because the program has no pages. Declare a <code>component</code> and
        <code>routes</code> to show pages here.</p>
    </main>`
  return htmlDocument(title, [`<style>${STYLE}</style>`, devScript(devBuild)], body)
}

function endpointRow(endpoint: HttpEndpoint): string {
  const { kind, name, params, route } = endpoint
  const { path, query, body } = httpInputOf(endpoint)
  const isOptional = ({ hasDefault, type_ann: type }: (typeof params)[number]): boolean =>
    hasDefault || (typeof type === 'object' && type !== null && 'Generic' in type && type.Generic[0] === 'Option')
  const needsNothing = path.length === 0 && body.kind === 'none' && query.every(isOptional)
  const address = escapeHtml(route.path)
  const shown = route.method === 'GET' && needsNothing ? `<a href="${address}">${address}</a>` : address
  const given = params.filter(each => each.name !== 'request')
  const inputs = given.map(each => `${each.name}${isOptional(each) ? '?' : ''}`).join(', ')
  const summary = kind === 'route' ? (inputs === '' ? '' : `(${inputs})`) : `${kind} ${name}(${inputs})`
  return row(route.method, shown, summary)
}

/** `path` is markup, the other texts are not. */
function row(method: string, path: string, summary: string): string {
  return `          <tr><td><b>${escapeHtml(method)}</b></td><td><code>${path}</code></td><td>${escapeHtml(summary)}</td></tr>`
}

function link(url: string, label: string): string {
  return `<a href="${escapeHtml(url)}">${escapeHtml(label)}</a>`
}

const STYLE = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 0 auto; max-width: 60rem; padding: 1rem; background: light-dark(#fff, #16181d); color: light-dark(#1b1f24, #e6e8eb); }
a { color: light-dark(#0550ae, #79b8ff); }
nav { display: flex; flex-wrap: wrap; gap: 0.5rem 1.25rem; }
table { border-collapse: collapse; margin: 1.5rem 0; width: 100%; }
th, td { border-bottom: 1px solid light-dark(#d8dee4, #363b44); padding: 0.4rem 0.75rem 0.4rem 0; text-align: left; vertical-align: top; }
td { overflow-wrap: anywhere; }
td:first-child { white-space: nowrap; overflow-wrap: normal; }
b { font-size: 0.8rem; letter-spacing: 0.03em; }
@media (max-width: 40rem) {
  table, tbody { display: block; }
  thead { display: none; }
  tr { display: grid; grid-template-columns: 4rem 1fr; border-bottom: 1px solid light-dark(#d8dee4, #363b44); padding: 0.5rem 0; }
  td { border: 0; padding: 0; }
  td:last-child { grid-column: 2; }
}
.quiet { color: light-dark(#57606a, #9aa4b2); }
`

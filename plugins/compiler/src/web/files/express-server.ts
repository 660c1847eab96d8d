import { type HirParam, isResponseRoute } from '@svc/contracts'
import { type Diagnostic, diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Module } from '../../syntax/ast.ts'
import { GUARD_DECORATORS } from '../../syntax/guard-decorators.ts'
import type { EmittedFile } from '../../typescript/emitted-file.ts'
import { header } from '../../typescript/header.ts'
import { literal, propertyKey } from '../../typescript/names.ts'
import { TypeImports } from '../../typescript/types.ts'
import { endpointsOf, isOptional, responseTypeOf } from '../endpoints.ts'
import type { WebModule } from '../web-module.ts'

const SERVER = `/** Address of the program itself: \`svc run\`. */
const upstream = process.env['SVC_UPSTREAM_URL'] ?? 'http://127.0.0.1:3000'

/**
 * Creates an application with all routes of the program. Requests with a handler in \`handlers\` are handled here;
 * others are forwarded to the program.
 */
export function createApp(handlers: Partial<Handlers> = {}): Express {
  const app = express()
  app.use(express.json({ strict: false, limit: '4mb' }))
  for (const route of routes) {
    app[route.method](route.path, (request, response) => {
      handle(route, handlers, request, response).catch((error: unknown) => {
        const message = error instanceof Error ? error.message : String(error)
        response.status(500).json({ error: message, code: 'RUN_REFUSED' })
      })
    })
  }
  app.use(express.static('public'))
  return app
}

interface RouteEntry {
  readonly method: 'get' | 'post' | 'put' | 'delete'
  /** In the syntax of Express. */
  readonly path: string
  readonly handler: keyof Handlers
  /** True if query parameters are JSON. */
  readonly isQuery: boolean
  readonly required: readonly string[]
}

async function handle(
  route: RouteEntry,
  handlers: Partial<Handlers>,
  request: Request,
  response: Response
): Promise<void> {
  const handler = handlers[route.handler] as ((args: unknown) => unknown) | undefined
  if (handler === undefined) return await forward(request, response)
  const args: Record<string, unknown> = { ...request.params, ...Object(request.body) }
  for (const [name, text] of Object.entries(request.query)) {
    if (typeof text !== 'string') continue
    try {
      args[name] = route.isQuery ? JSON.parse(text) : text
    } catch {
      response.status(400).json({ error: \`\${name} is not valid JSON\`, code: 'RUN_ARGUMENTS' })
      return
    }
  }
  const missing = route.required.find(name => args[name] === undefined)
  if (missing !== undefined) {
    response.status(400).json({ error: \`\${missing} is missing\`, code: 'RUN_ARGUMENTS' })
    return
  }
  const result = await handler(args)
  if (result instanceof globalThis.Response) await pass(result, response)
  else response.json(result ?? null)
}

/** Sends a response with its status, headers and body. */
async function pass(from: globalThis.Response, response: Response): Promise<void> {
  response.status(from.status)
  for (const [name, value] of from.headers) {
    if (!/^(?:set-cookie|content-(?:encoding|length)|transfer-encoding)$/.test(name)) response.set(name, value)
  }
  const cookies = from.headers.getSetCookie()
  if (cookies.length > 0) response.set('set-cookie', cookies)
  response.send(Buffer.from(await from.arrayBuffer()))
}

async function forward(request: Request, response: Response): Promise<void> {
  const hasBody = request.method !== 'GET' && request.method !== 'HEAD'
  const headers: Record<string, string> = { accept: request.get('accept') ?? '*/*' }
  const authorization = request.get('authorization')
  if (authorization !== undefined) headers['authorization'] = authorization
  if (hasBody) headers['content-type'] = 'application/json'
  const forwarded = await fetch(new URL(request.originalUrl, upstream), {
    method: request.method,
    headers,
    redirect: 'manual',
    ...(hasBody ? { body: JSON.stringify(request.body ?? {}) } : {})
  })
  await pass(forwarded, response)
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const port = Number(process.env['PORT'] ?? 3002)
  createApp().listen(port, '127.0.0.1', () => process.stdout.write(\`http://127.0.0.1:\${port}\\n\`))
}
`

/** Reports guards: the handlers of an Express server would be called without them. */
export function unenforcedGuards({ items }: Module): Diagnostic[] {
  return items.flatMap(item => {
    // Pages are guarded where they are served, and tables guard no endpoint.
    if (!('decorators' in item) || item.kind === 'Component' || item.kind === 'Table') return []
    return item.decorators
      .filter(({ name }) => GUARD_DECORATORS.has(name.text) && name.text !== 'public')
      .map(({ name }) =>
        diagnostic(
          'auth.not_enforced',
          `the Express server does not enforce \`@${name.text}\`: requests would pass without it`,
          { start: name.start - 1, end: name.end },
          { suggestions: ['build without `SVC_EMIT_EXPRESS_SERVER`, and serve the program with `svc run`'] }
        )
      )
  })
}

/** Generates `server.ts`: an Express application with the program's routes, to mount in another server. */
export function expressServerFile(web: WebModule): EmittedFile {
  const imports = new TypeImports()
  const endpoints = endpointsOf(web.hir).map(endpoint => ({
    name: endpoint.name,
    method: endpoint.method.toLowerCase(),
    path: endpoint.route_path,
    isQuery: endpoint.kind === 'query',
    params: endpoint.params,
    pathParams: [] as string[],
    responseType: web.types.result(responseTypeOf(endpoint, web), imports)
  }))
  const routes = web.hir.routes.map(({ method, path, params = [], return_type }) => ({
    name: `${method} ${path}`.toLowerCase(),
    method: method.toLowerCase(),
    path: path.replace(/\{([a-z_]\w*)\}/gi, ':$1'),
    isQuery: false,
    params,
    pathParams: [...path.matchAll(/:([a-z_]\w*)|\{([a-z_]\w*)\}/gi)].map(([, colon, braces]) => colon ?? braces ?? ''),
    responseType: isResponseRoute({ kind: 'route', returns: return_type }, web.hir)
      ? 'globalThis.Response'
      : web.types.result(responseTypeOf({ return_type }, web), imports)
  }))
  const all = [...endpoints, ...routes]
  const members = all.map(({ name, params, pathParams, responseType }) => {
    const known = new Set(params.map(param => param.name))
    const rest = pathParams.filter(param => !known.has(param)).map(param => `readonly ${param}: string`)
    const input = [...params.map(param => memberOf(web, param, imports)), ...rest]
    return `  ${propertyKey(name)}(args: { ${input.join('; ')} }): ${responseType} | Promise<${responseType}>\n`
  })
  const entries = all.map(({ name, method, path, isQuery, params }) => {
    const required = params.filter(param => !isOptional(param)).map(param => literal(param.name))
    return `  { method: '${method}', path: ${literal(path)}, handler: ${literal(name)}, isQuery: ${isQuery}, required: [${required.join(', ')}] }`
  })
  const head = [
    "import { pathToFileURL } from 'node:url'",
    "import express, { type Express, type Request, type Response } from 'express'",
    ...imports.lines()
  ]
  const parts = [
    header(web.name),
    `${head.join('\n')}\n`,
    `/** Handlers of requests, by name. */\nexport interface Handlers {\n${members.join('')}}\n`,
    `const routes: readonly RouteEntry[] = [${entries.length === 0 ? '' : `\n${entries.join(',\n')}\n`}]\n`,
    SERVER
  ]
  return { path: 'server.ts', text: parts.join('\n').replaceAll('{  }', '{}') }
}

function memberOf({ types }: WebModule, param: HirParam, imports: TypeImports): string {
  const mark = isOptional(param) ? '?' : ''
  return `readonly ${propertyKey(param.name)}${mark}: ${types.print(param.type_ann, imports)}`
}

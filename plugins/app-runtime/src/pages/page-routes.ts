import { type HttpExchange, type HttpHandlerRoute, PAGE_FILES, type PageBundle, type PageBundler } from '@svc/contracts'
import { runErrors } from '../errors.ts'

/** Names with a hash of the content. */
const HASHED = /-[A-Z0-9]{8}\.\w+(?:\.LEGAL\.txt)?$/

/** Returns the route of bundled pages and of prebuilt libraries. */
export function pageFilesRoute(bundler: PageBundler, bundle: PageBundle | null): HttpHandlerRoute {
  return {
    method: 'GET',
    path: `${PAGE_FILES}*`,
    summary: 'Scripts and styles of the pages',
    handle(exchange) {
      send(exchange, bundler, bundle).catch((error: unknown) => exchange.fail(error))
    }
  }
}

async function send(exchange: HttpExchange, bundler: PageBundler, bundle: PageBundle | null): Promise<void> {
  const { '*': name = '' } = exchange.params
  const path = PAGE_FILES + name
  const file = bundle?.files.get(path) ?? (await bundler.file(name))
  if (file === null) {
    throw runErrors.create('RUN_NOT_FOUND', `${path} does not exist`, { hint: 'reload the page' })
  }
  exchange.send(200, file.type, file.body, {
    'cache-control': HASHED.test(name) ? 'public, max-age=31536000, immutable' : 'no-cache',
    'x-content-type-options': 'nosniff'
  })
}

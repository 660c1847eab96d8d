import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import '../../plugins/database/test/built-worker.ts'
import { compile } from '../mcp/servers.ts'

type Stores = typeof import('./stores.ts')

/** Compiles the stores like published plugins, because a development loader slows every function down. */
export async function compiledStores(): Promise<Stores> {
  return (await import(pathToFileURL(await compile(join(import.meta.dirname, 'stores.ts'))).href)) as Stores
}

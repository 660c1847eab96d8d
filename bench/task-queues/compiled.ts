import { createRequire } from 'node:module'
import { join } from 'node:path'
import { build } from 'esbuild'

/**
 * Compiles a module with its imports, like a published plugin, and imports it. The source loader would set the name of
 * each function at run time, a cost that published plugins do not have.
 */
export async function compiled(entry: string, folder: string, name: string): Promise<unknown> {
  const file = join(folder, `${name}.cjs`)
  await build({
    entryPoints: [entry],
    outfile: file,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    conditions: ['svc-source'],
    define: { 'import.meta.url': '__svc_url' },
    banner: { js: "const __svc_url = require('node:url').pathToFileURL(__filename).href;" },
    logLevel: 'error'
  })
  return createRequire(file)(file)
}

import { createRequire } from 'node:module'
import { join } from 'node:path'
import { build } from 'esbuild'

/**
 * A module with all that it imports, compiled as plugins are for whoever uses them: the loader of sources gives each function a
 * name at run time, which those do not pay for.
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

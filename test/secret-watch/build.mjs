import { join } from 'node:path'
import { build } from 'esbuild'

/** Bundles the preload into one file, since every process of the run loads it. Returns its path. */
export async function buildPreload(root) {
  const outdir = join(root, 'node_modules/.cache/svc-secret-watch')
  const common = { bundle: true, platform: 'node', target: 'node20', logLevel: 'warning' }
  const source = join(root, 'test/secret-watch')
  await build({
    ...common,
    entryPoints: [join(source, 'preload.mjs')],
    format: 'cjs',
    outfile: join(outdir, 'secret-watch.cjs')
  })
  await build({
    ...common,
    entryPoints: [join(source, 'hooks.mjs')],
    format: 'esm',
    outfile: join(outdir, 'hooks.mjs')
  })
  return join(outdir, 'secret-watch.cjs')
}

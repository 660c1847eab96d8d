// One file in place of yargs' forty: the command line pays for every file that it opens.
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const kernel = fileURLToPath(new URL('../kernel', import.meta.url))
await build({
  stdin: { contents: "export { default } from 'yargs'", resolveDir: kernel },
  outfile: `${kernel}/dist/vendor/yargs.js`,
  bundle: true,
  minify: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  legalComments: 'linked',
  banner: { js: "import{createRequire as r}from'node:module';const require=r(import.meta.url);" }
})

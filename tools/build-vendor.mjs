// What the kernel's package holds besides its own code: yargs, and the configuration that ships with svc.
import { cpSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const kernel = fileURLToPath(new URL('../kernel', import.meta.url))

// Most of yargs' start goes into tables of emoji and scripts, for measuring texts; the kernel measures them more simply.
const own = JSON.stringify(`${kernel}/dist/cli/text.js`)
const measures = {
  'string-width': `export { textWidth as default } from ${own}`,
  'strip-ansi': `export { withoutColour as default } from ${own}`,
  'wrap-ansi': `import { wrapText } from ${own}; export default (text, width) => wrapText(text, width).join('\\n')`
}
const measuring = {
  name: 'measuring',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: new RegExp(`^(${Object.keys(measures).join('|')})$`) }, ({ path }) => ({
      path,
      namespace: 'measuring'
    }))
    onLoad({ filter: /./, namespace: 'measuring' }, ({ path }) => ({ contents: measures[path], resolveDir: kernel }))
  }
}

cpSync(fileURLToPath(new URL('../config', import.meta.url)), `${kernel}/dist/shipped-config`, { recursive: true })

// One file in place of forty: the command line pays for every file that it opens.
await build({
  stdin: { contents: "export { default } from 'yargs'", resolveDir: kernel },
  outfile: `${kernel}/dist/vendor/yargs.js`,
  bundle: true,
  minify: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  legalComments: 'linked',
  plugins: [measuring],
  banner: {
    js: "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);"
  }
})

// Bundles the extension with its language client to dist/extension.cjs.
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

// If only some workspaces are installed, only those are built.
const client = new URL('../../node_modules/vscode-languageclient', import.meta.url)
if (!existsSync(client)) {
  process.stdout.write('editors/vscode: not built, since vscode-languageclient is not installed\n')
  process.exit()
}
await build({
  entryPoints: [fileURLToPath(new URL('src/extension.ts', import.meta.url))],
  outfile: fileURLToPath(new URL('dist/extension.cjs', import.meta.url)),
  bundle: true,
  platform: 'node',
  // The oldest supported editor runs Node.js 20.
  target: 'node20',
  format: 'cjs',
  minify: true,
  // The editor provides this module.
  external: ['vscode']
})

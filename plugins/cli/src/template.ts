import { pageFiles } from './page-template.ts'
import type { SdkPackage } from './scaffold.ts'

/** Returns the version range that a new package declares for one of svc's packages. */
type VersionRange = (name: SdkPackage) => string

/** Development tools, in the versions that svc itself uses. */
const TOOLS = { '@types/node': '^20.19.21', typescript: '^7.0.2' }

/** Returns the files of a new plugin package by path. `withPage`: the plugin adds pages to the console. */
export function templateFiles(name: string, range: VersionRange, withPage = false): Map<string, string> {
  const constant = name.replace(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
  const own = withPage
    ? pageFiles(name, constant)
    : { 'src/plugin.ts': pluginSource(name, constant), 'test/plugin.test.mjs': testSource(name) }
  return new Map([
    ['package.json', packageJson(name, range, withPage)],
    ['tsconfig.json', tsconfig(withPage)],
    ...Object.entries(own),
    ['README.md', readme(name, withPage)],
    ['.gitignore', 'node_modules/\ndist/\n']
  ])
}

function packageJson(name: string, range: VersionRange, withPage: boolean): string {
  const contracts = withPage ? { '@svc/contracts': range('@svc/contracts') } : {}
  const optional = { optional: true }
  return `${JSON.stringify(
    {
      name: `svc-plugin-${name}`,
      version: '0.1.0',
      type: 'module',
      engines: { node: '>=20.19' },
      svc: {
        plugin: './dist/plugin.cjs',
        source: './src/plugin.ts',
        ...(withPage ? { pages: { greet: './page/greet.ts' } } : {})
      },
      files: ['dist', 'assets', 'README.md'],
      scripts: {
        build: 'svc plugins build .',
        check: 'tsc -p .',
        test: 'npm run build && node --test',
        prepack: 'npm run build'
      },
      peerDependencies: { '@svc/plugin-sdk': '^1.0.0', ...contracts },
      // The host passes its own copies of these to plugins, so they need none when installed.
      peerDependenciesMeta: { '@svc/plugin-sdk': optional, ...(withPage ? { '@svc/contracts': optional } : {}) },
      devDependencies: {
        ...contracts,
        '@svc/kernel': range('@svc/kernel'),
        '@svc/plugin-sdk': range('@svc/plugin-sdk'),
        ...TOOLS
      }
    },
    null,
    2
  )}\n`
}

function tsconfig(withPage: boolean): string {
  return `${JSON.stringify(
    {
      compilerOptions: {
        target: 'ES2023',
        module: 'NodeNext',
        types: ['node'],
        strict: true,
        noUncheckedIndexedAccess: true,
        exactOptionalPropertyTypes: true,
        verbatimModuleSyntax: true,
        erasableSyntaxOnly: true,
        allowImportingTsExtensions: true,
        noEmit: true,
        skipLibCheck: true
      },
      include: withPage ? ['src', 'page'] : ['src']
    },
    null,
    2
  )}\n`
}

function pluginSource(name: string, constant: string): string {
  return `import { defineOperation, definePlugin, t } from '@svc/plugin-sdk'

/** Declares an HTTP route, an MCP tool, a JSON-RPC method and a command. */
export const ${constant}Greet = defineOperation({
  id: '${name}.greet',
  summary: 'Greet someone by name',
  input: t.object({ name: t.string({ minLength: 1, description: 'Name to greet' }) }),
  output: t.object({ text: t.string() }),
  effect: 'read',
  expose: {
    http: { method: 'GET', path: '/${name}/greet/:name' },
    mcp: true,
    rpc: true,
    cli: { command: '${name} greet', args: ['name'], view: { text: 'text' } }
  }
})

export default definePlugin({
  name: '${name}',
  summary: 'Greets',
  config: t.object({
    greeting: t.string({ default: 'Hello', description: 'First word of the greeting', 'x-reload': 'live' })
  }),
  operations: [${constant}Greet],
  activate(ctx) {
    ctx.implement(${constant}Greet, ({ name }) => ({ text: \`\${ctx.config.greeting}, \${name}!\` }))
  }
})
`
}

function testSource(name: string): string {
  return `import assert from 'node:assert/strict'
import test from 'node:test'
import { assertNoLeaks, loadPlugin, testPlugin } from '@svc/plugin-sdk/testing'

const plugin = loadPlugin(new URL('../dist/plugin.cjs', import.meta.url))

test('greets with the configured word', async () => {
  const kernel = await testPlugin(plugin, { settings: { greeting: 'Salut' } })
  assert.deepEqual(await kernel.callById('${name}.greet', { name: 'Ada' }), { text: 'Salut, Ada!' })
  await kernel.close()
})

test('rejects an empty name', async () => {
  const kernel = await testPlugin(plugin)
  await assert.rejects(kernel.callById('${name}.greet', { name: '' }), { code: 'OPR_INPUT_INVALID' })
  await kernel.close()
})

test('leaks no resources', async () => {
  await assertNoLeaks(async () => {
    const kernel = await testPlugin(plugin)
    await kernel.close()
  })
})
`
}

function readme(name: string, withPage: boolean): string {
  return `# ${name}

A plugin for svc.

| setting | default | meaning |
|---|---|---|
| \`greeting\` | \`Hello\` | first word of the greeting |

${withPage ? PAGES : ''}\`\`\`sh
npm install
npm test              # builds, then runs test/
npm run check         # checks types
svc ${name} greet Ada
\`\`\`

To use a clone of svc instead of published packages:

\`\`\`sh
npm install --no-save CLONE/plugin-sdk ${withPage ? 'CLONE/contracts ' : ''}CLONE/kernel
\`\`\`

The package ships \`dist\` and \`assets\`. Declare worker files in \`svc.entries\` of package.json; the build compiles
them into \`dist\`.
`
}

const PAGES = `The console shows two pages of it: a list of greetings, described in \`src/plugin.ts\`, and a page that
\`page/greet.ts\` draws. Open the console with \`svc dashboard\`.

`

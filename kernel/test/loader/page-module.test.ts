import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { Bundler, buildPlugin } from '#loader'
import { type Files, folder, packageJson, pluginSource, write } from '../fixtures/loader/plugin-folder.ts'

/** Small library that pages find as `preact`. Its elements are arrays. */
const PREACT: Files = {
  'node_modules/preact/package.json': {
    name: 'preact',
    version: '11.0.0',
    type: 'module',
    exports: { '.': './index.js', './jsx-runtime': './jsx-runtime.js' }
  },
  'node_modules/preact/index.js': 'export const render = (element, root) => root.push(element)',
  'node_modules/preact/jsx-runtime.js':
    'export const jsx = (type, properties) => [type, properties]; export const jsxs = jsx'
}

const CHAT: Files = {
  'page/chat.tsx': `import { render } from 'preact'
import type { ConsoleApi } from '@svc/contracts'
import style from './chat.css'
import { title } from './title.ts'
export function mount(root: unknown[], api: ConsoleApi) {
  render(<h1 class={style}>{title}{api.theme}</h1>, root as never)
}`,
  'page/title.ts': "export const title: string = 'Chat '",
  'page/chat.css': 'h1 { color: red }'
}

const packaged = (pages: Readonly<Record<string, string>>, more: object = {}): object =>
  packageJson('sample', {
    svc: { plugin: './dist/plugin.cjs', source: './src/plugin.ts', pages },
    ...more
  })

function open(
  t: Test,
  files: Files
): { readonly root: string; page(name: string, source: string): ReturnType<Bundler['page']> } {
  const root = folder(t, files)
  const bundler = new Bundler()
  t.teardown(() => bundler.dispose())
  return { root, page: (name, source) => bundler.page({ root, name, source: join(root, source), debug: false }) }
}

/** Runs a compiled page and returns what it draws. */
async function drawn(root: string, text: string): Promise<unknown[]> {
  const file = join(root, `${Math.random()}.mjs`)
  write(root, { [file.slice(root.length + 1)]: text })
  const { mount } = await import(pathToFileURL(file).href)
  const elements: unknown[] = []
  mount(elements, { theme: 'dark' })
  return elements
}

t.test('a page becomes one module with its libraries, JSX for preact, and styles as text', async t => {
  const { root, page } = open(t, { ...PREACT, ...CHAT, 'package.json': packaged({}) })
  const { text, inputs } = await page('chat', 'page/chat.tsx')
  t.notMatch(text, /^import\b/m)
  t.notMatch(text, 'sourceMappingURL')
  t.same(await drawn(root, text), [['h1', { class: 'h1 { color: red }', children: ['Chat ', 'dark'] }]])
  for (const path of ['page/chat.tsx', 'page/title.ts', 'page/chat.css', 'node_modules/preact/index.js'])
    t.ok(inputs.includes(join(root, path)), path)
})

t.test('a comment in the file selects another library, and a tsconfig.json has no effect', async t => {
  const { root, page } = open(t, {
    'package.json': packaged({}),
    'tsconfig.json': { compilerOptions: { jsx: 'preserve', jsxImportSource: 'none' } },
    'node_modules/other/package.json': { name: 'other', type: 'module', exports: { './jsx-runtime': './index.js' } },
    'node_modules/other/index.js': "export const jsx = type => 'other ' + type",
    'page/a.tsx': '/** @jsxImportSource other */\nexport const mount = (root: unknown[]) => void root.push(<p />)'
  })
  t.same(await drawn(root, (await page('a', 'page/a.tsx')).text), ['other p'])
})

t.test('errors name the page, the file, the line and the next step', async t => {
  const { root, page } = open(t, {
    'package.json': packaged({}),
    'page/syntax.ts': 'export const fine = 1\nexport function mount() { = }',
    'page/node.ts': "import { readFileSync } from 'node:fs'\nexport const mount = () => readFileSync('x')",
    'page/missing.ts': "export const mount = () => {}\nimport './gone.ts'",
    'page/url.ts': "import { x } from 'https://cdn.example/x.js'\nexport const mount = () => x",
    'page/none.ts': 'export const mountt = () => {}'
  })
  const at = (name: string, line?: number) => ({
    file: join(root, 'page', name),
    ...(line === undefined ? {} : { line })
  })
  const cases = [
    ['syntax', /^page syntax: .*syntax\.ts:2:/, at('syntax.ts', 2)],
    ['node', /^page node: .*node\.ts:1:\d+: .*node:fs/, at('node.ts', 1)],
    ['missing', /^page missing: .*missing\.ts:2:\d+: .*gone\.ts/, at('missing.ts', 2)],
    ['url', /^page url: .*url\.ts imports https:\/\/cdn\.example\/x\.js$/, at('url.ts')],
    ['none', /^page none: .*none\.ts exports no mount function$/, at('none.ts')]
  ] as const
  for (const [name, message, place] of cases)
    await t.rejects(page(name, `page/${name}.ts`), { code: 'LDR_BUILD_FAILED', message, at: place }, name)
  await t.rejects(page('gone', 'page/gone.ts'), { code: 'LDR_BUILD_FAILED', message: /^page gone: .*gone\.ts/ })
})

t.test('a page that is too large is refused', async t => {
  const { root, page } = open(t, {
    'package.json': packaged({}),
    'page/large.ts': "import text from './large.css'\nexport const mount = () => text",
    'page/large.css': 'x'.repeat(4 * 1024 * 1024)
  })
  await t.rejects(page('large', 'page/large.ts'), {
    code: 'LDR_BUILD_FAILED',
    message: /^page large: .* has \d+ bytes$/,
    at: { file: join(root, 'page/large.ts') },
    hint: /limit is 4194304 bytes/
  })
})

t.test('a build for publishing writes each page next to the plugin', async t => {
  const { root } = open(t, {
    ...PREACT,
    ...CHAT,
    'package.json': packaged({ chat: './page/chat.tsx', plain: './page/plain.js' }),
    'page/plain.js': 'export const mount = root => void root.push("plain")',
    'src/plugin.ts': pluginSource('sample')
  })
  t.match(await buildPlugin(root), { name: 'sample' })
  t.same(await drawn(root, readFileSync(join(root, 'dist/page/plain.js'), 'utf8')), ['plain'])
  t.match(await drawn(root, readFileSync(join(root, 'dist/page/chat.js'), 'utf8')), [['h1']])
})

t.test('a broken page fails a build for publishing, which leaves the last build', async t => {
  const { root } = open(t, {
    'package.json': packaged({ chat: './page/chat.ts' }),
    'page/chat.ts': 'export const mount = = 1',
    'src/plugin.ts': pluginSource('sample'),
    'dist/plugin.cjs': '// the last build'
  })
  await t.rejects(buildPlugin(root), { code: 'LDR_BUILD_FAILED', message: /^page chat: .*chat\.ts:1:/ })
  t.equal(readFileSync(join(root, 'dist/plugin.cjs'), 'utf8'), '// the last build')
  t.notOk(existsSync(join(root, 'dist/page')))
})

t.test('invalid names and paths of pages are refused', async t => {
  for (const [pages, message] of [
    [{ Chat: './page/chat.ts' }, /invalid entry svc\.pages\."Chat"/],
    [{ '../x': './page/chat.ts' }, /invalid entry svc\.pages\."\.\.\/x"/],
    [{ chat: 5 }, /invalid entry svc\.pages\."chat"/],
    [{ chat: '../chat.ts' }, /svc\.pages\.chat names \.\.\/chat\.ts, which is outside the package/],
    [{ chat: './dist/page/chat.js' }, /whose build would replace its source: svc\.pages\.chat/]
  ] as const) {
    const root = folder(t, { 'package.json': packaged(pages as never), 'src/plugin.ts': pluginSource('sample') })
    await t.rejects(buildPlugin(root), { message }, JSON.stringify(pages))
  }
})

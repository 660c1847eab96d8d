import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { findings, install } from '../building.ts'
import { CHART, writeProject } from './emitted.ts'

const examples = new URL('../../../../../examples/', import.meta.url)
const language = new URL('../../../../../docs/language.md', import.meta.url)

const OPTIONS = {
  compilerOptions: {
    target: 'ES2023',
    lib: ['ES2023', 'DOM', 'DOM.Iterable'],
    module: 'ESNext',
    moduleResolution: 'bundler',
    jsx: 'react-jsx',
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    isolatedModules: true,
    skipLibCheck: true,
    types: ['vite/client']
  },
  include: ['*/*.ts', '*/*.tsx']
}

/** Programs with pages: the examples, those of the tests, and the snippets of the language's description. */
function programs(): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (const name of ['board.vox', 'everything.vox', 'values.vox'])
    found.set(name, read(new URL(name, import.meta.url)))
  for (const folder of ['language/', 'apps/']) {
    const at = new URL(folder, examples)
    for (const name of readdirSync(at).filter(each => each.endsWith('.vox'))) found.set(name, read(new URL(name, at)))
  }
  const snippets = read(language).matchAll(/^```vox\n([\s\S]*?)^```$/gm)
  for (const [index, [, source = '']] of [...snippets].entries()) found.set(`snippet_${index}.vox`, source)
  return new Map([...found].filter(([, source]) => /\b(component|@island|fragment|@form)\b/.test(source)))
}

t.test('emitted code type-checks in strict mode', async t => {
  const folder = t.testdir()
  install(folder)
  const sources = programs()
  t.ok(sources.size > 12)
  for (const [name, source] of sources) {
    const own = join(folder, name.replace('.vox', ''))
    writeProject(own, source, true)
    writeFileSync(join(own, 'chart.tsx'), CHART)
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(OPTIONS))
  t.equal(await findings(folder), '')
})

function read(url: URL): string {
  return readFileSync(url, 'utf8')
}

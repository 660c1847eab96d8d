import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { findings, install } from '../building.ts'
import { CHART, writeProject } from './emitted.ts'

const examples = new URL('../../../../../examples/language/', import.meta.url)

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

t.test('emitted code type-checks in strict mode', async t => {
  const folder = t.testdir()
  install(folder)
  const sources = new Map<string, string>()
  for (const name of ['board.vox', 'everything.vox']) sources.set(name, read(new URL(name, import.meta.url)))
  for (const name of readdirSync(examples).filter(each => each.endsWith('.vox')))
    sources.set(name, read(new URL(name, examples)))
  for (const [name, source] of sources) {
    if (!/\b(component|@island|fragment|@form)\b/.test(source)) continue
    writeProject(join(folder, name.replace('.vox', '')), source, true)
    writeFileSync(join(folder, name.replace('.vox', ''), 'chart.tsx'), CHART)
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(OPTIONS))
  t.equal(await findings(folder), '')
})

function read(url: URL): string {
  return readFileSync(url, 'utf8')
}

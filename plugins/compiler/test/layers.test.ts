import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const SOURCES = join(import.meta.dirname, '..', 'src')

/** Folders that each folder of the middle of the compiler may import: from the syntax to the files of pages. */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  doc: [],
  syntax: ['diagnostics'],
  format: ['doc', 'syntax'],
  types: ['diagnostics', 'syntax'],
  hir: ['syntax', 'types'],
  ir: ['hir', 'syntax', 'types'],
  typescript: ['doc', 'hir', 'syntax', 'types'],
  'web-ir': ['diagnostics', 'doc', 'hir', 'syntax', 'typescript'],
  react: ['doc', 'hir', 'syntax', 'typescript', 'web-ir']
}

for (const [folder, allowed] of Object.entries(LAYERS)) {
  t.test(`${folder} imports only the layers below it`, async t => {
    const files = readdirSync(join(SOURCES, folder), { recursive: true, encoding: 'utf8' })
    const upward = files
      .filter(path => path.endsWith('.ts'))
      .flatMap(path => {
        const text = readFileSync(join(SOURCES, folder, path), 'utf8')
        const up = '../'.repeat(path.split('/').length)
        return [...text.matchAll(/from '((?:\.\.\/)+)([\w-]+)[^']*'/g)]
          .filter(([, steps = '', target = '']) => steps === up && !allowed.includes(target))
          .map(([, , target]) => `${folder}/${path}: ${target}`)
      })
    t.same(upward, [])
  })
}

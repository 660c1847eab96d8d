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

/** Files of the upper layers that read the syntax tree. Forms, islands, routes, views and machines are read from the HIR. */
const READ_SYNTAX: ReadonlySet<string> = new Set([
  'react/web-tree.ts',
  'web-ir/app-hooks.ts',
  'web-ir/document.ts',
  'web/app-hooks/hooks-file.ts',
  'web/app-hooks/used-hooks.ts',
  'web/files/dockerfile.ts',
  'web/files/express-server.ts',
  'web/files/mobile.ts',
  'web/files/tokens.ts',
  'web/files/urls.ts',
  'web/v0-health.ts',
  'web/v0.ts',
  'web/web-module.ts'
])

t.test('files of pages read forms, islands, routes, views and machines from the HIR', async t => {
  const found = ['web-ir', 'react', 'web'].flatMap(folder =>
    readdirSync(join(SOURCES, folder), { recursive: true, encoding: 'utf8' })
      .filter(path => path.endsWith('.ts'))
      .map(path => `${folder}/${path}`)
      .filter(path => /from '(?:\.\.\/)+syntax\/(?!page-path)/.test(readFileSync(join(SOURCES, path), 'utf8')))
  )
  t.same(new Set(found), READ_SYNTAX)
})

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ROOT } from './error-codes.ts'
import { documents, snippetsOf } from './markdown.ts'

t.test('every TypeScript snippet in the documents compiles', t => {
  const files: Record<string, string> = {}
  for (const document of documents()) {
    for (const { code, line } of snippetsOf(document, 'ts')) {
      const name = `${document.path.replace(/\.md$/, '').replaceAll(/[\\/]/g, '--')}--${line}.ts`
      // Padded with blank lines, so that the compiler reports line numbers of the document.
      files[name] = `${'\n'.repeat(line - 1)}${code}\n`
    }
  }
  t.not(Object.keys(files).length, 0, 'the documents contain snippets')
  const { compilerOptions } = JSON.parse(readFileSync(join(ROOT, 'tsconfig.json'), 'utf8')) as {
    compilerOptions: object
  }
  const folder = t.testdir({
    ...files,
    'package.json': '{"type": "module"}',
    'tsconfig.json': JSON.stringify({
      extends: join(ROOT, 'tsconfig.base.json'),
      compilerOptions: { ...compilerOptions, moduleDetection: 'force', typeRoots: [join(ROOT, 'node_modules/@types')] },
      include: ['*.ts']
    })
  })
  const compiler = join(ROOT, 'node_modules', 'typescript', 'lib', 'tsc.js')
  const { stdout, stderr, status } = spawnSync(process.execPath, [compiler, '-p', folder], { encoding: 'utf8' })
  t.equal(stdout + stderr, '')
  t.equal(status, 0)
  t.end()
})

t.test('every JSON snippet in the documents is valid JSON', t => {
  for (const document of documents()) {
    for (const { code, line } of snippetsOf(document, 'json')) {
      t.doesNotThrow(() => JSON.parse(code), `${document.path}:${line}`)
    }
  }
  t.end()
})

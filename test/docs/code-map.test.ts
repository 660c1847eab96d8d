import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ROOT } from './error-codes.ts'

const MAX_LINES = 150
/** Folders that are installed, built or kept by tools. */
const NO_SOURCES = new Set(['node_modules', 'shared', 'tap-testdir'])

const text = readFileSync(join(ROOT, 'docs', 'code-map.md'), 'utf8')
const rows = text.split('\n').filter(line => line.startsWith('| ') && !line.startsWith('|---'))

t.test('the map of the code has a line for each plugin and each top folder', t => {
  const plugins = readdirSync(join(ROOT, 'plugins')).filter(name =>
    existsSync(join(ROOT, 'plugins', name, 'src', 'plugin.ts'))
  )
  t.same(
    plugins.filter(name => !rows.some(row => row.startsWith(`| [${name}](`))),
    [],
    'plugins that are missing in docs/code-map.md'
  )
  const folders = readdirSync(ROOT, { withFileTypes: true })
    .filter(entry => entry.isDirectory() && !entry.name.startsWith('.') && !NO_SOURCES.has(entry.name))
    .map(({ name }) => name)
  t.same(
    folders.filter(name => !rows.some(row => row.startsWith(`| [${name}/](`))),
    [],
    'folders that are missing in docs/code-map.md'
  )
  t.end()
})

t.test('the map of the code is short, says one sentence a line, and names only files that exist', t => {
  const lines = text.split('\n').length - 1
  t.ok(lines <= MAX_LINES, `${lines} lines, limit ${MAX_LINES}`)
  const entries = rows.filter(row => row.startsWith('| [')).map(row => /^\| \[(.+?)\]\(.+?\) \| (.+) \|$/.exec(row))
  t.same(
    entries
      .filter(entry => !/^[A-Z][^.]*\.$/.test(entry?.[2]?.replace(/\]\([^)]*\)/g, '') ?? ''))
      .map(entry => entry?.[0]),
    [],
    'each entry is one sentence'
  )
  const named = [...text.matchAll(/`((?:kernel|plugins|test)\/[\w./-]+)`/g)].map(([, path = '']) => path)
  t.same(
    named.filter(path => !existsSync(join(ROOT, path))),
    []
  )
  t.end()
})

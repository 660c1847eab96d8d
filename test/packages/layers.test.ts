import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import t from 'tap'

const ROOT = join(import.meta.dirname, '..', '..')

/** Packages of this repository, and folders of the kernel, that a folder may import. */
const LAYERS: Readonly<Record<string, { readonly packages: readonly string[]; readonly folders: readonly string[] }>> =
  {
    'plugin-sdk/src': { packages: ['plugin-sdk'], folders: [] },
    'contracts/src': { packages: ['plugin-sdk'], folders: [] },
    'config/src': { packages: ['plugin-sdk'], folders: [] },
    'kernel/src/core': { packages: ['plugin-sdk', 'contracts'], folders: [] },
    'kernel/src/guards': { packages: ['plugin-sdk'], folders: ['core'] },
    'kernel/src/loader': { packages: ['plugin-sdk', 'contracts'], folders: ['core', 'guards'] },
    'kernel/src/isolation': { packages: ['plugin-sdk', 'contracts'], folders: ['core', 'loader'] },
    'kernel/src/host': {
      packages: ['plugin-sdk', 'contracts', 'config'],
      folders: ['core', 'guards', 'loader', 'isolation']
    },
    'kernel/src/cli': { packages: ['plugin-sdk', 'contracts', 'config'], folders: ['core', 'host'] }
  }
const MAX_CORE_LINES = 4_300
const MAX_INDEX_NAMES = 15
/** Maximum names that a plugin's index may export. Higher than for folders: some plugins have only one folder. */
const MAX_PLUGIN_INDEX_NAMES = 30
const PLUGINS = readdirSync(join(ROOT, 'plugins'))

function filesIn(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter(path => path.endsWith('.ts'))
    .map(path => join(folder, path))
}

/** Returns the specifiers of static, type and dynamic imports. */
function importsOf(file: string): string[] {
  const text = readFileSync(join(ROOT, file), 'utf8')
  return [...text.matchAll(/(?:^(?:import|export)\b[^'\n]*?(?:\n[^'\n]*?)*?from |import\()'([^']+)'/gm)].map(
    ([, specifier = '']) => specifier
  )
}

for (const [folder, { packages, folders }] of Object.entries(LAYERS)) {
  t.test(`${folder} imports only the layers below it`, async t => {
    const upward = filesIn(folder).flatMap(file =>
      importsOf(file)
        .filter(specifier => {
          if (specifier.startsWith('@svc/')) return !packages.includes(specifier.split('/')[1] ?? '')
          if (!specifier.startsWith('.')) return false
          const target = normalize(join(dirname(file), specifier))
          return ![folder, ...folders.map(each => `kernel/src/${each}`)].some(each => target.startsWith(`${each}/`))
        })
        .map(specifier => `${file}: ${specifier}`)
    )
    t.same(upward, [])
  })
}

t.test('the core of the kernel is small and imports no modules for files, sockets or processes', async t => {
  const files = filesIn('kernel/src/core')
  const lines = files.map(file => readFileSync(join(ROOT, file), 'utf8').split('\n').length - 1)
  const total = lines.reduce((sum, each) => sum + each, 0)
  t.ok(total <= MAX_CORE_LINES, `${total} lines, limit ${MAX_CORE_LINES}`)
  const outside = /^node:(?:fs|net|http|https|child_process|worker_threads)(?:\/|$)/
  t.same(
    files.filter(file => importsOf(file).some(specifier => outside.test(specifier))),
    []
  )
})

t.test('an index.ts has few run-time exports, and sources import files instead', async t => {
  const kernel = filesIn('kernel/src').filter(file => /^kernel\/src\/(?!testing)\w+\/index\.ts$/.test(file))
  const plugins = PLUGINS.flatMap(name => filesIn(`plugins/${name}/src`)).filter(file => file.endsWith('/index.ts'))
  const indexes = [...kernel, ...plugins]
  for (const index of indexes) {
    const text = readFileSync(join(ROOT, index), 'utf8').replaceAll(/export type \{[^}]*\}/g, '')
    const names = [...text.matchAll(/\{([^}]*)\}/g)].flatMap(([, list = '']) =>
      list.split(',').filter(each => /^\s*(?!type )\w/.test(each))
    )
    const limit = index.startsWith('kernel/') ? MAX_INDEX_NAMES : MAX_PLUGIN_INDEX_NAMES
    t.ok(names.length <= limit, `${index}: ${names.length} names, limit ${limit}`)
  }
  const sources = ['kernel/src', ...PLUGINS.map(name => `plugins/${name}/src`)].flatMap(filesIn)
  const users = sources.filter(file =>
    importsOf(file).some(specifier => indexes.includes(normalize(join(dirname(file), specifier))))
  )
  t.same(users, [])
})

t.test('tests import public entries, never the sources of a package', async t => {
  const plugins = PLUGINS.map(name => `plugins/${name}/test`).filter(folder => existsSync(join(ROOT, folder)))
  const own = ['config/test', 'contracts/test', 'kernel/test', 'plugin-sdk/test', 'test', ...plugins].flatMap(filesIn)
  const inside = own.flatMap(file =>
    importsOf(file)
      .filter(specifier => specifier.startsWith('.'))
      .map(specifier => normalize(join(dirname(file), specifier)))
      // Fixture plugins are part of the tests.
      .filter(target => target.split('/').includes('src') && !target.includes('/fixtures/'))
      .map(target => `${file}: ${target}`)
  )
  t.same(inside, [])
})

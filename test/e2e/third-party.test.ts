import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { installSvc } from './installed-svc.ts'
import { errorOf, type Ran, type RunOptions, runSvc } from './run-svc.ts'
import { serve, writeFiles } from './served-project.ts'

const WORD_COUNT = fileURLToPath(new URL('../../examples/word-count', import.meta.url))
const TSC = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url))

/** Returns the output of tsc; empty on success. */
const typeErrors = (folder: string): string => {
  const argv = ['-u', 'NODE_OPTIONS', process.execPath, TSC, '-p', '.']
  const { status, stdout, stderr } = spawnSync('env', argv, { cwd: folder, encoding: 'utf8' })
  return status === 0 ? '' : stdout || stderr
}

const installation = installSvc(t, {
  '@svc/plugin-sdk': 'plugin-sdk',
  '@svc/contracts': 'contracts',
  '@svc/config': 'config',
  '@svc/kernel': 'kernel',
  '@svc/plugin-cli': 'plugins/cli',
  '@svc/plugin-http': 'plugins/http',
  '@svc/plugin-daemon': 'plugins/daemon'
})
const program = installation.svc
const svc = (folder: string, argv: readonly string[], options: RunOptions = {}): Promise<Ran> =>
  runSvc(folder, argv, { program, ...options })

t.test('a package contains exactly the files needed at run time', async t => {
  const holds = (name: string): string[] =>
    readdirSync(join(installation.root, 'node_modules', ...name.split('/')), { recursive: true }).map(String)
  for (const name of ['@svc/plugin-sdk', '@svc/contracts', '@svc/kernel', '@svc/plugin-cli']) {
    const files = holds(name).filter(file => !file.startsWith('node_modules'))
    t.same(
      files.filter(file => /\.map$|tsbuildinfo|^src\b|^test\b/.test(file)),
      [],
      name
    )
    t.ok(files.includes('README.md'), `${name} has a README`)
  }
  t.match(
    await svc(installation.project('defaults'), ['plugins', 'list', '--profile', 'model-server']),
    { code: 0 },
    'profiles are packed'
  )
})

t.test('a global installation serves projects that do not depend on it', async t => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'svc-elsewhere-')))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'svc.toml'), '')
  const list = await svc(folder, ['plugins', 'list'])
  for (const name of ['cli', 'daemon', 'http']) t.match(list.stdout, new RegExp(`^${name} +\\S+ +resolved`, 'm'))
  const made = await svc(folder, ['plugins', 'new', 'hello'])
  t.match(
    made.stdout,
    /npm install --prefix plugins\/hello +# install the SDK/,
    'the next steps include installing the SDK'
  )
  const { devDependencies } = JSON.parse(readFileSync(join(folder, 'plugins', 'hello', 'package.json'), 'utf8'))
  for (const [name, range] of Object.entries<string>(devDependencies)) t.match(range, /^\^\d+\.\d+\.\d+$/, name)
  t.match(
    await svc(folder, ['hello', 'greet', 'Ada']),
    { code: 0, stdout: 'Hello, Ada!\n' },
    'the plugin runs without the SDK installed'
  )
})

t.test('a third-party plugin can be packed, installed, used, reconfigured and removed', async t => {
  const manifest = JSON.parse(readFileSync(join(WORD_COUNT, 'package.json'), 'utf8'))
  t.same([manifest.dependencies, Object.keys(manifest.peerDependencies)], [undefined, ['@svc/plugin-sdk']])
  const imports = readFileSync(join(WORD_COUNT, 'src', 'plugin.ts'), 'utf8').matchAll(/from '([^']+)'/g)
  t.same(
    [...imports].map(([, specifier]) => specifier),
    ['@svc/plugin-sdk'],
    'the plugin depends only on the SDK'
  )

  t.match(installation.npm(WORD_COUNT, 'test'), /pass 3/, 'the tests of the plugin pass')

  const folder = installation.project('user')
  t.notMatch((await svc(folder, ['plugins', 'list'])).stdout, 'word-count')
  installation.npm(folder, 'install', installation.pack(WORD_COUNT))
  const list = await svc(folder, ['plugins', 'list', '--json'])
  t.match(
    JSON.parse(list.stdout).plugins.find((each: { name: string }) => each.name === 'word-count'),
    {
      version: '1.0.0',
      state: 'resolved',
      operations: 1,
      location: join(folder, 'node_modules', 'svc-plugin-word-count')
    }
  )
  t.match((await svc(folder, ['--help'])).stdout, /^ +svc words +\S/m)
  t.match(JSON.parse((await svc(folder, ['words', 'count', 'to be or not', '--json'])).stdout), {
    words: 4,
    longest: 'not'
  })
  const none = await svc(folder, ['words', 'count', ' ', '--json'])
  t.equal(none.code, 2)
  t.match(errorOf(none), { code: 'WORDS_NONE', message: 'The text has no words of min_length or more characters.' })

  const server = await serve(t, folder, [], program)
  const count = async (text: string): Promise<{ words: number; generation: number }> => {
    const response = await fetch(`${server.url}/words/count`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ text })
    })
    return (await response.json()) as { words: number; generation: number }
  }
  t.match(
    await count('to be or not'),
    { words: 4, generation: 1 },
    'the plugin serves HTTP, and its tap received the generation'
  )
  t.match(JSON.parse((await svc(folder, ['rpc', 'words.count', '{"text":"a b"}'])).stdout), { words: 2 })

  writeFileSync(join(folder, 'svc.toml'), '[plugins.word-count]\nmin_length = 3\n')
  while ((await count('to be or not')).words === 4) await new Promise(resolve => setTimeout(resolve, 20))
  t.match(await count('to be or not'), { words: 1, generation: 1 }, 'a live setting changes without a new generation')
  t.match(
    (await svc(folder, ['config', 'explain', 'plugins.word-count.min_length'])).stdout,
    /= 3\n +from +project, svc\.toml:2:1/
  )

  const from = server.lines.length
  writeFileSync(join(folder, 'svc.toml'), '[plugins.word-count]\nmin_lenght = 5\n')
  t.match(await server.line(/min_lenght/, from), /did you mean[\s\S]*min_length/)
  t.match(await count('to be or not'), { words: 1 }, 'after a typo the old setting stays in effect')
  writeFileSync(join(folder, 'svc.toml'), '')
  await server.stop()

  installation.npm(folder, 'uninstall', 'svc-plugin-word-count')
  t.notMatch((await svc(folder, ['plugins', 'list'])).stdout, 'word-count')
  t.match(errorOf(await svc(folder, ['words', 'count', 'a', '--json'])), { code: 'CLI_COMMAND_UNKNOWN' })
})

t.test('a scaffolded plugin can be listed, called, type-checked, tested, packed and installed', async t => {
  const folder = installation.project('author')
  const made = await svc(folder, ['plugins', 'new', 'hello-world'])
  t.equal(made.code, 0)
  t.match(made.stdout, 'npm test --prefix plugins/hello-world')
  t.notMatch(made.stdout, 'npm install', 'the SDK is already installed')
  t.match((await svc(folder, ['plugins', 'list'])).stdout, /^hello-world +0\.1\.0 +resolved/m)
  t.match(await svc(folder, ['hello-world', 'greet', 'Ada']), { code: 0, stdout: 'Hello, Ada!\n' })
  t.match(await svc(folder, ['hello-world', 'greet', 'Ada', '--set', 'plugins.hello-world.greeting=Salut']), {
    stdout: 'Salut, Ada!\n'
  })

  const place = join(folder, 'plugins', 'hello-world')
  installation.npm(place, 'run', 'check')
  const source = join(place, 'src', 'plugin.ts')
  const text = readFileSync(source, 'utf8')
  writeFileSync(source, text.replace('({ name }) =>', '({ nmae }) =>'))
  t.match(typeErrors(place), /src\/plugin\.ts.*nmae/)
  writeFileSync(source, text)

  t.match(installation.npm(place, 'test'), /pass 3/)
  t.same(readdirSync(join(place, 'dist')).sort(), ['plugin.cjs', 'plugin.json'])

  const manifest = JSON.parse(readFileSync(join(place, 'package.json'), 'utf8'))
  writeFiles(place, {
    'package.json': JSON.stringify({ ...manifest, svc: { ...manifest.svc, entries: { worker: './src/worker.ts' } } }),
    'assets/stamp.svg': '<svg/>',
    'src/worker.ts': "import { parentPort } from 'node:worker_threads'\nparentPort?.postMessage('ready')\n"
  })
  installation.npm(place, 'run', 'check')
  const user = installation.project('user-of-it')
  installation.npm(user, 'install', installation.pack(place))
  t.match(await svc(user, ['hello-world', 'greet', 'Bob']), { code: 0, stdout: 'Hello, Bob!\n' })
  const shipped = join(user, 'node_modules', 'svc-plugin-hello-world')
  for (const path of ['assets/stamp.svg', 'dist/worker.cjs']) t.ok(existsSync(join(shipped, path)), `${path} is packed`)
})

t.test('a scaffolded plugin with pages can be listed, called, type-checked, tested, packed and installed', async t => {
  const folder = installation.project('pages')
  const made = await svc(folder, ['plugins', 'new', 'my-board', '--page'])
  t.match(made, { code: 0, stdout: /svc dashboard +# open the console/ })
  t.match((await svc(folder, ['plugins', 'list'])).stdout, /^my-board +0\.1\.0 +resolved/m)
  t.match(await svc(folder, ['my-board', 'greet', 'Ada']), { code: 0, stdout: 'Hello, Ada!\n' })

  const place = join(folder, 'plugins', 'my-board')
  const page = join(place, 'page', 'greet.ts')
  installation.npm(place, 'run', 'check')
  const text = readFileSync(page, 'utf8')
  writeFileSync(page, text.replace('api.memory.set', 'api.memoryy.set'))
  t.match(typeErrors(place), /page\/greet\.ts.*memoryy/)
  writeFileSync(page, `${text}const broken = = 1`)
  const broken = await svc(folder, ['plugins', 'build', place, '--json'])
  t.match(errorOf(broken), { code: 'LDR_BUILD_FAILED', message: /^page greet: .*greet\.ts:\d+:\d+: / })
  writeFileSync(page, text)

  t.match(installation.npm(place, 'test'), /pass 4/)
  t.same(readdirSync(join(place, 'dist')).sort(), ['page', 'plugin.cjs', 'plugin.json'])
  const built = await svc(folder, ['plugins', 'build', place, '--json'])
  t.match(JSON.parse(built.stdout).files, [/plugin\.cjs$/, /plugin\.json$/, join(place, 'dist', 'page', 'greet.js')])
  const user = installation.project('user-of-pages')
  installation.npm(user, 'install', installation.pack(place))
  t.match(await svc(user, ['my-board', 'greet', 'Bob']), { code: 0, stdout: 'Hello, Bob!\n' })
  const shipped = join(user, 'node_modules', 'svc-plugin-my-board', 'dist', 'page', 'greet.js')
  t.match(readFileSync(shipped, 'utf8'), /export\s*\{\w+ as mount\}/)
})

t.test('plugins new creates a plugin in another folder, and prints the next steps', async t => {
  const folder = installation.project('elsewhere')
  const made = await svc(folder, ['plugins', 'new', 'far', 'tools/far'])
  t.match(made.stdout, 'plugin_directories = ["tools/far"]')
  t.notMatch((await svc(folder, ['plugins', 'list'])).stdout, /^far /m)
  writeFileSync(join(folder, 'svc.toml'), '[kernel]\nplugin_directories = ["tools/far"]\n')
  t.match((await svc(folder, ['plugins', 'list'])).stdout, /^far /m)

  const refused: [argv: string[], exit: number, code: string][] = [
    [['far', 'tools/near'], 6, 'CLI_NAME_TAKEN'],
    [['further', 'tools/far'], 6, 'CLI_DIRECTORY_EXISTS'],
    [['out', '../out'], 2, 'CLI_DIRECTORY_OUTSIDE'],
    [['Wrong_Name'], 2, 'OPR_INPUT_INVALID']
  ]
  for (const [argv, exit, code] of refused) {
    const ran = await svc(folder, ['plugins', 'new', ...argv, '--json'])
    t.match([ran.code, errorOf(ran).code], [exit, code])
  }
  t.notOk(existsSync(join(installation.root, 'out')))
})

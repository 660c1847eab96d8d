import { execFile, execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { changesOf } from '../../tools/release/changelog.ts'
import { bundledPackages } from '../../tools/release/notices.ts'
import { publishedManifest } from '../../tools/release/published-manifest.ts'
import { renameScope } from '../../tools/release/stage.ts'
import { type Manifest, ROOT, readJson } from '../../tools/release/workspaces.ts'

const LIBRARY = { name: 'left-out', version: '1.0.0', url: 'https://example.org/advisories/1' }

/** Serves a registry with one advisory; resolves to its address. */
async function serveAdvisory(t: Test): Promise<string> {
  const { name, version, url } = LIBRARY
  const server = createServer((request, response) => {
    request.resume()
    const advisory = { id: 1, url, title: 'It breaks', severity: 'high', vulnerable_versions: '<2.0.0' }
    const document = { name, 'dist-tags': { latest: version }, versions: { [version]: { name, version, dist: {} } } }
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(request.method === 'POST' ? { [name]: [advisory] } : document))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

t.test(
  'an advisory ends a release until an exception explains it, and an exception until there is an advisory',
  async t => {
    const { name, version, url } = LIBRARY
    const registry = await serveAdvisory(t)
    const project = { name: 'svc', version: '1.0.0', dependencies: { [name]: version } }
    const lock = { lockfileVersion: 3, packages: { '': project, [`node_modules/${name}`]: { version } } }
    const other = { advisory: 'https://example.org/advisories/2', package: name, reason: 'not used' }
    const folder = t.testdir({
      '.npmrc': `registry=${registry}\ncache=${t.testdirName}/cache\nupdate-notifier=false\n`,
      'package.json': JSON.stringify(project),
      'package-lock.json': JSON.stringify({ name: 'svc', version: '1.0.0', requires: true, ...lock }),
      'none.json': '[]',
      'explained.json': JSON.stringify([{ advisory: url, package: name, reason: 'svc passes it no text of users' }]),
      'other.json': JSON.stringify([other])
    })
    // In another process: npm would wait for the server of this one.
    const program = `import { openAdvisories } from ${JSON.stringify(join(ROOT, 'tools/release/audit.ts'))}
    console.log(JSON.stringify(['none', 'explained', 'other'].map(name => openAdvisories(process.cwd(), name + '.json'))))`
    writeFileSync(join(folder, 'ask.mts'), program)
    const output = await new Promise<string>((resolve, reject) => {
      const argv = ['--import', import.meta.resolve('tsx'), '--conditions=svc-source', join(folder, 'ask.mts')]
      const env = { ...process.env, NODE_OPTIONS: '' }
      execFile(process.execPath, argv, { cwd: folder, env }, (error, stdout) =>
        error ? reject(error) : resolve(stdout)
      )
    })
    const open = `${name}: It breaks (high); ${url}`
    t.same(JSON.parse(output), [
      [open],
      [],
      [open, `${name}: ${other.advisory} is explained, but not reported; remove the exception`].sort()
    ])
  }
)

t.test('the changelog lists the commits since the last release by part, without tests', t => {
  const folder = t.testdir({})
  const git = (...argv: string[]) => execFileSync('git', argv, { cwd: folder, stdio: 'ignore' })
  const commit = (subject: string, ...files: string[]) => {
    for (const file of files) {
      mkdirSync(join(folder, file, '..'), { recursive: true })
      writeFileSync(join(folder, file), subject)
    }
    git('add', '-A')
    git('-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', 'commit', '-q', '-m', subject)
  }
  git('init', '-q')
  commit('Begin', 'README.md')
  t.match(changesOf('v1.0.0', folder), /^# Changelog\n\n## 1\.0\.0 \(\d{4}-\d\d-\d\d\)\n\nFirst release\.\n$/)
  git('tag', 'v1.0.0')
  commit('Test more', 'test/a.test.ts')
  commit('Answer faster', 'plugins/http/src/answer.ts', 'docs/http.md', 'plugins/http/src/listen.ts')
  commit('Add a builder', 'plugin-sdk/src/builder.ts')
  t.match(
    changesOf('v1.1.0', folder),
    /Changes since 1\.0\.0\.\n\n### SDK for plugins\n\n- Add a builder \(\w+\)\n\n### Plugin http\n\n- Answer faster \(\w+\)\n$/
  )
  t.end()
})

t.test('a published manifest has the version of the release everywhere, and nothing for the repository only', t => {
  const manifest = readJson<Manifest>(join(ROOT, 'plugins', 'inference-onnx', 'package.json'))
  const published = publishedManifest({ folder: 'plugins/inference-onnx', manifest }, '2.0.0')
  t.match(published, {
    version: '2.0.0',
    svc: { plugin: './dist/plugin.cjs' },
    exports: { '.': { default: './dist/plugin.cjs' } },
    dependencies: { '@svc/contracts': '2.0.0', '@svc/plugin-sdk': '2.0.0', koffi: manifest.dependencies?.koffi },
    optionalDependencies: { '@svc/onnxruntime-linux-x64': manifest.devDependencies?.['onnxruntime-node'] },
    repository: { directory: 'plugins/inference-onnx' }
  })
  t.notMatch(JSON.stringify(published), /svc-source|devDependencies|\.\/src\//)
  t.end()
})

t.test('another scope replaces @svc in names of packages, and in nothing else', t => {
  const text = "import '@svc/config'; name === '@svc'; /^@svc\\/plugin-/; 'ada@svc/x'; '@svcx/y'"
  t.equal(
    renameScope(text, 'acme'),
    "import '@acme/config'; name === '@acme'; /^@acme\\/plugin-/; 'ada@svc/x'; '@svcx/y'"
  )
  t.end()
})

t.test('the licences of bundled libraries are found from the builds', t => {
  t.match(bundledPackages('kernel').join(' '), /node_modules\/tapable node_modules\/y18n node_modules\/yargs/)
  t.match(bundledPackages('plugins/dashboard').join(' '), /node_modules\/preact/)
  t.ok(bundledPackages('plugins/compiler').includes('node_modules/ajv'), 'a compiled entry carries the validator')
  t.same(bundledPackages('plugins/cli'), [])
  t.end()
})

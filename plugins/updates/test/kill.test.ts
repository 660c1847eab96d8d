import { spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import t from 'tap'
import { INSTALL_STEPS, publicKeyOf } from '#root'
import { archiveOf, openReleases, releaseOf, signed } from './releases.ts'
import { upgrade, versionIn } from './upgrade.ts'

/** Compiles the script of the child into one file, which starts faster. Returns its path. */
async function compileChild(folder: string): Promise<string> {
  const outfile = join(folder, 'child.mjs')
  await build({
    entryPoints: [join(import.meta.dirname, 'kill-child.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    conditions: ['svc-source'],
    banner: { js: "import{createRequire}from'node:module';const require=createRequire(import.meta.url);" }
  })
  return outfile
}

t.test(
  'a process that is killed at any step leaves a complete version, and the next one finishes the work',
  async t => {
    const { privateKey } = generateKeyPairSync('ed25519')
    const server = await openReleases(t, [signed(releaseOf('0.2.0'), privateKey)])
    const settings = { github_api_url: server.url, keep_versions: 2, public_key: publicKeyOf(privateKey) }
    const steps = INSTALL_STEPS.filter(step => step !== 'dependencies')
    t.ok(steps.length >= 10)
    const folder = t.testdir()
    const script = await compileChild(folder)
    await upgrade(join(folder, 'before'), settings, { apply: true })
    server.releases.push(signed(releaseOf('0.3.0'), privateKey))
    for (const step of steps) {
      const home = join(folder, step)
      cpSync(join(folder, 'before'), home, { recursive: true, verbatimSymlinks: true })
      const child = spawn(
        process.execPath,
        [script, home, JSON.stringify(settings), JSON.stringify({ apply: true }), step],
        { stdio: ['ignore', 'ignore', 'pipe'] }
      )
      const [, signal] = await once(child, 'exit')
      t.equal(signal, 'SIGKILL', step)
      const switched = steps.indexOf(step) > steps.indexOf('switch')
      t.equal(versionIn(home), switched ? '0.3.0' : '0.2.0', `${step}: a complete version is in use`)
      const { report } = await upgrade(home, settings, { apply: true })
      t.match(report, { installed_version: '0.3.0' }, `${step}: the next installation succeeds`)
      await upgrade(home, settings, { rollback: true })
      t.equal(versionIn(home), '0.2.0', `${step}: the way back is known`)
      t.equal(readdirSync(join(home, 'versions')).length, 2, `${step}: nothing is left`)
      t.same(readdirSync(home).sort(), expected(home), step)
    }
  }
)

/** Names in the folder of a toolchain: no unfinished link, lock or download is left. */
function expected(home: string): string[] {
  const downloads = readdirSync(home).includes('downloads') ? ['downloads'] : []
  return ['bin', 'current', ...downloads, 'history.json', 'last-check.json', 'versions']
}

t.test('a full disk ends the installation, and the version in use stays', async t => {
  const server = await openReleases(t, [releaseOf('0.2.0')])
  const settings = { github_api_url: server.url }
  const folder = t.testdir()
  const [home, script] = [join(folder, 'home'), await compileChild(folder)]
  await upgrade(home, settings, { apply: true })
  const big = { path: 'svc-0.3.0/big', text: 'x'.repeat(100_000) }
  server.releases.push(releaseOf('0.3.0', { 'svc-v0.3.0.tgz': archiveOf('0.3.0', [big]) }))
  // A file of more than 16 KiB cannot be written, as on a full disk. The test's own server must go on meanwhile.
  const child = spawn(
    'bash',
    [
      '-c',
      'trap "" XFSZ; ulimit -f 32; exec "$@"',
      'bash',
      process.execPath,
      script,
      home,
      JSON.stringify(settings),
      JSON.stringify({ apply: true })
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] }
  )
  let stderr = ''
  child.stderr.on('data', chunk => {
    stderr += chunk
  })
  const [code] = await once(child, 'close')
  t.equal(code, 1)
  t.match(stderr, 'UPD_INSTALL_FAILED')
  t.equal(versionIn(home), '0.2.0')
  t.equal(readdirSync(join(home, 'versions')).length, 1)
  t.match((await upgrade(home, settings, { apply: true })).report, { installed_version: '0.3.0' })
})
